"""Questions for what can be done about something that goes wrong, and sentences that say it. By rule, in English."""

from __future__ import annotations

import re

from preflight_rag.text.values import last_question

_ASKS_REMEDY = re.compile(
    r"(?:what (?:can|could|do|must|should) (?:i|we|you|one) do (?:about|against|if|when|to (?:avoid|fix|solve|stop))"
    r"|what (?:can|could|must|should) be done (?:about|against)|what helps"
    r"|how (?:can|could|do|should|to|would) (?:(?:i|one|to|we|you) )?"
    r"(?:avoid|cure|deal with|fix|get (?:around|rid of|round)|mend|overcome|prevent|remedy|repair|resolve|solve|stop"
    r"|work around)"
    r"|(?:are there any|is there an?|what|which) (?:are |is )?(?:an? |the )?"
    r"(?:cures?|fix(?:es)?|remed(?:y|ies)|solutions?|workarounds?))\b",
    re.IGNORECASE,
)
_GIVES_REMEDY = re.compile(
    r"\b(?:cures?|fix(?:ed|es)?|helps?|instead|make sure|remed(?:y|ies)|resolves?|solutions?|solves?|workarounds?"
    r"|(?:can|may) be (?:accomplished|avoided|corrected|prevented|removed|repaired|solved|stopped|worked around)"
    r"|to (?:avoid|correct|cure|fix|prevent|remedy|repair|resolve|solve|stop|work around)"
    r"|(?:one|users|you) (?:can|have to|may|must|need to|should))\b",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(
    r"(?:first,? |just |please |simply |then )?(?:add|adjust|ask|call|change|check|clean|close|delete|disable|download"
    r"|drain|dry|enable|fit|get|grease|heat|install|let|lower|move|oil|open|place|press|pull|push|put|raise|recompile"
    r"|reduce|reinstall|reload|remove|replace|reset|restart|rinse|run|select|set|shut|start|switch|take|tap|tighten|try"
    r"|turn|unplug|update|upgrade|use|wait|wash|wipe)\b",
    re.IGNORECASE,
)
_MARKS = "-*+•> \t"


def asks_remedy(question: str) -> bool:
    """Return whether a question asks what can be done about something that goes wrong."""
    return _ASKS_REMEDY.match(last_question(" ".join(question.split()))) is not None


def gives_remedy(sentence: str) -> bool:
    """Return whether a sentence says what can be done: "Try another cable.", "A new fuse solves this."."""
    return _GIVES_REMEDY.search(sentence) is not None or _INSTRUCTS.match(sentence.lstrip(_MARKS)) is not None
