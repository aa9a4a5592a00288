"""COrg: contexts, their relations (Algorithm 1), grouping, the signals of the router, composing several answers.

Whether two contexts contradict each other is decided by a model's reply (`prompts/relate_contexts.py`) and by
`relation_graph.related` over its notes; without a model, by `relation_of` in `offline/relations.py`. Whether the user
is told is decided in `composition.py`.
"""
