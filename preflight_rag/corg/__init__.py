"""COrg: contexts, their relations (Algorithm 1), grouping, the signals of the router, composing several answers."""
