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
from itertools import chain, pairwise

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
_QUESTION_START = re.compile(
    rf"(?:(?:in|of|for|at|on|with|from|by|to)\s+)?(?:{_QUESTION}|{_AUXILIARY}\b)", re.IGNORECASE
)
_BETWEEN_QUESTIONS = re.compile(
    rf"(?:,|(?<![\s,]))\s++(?:and|or|but)\s++(?:also\s++)?(?={_QUESTION})|;\s++(?={_QUESTION})", re.IGNORECASE
)
_PART_NUMBER = re.compile(r"(?:(?<=\s)|^)\(?(?:\d|[a-e]|i{1,3}|iv)[.)]\s+")
_PRONOUN = re.compile(r"\b(it|they|them|this|these|those|its|their)\b(?!\s+(?:that|to)\b)", re.IGNORECASE)
_ATTRIBUTE_AT_END = re.compile(
    r"\bthe (?:\w+ )?(?:symptoms?|signs?|causes?|treatments?|therap(?:y|ies)|prognosis|diagnosis|dos(?:e|es|age)"
    r"|side effects?|adverse effects?|risk factors?|risks?|complications?|mechanisms?|prevalence|incidence|functions?"
    r"|roles?|benefits?|advantages?|disadvantages?|costs?|prices?|alternatives?|indications?|contraindications?)$",
    re.IGNORECASE,
)
_CODE_OR_ABBREVIATION = re.compile(r"\d|[A-Z]{2}|[a-z][A-Z]")
_PLACEHOLDER = "\ue000"
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
_AUXILIARY_BEFORE_SUBJECT = re.compile(r"(?:do|does|did|can|could|will|would|may|might|should) ", re.IGNORECASE)
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
_GENERAL_WORDS = frozenset(
    re.findall(
        r"\w+",
        """role roles effect effects efficacy effectiveness mechanism mechanisms type types number numbers
    names definition purpose aim action ways way example examples difference differences case cases association
    study studies trial trials evidence information cause causes relation relationship selection
    available main major new current recent research""",
    )
)
"""Words that are common in questions; removed from the beginning and the end of a run."""
_ATTRIBUTES = _GENERAL_WORDS | frozenset(
    re.findall(
        r"\w+",
        """symptom symptoms sign signs warning treatment treatments therapy therapies diagnosis prognosis dose doses
    dosage duration interaction interactions response responses outcome outcomes survival risk risks factor factors
    benefit benefits side adverse event events prevalence incidence cost costs price level levels rate rates function
    functions features outlook practice clinical routine options option management
    alternative alternatives requirements year years month months week weeks day days""",
    )
)
"""Words for an attribute of a subject, such as its symptoms."""
_GROUPS_OF_PEOPLE = frozenset(
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
_MODIFIERS = _ATTRIBUTES | _GROUPS_OF_PEOPLE | _QUALITIES
_GRADE_NOUNS = frozenset({"stage", "grade", "phase", "class"})
_GRADE = re.compile(r"(?:\d+|[IVX]+|[ivx]+)[abcABC]?")
_WORDS_AFTER_HOW = frozenset(
    {"long", "much", "many", "often", "far", "old", "soon", "well", "bad", "good", "quickly", "serious"}
)
QUESTION_WORDS = _VERBS | _FILLERS | _WORDS_AFTER_HOW | {"kind", "large", "sort", "tall"}
"""Words that ask or describe the action: a document that answers "how many took part" need not contain them."""
_WORDS_BEFORE_VERB = frozenset({"it", "they", "that", "which", "you", "to"})
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
    text_with_placeholders, fixed_terms = _replace_terms(question, terms)
    phrases = []
    for run in _split_into_runs(text_with_placeholders):
        for tokens in _split_run_into_concepts(run):
            phrase = _without_genitive(" ".join(tokens))
            phrases.append(fixed_terms[int(phrase[1:])] if phrase.startswith(_PLACEHOLDER) else phrase)
    quoted = [term for term in fixed_terms if term not in phrases]
    # Of phrases that differ in case only, the first one stays.
    concepts = list({phrase.casefold(): phrase for phrase in reversed([*quoted, *phrases])}.values())[::-1]
    specific = [concept for concept in concepts if not _has_only_general_words(concept.split())]
    concepts = specific or concepts
    counts = {concept: frequency(_search_term(concept)) for concept in concepts} if frequency else {}
    known_terms = {term.casefold() for term in terms}

    def sort_key(concept: str) -> tuple[float, ...]:
        """Return the sort key of a concept; that of the most important one is the smallest."""
        rank, count = _importance_rank(concept.split(), concept in fixed_terms), counts.get(concept, 0)
        if _is_modifier(concept):
            return (1, -count)
        is_unknown_term = concept.casefold() not in known_terms
        if not counts:
            return (0, is_unknown_term, rank)
        is_not_in_library = count == 0 and rank > 0
        return (0, is_unknown_term, is_not_in_library, count, rank)

    return tuple(sorted(concepts, key=sort_key)[:MOST_CONCEPTS])


def _replace_terms(question: str, terms: Collection[str]) -> tuple[str, list[str]]:
    """Return a question with its multi-word terms replaced by placeholders with their index, and the list of these.

    The list begins with the phrases in quotation marks, which get no placeholder; modifiers stay in the question.
    """
    question = question.replace(_PLACEHOLDER, " ")
    fixed_terms = [" ".join(text.split()) for text in _QUOTED.findall(question)]
    text = _QUOTED.sub(" , ", question)
    for term in sorted((term for term in terms if " " in term), key=len, reverse=True):
        if not _is_modifier(term):
            placeholder = f" , {_PLACEHOLDER}{len(fixed_terms)} , "
            text, count = re.subn(rf"(?<!\w){re.escape(term)}(?!\w)", placeholder, text)
            if count:
                fixed_terms.append(term)
    return text, fixed_terms


def subquestions(question: str) -> tuple[str, ...]:
    """Return the questions of which a question consists, with pronouns replaced by the subject that they refer to.

    () if it has one part, too many, a part that asks nothing, or one whose subject is unknown.
    """
    introduction, parts = _split_question(" ".join(question.split()))
    parts = [part.strip(" ,;.?!") for part in parts]
    parts = [part for part in parts if part]
    if not 1 < len(parts) <= MOST_PARTS or not all(_QUESTION_START.match(part) for part in parts):
        return ()
    subject = _subject_of_part(introduction or parts[0])
    if not subject:
        return ()
    # Without an introduction, the first part names the subject itself.
    first = _with_subject(parts[0], subject) if introduction else parts[0]
    complete = [first, *(_with_subject(part, subject) for part in parts[1:])]
    if not all(_subject_of_part(part) for part in complete):
        return ()
    return tuple(f"{part[0].upper()}{part[1:]}?" for part in complete)


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
    single_terms = {term.casefold() for term in terms}
    core: list[str] = []
    modifiers: list[str] = []
    for concept in concepts:
        if search_term := _search_term(concept, one_term=concept.casefold() in single_terms):
            (modifiers if _is_modifier(concept) else core).append(search_term)
    core, modifiers = list(dict.fromkeys(core)), list(dict.fromkeys(modifiers))
    if not core:
        core, modifiers = modifiers, []
    all_terms = list(dict.fromkeys([*core, *modifiers]))
    ladder = [" AND ".join(all_terms[:count]) for count in range(len(all_terms), max(len(core), 1) - 1, -1)]
    for number in range(2, len(core) + 1):
        required, alternatives = core[:-number], " OR ".join(core[-number:])
        ladder.append(" AND ".join([*required, f"({alternatives})"]) if required else alternatives)
    return tuple(dict.fromkeys(rung for rung in ladder if rung))


def relaxed(ladder: Sequence[str], concepts: Sequence[str], terms: Collection[str] = ()) -> tuple[str, ...]:
    """Return a ladder of search expressions, completed by an OR of the concepts unless its last rung is an OR.

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
    """Return the rewrite of a standalone question by rules: its parts, key concepts and search expressions.

    `corrections` are the spelling corrections that were made, as (as written, corrected); `terms` and `frequency` are
    as in `key_concepts`.
    """
    concepts = key_concepts(question, terms=terms, frequency=frequency)
    quoted_phrases = [" ".join(text.split()) for text in _QUOTED.findall(question)]
    ladder = expressions(concepts, terms=[*quoted_phrases, *terms])
    return Rewrite(question, subquestions(question), concepts, ladder, tuple(corrections), "rules")


def _search_term(concept: str, *, one_term: bool = False) -> str:
    """Return a concept for a search expression, without the signs and operators of its syntax.

    Several words are in quotation marks if they are one term, else in parentheses.
    """
    tokens = re.sub(r"[\"“”\[\]()/:,;*]", " ", concept).split()
    text = " ".join(token.lower() if token in _OPERATORS else token for token in tokens)
    if " " not in text:
        return text
    return f'"{text}"' if one_term else f"({text})"


def _split_into_runs(text: str) -> list[list[str]]:
    """Return the runs of words between stop words, verbs, fillers and punctuation, as lists of tokens."""
    runs: list[list[str]] = [[]]
    previous = ""
    for token in _TOKEN.findall(text):
        lower = token.casefold()
        is_word = token[0].isalnum() or token[0] == _PLACEHOLDER
        is_abbreviation = token.isupper() and len(token) > 1 and not text.isupper() and token not in _OPERATORS
        # In "type I diabetes" and "stage I" the I is a number, not the user.
        is_numeral = lower == "i" and token.isupper() and previous in _GRADE_NOUNS | {"type", "factor"}
        is_content = not _is_function_word(lower, previous)
        if lower in _VERBS_OF_SUBJECTS and runs[-1] and _AUXILIARY_BEFORE_SUBJECT.match(text):
            is_content = False
        if is_word and (is_content or is_abbreviation or is_numeral):
            runs[-1].append(token)
        else:
            runs.append([])
        previous = lower
    return [run for run in runs if run]


def _is_function_word(word: str, previous: str) -> bool:
    """Return whether a word, given in lower case with the word before it, is a stop word, a verb or a filler."""
    # "what's", "I'm", "doesn't": the part before the apostrophe decides.
    stem = re.split("['’]", word)[0]
    if word in _VERBS or stem in STOP_WORDS or stem in _FILLERS or (previous == "how" and word in _WORDS_AFTER_HOW):
        return True
    # In "how to lower fever" it is a verb, in "lower back" it is not.
    return word == "lower" and previous in _WORDS_BEFORE_VERB


def _split_run_into_concepts(run: list[str]) -> list[list[str]]:
    """Return the concepts in a run of words, as lists of tokens, without predicates and general words at its ends.

    Grades ("stage 4"), qualities before a noun ("severe") and groups of people ("children") are concepts of their own;
    the other words are one. [] if nothing but predicates, numbers or single letters is left.
    """
    for index, (token, following) in enumerate(pairwise(run)):
        if token.casefold() in _GRADE_NOUNS and _GRADE.fullmatch(following):
            before, behind = run[:index], run[index + 2 :]
            return [*_split_run_into_concepts(before), [token, following], *_split_run_into_concepts(behind)]
    run = _without_predicates(run)
    if run and not _are_only_modifiers(run):
        if run[0].casefold() in _QUALITIES:
            return [run[:1], *_split_run_into_concepts(run[1:])]
        if run[-1].casefold() in _GROUPS_OF_PEOPLE:
            return [*_split_run_into_concepts(run[:-1]), run[-1:]]
    return [run] if any(not token.isdigit() and len(token) > 1 for token in run) else []


def _without_predicates(run: list[str]) -> list[str]:
    """Return a run without predicates ("safe") and general words ("effect") at its ends; [] for a predicate alone."""
    while run[1:] and run[-1].casefold() in _PREDICATES:
        run = run[:-1]
    while run[1:] and _has_only_general_words(run[-1:]) and not _are_only_modifiers(run[:-1]):
        run = run[:-1]
    if len(run) == 1 and run[0].casefold() in _PREDICATES:
        return []
    while run[1:] and not _GRADE.fullmatch(run[1]):
        if not (_has_only_general_words(run[:1]) or run[0].casefold() in _JUDGEMENTS):
            break
        run = run[1:]
    return run


def _without_genitive(phrase: str) -> str:
    """Return a phrase without the possessive ending of its owner: "golodirsen's mechanism" gives "mechanism"."""
    return re.sub("['’]s$", "", phrase)


def _casefolded(run: Sequence[str]) -> list[str]:
    """Return tokens in lower case."""
    return [token.casefold() for token in run]


def _has_only_general_words(run: Sequence[str]) -> bool:
    """Return whether a run consists only of general words, such as "study" or "effect"."""
    return set(_casefolded(run)) <= _GENERAL_WORDS


def _are_only_modifiers(run: Sequence[str]) -> bool:
    """Return whether words are modifiers, perhaps with numbers beside them: "65 year old"; False for numbers alone."""
    without_numbers = {token for token in _casefolded(run) if not token.isdigit()}
    return bool(without_numbers) and without_numbers <= _MODIFIERS


def _is_modifier(concept: str) -> bool:
    """Return whether a concept narrows another one down: whom, how severe ("stage 4"), which aspect."""
    tokens = concept.split()
    is_grade = len(tokens) == 2 and tokens[0].casefold() in _GRADE_NOUNS and _GRADE.fullmatch(tokens[1]) is not None
    return is_grade or _are_only_modifiers(tokens)


def _importance_rank(phrase: Sequence[str], quoted: bool) -> int:
    """Return the rank of a phrase: 0 for quoted ones, codes, names and drugs, 1 for several words, else 2.

    `quoted` tells whether it is in quotation marks, or a known term of several words.
    """
    if quoted or any(_CODE_OR_ABBREVIATION.search(token) or token[0].isupper() or _is_drug(token) for token in phrase):
        return 0
    return 1 if len(phrase) > 1 else 2


def _is_drug(token: str) -> bool:
    """Return whether a word is the name of a drug; short words have such endings too often by chance ("genes")."""
    return len(token) >= SHORTEST_DRUG and DRUG.search(token.casefold()) is not None


def _split_question(question: str) -> tuple[str, list[str]]:
    """Return a question's introduction and its parts: numbered, each with a question mark, or joined by "and how".

    Only numbered parts, "About asthma: 1. … 2. …", have an introduction; it is "" for others.
    """
    introduction, *numbered = _PART_NUMBER.split(question)
    if len(numbered) > 1:
        parts = [re.sub(r"(?<!\s)\s++and\s*+$", "", part.strip(" ,;")) for part in numbered]
        return introduction.strip(" :,-"), parts
    sentences = [part for part in question.split("?") if part.strip(" .!\"'”)")]
    return "", list(chain.from_iterable(map(_BETWEEN_QUESTIONS.split, sentences)))


def _subject_of_part(part: str) -> str:
    """Return the subject of a part of a question: the first concept that is no attribute ("symptoms"), or ""."""
    concepts = key_concepts(part)
    return next((concept for concept in concepts if not set(concept.casefold().split()) <= _ATTRIBUTES), "")


def _with_subject(part: str, subject: str) -> str:
    """Return a part of a question with its subject in place of its first pronoun.

    Without a pronoun, it is appended to an attribute at the end: "what are the symptoms of asthma".
    """

    def subject_for(match: re.Match[str]) -> str:
        """Return the subject, in the possessive if the matched pronoun is."""
        if match[1].casefold() in {"its", "their"}:
            return f"{subject}'" if subject.endswith("s") else f"{subject}'s"
        return subject

    replaced = _PRONOUN.sub(subject_for, part, count=1)
    if replaced == part and _ATTRIBUTE_AT_END.search(part):
        return f"{part} of {subject}"
    return replaced
