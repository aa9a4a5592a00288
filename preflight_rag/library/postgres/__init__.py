"""A library in PostgreSQL with pgvector, which many processes on many machines search and write at once."""
