"""The truth of a library: documents, passages and vectors in SQLite, and how they are written."""
