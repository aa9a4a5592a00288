"""Whether a sentence answers a question about its own subject, or is about another subject, or says the opposite.

A sentence is read with its document's title, the heading above it, and, if it begins with a pronoun, the sentence
before it. It is about another subject than the question if another sentence says nearly the same with more of the
question's words: of "Its largest cost was rent" in the north's report and "Its largest cost was repairs" in the
south's, the second has the question's "south". Which words name subjects need not be known. A sentence says the
opposite if it denies what the question does not (`text.negation.polarity`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

from preflight_rag.state.reading import Source
from preflight_rag.text.asked_documents import asked_documents, without_document
from preflight_rag.text.headings import headings_of, is_page_line
from preflight_rag.text.negation import denies, polarity
from preflight_rag.text.offices import asked_office, names_office
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import last_question
from preflight_rag.text.versions import names_version, replacing, supersedes
from preflight_rag.text.words import STOP_WORDS, words_by_token

MIN_PARALLEL_SHARE = 0.5
"""Least share of the shorter sentence's words that two sentences have in common that say the same of two things; this
and the next were set on the half of `tests/one_word_pairs.py` that was looked at."""
MAX_COMPARED = 32
"""Most sentences, those with most of the question's words, with which others are compared."""

_ASKS_PRESENT = re.compile(r"^\W*who(?:['’]s|\s(?:is|are))\b|\b(?:now|currently|current|today)\b", re.I)
_ASKS_HOLDER = re.compile(
    r"^\W*who(?:['’]s|\s(?:is|will|becomes|succeeds|was (?:appointed|named)|has (?:become|been (?:appointed|named))))"
    r"\b",
    re.I,
)
"""Matches questions for the holder, or the new holder, of an office: "Who was appointed chief executive?"."""
_PAST_WORD = re.compile(r"\b(?:former|formerly|previous|previously|was|were|until|ex)\b", re.I)
_PRESENT_WORD = re.compile(r"\b(?:is|are|since|current|currently)\b", re.I)
_HELD_IN_PAST = re.compile(
    r"\b(?:former(?:ly)?|previously|prior to|was|were|until|held|served|ex|from (?:[A-Z]\w{2,8} )?\d{4} (?:to|until))\b"
)
"""A word of a sentence about a former holder of an office, unless one of the next pattern's is in it, too."""
_HELD_NOW = re.compile(
    r"\b(?:is|are|serves|since|current|currently|appointed|named|elected|becomes?|succeed(?:s|ed))\b", re.I
)
_LEAVES_OFFICE = re.compile(
    r"\b(?:retir(?:e|es|ed|ing)|resign(?:s|ed|ing)?|step(?:s|ped|ping)? down|(?:has|have|will) left|departed|outgoing"
    r"|departing|former|formerly)\b",
    re.I,
)
_TAKES_OFFICE = re.compile(
    r"\b(?:appointed|named|elected|succe(?:ed|eds|eded|eding|ssor)|becomes?|join(?:s|ed)|takes? (?:over|office)"
    r"|since)\b",
    re.I,
)
_ASKS_LEAVING = re.compile(r"\b(?:former|previous|retir\w+|resign\w*|step\w* down|left|leav\w+|before|until)\b", re.I)
_ASKS_EFFECT = re.compile(
    r"\bwhat (?:does|do|did|will|would)\b.* do\W*$|\bwhat (?:happens|will happen|would happen)\b"
    r"|\b(?:effects?|consequences?) of\b",
    re.I,
)
_TOKEN = re.compile(r"\w+(?:[-'’]\w+)*")
PRONOUN_AT_START = re.compile(
    r"(?:it|its|they|their|them|he|his|she|her|this|these|that|those|both|the (?:latter|former|same))\b", re.I
)


@dataclass(frozen=True)
class PlacedSentence:
    """A sentence of a passage with its surroundings.

    Attributes:
        source: The passage.
        start: Where it begins in the passage's text.
        end: Where it ends.
        text: Its words.
        terms: Its index terms.
        context: The index terms of its heading and of its document's title.
        covered: The question's terms in the sentence, its heading and title, or the sentence to which it refers.
        heading: The index terms of its heading.
    """

    source: Source
    start: int
    end: int
    text: str
    terms: frozenset[str]
    context: frozenset[str]
    covered: frozenset[str]
    heading: frozenset[str] = frozenset()


