"""Answers in lists of questions and answers (FAQs): what stands below a question that a document itself asks.

"8.1. Does chrony support Windows?" over "No. It is not portable, …" answers "Does chrony work on Windows?" with its
first paragraph, which shares no word with it. The question may be a heading, an underlined line, an item of a list with
its answer behind it, or a line that begins with "Q:". By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.negation import denies
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.sentences import ITEM_MARK, Span, sentence_spans
from preflight_rag.text.values import asked_kind
from preflight_rag.text.words import words

MIN_WORD_SHARE = 0.6
"""Least share of the words of either question that both must have; a guess."""
MIN_SHARED_WORDS = 2
MIN_WORD_SHARE_OF_NARROWER = 0.4
"""The same for a document's question that is narrower than the user's, which is shown with its answer. A guess."""
MAX_EQUAL_QUESTIONS = 3
"""Most narrower questions that are shown together because they fit equally well; a guess."""
SHORT_PARAGRAPH_CHARS = 60
"""A first paragraph of fewer characters, such as "No.", is joined with the next one; a guess."""
MAX_ANSWER_CHARS = 450
"""Most characters that are shown of an answer; a guess."""
_QUESTION_PREFIX = re.compile(
    r"[ \t#*_>|•·-]{0,12}(?P<number>\[?[A-Z]?\.?\d{1,3}(?:\.\d{1,3}){0,3}[\].):]{0,2}[ \t]|[QF][ \t]?\d{0,3}[:.)]"
    r"|Question\b[ \t]?\d{0,3}[:.)])?[ \t*_]{0,4}"
)
"""Marks before a question: "8.1. ", "[B.2] ", "- ", "## ", "Q: ", "Question 3: "."""
_QUESTION_MARK_AT_END = re.compile(r"[?？][*_)\"”’ ]{0,4}$")
_QUESTION_LABEL = re.compile(r"[ \t*_]{0,4}(?:Q[ \t]?\d{0,3}[:.)]|Question\b[ \t]?\d{0,3}[:.)])(?=[ \t*_])")
"""The mark of a question of a list, which may be written as a statement: "Q: Some files have clicks."."""
_BEFORE_ANSWER = re.compile(r"(?:[ \t*_\n]|[=~-]{3,}(?=[ \t]*\n)|(?:A|Answer)[ \t]?\d{0,3}[:.)](?=[ \t*_\n]))*")
"""Matches what stands between a question and its answer, if anything: line ends, an underline, "A:"."""
_BARE_REPLY = re.compile(
    r"\W{0,8}(?:A(?:nswer)?:\s{0,4})?(?:yes|no|maybe|never|sometimes|not yet)\W{0,8}", re.IGNORECASE
)
_REST_OF_LINE_IS_BLANK = re.compile(r"[ \t*_]{0,8}(?:\n|$)")
_UNDERLINE = re.compile(r"[=~*_ \t-]{3,}")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_ASKS_WHETHER_OR_HOW = re.compile(
    r"(?:can|could|may) (?:i|we|you|one)\b|is it possible\b|how (?:do|can|could|would|should|to)\b", re.I
)
"""Begins a question whether or how something can be done: "Can I …", "How do I …"; the answer to one answers both."""
_QUESTION_WORD = re.compile(r"(?:how|why|when|where|who)\b", re.IGNORECASE)
_GENERIC_TERMS = frozenset(
    words(
        "work support run use go get have need make possible available allowed want please tell know any there exist"
        " offer provide handle cope mean happen"
    )
)
"""Terms that tell little of a question's subject: a question that says the same may lack them."""
_SYNONYMS = tuple(
    frozenset(words(group))
    for group in (
        "turn change convert transform",
        "build make create",
        "fix repair solve mend cure",
        "delete remove erase",
        "start launch begin",
        "buy purchase obtain",
    )
)
_CONVERSION_VERBS = frozenset().union(*_SYNONYMS[:2])
"""Verbs that mean the same if both questions say what becomes what: "make vinegar from wine", not "make a copy"."""
_CONVERSION_PREPOSITION = re.compile(r"\b(?:from|into|out of|to (?:an?|the))\b", re.IGNORECASE)
_OPPOSITES = tuple(
    (frozenset(words(one)), frozenset(words(other)))
    for one, other in (
        ("start launch begin run", "stop end halt quit"),
        ("enable activate", "disable deactivate"),
        ("add install insert", "remove delete uninstall erase"),
        ("open unlock", "close shut lock"),
        ("allow allowed permit permitted", "forbid forbidden ban banned prohibit prohibited"),
        ("buy purchase", "sell"),
        ("increase raise", "decrease reduce lower"),
        ("join", "leave"),
        ("connect", "disconnect"),
    )
)
_WORD_OFF = re.compile(r"\boff\b", re.IGNORECASE)


class _FaqAnswer(NamedTuple):
    """An answer from a list of questions; sorted, the one to the most similar question comes first.

    Attributes:
        negative_share: Minus the share of words that its question has in common with the user's.
        passage: The number of its passage.
        start: Where the quote begins in the passage.
        is_narrower: Whether its question is narrower than the user's; the quote then begins with the question.
        quote: The quoted words.
    """

    negative_share: float
    passage: int
    start: int
    is_narrower: bool
    quote: str


