"""How two relevant contexts relate, written out from the COrg paper (section 2.1 and the prompt of its Figure 9)."""

TABLE = {
    ("same descriptor", "same answer"): "duplicated",
    ("same descriptor", "different answers"): "counterfactual",
    ("different descriptors", "same answer"): "distracting",
    ("different descriptors", "different answers"): "distracting",
    ("one descriptor", "same answer"): "ambiguous",
    ("one descriptor", "different answers"): "none",
}
"""Two contexts without a descriptor are left out here: what the product makes of them is not what the paper says."""


def relation(a, b):
    """The relation of two notes whose descriptors and answers are the same only where they are equal as texts."""
    described = [note.descriptor for note in (a, b) if note.descriptor]
    assert described, "the table has no cell for two contexts without a descriptor"
    if len(described) == 1:
        descriptors = "one descriptor"
    else:
        descriptors = "same descriptor" if a.descriptor == b.descriptor else "different descriptors"
    return TABLE[descriptors, "same answer" if a.answer == b.answer else "different answers"]
