"""Where conversations are kept: checkpoints, the ledger and locks, in SQLite or PostgreSQL."""