def quotes_below(question: str, sources: Sequence[Source], most: int = 1) -> list[tuple[int, str]]:
    """Return the answers that documents give below questions nearly like the user's, the most similar question first.

    An answer to a narrower question is quoted together with that question.

    Args:
        question: The user's question.
        sources: The passages in which lists of questions and answers are looked for.
        most: The largest number of answers; if the last is to a narrower question, others that fit as well follow.

    Returns:
        `(number of the passage, quote)` for each answer; [] if no document asks such a question.
    """
    answers: list[_FaqAnswer] = []
    for source in sources:
        spans = sentence_spans(source.text)
        for index, question_start, document_question in _document_questions(source.text, spans):
            share = _shared_word_share(question, document_question, source)
            if share < MIN_WORD_SHARE_OF_NARROWER:
                continue
            answer_start, end = _answer_span(source.text, spans, index)
            if answer_start == end:
                continue
            # The answer to a narrower question, quoted alone, would seem to answer the user's.
            is_narrower = share < MIN_WORD_SHARE or _is_narrower(document_question, question)
            start = question_start if is_narrower else answer_start
            answers.append(_FaqAnswer(-share, source.n, start, is_narrower, source.text[start:end]))
    answers.sort()
    selected = answers[:most]
    if selected and selected[-1].is_narrower:
        last_share = selected[-1].negative_share
        equal = [answer for answer in answers[most:] if answer.is_narrower and answer.negative_share == last_share]
        selected += equal[: MAX_EQUAL_QUESTIONS - 1]
    return [(answer.passage, answer.quote) for answer in selected]


def is_question(quote: str) -> bool:
    """Return whether a quote is a question: it ends with a question mark, or is one line that begins with "Q:"."""
    return _QUESTION_MARK_AT_END.search(quote) is not None or (
        _QUESTION_LABEL.match(quote) is not None and "\n" not in quote
    )


def is_bare_reply(quote: str) -> bool:
    """Return whether a quote is "No." or "Yes." alone, which may be the answer to any question of its document."""
    return _BARE_REPLY.fullmatch(quote) is not None


def _document_questions(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, str]]:
    """Yield the questions that a document itself asks, as in a list of questions and answers.

    Such a question is alone on its line, or behind a mark or a number, or follows such a question on the same line.

    Yields:
        The index of the question's sentence, the offset at which the question begins with its number, and its words.
    """
    was_question = False
    for index, (start, end) in enumerate(spans):
        prefix = _prefix_of_line(text, start)
        has_own_line = prefix is not None and _REST_OF_LINE_IS_BLANK.match(text, end) is not None
        is_listed = has_own_line or (prefix is not None and bool(prefix[0].strip()))
        follows_question = was_question and prefix is None
        was_question = _QUESTION_MARK_AT_END.search(text[start:end]) is not None and (is_listed or follows_question)
        if was_question:
            words_start = max(start, prefix.end()) if prefix else start
            number_start = prefix.start("number") if prefix and prefix["number"] else words_start
            yield index, max(start, number_start), text[words_start:end].rstrip("*_ ")


def _prefix_of_line(text: str, start: int) -> re.Match[str] | None:
    """Return the marks before a sentence at the beginning of its line, "8.1. " or ""; None for one inside a line.

    Args:
        text: The document's text.
        start: Where the sentence begins: behind the marks, or before them if the splitter counts them to it.
    """
    prefix = _QUESTION_PREFIX.match(text, _line_start(text, start))
    return prefix if prefix and prefix.end() >= start else None


def _line_start(text: str, offset: int) -> int:
    """Return the offset at which the line begins that holds an offset."""
    return text.rfind("\n", 0, offset) + 1


def _shared_word_share(question: str, document_question: str, source: Source) -> float:
    """Return the share of words that a user's and a document's question have in common: of either, the smaller share.

    It is 0 if the questions ask for different things.
    """
    asks_same_kind = asked_kind(document_question) == asked_kind(question)
    both_ask_how = _ASKS_WHETHER_OR_HOW.match(document_question) and _ASKS_WHETHER_OR_HOW.match(question)
    if not (asks_same_kind or both_ask_how):
        return 0.0
    user_word, document_word = _QUESTION_WORD.match(question), _QUESTION_WORD.match(document_question)
    if user_word and document_word and user_word[0].casefold() != document_word[0].casefold():
        return 0.0
    if denies(document_question) != denies(question):
        return 0.0
    if bool(_WORD_OFF.search(document_question)) != bool(_WORD_OFF.search(question)):
        return 0.0
    document_terms = subject_words(document_question)
    # The user's question names the document that is meant, "… in Freeciv?"; the document's own question does not.
    title_terms = frozenset(words(f"{source.title} {PurePath(source.source).stem} {source.heading}"))
    user_terms = subject_words(question) - (title_terms - document_terms)
    shared = user_terms & document_terms
    missing = user_terms - document_terms - _GENERIC_TERMS
    # "Is drinking allowed in the barn?" is another question than "Is smoking allowed in the barn?".
    all_have_synonyms = all(_has_synonym(term, document_terms) for term in missing)
    is_same_conversion = missing <= _CONVERSION_VERBS and _name_same_conversion(
        question, document_question, user_terms, document_terms
    )
    if not all_have_synonyms and not is_same_conversion:
        return 0.0
    if len(shared) < MIN_SHARED_WORDS or _are_opposite(user_terms, document_terms):
        return 0.0
    return min(len(shared) / len(user_terms), len(shared) / len(document_terms))


