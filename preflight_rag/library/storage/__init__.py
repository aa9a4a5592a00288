"""A library's database: documents, passages and vectors in SQLite, and how they are written."""