class SentenceFit:
    """The sentences of some passages, judged by whether they answer the question about its own subject.

    Args:
        question: The standalone question.
        sources: The passages.
    """

    def __init__(self, question: str, sources: Sequence[Source]) -> None:
        self.question = last_question(question)
        self.denying = denies(self.question)
        self._takes_denials = form_of(question) == "verdict" or _ASKS_EFFECT.search(self.question) is not None
        self._of_documents = asked_documents(self.question, sources)
        self.asked = without_document(self.question) if self._of_documents else self.question
        self._terms = frozenset(words_by_token(self.asked))
        self._office = asked_office(self.question)
        self._sources = sources
        self._replacing: dict[int, list[Source]] = {}

    @cached_property
    def sentences(self) -> dict[int, list[PlacedSentence]]:
        """The sentences of each passage, by its number."""
        return {source.n: list(self._place_sentences(source)) for source in self._sources}

    @cached_property
    def _most_relevant(self) -> list[PlacedSentence]:
        """The sentences with most of the question's words, at most `MAX_COMPARED`."""
        sentences = chain.from_iterable(self.sentences.values())
        return sorted(sentences, key=lambda item: (-len(item.covered), item.source.n, item.start))[:MAX_COMPARED]

    def misfits(self, n: int, quote: str) -> bool:
        """Return whether a quote of a passage, given by its number, is about another subject or says the opposite.

        For a yes/no question, or one for what something does, a denial is an answer.
        """
        if self.is_of_other_document(n):
            return True
        return any(
            self._misses_subject(item) or self._is_about_another_office(item)
            for item in self._sentences_of_quote(n, quote)
        )

    def is_elsewhere(self, n: int, quote: str) -> bool:
        """Return whether a quote of a passage is plainly about something else than the question.

        It is if it is from another document than the named one or from a replaced edition, below another heading than
        the one that is asked for, about another office, or if it affirms what the question denies.
        """
        if self.is_of_other_document(n) or self.outdated(n, quote) or self.is_replaced(n, quote):
            return True
        return any(
            self._is_about_another_office(item)
            or (self.denying and self._says_opposite(item))
            or any(self._is_under_heading_asked_for(other, item) for other in self._most_relevant)
            for item in self._sentences_of_quote(n, quote)
        )

    @property
    def names_document(self) -> bool:
        """Whether the question names a document that was found."""
        return bool(self._of_documents)

    def is_of_other_document(self, n: int) -> bool:
        """Return whether the question names a document as its source, and a passage is from another one."""
        return bool(self._of_documents) and n not in self._of_documents

    def outdated(self, n: int, quote: str) -> int:
        """Return how many newer versions of the document say something similar to a sentence of a quote, at most."""
        maximum = 0
        for item in self._sentences_of_quote(n, quote):
            documents = {newer.source.document_id for newer in self._similar_in_newer_versions(item)}
            maximum = max(maximum, len(documents))
        return maximum

    def replacements(self, n: int, quote: str) -> list[PlacedSentence]:
        """Return the sentences of newer versions of the document that say something similar to a quote of a passage."""
        return list(chain.from_iterable(map(self._similar_in_newer_versions, self._sentences_of_quote(n, quote))))

    def other_subject(self, n: int, quote: str) -> bool:
        """Return whether a quote of a passage is about another subject."""
        return any(self.is_off_subject(item) for item in self._sentences_of_quote(n, quote))

    def is_heading(self, n: int, text: str) -> bool:
        """Return whether a text is a heading of a passage or a page's head or foot; False for an unknown passage."""
        source = self._find_source(n)
        if source is None:
            return False
        return is_page_line(text) or text in (source.heading, *(heading for _, heading in headings_of(source.text)))

    def _find_source(self, n: int) -> Source | None:
        """Return the passage with a number; None if there is none."""
        return next((source for source in self._sources if source.n == n), None)

    def may_claim(self, n: int, quote: str) -> bool:
        """Return whether an answer in a quote of a passage may be claimed: it is about the subject, and not outdated.

        The answer to a question that denies something must be in a sentence that denies it too; the holder of an
        office, in one with the office's name.
        """
        sentences = self._sentences_of_quote(n, quote)
        if self.is_of_other_document(n):
            return False
        if self._office and not any(self._names_office(item) for item in sentences):
            return False
        if any(self._misses_subject(item) or self._similar_in_newer_versions(item) for item in sentences):
            return False
        if self.is_replaced(n, quote):
            return False
        return not self.denying or any(self._polarity(item) > 0 for item in sentences)

    def source(self, n: int) -> Source:
        """Return the passage with a number; raise KeyError if there is none."""
        return {source.n: source for source in self._sources}[n]

    def is_replaced(self, n: int, quote: str) -> bool:
        """Return whether a quote is from an edition that is replaced, and whose newer editions do not have its words.

        False if the question names the edition.
        """
        if n not in self._replacing:
            source = self._find_source(n)
            is_named = source is None or names_version(self.question, source)
            self._replacing[n] = [] if is_named or source is None else replacing(source, self._sources)
        newer_passages = self._replacing[n]
        return bool(newer_passages) and not any(quote in passage.text for passage in newer_passages)

    def better(self, n: int, quote: str) -> list[PlacedSentence]:
        """Return the sentences that fit the question and are similar to a quote, those with most of its words first."""
        sentences = self._sentences_of_quote(n, quote)
        fitting = []
        for item in self._most_relevant:
            if not any(_are_parallel(item, other, self._terms) for other in sentences):
                continue
            if self._misses_subject(item) or self._similar_in_newer_versions(item):
                continue
            if not self.denying or self._polarity(item) > 0:
                fitting.append(item)
        return fitting

    def is_off_subject(self, item: PlacedSentence) -> bool:
        """Return whether a sentence is about another subject: a nearly equal one has more of the question's words.

        Under two headings of one document, one shared word of the question is enough: "It is open from six" below
        "Kitchen" and "It is open from four" below "Sauna".
        """
        for other in self._most_relevant:
            if self._is_under_heading_asked_for(other, item):
                return True
            asked_context, other_context = item.context & self._terms, other.context & self._terms
            if other.covered > item.covered:
                missing = other.covered - item.covered
            elif other_context > asked_context:
                missing = other_context - item.covered
            else:
                continue
            if not missing or not _are_parallel(item, other, self._terms):
                continue
            if any(_has_other_word_for(item, other, term) for term in missing):
                return True
        return False

    def _is_under_heading_asked_for(self, other: PlacedSentence, item: PlacedSentence) -> bool:
        """Return whether `other`, and not `item`, stands under the heading that the question names, in one document.

        Both must share a term of the question beside the heading's, and `other` must cover as many as `item`.
        """
        other_named, item_named = other.heading & self._terms, item.heading & self._terms
        if not other_named or not item.heading or item.heading == other.heading:
            return False
        if not _are_in_same_document(item, other) or not other.covered >= item.covered:
            return False
        if not item.terms & other.terms & self._terms - other.heading:
            return False
        if other_named > item_named:
            return not other_named <= item.terms | item.heading
        # "Former members" is not the heading of "What is the fee for members?" where another is "Members".
        return other_named == item_named and other.heading <= self._terms < item.heading | self._terms

    def _misses_subject(self, item: PlacedSentence) -> bool:
        """Return whether a sentence is about another subject, says the opposite, or is about a former holder."""
        return self.is_off_subject(item) or self._says_opposite(item) or self._is_about_former_holder(item)

    def _is_about_former_holder(self, item: PlacedSentence) -> bool:
        """Return whether a sentence is about a former holder of an office, and the question about the present one.

        The sentence says that the holder leaves, or another nearly equal sentence is about the present.
        """
        says_leaving = _LEAVES_OFFICE.search(item.text) and not _TAKES_OFFICE.search(item.text)
        if says_leaving and _ASKS_HOLDER.search(self.question) and not _ASKS_LEAVING.search(self.question):
            return True
        if not _ASKS_PRESENT.search(self.question) or not _PAST_WORD.search(item.text):
            return False
        return any(
            _PRESENT_WORD.search(other.text)
            and not _PAST_WORD.search(other.text)
            and _are_parallel(item, other, self._terms)
            for other in self._most_relevant
        )

    def _is_about_another_office(self, item: PlacedSentence) -> bool:
        """Return whether a sentence lacks the office whose holder is asked for, or is only about its past.

        False if no other sentence names the office, or, for the past, its present.
        """
        if not self._office:
            return False
        asks_present, is_named = bool(_ASKS_PRESENT.search(self.question)), self._names_office(item)
        if is_named and not (asks_present and _is_about_past_only(item.text)):
            return False
        naming = [other for other in self._most_relevant if self._names_office(other)]
        if not is_named:
            return bool(naming)
        return any(not _is_about_past_only(other.text) for other in naming)

    def _names_office(self, item: PlacedSentence) -> bool:
        """Return whether a sentence, its heading or its title names the office that is asked for."""
        is_in_context = item.context.issuperset(words_by_token(" ".join(self._office)))
        return is_in_context or names_office(item.text, self._office)

    def _similar_in_newer_versions(self, item: PlacedSentence) -> list[PlacedSentence]:
        """Return the sentences of newer versions of the document that are similar to a sentence, but not equal.

        Headings and sentences about another subject, such as another year, are left out.
        """
        return [
            other
            for other in self._most_relevant
            if _are_parallel(item, other, self._terms)
            and other.terms != item.terms
            and supersedes(other.source, item.source)
            and not self.is_off_subject(other)
            and not self.is_heading(other.source.n, other.text)
        ]

    def _says_opposite(self, item: PlacedSentence) -> bool:
        """Return whether a sentence says the opposite of what a question says, unless a denial may answer it."""
        return not self._takes_denials and self._polarity(item) < 0

    def _polarity(self, item: PlacedSentence) -> int:
        """Return 1 if a sentence affirms what the question asks, -1 if it denies it, 0 if that is unclear."""
        return polarity(self.question, item.text)

    def _sentences_of_quote(self, n: int, quote: str) -> list[PlacedSentence]:
        """Return the first sentence of a passage that contains a quote, else all those that the quote contains."""
        sentences = self.sentences.get(n, [])
        containing = [item for item in sentences if quote in item.text]
        return containing[:1] or [item for item in sentences if item.text in quote]

    def _place_sentences(self, source: Source) -> list[PlacedSentence]:
        """Return the sentences of a passage, but no headings with "#", each with its surroundings.

        A sentence that begins with a pronoun also covers the question's terms in the one before it, under one heading.
        """
        headings = headings_of(source.text)
        title_terms = frozenset(words_by_token(source.title))
        sentences: list[PlacedSentence] = []
        previous_heading, previous_terms = "", frozenset[str]()
        for start, end in sentence_spans(source.text):
            text = source.text[start:end].strip()
            if not text or text.startswith("#"):
                continue
            heading = next((name for offset, name in reversed(headings) if offset <= start), source.heading)
            terms, heading_terms = frozenset(words_by_token(text)), frozenset(words_by_token(heading))
            context = title_terms | heading_terms
            known_terms = terms | context
            if PRONOUN_AT_START.match(text) and previous_heading == heading:
                known_terms |= previous_terms
            covered = self._terms & known_terms
            sentences.append(PlacedSentence(source, start, end, text, terms, context, covered, heading_terms))
            previous_heading, previous_terms = heading, known_terms
        return sentences


