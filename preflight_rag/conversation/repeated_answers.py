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
"""Quotes that are shown of a repeated answer; a guess."""
_ASKS_WHY = re.compile(r"\b(?:why|how come|for what reason)\b", re.I)
MOST_NAMING = 2
"""Sentences about a new subject that are shown; a guess."""
_SAYS_SOMETHING = re.compile(r"[.!]$|\d|\|")
"""What a sentence or a row has, and a heading has not."""
_COMPARES = re.compile(r"\b(?:most|least|more|less|fewer|fewest|(?!west\b|best\b)[a-z]{2,12}est)\b", re.I)
_LABEL_AT_END = re.compile(r"\b[a-z]+ (?:[A-Z]|\d{1,4}[A-Za-z]?)(?=\W*$)")
"""A thing that a letter or a number tells from others, which are no words of the index: "house A"."""
_REASON = re.compile(r"\b(?:because|owing to|due to|in order to|so that|on (?:the )?grounds of|therefore)\b", re.I)


def repeats(message: str, asked: str, citations: Sequence[Citation], answer: str, earlier: EarlierState | None) -> bool:
    """Return whether an answer repeats the last one: it has the same quote and begins with the same words.

    If the message was only appended to the last question ("And the deposit?"), an answer without any of its words in
    the quote is a repetition, too.

    Args:
        message: The follow-up as it was typed.
        asked: The standalone question made from it.
        citations: The answer's citations.
        answer: The answer.
        earlier: The last answer.
    """
    if not earlier or not earlier["citations"] or not citations:
        return False
    quote = citations[0].quote
    if quote != earlier["citations"][0]["quote"]:
        return False
    new = frozenset(words(message)) - STOP_WORDS - frozenset(words(earlier["question"]))
    is_behind = asked != earlier["question"] and asked.startswith(earlier["question"])
    return _headline(answer) == _headline(earlier["answer"]) or (is_behind and new.isdisjoint(words(quote)))


def without_old_subject(subject: Sequence[str], citations: Sequence[Citation], earlier: EarlierState) -> list[Citation]:
    """Return the citations without the last answer's quotes that do not name the subject which a follow-up put in.

    The line of chain mail was shown for chain mail, and is no answer to "What about leather armor?".

    Args:
        subject: The spellings of the new subject.
        citations: The answer's citations.
        earlier: The last answer.
    """
    shown = {" ".join(citation["quote"].split()) for citation in earlier["citations"]}
    return [each for each in citations if " ".join(each.quote.split()) not in shown or names(subject, each)]


def new_first(draft: Draft, message: str, asked: str, earlier: EarlierState) -> Draft:
    """Return evidence for a follow-up with what the last answer showed behind what it did not show.

    Args:
        draft: The answer.
        message: The follow-up as it was typed.
        asked: The standalone question made from it; where that is not clear, the same quote may say it in other words.
        earlier: The last answer.
    """
    lead, *quotes = draft.text.split("\n\n")
    if draft.claims or not only_says_near(lead) or asked.startswith(earlier["question"]):
        return draft
    quotes.sort(key=lambda quote: shows_nothing_new(quote, message, earlier))
    return replace(draft, text="\n\n".join([lead, *quotes]))


def shows_nothing_new(quote: str, message: str, earlier: EarlierState) -> bool:
    """Return whether the last answer showed a row or a heading, and it has nothing that a follow-up asks for.

    A whole sentence may say it in other words: where somebody worked before is said by what she was.

    Args:
        quote: What is shown, which may stand between quotation marks.
        message: The follow-up as it was typed.
        earlier: The last answer.
    """
    text = " ".join(quote.split())
    shown = [" ".join(citation["quote"].split()) for citation in earlier["citations"]]
    was_shown = any(each in text and (is_row(each) or not each.endswith((".", "!", "?"))) for each in shown)
    own, figures = own_words(message) - frozenset(words(earlier["question"])), figures_asked_for(message)
    return was_shown and own.isdisjoint(words(text)) and not (figures and figures(text))


def names(subject: Sequence[str], cited: Citation) -> bool:
    """Return whether a citation's quote or title has all the words of a subject in one of its spellings."""
    return _has(subject, f"{cited.title} {cited.quote}")


def naming_sentences(
    subject: Sequence[str], asked: str, earlier: EarlierState, passages: Mapping[int, Passage]
) -> list[Citation]:
    """Return the sentences or rows of a turn's passages that name a new subject, nearest to the question first.

    In another document than the last answer cites, half of the question's other words must stand in the sentence, too.

    Args:
        subject: The spellings of the new subject.
        asked: The standalone question.
        earlier: The last answer.
        passages: The passages of the turn by rank.
    """
    known = {citation["document_id"] for citation in earlier["citations"]}
    terms = frozenset(words(asked)) - STOP_WORDS - frozenset(words(" ".join(subject)))
    found: list[tuple[int, int, str]] = []
    for rank, passage in passages.items():
        for start, end in sentence_spans(passage.text):
            sentence = passage.text[start:end]
            if not (_has(subject, sentence) and _SAYS_SOMETHING.search(sentence)):
                continue
            shared = len(terms.intersection(words(sentence)))
            if passage.document_id in known or 2 * shared >= len(terms):
                found.append((-shared, rank, sentence))
    nearest = sorted(found, key=lambda each: each[:2])[:MOST_NAMING]
    cited = [find_citation(n, rank, "", [(rank, text)], passages) for n, (_, rank, text) in enumerate(nearest, 1)]
    return [each for each in cited if each.verified]


