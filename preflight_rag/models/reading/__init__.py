"""Extractive readers: answer spans, verdicts and support of statements, read from one passage at a time."""
