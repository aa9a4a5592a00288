"""Splitters: from documents to passages."""
