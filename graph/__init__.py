"""How stages are wired and run: `build` has nodes and edges, `routes` the conditional edges, `turns` runs one turn.

Checkpoints, locks and the ledger of turns are in `preflight_rag/threads/`.
"""
