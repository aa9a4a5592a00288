"""How stages are wired and run: `build` has nodes and edges, `routes` the conditional edges, `turns` runs one turn.

Where checkpoints, locks and the ledger of turns are kept: `preflight_rag/threads/`.
"""
