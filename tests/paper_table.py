"""How two relevant contexts relate, written out from the COrg paper (section 2.1 and the prompt of its Figure 9)."""

TABLE = {
    ("same descriptor", "same answer"): "duplicated",
    ("same descriptor", "different answers"): "counterfactual",
    ("two descriptors", "same answer"): "distracting",
    ("two descriptors", "different answers"): "distracting",
    ("one descriptor alone", "same answer"): "ambiguous",
    ("one descriptor alone", "different answers"): "none",
}
"""Null is a descriptor like others where two contexts are the same: two that have none have the same one."""


def relation(a, b):
    """The relation of two notes whose descriptors and answers are the same only where they are equal as texts."""
    if a.descriptor == b.descriptor:
        descriptors = "same descriptor"
    else:
        descriptors = "two descriptors" if a.descriptor and b.descriptor else "one descriptor alone"
    return TABLE[descriptors, "same answer" if a.answer == b.answer else "different answers"]
