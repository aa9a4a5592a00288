"""Index files that are rebuilt from the database: dense, lexical, vocabulary, and their generations."""
