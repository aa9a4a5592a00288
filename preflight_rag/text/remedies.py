"""Questions for what can be done about something that goes wrong, and sentences that say it. By rule, in English."""

from __future__ import annotations

import re

from preflight_rag.text.values import last_question

_TROUBLE_AHEAD = (
    r"(?=[^?]*\b(?:against|bugs?|crash\w*|damp|drip\w*|errors?|fail\w*|faults?|from|if|issues?|leak\w*|mou?lds?|moths?"
    r"|nois[ey]|pests?|problems?|rot|rust\w*|slugs?|smells?|spam|trouble|weeds?|when|whenever|wrong)\b)"
)
"""Requires a word for what goes wrong: "How do I stop the car?" and "What is the solution of 3x = 6?" have none."""
_ASKS_REMEDY = re.compile(
    r"(?:what (?:can|could|do|must|should) (?:i|we|you|one) do (?:about|against|if|when|to (?:avoid|fix|solve|stop))"
    r"|what (?:can|could|must|should) be done (?:about|against)|what helps"
    r"|how (?:can|could|do|should|to|would) (?:(?:i|one|to|we|you) )?"
    r"(?:avoid|cure|deal with|fix|get (?:around|rid of|round)|mend|overcome|prevent|remedy|repair|resolve|solve"
    rf"|work around|stop\b{_TROUBLE_AHEAD})"
    r"|(?:are there any|is there an?|what|which) (?:are |is )?(?:an? |the )?"
    rf"(?:cures?|fix(?:es)?|remed(?:y|ies)|workarounds?|solutions?\b{_TROUBLE_AHEAD}))\b",
    re.IGNORECASE,
)
_GIVES_REMEDY = re.compile(
    r"\b(?:cures?|fix(?:ed|es)?|helps?|instead|make sure|remed(?:y|ies)|resolves?|solutions?|solves?|workarounds?"
    r"|(?:can|may) be (?:accomplished|avoided|corrected|prevented|removed|repaired|solved|stopped|worked around)"
    r"|to (?:avoid|correct|cure|fix|prevent|remedy|repair|resolve|solve|stop|work around)"
    r"|(?:one|users|you) (?:can|have to|may|must|need to|should))\b",
    re.IGNORECASE,
)
_IMPERATIVES = (
    "add|adjust|ask|delete|disable|enable|get|install|let|lower|pour|pull|put|recompile|reduce|reinstall|reload|remove"
    "|replace|restart|rinse|select|take|tighten|try|turn|unplug|use|wait|wipe"
)
_IMPERATIVES_OR_NOUNS = (
    "call|change|check|download|drain|fit|grease|heat|move|oil|place|press|push|raise|reset|run|set|start|switch|tap"
    "|update|upgrade|wash"
)
_IMPERATIVES_OR_ADJECTIVES = "clean|close|dry|open|shut"
_INSTRUCTION = re.compile(
    rf"(?:first,? |just |please |simply |then )?(?:(?:{_IMPERATIVES})\b(?!-| of\b)"
    rf"|(?:{_IMPERATIVES_OR_NOUNS})(?= (?:an?|another|any|both|each|it|its|off|out|the|their|them|these|us|your)\b"
    r"| [\d`'‘])|check(?= (?:for|if|that|whether)\b)"
    rf"|(?:{_IMPERATIVES_OR_ADJECTIVES})(?= (?:an?|both|it|its|off|the|their|them|up|your)\b))"
    r"(?!(?: (?!(?:and|as|because|if|or|since|so|that|until|what|when|where|whether|which|while|who)\b)[\w'’-]+){0,6}"
    r" (?:are|had|has|is|was|were)\b)",
    re.IGNORECASE,
)
"""An order: not "Clean water is a right", "Open from 9 to 5", "Push notifications", "Use of the hall is free"."""
_LEADING_MARKS = "-*+•> \t"


def asks_remedy(question: str) -> bool:
    """Return whether a question asks what can be done about something that goes wrong."""
    return _ASKS_REMEDY.match(last_question(" ".join(question.split()))) is not None


def gives_remedy(sentence: str) -> bool:
    """Return whether a sentence says what can be done: "Try another cable.", "A new fuse solves this."."""
    return _GIVES_REMEDY.search(sentence) is not None or _INSTRUCTION.match(sentence.lstrip(_LEADING_MARKS)) is not None
