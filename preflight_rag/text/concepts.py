"""A question's key concepts, its parts, and its ladder of search expressions, by rules (CPQA, section III.B).

Without a language model or tagger: concepts are the runs of words between stop words, verbs, words about the user, and
punctuation. A concept is core (the subject) or a modifier (whom, how severe, since when); a ladder drops modifiers and
never a core concept. The lists of words were written for lay and expert questions like those of MedQuAD and BioASQ;
`tests/ladder_questions.tsv` has eighty with the required content of each ladder. The rules for parts are few and
certain; a question that fits none of them has one part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import chain

from preflight_rag.state.reading import Rewrite
from preflight_rag.text.boolean import Operation, parse
from preflight_rag.text.drugs import DRUG
from preflight_rag.text.words import STOP_WORDS

MOST_CONCEPTS = 6
"""Most concepts of one question; a guess."""
MOST_PARTS = 4
"""Most parts of one question; with more it is not split. A guess."""
SHORTEST_DRUG = 7
"""Least letters of a word that counts as a drug by its ending; a guess."""

Frequency = Callable[[str], int]
"""Returns, for a search expression, how many passages of the library match it."""

_TOKEN = re.compile(r"\ue000\d+|[^\W_]+(?:[-‐'’./+][^\W_]+)*\+?|[^\w\s]")
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,80})[\"”»]")
_AUXILIARY = r"(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|may|might|must)"
_QUESTION = (
    r"(?:(?:what|which|who|whose|whom)\b"
    rf"|(?:how|why|when|where)\s++(?:(?:much|many|often|long|well|far)|{_AUXILIARY})\b)"
)
_ASKS = re.compile(rf"(?:(?:in|of|for|at|on|with|from|by|to)\s+)?(?:{_QUESTION}|{_AUXILIARY}\b)", re.IGNORECASE)
_AND_ASKS = re.compile(
    rf"(?:,|(?<![\s,]))\s++(?:and|or|but)\s++(?:also\s++)?(?={_QUESTION})|;\s++(?={_QUESTION})", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?:(?<=\s)|^)\(?(?:\d|[a-e]|i{1,3}|iv)[.)]\s+")
_POINTER = re.compile(r"\b(it|they|them|this|these|those|its|their)\b(?!\s+(?:that|to)\b)", re.IGNORECASE)
_INCOMPLETE = re.compile(
    r"\bthe (?:\w+ )?(?:symptoms?|signs?|causes?|treatments?|therap(?:y|ies)|prognosis|diagnosis|dos(?:e|es|age)"
    r"|side effects?|adverse effects?|risk factors?|risks?|complications?|mechanisms?|prevalence|incidence|functions?"
    r"|roles?|benefits?|advantages?|disadvantages?|costs?|prices?|alternatives?|indications?|contraindications?)$",
    re.IGNORECASE,
)
_CODE = re.compile(r"\d|[A-Z]{2}|[a-z][A-Z]")
_MARK = "\ue000"
"""Replaces, with a number, a multi-word term while the rest of the question is split."""

_VERBS = frozenset(
    re.findall(
        r"\w+",
        """achieve achieved achieves affect affects affected affecting appear appears approved assess assessed associate
    associated based become becomes been belong belongs bind binds block blocks bring carry cause caused causes
    causing change changes characterise characterised characterize characterized compare compared compares confer
    connected consider considered contain contained contains contribute contributes control controls correlate
    correlated correlates decrease decreased decreases decreasing define defined demonstrate demonstrated depend
    depends describe described detect detected detects determine determined determines differentiate develop
    developed diagnose diagnosed differ differs discovered encode encoded encodes enhance enhances evaluate
    evaluated exist exists explain explained express expressed expresses find focus found gets give given gives
    happen happens help helps helped helping identify identified implicated improve improved improves improving
    include included includes including increase increased increases increasing indicate indicated indicates induce
    induced induces influence influences inhibit inhibited inhibits interact interacts investigated involve
    involved involves involving lead leads led link linked list lowers lowered made make makes making mean means
    measure measured mediate mediated mediates mentioned name named need needs needed observed occur occurred
    occurs play played plays predict predicted predicts present prevent prevented prevents preventing produce
    produced produces promote promotes protect protects provide provides recommend recommended reduce reduced
    reduces reducing regulate regulated regulates relate related relates report reported require required requires
    result results show showed shown shows stimulate stimulates suggest suggested suggests support supports target
    targeted targets treat treated treating treats trigger triggers undergo use used uses using work works worked
    working

    am ask asked asking ate avoid avoids avoided avoiding came come comes coming cure cured cures drink drinks
    drank eat eats eaten ends feeds fed feel feels feeling felt fix get getting goes going gone got happened hear
    heard hurts keep keeps keeping kept know knows known learn let lets like look looking looks lose loses losing
    lost put puts read saw say says said see seem seems seen spread spreads start starts started starting stay stop
    stops stopped suffer suffers suffering take taken takes taking took talk tell tells think thinks told tried try
    trying slows delays eases relieve relieves relieved reverses shorten shortens worsen worsens worsened raises boosts
    understand want wants wanted wonder wondering worried worry worrying went""",
    )
)
"""Verbs of questions, without forms that are nouns as often: "smoking", "drinking", "test", "live"."""
_VERBS_OF_SUBJECTS = frozenset({"slow", "delay", "ease", "reverse", "raise", "boost"})
"""Words that are verbs after a subject ("does metformin slow ageing"), else adjectives or nouns ("slow heart rate")."""
_DOES = re.compile(r"(?:do|does|did|can|could|will|would|may|might|should) ", re.IGNORECASE)
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        """according across actually already also always among around besides containing less anybody anyone anything
    called currently dad daddy daughter different due ever everybody everyone everything exactly father friend
    friends grandma grandpa hello hi husband instead just kind lack lacks maybe mom mother much mum many often one
    optimal per perhaps please possible possibly quickly rather really rid simply sister brother sometimes somebody
    someone something son st sure thank thanks thing things together towards two usually versus via vs wanna
    whether wife within without between yet""",
    )
)
"""Words about the user, of courtesy and of degree, which are not a subject."""
_PREDICATES = frozenset(
    re.findall(
        r"[\w-]+",
        """bad best better beneficial common contagious cost-effective curable dangerous deadly doctor doctors effective
    efficacious enough equal false fine good harmful healthy helpful heritable higher important inferior
    hereditary inheritable inherited incurable painful permanent preventable reversible treatable
    likely long lower more necessary normal ok okay
    right safe similar sufficient superior true unsafe useful worse worst wrong""",
    )
)
"""Predicates that follow a noun ("are statins safe"); before a noun they are part of a name ("lower back")."""
_JUDGEMENTS = _PREDICATES - {"lower", "higher", "long", "hereditary", "painful", "permanent", "reversible"}
_GENERAL = frozenset(
    re.findall(
        r"\w+",
        """role roles effect effects efficacy effectiveness mechanism mechanisms type types number numbers
    names definition purpose aim action ways way example examples difference differences case cases association
    study studies trial trials evidence information cause causes relation relationship selection
    available main major new current recent research""",
    )
)
"""Words that are common in questions; removed from the beginning and the end of a run."""
_DEPENDENT = _GENERAL | frozenset(
    re.findall(
        r"\w+",
        """symptom symptoms sign signs warning treatment treatments therapy therapies diagnosis prognosis dose doses
    dosage duration interaction interactions response responses outcome outcomes survival risk risks factor factors
    benefit benefits side adverse event events prevalence incidence cost costs price level levels rate rates function
    functions features outlook practice clinical routine options option management
    alternative alternatives requirements year years month months week weeks day days""",
    )
)
"""Words for an attribute of something else, such as its symptoms."""
_GROUPS = frozenset(
    re.findall(
        r"\w+",
        """patient patients people person women woman men man child children kids infants infant babies baby newborns
    adolescents teenagers adults adult elderly seniors smokers survivors individuals subjects population populations""",
    )
)
_QUALITIES = frozenset(
    re.findall(
        r"[\w-]+",
        """older old young younger aged middle-aged pregnant pediatric paediatric geriatric male female healthy heavy
    obese early late early-stage late-stage early-onset late-onset new-onset advanced metastatic recurrent relapsed
    relapsing refractory resected unresectable resectable localized localised severe mild moderate adjuvant neoadjuvant
    oral intravenous intrathecal subcutaneous intramuscular topical daily weekly long-term short-term newly
    winter summer autumn""",
    )
)
"""Qualities (severity, duration, route) that narrow a concept down if they precede it; without "acute", "chronic" and
"primary", which are part of many names of diseases."""
_MODIFIERS = _DEPENDENT | _GROUPS | _QUALITIES
_GRADED = frozenset({"stage", "grade", "phase", "class"})
_GRADE = re.compile(r"(?:\d+|[IVX]+|[ivx]+)[abcABC]?")
_HOW = frozenset({"long", "much", "many", "often", "far", "old", "soon", "well", "bad", "good", "quickly", "serious"})
QUESTION_WORDS = _VERBS | _FILLERS | _HOW | {"kind", "large", "sort", "tall"}
"""Words that ask or describe the action: a document that answers "how many took part" need not contain them."""
_AGENTS = frozenset({"it", "they", "that", "which", "you", "to"})
_OPERATORS = frozenset({"AND", "OR", "NOT"})


def key_concepts(question: str, *, terms: Collection[str] = (), frequency: Frequency | None = None) -> tuple[str, ...]:
    """Return the content phrases of a question as written, most important first: core concepts, then modifiers.

    Core concepts in a thesaurus come first, then names (also of drugs) and codes, phrases of several words, and single
    words. With the library's frequencies the rarer of two core concepts comes first, but one that the library does not
    contain comes last; of modifiers the more frequent comes first, so that the rarest is dropped first. A word common
    in questions ("role", "effect") is a concept only if there is no other.

    Args:
        question: The question.
        terms: Multi-word terms in the question, such as `Mesh.stretches` finds.
        frequency: Returns how many passages of the library match an expression.
    """
    rest, whole = _without_terms(question, terms)
    phrases = []
    for run in _runs(rest):
        for phrase in _phrases(run):
            phrases.append(_without_genitive(" ".join(phrase)))
    found = [whole[int(phrase[1:])] if phrase.startswith(_MARK) else phrase for phrase in phrases]
    everything = [*(text for text in whole if text not in found), *found]
    concepts = list({text.casefold(): text for text in reversed(everything)}.values())[::-1]
    if any(not _is_general(text.split()) for text in concepts):
        concepts = [text for text in concepts if not _is_general(text.split())]
    counts = {text: frequency(_term(text)) for text in concepts} if frequency else {}
    known = {term.casefold() for term in terms}

    def importance(text: str) -> tuple[float, ...]:
        """Return the sort key of a phrase; the smallest is the most important."""
        rank, count = _rank(text.split(), text in whole), counts.get(text, 0)
        if _is_modifier(text):
            return (1, -count)
        named = text.casefold() in known
        if not counts:
            return (0, not named, rank)
        return (0, not named, count == 0 and rank > 0, count, rank)

    return tuple(sorted(concepts, key=importance)[:MOST_CONCEPTS])


def _without_terms(question: str, terms: Collection[str]) -> tuple[str, list[str]]:
    """Return the question with placeholders for multi-word terms, and the terms; quoted phrases come first."""
    question = question.replace(_MARK, " ")
    whole = [" ".join(text.split()) for text in _QUOTED.findall(question)]
    rest = _QUOTED.sub(" , ", question)
    for term in sorted((term for term in terms if " " in term), key=len, reverse=True):
        if not _is_modifier(term):
            rest, count = re.subn(rf"(?<!\w){re.escape(term)}(?!\w)", f" , {_MARK}{len(whole)} , ", rest)
            whole += [term] * bool(count)
    return rest, whole


def subquestions(question: str) -> tuple[str, ...]:
    """Return the parts of a question, with pronouns replaced by the subject that they refer to.

    Empty if there is one part.
    """
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


def expressions(concepts: Sequence[str], *, terms: Collection[str] = ()) -> tuple[str, ...]:
    """Return Boolean expressions in PubMed's syntax, most specific first, the last an OR of the core concepts.

    First an AND of all concepts; then without the modifiers, dropped one after another from the last; then with OR
    instead of AND between the core concepts, beginning with the least important. So every rung finds at least what the
    one above it finds, and no core concept is dropped. A concept of several words is in parentheses, so that PubMed
    maps it to a known term; only if it is certainly one term, it is in quotation marks, which switch that off. It is
    never split into its words.

    Args:
        concepts: Most important first.
        terms: Those concepts that are one term, according to a thesaurus, a model or the question's own quotation
            marks.
    """
    single = {term.casefold() for term in terms}
    written = {text: _term(text, one_term=text.casefold() in single) for text in concepts}
    core = list(dict.fromkeys(written[text] for text in concepts if written[text] and not _is_modifier(text)))
    modifiers = [written[text] for text in concepts if written[text] and _is_modifier(text)]
    if not core:
        core, modifiers = list(dict.fromkeys(modifiers)), []
    every = list(dict.fromkeys([*core, *modifiers]))
    ladder = [" AND ".join(every[:count]) for count in range(len(every), max(len(core), 1) - 1, -1)]
    for alternatives in range(2, len(core) + 1):
        either = " OR ".join(core[-alternatives:])
        needed = core[:-alternatives]
        ladder.append(" AND ".join([*needed, f"({either})"]) if needed else either)
    return tuple(dict.fromkeys(rung for rung in ladder if rung))


def relaxed(ladder: Sequence[str], concepts: Sequence[str], terms: Collection[str] = ()) -> tuple[str, ...]:
    """Return a given ladder, completed by an OR of the concepts unless its last rung is one.

    Raises:
        UsageError: The last rung cannot be read.
    """
    last = parse(ladder[-1]) if ladder else None
    if isinstance(last, Operation) and last.operator == "OR":
        return tuple(ladder)
    return tuple(dict.fromkeys([*ladder, *expressions(concepts, terms=terms)[-1:]]))


def rewrite_by_rules(
    question: str,
    *,
    corrections: Sequence[tuple[str, str]] = (),
    terms: Collection[str] = (),
    frequency: Frequency | None = None,
) -> Rewrite:
    """Return the rewrite of a standalone question by rules.

    `terms` and `frequency` as in `key_concepts`.
    """
    concepts = key_concepts(question, terms=terms, frequency=frequency)
    single = [*(" ".join(text.split()) for text in _QUOTED.findall(question)), *terms]
    ladder = expressions(concepts, terms=single)
    return Rewrite(question, subquestions(question), concepts, ladder, tuple(corrections), "rules")


def _term(concept: str, *, one_term: bool = False) -> str:
    """Return a concept for an expression: in quotation marks if it is one term, else with its words in parentheses."""
    text = " ".join(re.sub(r"[\"“”\[\]()/:,;*]", " ", concept).split())
    text = " ".join(word.lower() if word in _OPERATORS else word for word in text.split())
    return text if " " not in text else f'"{text}"' if one_term else f"({text})"


def _runs(text: str) -> list[list[str]]:
    """Return the runs of words between stop words, verbs, fillers and punctuation."""
    runs: list[list[str]] = [[]]
    before = ""
    for token in _TOKEN.findall(text):
        lower = token.casefold()
        capital = token.isupper() and len(token) > 1 and not text.isupper() and token not in _OPERATORS
        # "what's", "I'm", "doesn't": the part before the apostrophe decides.
        stem = re.split("['’]", lower)[0]
        no_subject = lower in _VERBS or stem in STOP_WORDS or stem in _FILLERS or (before == "how" and lower in _HOW)
        # In "how to lower fever" it is a verb, in "lower back" not.
        no_subject = no_subject or (lower == "lower" and before in _AGENTS)
        no_subject = no_subject or (lower in _VERBS_OF_SUBJECTS and bool(runs[-1]) and _DOES.match(text) is not None)
        # In "type I diabetes" and "stage I" the I is a number, not the user.
        numeral = lower == "i" and token.isupper() and before in _GRADED | {"type", "factor"}
        if not (token[0].isalnum() or token[0] == _MARK) or (no_subject and not (capital or numeral)):
            runs.append([])
        else:
            runs[-1].append(token)
        before = lower
    return [run for run in runs if run]


def _phrases(run: list[str]) -> list[list[str]]:
    """Return the concepts of a run: grades ("stage 4"), qualities before a noun, the noun phrase, its complement."""
    for at, token in enumerate(run[:-1]):
        if token.casefold() in _GRADED and _GRADE.fullmatch(run[at + 1]):
            return [*_phrases(run[:at]), run[at : at + 2], *_phrases(run[at + 2 :])]
    while run[1:] and run[-1].casefold() in _PREDICATES:
        run = run[:-1]
    while run[1:] and _is_general(run[-1:]) and not _only_modifiers(run[:-1]):
        run = run[:-1]
    if len(run) == 1 and run[0].casefold() in _PREDICATES:
        return []
    while run[1:] and not _GRADE.fullmatch(run[1]) and (_is_general(run[:1]) or run[0].casefold() in _JUDGEMENTS):
        run = run[1:]
    if not run or _only_modifiers(run):
        return [run] if any(not token.isdigit() and len(token) > 1 for token in run) else []
    if run[0].casefold() in _QUALITIES:
        return [run[:1], *_phrases(run[1:])]
    if run[-1].casefold() in _GROUPS:
        return [*_phrases(run[:-1]), run[-1:]]
    return [run] if any(not token.isdigit() and len(token) > 1 for token in run) else []


def _without_genitive(phrase: str) -> str:
    """Return a phrase without the possessive ending of its owner: "golodirsen's mechanism" gives "mechanism"."""
    return re.sub("['’]s$", "", phrase)


def _folded(run: Sequence[str]) -> list[str]:
    """Return the tokens of a text in lower case."""
    return [token.casefold() for token in run]


def _is_general(run: Sequence[str]) -> bool:
    """Return whether a run consists only of general words, such as "study" or "effect"."""
    return set(_folded(run)) <= _GENERAL


def _only_modifiers(run: Sequence[str]) -> bool:
    """Return whether words are only modifiers, including numbers beside them: "65 year old"."""
    named = {token for token in _folded(run) if not token.isdigit()}
    return bool(named) and named <= _MODIFIERS


def _is_modifier(concept: str) -> bool:
    """Return whether a concept narrows another one down: whom, how severe, which aspect."""
    tokens = concept.split()
    graded = len(tokens) == 2 and tokens[0].casefold() in _GRADED and _GRADE.fullmatch(tokens[1])
    return bool(graded) or _only_modifiers(tokens)


def _rank(phrase: Sequence[str], quoted: bool) -> int:
    """Return the importance of a phrase: 0 for quoted ones, codes, names and drugs, 1 for several words, else 2."""
    if quoted or any(_CODE.search(token) or token[0].isupper() or _is_drug(token) for token in phrase):
        return 0
    return 1 if len(phrase) > 1 else 2


def _is_drug(token: str) -> bool:
    """Return whether a word is the name of a drug; short words have such endings too often by chance ("genes")."""
    return len(token) >= SHORTEST_DRUG and DRUG.search(token.casefold()) is not None


def _parts(question: str) -> tuple[str, list[str]]:
    """Return a question's introduction and its parts: numbered, each with a question mark, or joined by "and how"."""
    numbered = _NUMBERED.split(question)
    if len(numbered) > 2:
        return numbered[0].strip(" :,-"), [
            re.sub(r"(?<!\s)\s++and\s*+$", "", part.strip(" ,;")) for part in numbered[1:]
        ]
    sentences = [part for part in question.split("?") if part.strip(" .!\"'”)")]
    parts = list(chain.from_iterable(map(_AND_ASKS.split, sentences)))
    return "", parts


def _subject(part: str) -> str:
    """Return the subject of a part: its first concept that is not an attribute of another, such as its symptoms."""
    concepts = key_concepts(part)
    return next((text for text in concepts if not set(text.casefold().split()) <= _DEPENDENT), "")


def _with_subject(part: str, subject: str) -> str:
    """Return a part with the subject in place of its pronoun, or appended to a part that lacks it."""

    def named(match: re.Match[str]) -> str:
        """Return the subject, in the possessive if the matched pronoun is."""
        if match[1].casefold() in {"its", "their"}:
            return f"{subject}'" if subject.endswith("s") else f"{subject}'s"
        return subject

    replaced = _POINTER.sub(named, part, count=1)
    if replaced == part and _INCOMPLETE.search(part):
        return f"{part} of {subject}"
    return replaced
