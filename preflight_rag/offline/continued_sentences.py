"""Quotes with the sentence that goes on about the same thing.

"Fourteen parking spaces will be built behind hall 3. They will not be ready before September." answers "When will the
parking spaces be ready?" with its two sentences alone: the one has the subject, the other the rest of the question.
By rule, in English.
"""

from __future__ import annotations

import re

from preflight_rag.offline.evidence import says_of_kind
from preflight_rag.offline.found_answers import has_figure
from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.other_things import NO_SUBJECT, subject_words
from preflight_rag.text.question_forms import asks_why, form_of, may_answer
from preflight_rag.text.remedies import asks_remedy, gives_remedy
from preflight_rag.text.sentences import ITEM_MARK, Span, sentence_spans
from preflight_rag.text.values import asked_kind
from preflight_rag.text.words import STOP_WORDS, words_by_token

LONGEST = 400
"""Characters of a quote of two sentences, at most; a guess."""
LONGEST_STEPS = 800
"""Characters of all steps of a list, at most; a guess."""
LEAST_MISSING = 2
"""Words of a question that a quote lacks, and a sentence beside it without a pronoun has; a guess."""
_POINTS_BACK = re.compile(r"(?:it|its|they|their|he|his|she|her|this|these|those|both)\b", re.IGNORECASE)
_NAMES_NOTHING = re.compile(
    r"(?:it|this) (?:can be|is|may be|seems|takes|took|was|will be|would be)(?: not)?(?: \w+ly)? (?:\w+ )?"
    r"(?:advisable|for|if|likely|possible|recommended|that|to|whether)\b",
    re.IGNORECASE,
)
"""Beginnings of sentences whose pronoun stands for what follows: "It is forbidden to fish here."."""
_LISTS = re.compile(
    r"(?:typical|common|usual|possible|default|examples?|for (?:example|instance)|e\.g\.)(?!\w)", re.IGNORECASE
)
"""Beginnings of sentences that give examples: "Typical values are"."""
_INLINE_ITEM = re.compile(r"(?<!\S)[*•] (?=\S)")
"""A sign between the items of a list that a loader has put on one line: "Values are * Tin - 0.2 * Lead - 0.1"."""
MOST_BEHIND = 6
"""Sentences behind what goes wrong among which a remedy is looked for; a guess."""
MOST_OF_REMEDY = 3
"""Sentences of a remedy that are shown; a guess."""
_BREAK = re.compile(r"\n\s*\n|\n[#|*-]")
_ASKS_NAME = re.compile(r"(?:which|who|what (?!(?:are|did|do|does|is|was|were)\b))", re.IGNORECASE)
_LABELLED = re.compile(r"[^\W\d_][^\n.:;!?]{2,60}: \S")
"""A line that begins with what it is about: "Skerrow 2 (1931): built of oak."."""
_HEADING_MARKS = re.compile(r"#{1,6}[ \t]+")
_BOUND = re.compile(
    r"\b(?:defaults?|maximum|minimum|limit(?:ed)?|at most|at least|usually|recommended)\b", re.IGNORECASE
)
"""Words of a sentence that gives the value of what the sentence before describes."""
_REPORTED_QUESTION = re.compile(
    r"\b(?:asked|wondered|enquired|inquired|wanted to know) (?:(?:him|her|them|us|it|the \w+) )?"
    r"(?:why|whether|if|how|when|where|what|who)\b",
    re.IGNORECASE,
)
"""Of a sentence that reports a question, so that the next one reports its answer."""


_REFUSES = re.compile(
    r"\b(?:may|must|shall|should|can|do|does|are|is) not\b|\bcannot\b|n['’]t\b"
    r"|\b(?:forbidden|prohibited|banned|refused)\b",
    re.IGNORECASE,
)
_REFUSES_THAT = re.compile(
    r"\b(?:it|they|this|that|these|those) (?:(?:may|must|shall|should|can|is|are)(?: not\b|n['’]t\b)|cannot\b)", re.I
)
"""A refusal of what the sentences before speak of: "I am afraid they may not"."""
_NUMBERED = re.compile(
    r"^[ \t]*\(?(?P<number>\d{1,2})[.)][ \t]+\S[^\n]*(?:\n[ \t]+(?!\(?\d{1,2}[.)][ \t])\S[^\n]*)*", re.MULTILINE
)
"""An item of a numbered list, with the indented lines on which it goes on."""
_OPENS_STEPS = re.compile(
    r"[?:][ \t*_\"”’)]{0,4}$|^[ \t#*_]{0,6}(?:how|steps?|instructions?|procedure|what to do)\b", re.IGNORECASE
)
"""A line above steps: "How do I wash lace?", "To change the toner:"."""
_HOW_TO = re.compile(
    r"\W*(?:how (?:do|does|can|could|should|must|to)|what (?:should|must|do|can) (?:i|we|you|one)\b)", re.I
)


