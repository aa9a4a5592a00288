"""Extractive readers: spans, verdicts and support, read from one passage at a time."""
