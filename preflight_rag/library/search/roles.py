"""Roles of the sentences of a paper: aim, method (what was done and in whom), result, conclusion.

They are recognised by the words that authors use, by the headings, and by position: abstracts come first. Only whole
sentences are chosen; nothing is written. A document without a result sentence, or with nothing but results, is not
treated as a paper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.library.search.summary import Statement
from preflight_rag.text.tables import is_row

FRONT = 3_500
"""Characters at the beginning of a document that contain its abstract; a guess."""
LEAST = {"aim": 3.0, "method": 3.5, "result": 3.5, "conclusion": 3.5}
"""Least score at which a sentence has a role. These scores and the weights of the signs were set by reading 12 open
papers."""
TELLING = 2.0
"""Least score for any role at which a sentence counts as one about the study itself."""
CORE_SHARE = 0.8
"""Largest share of a summary's tokens that the sentences with a role may take; a guess."""

_VERBS = (
    "investigat|examin|assess|evaluat|determin|compar|test|stud(?:y|i)|explor|hypothesi[sz]|analy[sz]|estimat|identif|"
    "describ|present|report|propos|introduc|characteri[sz]|review|measur|develop"
)
_PEOPLE = (
    "patients|participants|subjects|women|men|children|adults|adolescents|infants|neonates|volunteers|individuals|people|"
    "persons|students|residents|workers|families|cases|mice|rats|animals|pairs|minnows|isolates|samples|specimens|"
    "trials|studies|articles|centres|centers|hospitals|villages|households|respondents|physicians|nurses|dentists"
)
_AIM = (
    re.compile(r"\b(?:aims?|objectives?|purpose|goals?)\b[^.]{0,80}\b(?:was|were|is|are)\b[^.]{0,20}\bto\b", re.I),
    re.compile(rf"\bwe (?:here |therefore |thus |also |have |then )?(?:{_VERBS})(?:e|es|ed|d)?\b", re.I),
    re.compile(
        r"\b(?:aimed|sought|set out|designed|undertaken|conducted|performed|carried out)\b[^.]{0,30}\bto\b", re.I
    ),
    re.compile(
        r"\b(?:this|present|current|our)(?: [\w-]+){0,3} (?:study|paper|article|review|report|trial|work|analysis)\b"
        rf"[^.]{{0,20}}\b(?:{_VERBS})",
        re.I,
    ),
    re.compile(rf"^to (?:{_VERBS})e?\b", re.I),
)
_METHOD = (
    re.compile(
        rf"\b(?:(?<!\d,)\d(?>(?:,?\d)*)|one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b[^.]{{0,60}}\b(?:{_PEOPLE})\b"
    ),
    re.compile(
        r"\b(?:enrol?led|recruited|randomi[sz]ed|randomly|underwent|consumed|received|cohort|cross-sectional|blind|"
        r"placebo-controlled|case-control|retrospective(?:ly)?|prospective(?:ly)?|questionnaire|interviewed|included)\b",
        re.I,
    ),
    re.compile(
        r"\b(?:were|was) (?:\w+ )?(?:given|treated|assigned|allocated|asked|measured|analy[sz]ed|collected|obtained|"
        r"observed|monitored|recorded|determined|estimated|exposed|fed|infected|searched|compared|assessed|evaluated|tested|performed|used|studied|examined)\b"
        r"|\bwe (?:used|conducted|performed|searched|measured|collected|analy[sz]ed|applied)\b",
        re.I,
    ),
)
_RESULT = (
    re.compile(
        r"\bsignificantly\b|\b(?:no|not|statistical(?:ly)?|were) significant\b|\bp\s?[<=>≤]\s?0?\.\d"
        r"|\b95\s?%\s?(?:CI|confidence)|\b(?:odds|hazard|risk) ratio",
        re.I,
    ),
    re.compile(
        r"\b(?:found|showed|shown|revealed|demonstrated|observed|detected|increased|decreased|reduced|elevated|depressed|"
        r"higher|lower|improved|associated|correlated|differ(?:ed|ences?)|accounted|compared with|resulted)\b",
        re.I,
    ),
    re.compile(r"(?<![\d.,])[.,]*+\d[\d.,]*+\s?%|\b\d++\.\d++\b"),
)
_CONCLUSION = (
    re.compile(r"\b(?:we conclude|in conclusion|to conclude|taken together|in summary)\b", re.I),
    re.compile(
        r"\b(?:results?|findings?|data|study|stud(?:y|ies)|work|analys[ie]s|evidence|trial)\b[^.]{0,40}"
        r"\b(?:suggest|indicate|support|confirm|impl(?:y|ies)|highlight|provide)s?\b|\bsuggest(?:s|ing)? that\b",
        re.I,
    ),
    re.compile(r"\b(?:should|may|might|could|warrant|recommend(?:ed)?|future|further|potential)\b", re.I),
)
_CUES = {"aim": _AIM, "method": _METHOD, "result": _RESULT, "conclusion": _CONCLUSION}
_HEADINGS = {
    "aim": re.compile(r"(?:.* )?(?:objectives?|aims?|purpose|goals?|hypothes[ie]s)(?: .*)?", re.DOTALL),
    "method": re.compile(
        r"(?:patients?|materials?|participants?|subjects?|animals?|design|setting|study|data|population|methods?)\b.*"
        r"|methodology|interventions?|experimental.*|.* methods",
        re.DOTALL,
    ),
    "result": re.compile(
        r"results?|(?:main |principal |key )?findings?|(?:main )?results? .*|main outcome.*", re.DOTALL
    ),
    "conclusion": re.compile(
        r"conclusions?|interpretation|discussion|significance|conclusions? .*|.* conclusions?", re.DOTALL
    ),
}
_OTHER_WORK = re.compile(
    r"\b(?i:several|previous|earlier|many|other|some|few|recent) (?:\w+ )?(?:studies|trials|reports|authors)\b"
    r"|\[\d[\d\s,–-]*\]|\bet al\b|\([A-Z][\w-]+(?: and [A-Z][\w-]+)?,? (?:19|20)\d\d"
)
"""Signs of a sentence about other people's work, such as "[12]" or "previous studies"."""
_HEADING_CHARACTERS = 80
"""Characters of a heading that are examined."""
_LEADING_NUMBER = re.compile(r"^[\d.\s]+")
_PICKS = (("aim", 1), ("method", 2), ("result", 2), ("conclusion", 1))
"""Number of sentences to take of each role."""
_FURTHER = 1.5
"""Added to the least score of a role's second sentence."""
_FRONT_SCORE = 2.0
"""Score of a sentence at the beginning of the document."""
_OWN_HEADING_SCORE, _ABSTRACT_HEADING_SCORE = 1.5, 0.5
"""Score of a sentence under a heading of its role, and under "Abstract"."""
_OTHER_HEADING_PENALTY = 1.5
"""Subtracted from the score of a sentence under a heading of another role."""