def extend_to_all_steps(question: str, quote: str, source: Source) -> str:
    """Return a quote; if it is a step of a numbered list, and the question asks how something is done, all steps.

    Args:
        question: The question.
        quote: A part of the passage, verbatim.
        source: The passage.
    """
    start = source.text.find(quote) if _HOW_TO.match(question) else -1
    if start < 0:
        return quote
    runs: list[list[re.Match[str]]] = []
    for match in _NUMBERED.finditer(source.text):
        last = runs[-1][-1] if runs else None
        # Text between two items ends the list: below "Bylaws" another one begins.
        is_next = last is not None and not source.text[last.end() : match.start()].strip()
        if last is not None and is_next and int(match["number"]) == int(last["number"]) + 1:
            runs[-1].append(match)
        else:
            runs.append([match])
    for run in runs:
        begin, end = run[0].start(), run[-1].end()
        if len(run) > 1 and begin <= start and start + len(quote) <= end and end - begin <= LONGEST_STEPS:
            above = source.text[:begin].rstrip().rpartition("\n")[2]
            # The rules of a club are numbered, too.
            return source.text[begin:end].strip() if _OPENS_STEPS.search(above) else quote
    return quote


def with_neighbour(question: str, quote: str, source: Source) -> str:
    """Return a quote; if it and a neighbouring sentence are about the same thing, both.

    The neighbour is in the same paragraph, the later sentence of the two begins with a pronoun, and the neighbour
    contains a word of the question that is missing in the quote, its title and its heading; or it contains most of what
    is missing: "In the attic it is 55 %."; or the next sentence alone has the number or day that is asked for, says
    what became of the thing that a yes/no question is about, reports the answer to a question, or may give the reason
    or the remedy that the quote does not give. A quote that begins with a pronoun has what names its subject before it.

    Args:
        question: The question.
        quote: A part of the passage, verbatim.
        source: The passage.
    """
    start = source.text.find(quote)
    if start < 0:
        return quote
    end = start + len(quote)
    spans = sentence_spans(source.text)
    asked = frozenset(words_by_token(question)) - STOP_WORDS
    missing = asked.difference(words_by_token(f"{source.title} {source.heading} {quote}"))
    behind = next((span for span in spans if span[0] >= end), None)
    before = next((span for span in reversed(spans) if span[1] <= start), None)
    if behind and _POINTS_BACK.match(source.text[slice(*behind)].strip()) and _adds(missing, source, behind):
        return _joined(source, start, behind[1], quote)
    if behind and _has_rest(question, missing, source.text[slice(*behind)]):
        return _joined(source, start, behind[1], quote)
    if behind and _lists(source.text[slice(*behind)].strip()) and _adds(missing, source, behind):
        return _joined(source, start, behind[1], quote)
    lacks = bool(missing) or asks_why(question) or asks_remedy(question)
    if behind and lacks and _says_more(question, quote, source.text[slice(*behind)].strip()):
        # The next line of a form gives no reason, unless it says so.
        is_apart = "\n" in source.text[end : behind[0]] and not may_answer(question, source.text[slice(*behind)])
        whole = quote if is_apart else _joined(source, start, behind[1], quote)
        # "SOLUTION: Old pumps have a weak seal. Get a new one." says in the last sentence what to do.
        for _, stop in [span for span in spans if span[0] >= behind[1]] if asks_remedy(question) else ():
            longer = _joined(source, start, stop, whole)
            if longer == whole or "\n" in longer[len(whole) :] or not gives_remedy(longer[len(whole) :].strip()):
                break
            whole = longer
        return whole
    if before and _begins_before(question, quote, missing, source, before):
        return _joined(source, before[0], end, quote)
    # What the title or the heading names needs no sentence before it, unless its name is what is asked for.
    is_open = bool(missing - NO_SUBJECT) or _ASKS_NAME.match(question) is not None
    return _with_named(quote, source, start, before) if is_open else quote


def _begins_before(question: str, quote: str, missing: frozenset[str], source: Source, before: Span) -> bool:
    """Return whether what a quote says begins in the sentence before it.

    "Battery candles are all right" alone would seem to allow what the sentence before it forbids.
    """
    earlier = source.text[slice(*before)]
    # "We do not take cards" before "Dogs are welcome in the bar" refuses something else.
    is_about = _REFUSES_THAT.search(earlier) or not subject_words(question).isdisjoint(words_by_token(earlier))
    if form_of(question) == "verdict" and is_about and _REFUSES.search(earlier) and not _REFUSES.search(quote):
        return True
    return bool(_POINTS_BACK.match(quote) and _adds(missing, source, before)) or _has_rest(question, missing, earlier)


