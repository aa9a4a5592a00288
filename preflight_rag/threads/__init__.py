"""Where conversations are kept: checkpoints, the ledger of turns, and locks, in SQLite or PostgreSQL.

- `thread_store.py`: the interface of both kinds of stores, and the choice between them.
- `ledger.py`: one row for each turn: its columns, and statements that both databases understand.
- `locks.py`: one turn at a time on a thread.
- `sqlite_database.py`, `postgres_database.py`: the tables, and `MIGRATIONS`, which change them.
- `sqlite_checkpoints.py`, `postgres_checkpoints.py`: LangGraph's checkpoints; `checkpoints.py` has what both share.
- `postgres_store.py`: the store in PostgreSQL; `postgres_facts.py`: what `preflight doctor` reports about it.
- `recovery.py`: a new `threads.db` with the readable part of a damaged one.
"""
