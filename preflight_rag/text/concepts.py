"""A question's key concepts, its parts, and its ladder of search expressions, by rules (CPQA, section III.B).

No language model and no tagger: concepts are the stretches of words between stop words, verbs of questions and
punctuation. The rules for parts are few and sure; a question that none of them fits has one part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Rewrite
from preflight_rag.text.words import STOP_WORDS

MOST_CONCEPTS = 6
"""Concepts of one question; a guess."""
MOST_PARTS = 4
"""Parts of one question; what has more is not taken apart. A guess."""
LONGEST_CONCEPT = 4
"""Words of one concept; longer runs are cut in two. A guess."""

_TOKEN = re.compile(r"[^\W_]+(?:[-‐'’./+][^\W_]+)*\+?|[^\w\s]")
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,80})[\"”»]")
_AUXILIARY = r"(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|may|might|must)"
_QUESTION = (
    r"(?:(?:what|which|who|whose|whom)\b"
    rf"|(?:how|why|when|where)\s+(?:(?:much|many|often|long|well|far)|{_AUXILIARY})\b)"
)
_ASKS = re.compile(rf"(?:(?:in|of|for|at|on|with|from|by|to)\s+)?(?:{_QUESTION}|{_AUXILIARY}\b)", re.IGNORECASE)
_AND_ASKS = re.compile(rf",?\s+(?:and|or|but)\s+(?:also\s+)?(?={_QUESTION})|;\s+(?={_QUESTION})", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:(?<=\s)|^)\(?(?:\d|[a-e]|i{1,3}|iv)[.)]\s+")
_POINTER = re.compile(r"\b(it|they|them|this|these|those|its|their)\b(?!\s+(?:that|to)\b)", re.IGNORECASE)
_INCOMPLETE = re.compile(
    r"\bthe (?:\w+ )?(?:symptoms?|signs?|causes?|treatments?|therap(?:y|ies)|prognosis|diagnosis|dos(?:e|es|age)"
    r"|side effects?|adverse effects?|risk factors?|risks?|complications?|mechanisms?|prevalence|incidence|functions?"
    r"|roles?|benefits?|advantages?|disadvantages?|costs?|prices?|alternatives?|indications?|contraindications?)$",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?=.*\d)|[A-Z]{2}|[a-z][A-Z]")

_VERBS = frozenset(
    re.findall(
        r"\w+",
        """affect affects affected affecting associate associated association based become becomes been belong belongs
    bind binds block blocks bring cause caused causes causing change changes characterise characterised characterize
    characterized compare compared compares confer connected consider considered contain contained contains contribute
    contributes control controls correlate correlated correlates decrease decreased decreases decreasing define defined
    depend depends describe described determine determined determines develop developed differ differs discovered
    encode encoded encodes enhance enhances exist exists explain explained express expressed expresses find focus found
    gets give given gives happen happens help helps implicated improve improved improves include included includes
    including increase increased increases increasing indicate indicated indicates induce induced induces influence
    influences inhibit inhibited inhibits interact interacts involve involved involves involving know known lead leads
    led link linked list made make makes mean means measured mediate mediated mediates name named need needs observed
    occur occurred occurs play played plays predict predicts present prevent prevented prevents produce produced
    produces
    promote promotes protect protects provide provides reduce reduced reduces reducing regulate regulated regulates
    relate related relates report reported require required requires result results show showed shown shows stimulate
    stimulates suggest suggests support supports take taken takes target targeted targets tell treat treated treating
    treats trigger triggers undergo used uses using use work works please thank thanks many much often usually
    currently ever exactly possible possibly also two different called one vs versus per among within without between
    across towards via whether due according safe effective efficacious
    useful necessary important lack lacks""",
    )
)
_GENERAL = frozenset(
    re.findall(
        r"\w+",
        """role roles effect effects mechanism mechanisms function functions type types kind kinds list number numbers
    name names definition purpose use uses way ways example examples difference differences thing things case cases
    study studies evidence information result results cause causes relation relationship
    available main major common new current recent best good high low level levels rate rates""",
    )
)
_DEPENDENT = _GENERAL | frozenset(
    re.findall(
        r"\w+",
        """symptom symptoms sign signs treatment treatments therapy therapies diagnosis prognosis dose doses dosage risk
    risks benefit benefits side adverse prevalence incidence cost costs price patient patients people person""",
    )
)


def key_concepts(question: str) -> tuple[str, ...]:
    """Content phrases as they are written in the question, most important first.

    Quoted phrases come first, then names and codes, then other phrases, those of several words before single ones, and
    last what questions are full of ("role", "patients"); within each in the order of the question.
    """
    quoted = [" ".join(text.split()) for text in _QUOTED.findall(question)]
    phrases = [phrase for run in _runs(_QUOTED.sub(" , ", question)) for phrase in _phrases(run)]
    ranked = sorted(range(len(phrases)), key=lambda i: (_rank(phrases[i]), i))
    found = dict.fromkeys([*quoted, *(" ".join(phrases[i]) for i in ranked)])
    return tuple({concept.casefold(): concept for concept in reversed(found)}.values())[::-1][:MOST_CONCEPTS]


def subquestions(question: str) -> tuple[str, ...]:
    """The parts of a question, each with the subject that it points back to put in; empty where there is one part."""
    lead, parts = _parts(" ".join(question.split()))
    parts = [part.strip(" ,;.?!") for part in parts]
    parts = [part for part in parts if part]
    if not 1 < len(parts) <= MOST_PARTS or not all(_ASKS.match(part) for part in parts):
        return ()
    subject = _subject(lead) if lead else _subject(parts[0])
    if not subject:
        return ()
    whole = [_with_subject(part, subject) if at or lead else part for at, part in enumerate(parts)]
    if not all(_subject(part) for part in whole):
        return ()
    return tuple(f"{part[0].upper()}{part[1:]}?" for part in whole)


def expressions(concepts: Sequence[str]) -> tuple[str, ...]:
    """Boolean expressions in PubMed's syntax: AND of all concepts, then without the last, and so on, then OR of all."""
    terms = [term for concept in concepts if (term := _term(concept))]
    if not terms:
        return ()
    ladder = [" AND ".join(terms[:count]) for count in range(len(terms), 0, -1)]
    return tuple(dict.fromkeys([*ladder, " OR ".join(terms)]))