def find_following_remedy(question: str, quote: str, source: Source) -> str | None:
    """Return the sentences that say what can be done about what a quote says goes wrong; None if none is asked for.

    Args:
        question: The question.
        quote: A part of the passage, verbatim.
        source: The passage.
    """
    start = source.text.find(quote)
    if start < 0 or not asks_remedy(question) or gives_remedy(quote):
        return None
    spans = [span for span in sentence_spans(source.text) if span[0] >= start + len(quote)][:MOST_BEHIND]
    headings = {at for at, _ in headings_of(source.text)}
    indent = _indent(source.text, start)
    begin = end = -1
    count = 0
    for at, stop in spans:
        sentence = source.text[at:stop]
        own = _indent(source.text, at)
        # The next item of a list is about another thing; a deeper one belongs to the item above.
        is_next_item = own is not None and indent is not None and own <= indent
        if at in headings or sentence.startswith("#") or is_next_item:
            break
        if begin < 0 and gives_remedy(sentence):
            marks = ITEM_MARK.match(source.text, at)
            begin = marks.end() if marks else at
        elif begin >= 0:
            # The next line of a list of tips is about another thing, unless this one introduces it.
            is_next_line = "\n" in source.text[end:at] and source.text[end - 1] != ":"
            is_too_long = count == MOST_OF_REMEDY or stop - begin > LONGEST
            if is_too_long or is_next_line or _BREAK.search(source.text[begin:stop]):
                break
        count += begin >= 0
        end = stop
    return source.text[begin:end].strip() if begin >= 0 else None


def _indent(text: str, at: int) -> int | None:
    """Return how deep the mark of a list item stands whose line is begun at a place; None in any other line."""
    line = ITEM_MARK.match(text, text.rfind("\n", 0, at) + 1)
    return len(line["indent"]) if line and line.end() >= at else None


def _with_named(quote: str, source: Source, start: int, before: Span | None) -> str:
    """Return a quote that begins with a pronoun with what names its subject: the sentence before it, or its heading.

    In another line than the quote's, that is a heading, or begins with a name and a colon: lines of printed pages may
    be of two sections.
    """
    if before is None or not _POINTS_BACK.match(quote) or _NAMES_NOTHING.match(quote):
        return quote
    text, (at, stop), end = source.text, before, start + len(quote)
    marks = _HEADING_MARKS.match(text, at) or ITEM_MARK.match(text, at)
    begin = marks.end() if marks else at
    if text.startswith("#", at) or any(place == at for place, _ in headings_of(text)):
        return text[begin:end] if end - begin <= LONGEST else quote
    # A sentence with a pronoun names nothing either, and one that begins with "*," is torn.
    if _POINTS_BACK.match(text, begin) or not (text[begin].isalnum() or text[begin] in "\"“‘'("):
        return quote
    # "Swan was built of oak;" goes on in the next line.
    goes_on = "\n" not in text[stop:start] or text[stop - 1] in ",;:"
    if not goes_on and not _LABELLED.match(text, begin, stop):
        return quote
    return _joined(source, begin, end, quote)


def _lists(sentence: str) -> bool:
    """Return whether a sentence gives examples, or several items on one line."""
    return bool(_LISTS.match(sentence)) or len(_INLINE_ITEM.findall(sentence)) > 1


def _has_rest(question: str, missing: frozenset[str], beside: str) -> bool:
    """Return whether a sentence beside a quote has most of the question's words that the quote lacks.

    For a yes or no all of them, be it one: "Cider is vegan. Ale is fined with isinglass." for "Is the ale vegan?".
    """
    rest = missing - NO_SUBJECT
    found = rest.intersection(words_by_token(beside))
    if len(found) >= LEAST_MISSING:
        return 3 * len(found) >= 2 * len(rest)
    return bool(rest) and found == rest and form_of(question) == "verdict"


def _says_more(question: str, quote: str, behind: str) -> bool:
    """Return whether the sentence behind a quote has what the question asks for, and the quote has not."""
    if _REPORTED_QUESTION.search(quote):
        return True
    if asks_remedy(question):
        return gives_remedy(behind) and not gives_remedy(quote)
    if asks_why(question):
        return _repeats(question, quote) and not may_answer(question, quote)
    bound = _BOUND.search(question)
    if (bound or asked_kind(question) == "number") and _BOUND.search(behind) and has_figure(behind):
        # "Change the volume size to a number. Default is 200 MB."
        return not has_figure(quote)
    says = says_of_kind(question)
    if says is not None:
        return says(behind) and not says(quote)
    return form_of(question) == "verdict" and bool(_POINTS_BACK.match(behind))


def _repeats(question: str, quote: str) -> bool:
    """Return whether a quote has two words of a question and more than half of them."""
    asked = frozenset(words_by_token(question)) - STOP_WORDS
    found = asked.intersection(words_by_token(quote))
    return len(found) > 1 and 2 * len(found) > len(asked)


def _adds(missing: frozenset[str], source: Source, span: tuple[int, int]) -> bool:
    """Return whether a part of a passage contains one of the missing words."""
    return bool(missing.intersection(words_by_token(source.text[slice(*span)])))


def _joined(source: Source, start: int, end: int, quote: str) -> str:
    """Return a part of a passage; only the quote if the part is too long or crosses the end of a paragraph."""
    whole = source.text[start:end].strip()
    return quote if len(whole) > LONGEST or _BREAK.search(whole) else whole