def core(statements: Sequence[Statement], budget: int) -> list[int]:
    """Return the indices, in the document's order, of the sentences that say what a paper is about.

    The result is empty for a document without a result sentence, or with nothing but results.

    Args:
        statements: The paper's statements.
        budget: Most tokens of the summary, of which these sentences take `CORE_SHARE`.
    """
    scores = {role: [_score(statement, role) for statement in statements] for role in _CUES}
    chosen: set[int] = set()
    found_roles: set[str] = set()
    spent = 0
    for role, count in _PICKS:
        ranked = sorted(range(len(statements)), key=lambda index: (-scores[role][index], index))
        for place, index in enumerate(ranked[:count]):
            if scores[role][index] < LEAST[role] + place * _FURTHER:
                break
            # A sentence may have two roles, and is counted once.
            tokens = 0 if index in chosen else statements[index].tokens
            if spent + tokens <= CORE_SHARE * budget:
                chosen.add(index)
                found_roles.add(role)
                spent += tokens
    is_paper = "result" in found_roles and len(found_roles) > 1
    return sorted(chosen) if is_paper else []


def telling(statements: Sequence[Statement]) -> list[int]:
    """Return the indices of the sentences about the study itself, rather than about its field."""
    indices = []
    for index, statement in enumerate(statements):
        if max(_score(statement, role) for role in _CUES) >= TELLING:
            indices.append(index)
    return indices


def _score(statement: Statement, role: str) -> float:
    """Return how much a sentence's words, heading and position speak for a role; 0 if they do not, or for a table row.

    Its words have to speak for the role, unless it is in the abstract under a heading of the role.
    """
    if is_row(statement.text):
        return 0.0
    cues = _cue_score(statement.text, role)
    heading = _LEADING_NUMBER.sub("", statement.section[:_HEADING_CHARACTERS].strip().lower().rstrip(".:"))
    has_own_heading = bool(heading) and _HEADINGS[role].fullmatch(heading) is not None
    under = 0.0
    if heading in ("abstract", "summary"):
        under = _ABSTRACT_HEADING_SCORE
    elif has_own_heading:
        under = _OWN_HEADING_SCORE
    front = _FRONT_SCORE if statement.place < FRONT else 0.0
    if cues < 0 or (not cues and not (under == _OWN_HEADING_SCORE and front)):
        return 0.0
    # Aims deep in a paper belong to a step, or to other people's studies.
    if role == "aim" and statement.place > 3 * FRONT:
        return 0.0
    # Aims occur under any heading; a method under "Results" is one of many steps.
    is_misplaced = not under and role != "aim" and _has_heading_of_other_role(heading, role)
    return cues + under + front - (_OTHER_HEADING_PENALTY if is_misplaced else 0.0)


def _cue_score(text: str, role: str) -> float:
    """Return how much the words of a sentence speak for a role; below 0 if it is about other people's work."""
    cues = sum(1.0 for cue in _CUES[role] if cue.search(text))
    if role == "aim":
        cues = min(cues, 1.0)  # One sign is enough: of two aims, the first one is the abstract's.
    if role == "method" and _METHOD[0].search(text):
        cues += 1.0  # Readers first want to know who was studied.
    if role == "conclusion" and _CONCLUSION[1].search(text):
        cues += 0.5
    if _OTHER_WORK.search(text):
        cues -= 2.0
    return cues


def _has_heading_of_other_role(heading: str, role: str) -> bool:
    """Return whether a lower-cased heading is one of another role's; results and conclusions are in no introduction."""
    if not heading:
        return False
    if heading in ("background", "introduction") and role in ("result", "conclusion"):
        return True
    return any(_HEADINGS[other].fullmatch(heading) for other in _HEADINGS if other != role)