def rewrite_by_rules(question: str, *, corrections: Sequence[tuple[str, str]] = ()) -> Rewrite:
    """What rules make of a question that stands on its own."""
    concepts = key_concepts(question)
    return Rewrite(question, subquestions(question), concepts, expressions(concepts), tuple(corrections), "rules")


def _term(concept: str) -> str:
    """A concept as a term: a phrase in quotation marks where it has several words or a sign that has a meaning."""
    text = " ".join(re.sub(r"[\"“”\[\]]", " ", concept).split())
    plain = re.fullmatch(r"[^\W_]+(?:-[^\W_]+)*", text) and text not in {"AND", "OR", "NOT"}
    return text if plain or not text else f'"{text}"'


def _runs(text: str) -> list[list[str]]:
    """Stretches of words between stop words, verbs and punctuation."""
    runs: list[list[str]] = [[]]
    for token in _TOKEN.findall(text):
        lower = token.casefold()
        capital = token.isupper() and len(token) > 1 and not text.isupper()
        if not token[0].isalnum() or ((lower in STOP_WORDS or lower in _VERBS) and not capital):
            runs.append([])
        else:
            runs[-1].append(token)
    return [run for run in runs if run]


def _phrases(run: list[str]) -> list[list[str]]:
    """A run without the general words at its beginning, cut where it is too long for one concept."""
    while _is_general(run[:1]) and run[1:] and not run[1].isdigit():
        run = run[1:]
    while _is_general(run[-1:]) and not set(_folded(run[:-1])) <= _DEPENDENT:
        run = run[:-1]
    if len(run) <= LONGEST_CONCEPT:
        return [run] if any(len(token) > 1 for token in run) else []
    middle = (len(run) + 1) // 2
    return [*_phrases(run[:middle]), *_phrases(run[middle:])]


def _folded(run: Sequence[str]) -> list[str]:
    return [token.casefold() for token in run]


def _is_general(run: Sequence[str]) -> bool:
    return set(_folded(run)) <= _GENERAL


def _rank(phrase: list[str]) -> int:
    if set(_folded(phrase)) <= _DEPENDENT:
        return 4 if _is_general(phrase) else 3
    if any(_CODE.search(token) or token[0].isupper() for token in phrase):
        return 0
    return 1 if len(phrase) > 1 else 2


def _parts(question: str) -> tuple[str, list[str]]:
    """What stands before the parts, and the parts: numbered, each with a question mark, or joined by "and how"."""
    numbered = _NUMBERED.split(question)
    if len(numbered) > 2:
        return numbered[0].strip(" :,-"), [re.sub(r"\s+and\s*$", "", part.strip(" ,;")) for part in numbered[1:]]
    sentences = [part for part in question.split("?") if part.strip(" .!\"'”)")]
    parts = [part for sentence in sentences for part in _AND_ASKS.split(sentence)]
    return "", parts


def _subject(part: str) -> str:
    """What a part is about: its first concept that is not one thing of another, such as its symptoms."""
    concepts = key_concepts(part)
    return next((text for text in concepts if not set(text.casefold().split()) <= _DEPENDENT), "")


def _with_subject(part: str, subject: str) -> str:
    """A part in which the subject stands where a pronoun points to it, or behind what lacks it."""

    def named(match: re.Match[str]) -> str:
        if match[1].casefold() in {"its", "their"}:
            return f"{subject}'" if subject.endswith("s") else f"{subject}'s"
        return subject

    replaced = _POINTER.sub(named, part, count=1)
    if replaced == part and _INCOMPLETE.search(part):
        return f"{part} of {subject}"
    return replaced
