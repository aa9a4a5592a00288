"""Ingest: documents are read, split into passages, embedded in batches (`prepare.py`) and stored (`run.py`).

Unchanged documents cost nothing: a document with the same content hash is skipped, and a passage whose text was
embedded before keeps its vector. One bad document never stops the run. Documents are stored in a `DocumentStore`
(`document_store.py`).
"""
