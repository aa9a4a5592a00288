"""How stages are wired and run: the graph, its routes, checkpoints, locks, the ledger of turns."""
