"""Where conversations are kept: checkpoints, the ledger and locks, in SQLite or PostgreSQL.

- `thread_store.py`: the interface of both kinds of stores, and which one is opened.
- `ledger.py`: one row for each turn: its columns, and statements that both databases understand.
- `locks.py`: one turn at a time on a thread.
- `sqlite_database.py`, `postgres_database.py`: the tables, and `MIGRATIONS`, which change them.
- `sqlite_checkpoints.py`, `postgres_checkpoints.py`: LangGraph's checkpoints; `checkpoints.py` has what both share.
- `postgres_store.py`: the store in PostgreSQL; `postgres_facts.py`: what `preflight doctor` says of it.
- `recovery.py`: a new `threads.db` with what is whole of a damaged one.
"""
