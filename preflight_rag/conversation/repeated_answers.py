"""Answers to a follow-up that repeat the last answer, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from preflight_rag.conversation.cited_before import figures_asked_for
from preflight_rag.conversation.ones import asks_which_of_these
from preflight_rag.conversation.subjectless import has_no_subject, own_words
from preflight_rag.state.reading import Draft
from preflight_rag.state.schema import EarlierState
from preflight_rag.state.values import Citation, Passage
from preflight_rag.text.citations import find_citation, quoted, without_marks
from preflight_rag.text.headers import CLOSEST, only_says_near
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words

MOST_QUOTES = 3
"""Maximum number of quotes shown of a repeated answer; a guess."""
_ASKS_WHY = re.compile(r"\b(?:why|how come|for what reason)\b", re.I)
MOST_SENTENCES = 2
"""Maximum number of sentences shown about a new subject; a guess."""
_STATEMENT = re.compile(r"[.!]$|\d|\|")
"""A mark that a sentence or a row has, and a heading has not."""
_COMPARISON_WORD = re.compile(r"\b(?:most|least|more|less|fewer|fewest|(?!west\b|best\b)[a-z]{2,12}est)\b", re.I)
_LABEL_AT_END = re.compile(r"\b[a-z]+ (?:[A-Z]|\d{1,4}[A-Za-z]?)(?=\W*$)")
"""A noun with a letter or number, which is no word of the index, at the end of a question: "house A"."""
_GIVES_REASON = re.compile(
    r"\b(?:because|owing to|due to|in order to|so that|on (?:the )?grounds of|therefore)\b", re.I
)


def repeats(
    message: str, standalone_question: str, citations: Sequence[Citation], answer: str, last_answer: EarlierState | None
) -> bool:
    """Return whether an answer repeats the last one: it has the same first quote and the same first line.

    If the message was only appended to the last question ("And the deposit?"), an answer with the same quote repeats
    the last one, too, if the quote has none of the message's new words.
    """
    if not last_answer or not last_answer["citations"] or not citations:
        return False
    quote, last_question = citations[0].quote, last_answer["question"]
    if quote != last_answer["citations"][0]["quote"]:
        return False
    if _first_line(answer) == _first_line(last_answer["answer"]):
        return True
    new_words = frozenset(words(message)) - STOP_WORDS - frozenset(words(last_question))
    is_appended = standalone_question != last_question and standalone_question.startswith(last_question)
    return is_appended and new_words.isdisjoint(words(quote))


def _drop_old_subject(
    spellings: Sequence[str], citations: Sequence[Citation], last_answer: EarlierState
) -> list[Citation]:
    """Return the citations of an answer without the last answer's quotes, unless these name a follow-up's new subject.

    The line of chain mail was shown for chain mail, and is no answer to "What about leather armor?".
    """
    shown = {" ".join(citation["quote"].split()) for citation in last_answer["citations"]}
    return [
        citation
        for citation in citations
        if " ".join(citation.quote.split()) not in shown or _names_subject(spellings, citation)
    ]


def new_first(draft: Draft, message: str, standalone_question: str, last_answer: EarlierState) -> Draft:
    """Return a draft of mere evidence with its new quotes first, and those that the last answer showed behind them.

    A draft that claims something stays as it is, and so does one whose standalone question was only appended to the
    question before: there, the same quote may say it in other words.
    """
    header, *quotes = draft.text.split("\n\n")
    if draft.claims or not only_says_near(header) or standalone_question.startswith(last_answer["question"]):
        return draft
    quotes.sort(key=lambda quote: shows_nothing_new(quote, message, last_answer))
    return replace(draft, text="\n\n".join([header, *quotes]))


def shows_nothing_new(quote: str, message: str, last_answer: EarlierState) -> bool:
    """Return whether a quote has a row or heading of the last answer, and no word or figure that a follow-up asks for.

    A whole sentence may say it in other words: where somebody worked before is said by what she was.
    """
    text = " ".join(quote.split())
    shown = [" ".join(citation["quote"].split()) for citation in last_answer["citations"]]
    rows_and_headings = [part for part in shown if is_row(part) or not part.endswith((".", "!", "?"))]
    new_words, find_figures = own_words(message) - frozenset(words(last_answer["question"])), figures_asked_for(message)
    has_new_word = not new_words.isdisjoint(words(text))
    has_figure = find_figures is not None and bool(find_figures(text))
    return any(part in text for part in rows_and_headings) and not has_new_word and not has_figure


def _names_subject(spellings: Sequence[str], citation: Citation) -> bool:
    """Return whether a citation's title and quote have all content words of one spelling of a subject."""
    return _has_subject(spellings, f"{citation.title} {citation.quote}")


def _sentences_naming_subject(
    spellings: Sequence[str], standalone_question: str, last_answer: EarlierState, passages: Mapping[int, Passage]
) -> list[Citation]:
    """Return the sentences or rows of a turn's passages that name a new subject, nearest to the question first.

    In another document than the last answer cites, half of the question's other words must stand in the sentence, too.
    """
    cited_documents = {citation["document_id"] for citation in last_answer["citations"]}
    terms = frozenset(words(standalone_question)) - STOP_WORDS - frozenset(words(" ".join(spellings)))
    scored: list[tuple[int, int, str]] = []  # the negative number of shared terms, the passage's rank, the sentence
    for rank, passage in passages.items():
        for start, end in sentence_spans(passage.text):
            sentence = passage.text[start:end]
            if not (_has_subject(spellings, sentence) and _STATEMENT.search(sentence)):
                continue
            shared = len(terms.intersection(words(sentence)))
            if passage.document_id in cited_documents or 2 * shared >= len(terms):
                scored.append((-shared, rank, sentence))
    nearest = sorted(scored, key=lambda row: row[:2])[:MOST_SENTENCES]
    citations = [find_citation(n, rank, "", [(rank, text)], passages) for n, (_, rank, text) in enumerate(nearest, 1)]
    return [citation for citation in citations if citation.verified]