def _has_synonym(term: str, terms: frozenset[str]) -> bool:
    """Return whether a set of index terms contains one that means the same as a term."""
    return any(term in group and group & terms for group in _SYNONYMS)


def _name_same_conversion(first: str, second: str, first_terms: frozenset[str], second_terms: frozenset[str]) -> bool:
    """Return whether two questions, given with their index terms, ask by different verbs how one thing becomes another.

    "How do I make vinegar from wine?" and "How do I turn wine into vinegar?" do.
    """
    if not (_CONVERSION_VERBS & first_terms and _CONVERSION_VERBS & second_terms):
        return False
    if first_terms - _CONVERSION_VERBS != second_terms - _CONVERSION_VERBS:
        return False
    return all(_CONVERSION_PREPOSITION.search(text) for text in (first, second))


def _are_opposite(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether the terms of two questions ask for opposites: "start the pump", "stop the pump from starting"."""
    for pair in _OPPOSITES:
        for verbs, opposite_verbs in (pair, pair[::-1]):
            for terms, other_terms in ((first, second), (second, first)):
                if terms & verbs and not terms & opposite_verbs and other_terms & opposite_verbs:
                    return True
    return False


def _is_narrower(document_question: str, question: str) -> bool:
    """Return whether a document's question has a word that limits its subject, which the user's question lacks."""
    user_terms = subject_words(question)
    added = subject_words(document_question) - user_terms - _GENERIC_TERMS - _CONVERSION_VERBS
    return any(not _has_synonym(term, user_terms) for term in added)


def _end_of_questions(text: str, spans: Sequence[Span]) -> int:
    """Return where the first sentence ends, with further questions on its line, which have the same answer.

    "Is there one for Windows? How do I install it?" ends behind "it?".
    """
    question_end = spans[0][1]
    for start, end in spans[1:]:
        begins_line = _prefix_of_line(text, start) is not None
        if begins_line or not _QUESTION_MARK_AT_END.search(text[start:end]):
            break
        question_end = end
    return question_end


def _answer_span(text: str, spans: Sequence[Span], index: int) -> Span:
    """Return the span of the answer to a question of a document: the first paragraph below it, if short the next, too.

    The span is empty if another question, a heading or a too long sentence follows directly. `spans` are the text's
    sentences, `index` is that of the question.
    """
    question_start = spans[index][0]
    question_end = _end_of_questions(text, spans[index:])
    before_answer = _BEFORE_ANSWER.match(text, question_end)
    answer_start = before_answer.end() if before_answer else question_end
    question_prefix = _prefix_of_line(text, question_start)
    question_is_numbered = question_prefix is not None and bool(question_prefix["number"])
    question_item = ITEM_MARK.match(text, _line_start(text, question_start))
    heading_starts = {offset for offset, _ in headings_of(text)}
    answer_end = answer_start
    for start, end in spans[index + 1 :]:
        if end <= answer_start:  # a further question, or "A:"
            continue
        sentence = text[max(start, answer_start) : end]
        if sentence.startswith("#") or _UNDERLINE.fullmatch(sentence) or start in heading_starts:
            break
        if end - answer_start > MAX_ANSWER_CHARS:
            break
        prefix = _prefix_of_line(text, start)
        if question_is_numbered and prefix and prefix["number"]:  # "8.2. " after the answer to "8.1. "
            break
        is_first = answer_end == answer_start
        begins_paragraph = is_first or _BLANK_LINE.search(text, answer_end, start) is not None
        is_marked = prefix is not None and bool(prefix[0].strip())
        if _QUESTION_MARK_AT_END.search(sentence) and (begins_paragraph or is_marked):  # the next question
            break
        # A paragraph that ends with a colon introduces the next one.
        is_complete = answer_end - answer_start >= SHORT_PARAGRAPH_CHARS and text[answer_end - 1] != ":"
        if begins_paragraph and not is_first and is_complete:
            break
        is_on_next_line = "\n" in text[question_end:start]
        if question_item and is_on_next_line and _is_next_item(text, start, question_item["indent"]):
            break
        answer_end = end
    return answer_start, answer_end


def _is_next_item(text: str, start: int, indent: str) -> bool:
    """Return whether the line of a sentence is an item of a list, indented no deeper than a given indent."""
    item = ITEM_MARK.match(text, _line_start(text, start))
    return item is not None and len(item["indent"]) <= len(indent)