def of_new_subject(
    subject: Sequence[str],
    asked: str,
    citations: Sequence[Citation],
    earlier: EarlierState,
    passages: Mapping[int, Passage],
    *,
    claims: bool,
) -> list[Citation] | None:
    """Return what is shown, as evidence, instead of an answer that does not name a follow-up's new subject.

    The list is empty where all that was found is about the old subject, and None where the answer may stand.

    Args:
        subject: The spellings of the new subject.
        asked: The standalone question.
        citations: The answer's citations.
        earlier: The last answer.
        passages: The passages of the turn by rank.
        claims: Whether the answer claims something.
    """
    if any(names(subject, each) for each in (citations[:1] if claims else citations)):
        kept = without_old_subject(subject, citations, earlier)
        return None if len(kept) == len(citations) or (claims and kept[:1] == citations[:1]) else kept
    kept = without_old_subject(subject, citations, earlier)
    naming = naming_sentences(subject, asked, earlier, passages)
    if not naming and kept:
        return None if len(kept) == len(citations) and not claims else kept
    # A quote that does not say whom or what it is about may be about the new subject.
    old = frozenset(words(earlier["question"])) - STOP_WORDS - frozenset(words(asked))
    shown = [*naming, *kept] or [each for each in citations if old.isdisjoint(words(each.quote))]
    return [each.model_copy(update={"n": n}) for n, each in enumerate(shown, 1)]


def means_the_one(earlier: EarlierState, citations: Sequence[Citation]) -> bool:
    """Return whether the last answer named one of several things, and the new answer's quote is about that one.

    It did by a claim, or by a single quote of what has the asked property: "Which hut has a stove?".
    """
    first = next(iter(earlier["answer"].splitlines()), "")
    if not citations:
        return False
    if without_marks(first) != first:
        return frozenset(words(without_marks(first))) <= frozenset(words(citations[0].quote))
    is_one = [citation["quote"] for citation in earlier["citations"]] == [citations[0].quote]
    return is_one and _COMPARES.search(earlier["question"]) is None


def _has(subject: Sequence[str], text: str) -> bool:
    """Return whether a text has all the words of a subject in one of its spellings."""
    known = frozenset(words(text))
    return any(terms and terms <= known for terms in (frozenset(words(each)) - STOP_WORDS for each in subject))


def adds_nothing(message: str, asked: str, earlier: EarlierState) -> bool:
    """Return whether a follow-up, such as "and why?", has no content word of its own.

    A search for such a message would only lead to the last answer again. "And in fiscal 2021?" has content words, and
    "where?", of which a whole question was made, may be answered by the same quote. So may "why?" if the quote gives a
    reason, and "How old must he be?", which is the question about a senator again.

    Args:
        message: The follow-up as it was typed.
        asked: The standalone question made from it.
        earlier: The last answer.
    """
    label = _LABEL_AT_END.search(message)
    if label and label[0] not in earlier["question"]:
        return False
    if asked == earlier["question"] or not frozenset(words(message)) <= frozenset(words(earlier["question"])):
        return False
    quote = earlier["citations"][0]["quote"] if earlier["citations"] else ""
    is_reason = _ASKS_WHY.search(message) is not None and _REASON.search(quote) is not None
    return asked.startswith(earlier["question"]) and not is_reason


def bears_on(message: str, quotes: Sequence[str], earlier: EarlierState) -> bool:
    """Return whether one of an answer's quotes may say what a follow-up asks for.

    It has one of the follow-up's own words, or a figure of the asked kind. Of a question for no figure, only "which
    one" is known to ask for what a sentence without its words does not say.

    Args:
        message: The follow-up as it was typed.
        quotes: What the answer cites.
        earlier: The last answer.
    """
    own = own_words(message) - frozenset(words(earlier["question"]))
    if any(own & frozenset(words(quote)) for quote in quotes):
        return True
    figures = figures_asked_for(message)
    if figures is None:
        return not asks_which_of_these(message) or any(map(is_row, quotes))
    # A cell of a row shows its figure without a unit: "Hours: 12".
    return any(figures(quote) or (is_row(quote) and re.search(r"\d", quote)) for quote in quotes)


def shown_again(citations: Sequence[Citation], message: str = "") -> str:
    """Return the quotes of a repeated answer as evidence, because one sentence must not support two claims.

    Of a message that names nothing itself, a quote with its words stands first: "What happens if we take less?".

    Args:
        citations: The answer's citations.
        message: The follow-up as it was typed.
    """
    shown = list(citations[:MOST_QUOTES])
    if has_no_subject(message):
        own = own_words(message)
        shown.sort(key=lambda each: -len(own & frozenset(words(each.quote))))
    quotes = [quoted(each.n, without_marks(" ".join(each.quote.split()))) for each in shown]
    return "\n\n".join([CLOSEST, *quotes])


def _headline(answer: str) -> str:
    """Return the first line of an answer in lower case, without its marks, for comparison."""
    first = next((line for line in without_marks(answer).splitlines() if line.strip()), "")
    return first.strip(" *_.").casefold()
