"""The graph's state, the context of a run, its settings, values and errors."""
