"""Sentences that only propose what a question asks for as a fact: "proposed to lower the price from 12.99 to 9.99".

The decision is not in the sentence, so that nothing is claimed from it. By rule, in English.
"""

from __future__ import annotations

import re

_PROPOSES = re.compile(
    r"\b(?:propos(?:e[sd]?|ing)|proposal (?:to|that)|motion to|moved (?:to|that)"
    r"|(?:asked|wished|wanted|would like) to|applied for)\b",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"\b(?:accepted|agreed|approved|adopted|carried|decided|granted|passed|resolved|rejected|refused|defeated"
    r"|voted|unanimous\w*)\b",
    re.IGNORECASE,
)


def only_proposes(question: str, sentence: str) -> bool:
    """Return whether a sentence proposes something without the decision on it, and the question asks for no proposal.

    Args:
        question: The standalone question.
        sentence: The sentence.
    """
    match = _PROPOSES.search(sentence)
    if match is None or _PROPOSES.search(question):
        return False
    # "Proposed and carried" states the decision.
    return _DECIDES.search(sentence) is None and match[0].casefold() not in question.casefold()
