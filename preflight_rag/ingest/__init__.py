"""Ingest: documents are read, split, embedded in batches (`prepare.py`), and stored (`run.py`), one after the other.

What does not change costs nothing: a document with the same content hash is skipped, and a passage whose text was
embedded before keeps its vector. One bad document never stops the run. Where documents go is a `DocumentStore`
(`ingest/document_store.py`).
"""
