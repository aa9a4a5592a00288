"""Quotes with the sentence that goes on about the same thing.

"Fourteen parking spaces will be built behind hall 3. They will not be ready before September." answers "When will the
parking spaces be ready?" with its two sentences alone: the one has the subject, the other the rest of the question.
By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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

MAX_JOINED_CHARACTERS = 400
"""Maximum length of a quote of two sentences; a guess."""
MAX_STEPS_CHARACTERS = 800
"""Maximum length of all steps of a list; a guess."""
LEAST_MISSING = 2
"""Minimum number of question words that a quote lacks and a neighbouring sentence has; a guess."""
_PRONOUN = re.compile(r"(?:it|its|they|their|he|his|she|her|this|these|those|both)\b", re.IGNORECASE)
_EMPTY_PRONOUN = re.compile(
    r"(?:it|this) (?:can be|is|may be|seems|takes|took|was|will be|would be)(?: not)?(?: \w+ly)? (?:\w+ )?"
    r"(?:advisable|for|if|likely|possible|recommended|that|to|whether)\b",
    re.IGNORECASE,
)
"""Beginnings of sentences whose pronoun stands for what follows: "It is forbidden to fish here."."""
_BEGINS_EXAMPLES = re.compile(
    r"(?:typical|common|usual|possible|default|examples?|for (?:example|instance)|e\.g\.)(?!\w)", re.IGNORECASE
)
"""Beginnings of sentences that give examples: "Typical values are"."""
_INLINE_ITEM = re.compile(r"(?<!\S)[*•] (?=\S)")
"""The mark of an item of a list that a loader has put on one line: "Values are * Tin - 0.2 * Lead - 0.1"."""
MAX_SENTENCES_TO_REMEDY = 6
"""Maximum number of sentences behind a problem among which its remedy is looked for; a guess."""
MAX_REMEDY_SENTENCES = 3
"""Maximum number of sentences of a remedy that are shown; a guess."""
_PARAGRAPH_END = re.compile(r"\n\s*\n|\n[#|*-]")
_ASKS_NAME = re.compile(r"(?:which|who|what (?!(?:are|did|do|does|is|was|were)\b))", re.IGNORECASE)
_LABELLED_LINE = re.compile(r"[^\W\d_][^\n.:;!?]{2,60}: \S")
"""A line that begins with its subject and a colon: "Skerrow 2 (1931): built of oak."."""
_HEADING_MARKS = re.compile(r"#{1,6}[ \t]+")
_BOUND_WORD = re.compile(
    r"\b(?:defaults?|maximum|minimum|limit(?:ed)?|at most|at least|usually|recommended)\b", re.IGNORECASE
)
"""Words of a sentence that gives the value or limit of what the sentence before it describes: "Default is 200 MB."."""
_REPORTED_QUESTION = re.compile(
    r"\b(?:asked|wondered|enquired|inquired|wanted to know) (?:(?:him|her|them|us|it|the \w+) )?"
    r"(?:why|whether|if|how|when|where|what|who)\b",
    re.IGNORECASE,
)
"""A reported question, of which the next sentence reports the answer: "She asked why it closed."."""
_REFUSES = re.compile(
    r"\b(?:may|must|shall|should|can|do|does|are|is) not\b|\bcannot\b|n['’]t\b"
    r"|\b(?:forbidden|prohibited|banned|refused)\b",
    re.IGNORECASE,
)
_REFUSES_THAT = re.compile(
    r"\b(?:it|they|this|that|these|those) (?:(?:may|must|shall|should|can|is|are)(?: not\b|n['’]t\b)|cannot\b)", re.I
)
"""A refusal of what an earlier sentence speaks of: "I am afraid they may not"."""
_NUMBERED_ITEM = re.compile(
    r"^[ \t]*\(?(?P<number>\d{1,2})[.)][ \t]+\S[^\n]*(?:\n[ \t]+(?!\(?\d{1,2}[.)][ \t])\S[^\n]*)*", re.MULTILINE
)
"""An item of a numbered list, with the indented lines that continue it."""
_ANNOUNCES_STEPS = re.compile(
    r"[?:][ \t*_\"”’)]{0,4}$|^[ \t#*_]{0,6}(?:how|steps?|instructions?|procedure|what to do)\b", re.IGNORECASE
)
"""A line above the steps of an instruction: "How do I wash lace?", "To change the toner:"."""
_ASKS_HOW_TO = re.compile(
    r"\W*(?:how (?:do|does|can|could|should|must|to)|what (?:should|must|do|can) (?:i|we|you|one)\b)", re.I
)


def extend_to_all_steps(question: str, quote: str, source: Source) -> str:
    """Return all steps of an instruction if a quote is one of them, and the question asks how something is done.

    The quote is returned unchanged for other questions, if the steps are longer than `MAX_STEPS_CHARACTERS`, and if the
    line above the list does not announce an instruction: the rules of a club are numbered, too.
    """
    start = source.text.find(quote) if _ASKS_HOW_TO.match(question) else -1
    if start < 0:
        return quote
    lists: list[list[re.Match[str]]] = []
    for match in _NUMBERED_ITEM.finditer(source.text):
        previous = lists[-1][-1] if lists else None
        # Text between two items ends a list: below "Bylaws" another one begins.
        is_adjacent = previous is not None and not source.text[previous.end() : match.start()].strip()
        if previous is not None and is_adjacent and int(match["number"]) == int(previous["number"]) + 1:
            lists[-1].append(match)
        else:
            lists.append([match])
    for items in lists:
        begin, end = items[0].start(), items[-1].end()
        has_quote = begin <= start and start + len(quote) <= end
        if len(items) > 1 and has_quote and end - begin <= MAX_STEPS_CHARACTERS:
            line_above = source.text[:begin].rstrip().rpartition("\n")[2]
            return source.text[begin:end].strip() if _ANNOUNCES_STEPS.search(line_above) else quote
    return quote


def with_neighbour(question: str, quote: str, source: Source) -> str:
    """Return a quote joined with a neighbouring sentence of its paragraph about the same thing; else the quote alone.

    The first of these that applies decides. Missing words are those of the question that stand neither in the quote
    nor in its title or heading.

    1. The next sentence begins with a pronoun or gives examples, and has a missing word; or it has most missing words.
    2. The next sentence answers and the quote does not (`_answers_unlike_quote`).
    3. What the quote says depends on the previous sentence (`_depends_on_previous`).
    4. The quote begins with a pronoun: what names its subject goes before it, the previous sentence or the heading.
    """
    start = source.text.find(quote)
    if start < 0:
        return quote
    end = start + len(quote)
    spans = sentence_spans(source.text)
    asked = frozenset(words_by_token(question)) - STOP_WORDS
    missing = asked.difference(words_by_token(f"{source.title} {source.heading} {quote}"))
    following = next((span for span in spans if span[0] >= end), None)
    previous = next((span for span in reversed(spans) if span[1] <= start), None)
    if following:
        sentence = source.text[slice(*following)].strip()
        continues = _PRONOUN.match(sentence) or _gives_examples(sentence)
        if (continues and _has_missing_word(missing, sentence)) or _has_missing_words(question, missing, sentence):
            return _join_if_short(source, start, following[1], quote)
        is_incomplete = bool(missing) or asks_why(question) or asks_remedy(question)
        if is_incomplete and _answers_unlike_quote(question, quote, sentence):
            return _join_with_answer(question, quote, source, start, [span for span in spans if span >= following])
    if previous and _depends_on_previous(question, quote, missing, source.text[slice(*previous)]):
        return _join_if_short(source, previous[0], end, quote)
    # A subject that title or heading name needs no sentence before it, unless its name is what is asked for.
    needs_subject = bool(missing - NO_SUBJECT) or _ASKS_NAME.match(question) is not None
    return _add_named_subject(quote, source, start, previous) if needs_subject else quote


def _join_with_answer(question: str, quote: str, source: Source, start: int, following: Sequence[Span]) -> str:
    """Return a quote joined with the next sentence; for a remedy also with the sentences that go on about it.

    The quote begins at the offset `start` of the passage; `following` are the sentences behind it, at least one.
    """
    (begin, stop), *further = following
    # The next line of a form gives no reason, unless it says so.
    is_other_line = "\n" in source.text[start + len(quote) : begin]
    if is_other_line and not may_answer(question, source.text[begin:stop]):
        joined = quote
    else:
        joined = _join_if_short(source, start, stop, quote)
    if not asks_remedy(question):
        return joined
    # "SOLUTION: Old pumps have a weak seal. Get a new one." says in the last sentence what to do.
    for _, stop in further:
        longer = _join_if_short(source, start, stop, joined)
        added = longer[len(joined) :]
        if not added or "\n" in added or not gives_remedy(added.strip()):
            break
        joined = longer
    return joined


def _depends_on_previous(question: str, quote: str, missing: frozenset[str], previous: str) -> bool:
    """Return whether a quote needs the sentence before it to be understood; it lacks the `missing` question words.

    That sentence refuses what a yes/no question asks, and the quote only names an exception ("Battery candles are all
    right"); or it has a missing word, and the quote begins with a pronoun; or it has most missing words.
    """
    # "We do not take cards" before "Dogs are welcome in the bar" refuses something else.
    is_on_subject = _REFUSES_THAT.search(previous) or not subject_words(question).isdisjoint(words_by_token(previous))
    if form_of(question) == "verdict" and is_on_subject and _REFUSES.search(previous) and not _REFUSES.search(quote):
        return True
    has_subject = _PRONOUN.match(quote) and _has_missing_word(missing, previous)
    return bool(has_subject) or _has_missing_words(question, missing, previous)


def find_following_remedy(question: str, quote: str, source: Source) -> str | None:
    """Return the sentences behind a quote that say what can be done about the problem in it; None if there are none.

    None, too, if the question asks for no remedy or the quote gives one. The next item of a list and the next heading
    are about another problem, so the search ends there.
    """
    start = source.text.find(quote)
    if start < 0 or not asks_remedy(question) or gives_remedy(quote):
        return None
    spans = [span for span in sentence_spans(source.text) if span[0] >= start + len(quote)][:MAX_SENTENCES_TO_REMEDY]
    heading_starts = {at for at, _ in headings_of(source.text)}
    indent = _item_indent(source.text, start)
    begin = end = -1
    count = 0
    for at, stop in spans:
        sentence = source.text[at:stop]
        next_indent = _item_indent(source.text, at)
        # A more deeply indented item belongs to the item of the quote.
        is_next_item = next_indent is not None and indent is not None and next_indent <= indent
        if at in heading_starts or sentence.startswith("#") or is_next_item:
            break
        if begin < 0 and gives_remedy(sentence):
            mark = ITEM_MARK.match(source.text, at)
            begin = mark.end() if mark else at
        elif begin >= 0:
            # The next line of a list of tips is about another thing, unless this one introduces it.
            is_next_line = "\n" in source.text[end:at] and source.text[end - 1] != ":"
            is_too_long = count == MAX_REMEDY_SENTENCES or stop - begin > MAX_JOINED_CHARACTERS
            if is_too_long or is_next_line or _PARAGRAPH_END.search(source.text[begin:stop]):
                break
        if begin >= 0:
            count += 1
        end = stop
    return source.text[begin:end].strip() if begin >= 0 else None


def _item_indent(text: str, at: int) -> int | None:
    """Return the indentation of the list item that begins at an offset; None if no list item begins there."""
    mark = ITEM_MARK.match(text, text.rfind("\n", 0, at) + 1)
    return len(mark["indent"]) if mark and mark.end() >= at else None


def _add_named_subject(quote: str, source: Source, start: int, previous: Span | None) -> str:
    """Return a quote that begins with a pronoun, before it the sentence or heading that names the pronoun's subject.

    The quote is returned unchanged if it begins with no such pronoun, or if nothing before it is sure to name the
    subject. A sentence in another line is, if it begins with a name and a colon or goes on in the quote's line: lines
    of printed pages may be of two sections.
    """
    if previous is None or not _PRONOUN.match(quote) or _EMPTY_PRONOUN.match(quote):
        return quote
    text, (at, stop), end = source.text, previous, start + len(quote)
    mark = _HEADING_MARKS.match(text, at) or ITEM_MARK.match(text, at)
    begin = mark.end() if mark else at
    if text.startswith("#", at) or any(heading_start == at for heading_start, _ in headings_of(text)):
        return text[begin:end] if end - begin <= MAX_JOINED_CHARACTERS else quote
    # A sentence with a pronoun names nothing either, and one that begins with "*," lacks its beginning.
    if _PRONOUN.match(text, begin) or not (text[begin].isalnum() or text[begin] in "\"“‘'("):
        return quote
    # "Swan was built of oak;" goes on in the next line.
    goes_on = "\n" not in text[stop:start] or text[stop - 1] in ",;:"
    if not goes_on and not _LABELLED_LINE.match(text, begin, stop):
        return quote
    return _join_if_short(source, begin, end, quote)


def _gives_examples(sentence: str) -> bool:
    """Return whether a sentence begins with words such as "Typical values", or has several list items on one line."""
    return bool(_BEGINS_EXAMPLES.match(sentence)) or len(_INLINE_ITEM.findall(sentence)) > 1


def _has_missing_words(question: str, missing: frozenset[str], sentence: str) -> bool:
    """Return whether a sentence has most of the question words that a quote lacks; two at least.

    For a yes/no question one is enough if no other is missing: for "Is the ale vegan?", "Cider is vegan." lacks "ale",
    which "Ale is fined with isinglass." has.
    """
    missing = missing - NO_SUBJECT
    shared = missing.intersection(words_by_token(sentence))
    if len(shared) >= LEAST_MISSING:
        return 3 * len(shared) >= 2 * len(missing)
    return bool(missing) and shared == missing and form_of(question) == "verdict"


def _answers_unlike_quote(question: str, quote: str, following: str) -> bool:
    """Return whether the sentence behind a quote may answer the question, and the quote does not.

    It reports the answer to a reported question, gives the remedy, number, day or amount that is asked for, or begins
    with a pronoun where a yes/no question is asked. For a reason, it is enough that the quote repeats the question.
    """
    if _REPORTED_QUESTION.search(quote):
        return True
    if asks_remedy(question):
        return gives_remedy(following) and not gives_remedy(quote)
    if asks_why(question):
        return _has_most_question_words(question, quote) and not may_answer(question, quote)
    asks_bound = _BOUND_WORD.search(question) or asked_kind(question) == "number"
    if asks_bound and _BOUND_WORD.search(following) and has_figure(following):
        # "Change the volume size to a number. Default is 200 MB."
        return not has_figure(quote)
    has_asked_value = says_of_kind(question)
    if has_asked_value is not None:
        return has_asked_value(following) and not has_asked_value(quote)
    return form_of(question) == "verdict" and bool(_PRONOUN.match(following))


def _has_most_question_words(question: str, quote: str) -> bool:
    """Return whether a quote has more than half of a question's words, two at least."""
    asked = frozenset(words_by_token(question)) - STOP_WORDS
    shared = asked.intersection(words_by_token(quote))
    return len(shared) > 1 and 2 * len(shared) > len(asked)


def _has_missing_word(missing: frozenset[str], sentence: str) -> bool:
    """Return whether a sentence has one of the missing words."""
    return not missing.isdisjoint(words_by_token(sentence))


def _join_if_short(source: Source, start: int, end: int, quote: str) -> str:
    """Return the passage's text between two offsets; the quote if that is too long or of several paragraphs."""
    joined = source.text[start:end].strip()
    return quote if len(joined) > MAX_JOINED_CHARACTERS or _PARAGRAPH_END.search(joined) else joined