def of_new_subject(
    spellings: Sequence[str],
    standalone_question: str,
    citations: Sequence[Citation],
    last_answer: EarlierState,
    passages: Mapping[int, Passage],
    *,
    claims: bool,
) -> list[Citation] | None:
    """Return the citations to show, as evidence, instead of an answer that does not name a follow-up's new subject.

    The list is empty if everything found is about the old subject; the result is None if the answer may stand, as one
    that `claims` something and first cites a quote with the new subject.
    """
    kept = _drop_old_subject(spellings, citations, last_answer)
    keeps_all = len(kept) == len(citations)
    # A claim rests on its first citation.
    supporting = citations[:1] if claims else citations
    if any(_names_subject(spellings, citation) for citation in supporting):
        return None if keeps_all or (claims and kept[:1] == citations[:1]) else kept
    naming = _sentences_naming_subject(spellings, standalone_question, last_answer, passages)
    if not naming and kept:
        return None if keeps_all and not claims else kept
    # A quote that does not say whom or what it is about may be about the new subject.
    old_words = frozenset(words(last_answer["question"])) - STOP_WORDS - frozenset(words(standalone_question))
    neutral = [citation for citation in citations if old_words.isdisjoint(words(citation.quote))]
    shown = [*naming, *kept] or neutral
    return [citation.model_copy(update={"n": n}) for n, citation in enumerate(shown, 1)]


def means_the_one(last_answer: EarlierState, citations: Sequence[Citation]) -> bool:
    """Return whether the last answer named one of several things, and the new answer's first quote is about that one.

    The last answer named it by a claim with citation marks, or by its only quote, which is the new one as well and
    shows the property asked for: "Which hut has a stove?". One quote does not tell which thing has "the most".
    """
    if not citations:
        return False
    first_line, quote = next(iter(last_answer["answer"].splitlines()), ""), citations[0].quote
    claim = without_marks(first_line)
    if claim != first_line:
        return frozenset(words(claim)) <= frozenset(words(quote))
    is_only_quote = [citation["quote"] for citation in last_answer["citations"]] == [quote]
    return is_only_quote and _COMPARISON_WORD.search(last_answer["question"]) is None


def _has_subject(spellings: Sequence[str], text: str) -> bool:
    """Return whether a text has all content words of one spelling of a subject."""
    text_words = frozenset(words(text))
    content_words = [frozenset(words(spelling)) - STOP_WORDS for spelling in spellings]
    return any(terms and terms <= text_words for terms in content_words)


def adds_nothing(message: str, standalone_question: str, last_answer: EarlierState) -> bool:
    """Return whether a follow-up, such as "and why?", was only appended to the last question and adds no content word.

    A search for such a message would only lead to the last answer again. "And in fiscal 2021?" has content words, and
    "where?", of which a whole question was made, may be answered by the same quote. So may "why?" if the quote gives a
    reason, and "How old must he be?", which is the question about a senator again.
    """
    label = _LABEL_AT_END.search(message)
    if label and label[0] not in last_answer["question"]:
        return False
    has_new_word = not frozenset(words(message)) <= frozenset(words(last_answer["question"]))
    if standalone_question == last_answer["question"] or has_new_word:
        return False
    quote = last_answer["citations"][0]["quote"] if last_answer["citations"] else ""
    quote_tells_why = _ASKS_WHY.search(message) is not None and _GIVES_REASON.search(quote) is not None
    return standalone_question.startswith(last_answer["question"]) and not quote_tells_why


def bears_on(message: str, quotes: Sequence[str], last_answer: EarlierState) -> bool:
    """Return whether one of an answer's quotes may say what a follow-up asks for.

    A quote may if it has one of the follow-up's new words, or a figure of the kind asked for. A question for no figure
    may be answered without its words, except "which one", which takes a row of a table.
    """
    new_words = own_words(message) - frozenset(words(last_answer["question"]))
    if any(new_words & frozenset(words(quote)) for quote in quotes):
        return True
    find_figures = figures_asked_for(message)
    if find_figures is None:
        return not asks_which_of_these(message) or any(map(is_row, quotes))
    # A cell of a row shows its figure without a unit: "Hours: 12".
    return any(find_figures(quote) or (is_row(quote) and re.search(r"\d", quote)) for quote in quotes)


def shown_again(citations: Sequence[Citation], message: str = "") -> str:
    """Return a text that shows the quotes of a repeated answer as evidence: one sentence must not support two claims.

    For a message without a subject, the quotes with most of its words come first: "What happens if we take less?".
    """
    shown = list(citations[:MOST_QUOTES])
    if has_no_subject(message):
        message_words = own_words(message)
        shown.sort(key=lambda citation: -len(message_words & frozenset(words(citation.quote))))
    quotes = [quoted(citation.n, without_marks(" ".join(citation.quote.split()))) for citation in shown]
    return "\n\n".join([CLOSEST, *quotes])


def _first_line(answer: str) -> str:
    """Return an answer's first line with text, in lower case and without citation marks, for comparison."""
    line = next((line for line in without_marks(answer).splitlines() if line.strip()), "")
    return line.strip(" *_.").casefold()