def _is_about_past_only(text: str) -> bool:
    """Return whether a sentence about an office is only about who held it in the past."""
    return bool(_HELD_IN_PAST.search(text)) and not _HELD_NOW.search(text)


def _are_in_same_document(a: PlacedSentence, b: PlacedSentence) -> bool:
    """Return whether two sentences stand in the same document."""
    return a.source is b.source or bool(a.source.document_id and a.source.document_id == b.source.document_id)


def _are_parallel(a: PlacedSentence, b: PlacedSentence, question_terms: frozenset[str]) -> bool:
    """Return whether two different sentences share a term of the question and half of the shorter one's terms.

    Such sentences say nearly the same of two things.
    """
    shared, shorter_length = a.terms & b.terms, min(len(a.terms), len(b.terms))
    return a is not b and bool(shared & question_terms) and len(shared) >= MIN_PARALLEL_SHARE * shorter_length


def _has_other_word_for(item: PlacedSentence, other: PlacedSentence, term: str) -> bool:
    """Return whether a sentence has another word where a second one has a term: "south branch" for "north branch".

    A shorter sentence, such as "lies in Abiko" beside "lies in Abiko city", is about the same thing. A term from the
    second one's heading or title counts if the first one's have other terms.
    """
    if term not in other.terms:
        return term not in other.context or bool(item.context - other.context)
    item_tokens, other_tokens = _tokens(item.text), _tokens(other.text)
    for index, token in enumerate(other_tokens):
        if term not in words_by_token(token):
            continue
        before, behind = other_tokens[index - 1 : index], other_tokens[index + 1 : index + 2]
        instead = []
        for first, second in pairwise(item_tokens):
            if [first] == before:
                instead.append(second)
            if [second] == behind:
                instead.append(first)
        if any(word not in other_tokens and word not in STOP_WORDS for word in instead):
            return True
    return False


def _tokens(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [token.casefold() for token in _TOKEN.findall(text)]
