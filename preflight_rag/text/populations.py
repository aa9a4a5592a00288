"""Words for the people of whom a text speaks, and how they are divided: by sex, age and arm of a study."""

from __future__ import annotations

POPULATIONS = (
    {"men": "men", "man": "men", "male": "men", "males": "men", "boys": "men",
     "women": "women", "woman": "women", "female": "women", "females": "women", "girls": "women"},
    {"children": "young", "child": "young", "infants": "young", "infant": "young", "neonates": "young",
     "newborns": "young", "adolescents": "young", "pediatric": "young", "paediatric": "young",
     "adult": "adult", "adults": "adult", "elderly": "old", "older": "old", "seniors": "old"},
    {"placebo": "control", "control": "control", "controls": "control", "sham": "control", "untreated": "control",
     "usual": "control", "intervention": "treated", "treated": "treated", "treatment": "treated", "active": "treated"},
)  # fmt: skip
"""The group that each word names, a mapping for each division."""


def counterparts(word: str) -> list[str]:
    """Return the words for the other groups of the division that a word belongs to: "male" and "men" for "women"."""
    for group_of_word in POPULATIONS:
        if word in group_of_word:
            return [other for other, group in group_of_word.items() if group != group_of_word[word]]
    return []
