"""COrg: contexts, their relations (Algorithm 1), grouping, the signals of the router, composing several answers.

Whether two contexts contradict each other, a model's reply says (`prompts/relate_contexts.py`), and `relations.related`
over the notes in it; without a model, `relation` in `offline/relations.py`. Whether the person is told: `composition`.
"""
