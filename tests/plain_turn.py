"""The stages of a turn that takes the route plain, in their order."""

STAGES = ["rewrite", "retrieve", "preflight", "answer_plain", "cite"]
