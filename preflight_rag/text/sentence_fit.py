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

PARALLEL = 0.5
"""Least share of the shorter sentence's words that two sentences have in common that say the same of two things; this
and the next were set on the half of `tests/one_word_pairs.py` that was looked at."""
MOST_RIVALS = 32
"""Number of sentences with most of the question's words with which others are compared."""

_OF_NOW = re.compile(r"^\W*who(?:['’]s|\s(?:is|are))\b|\b(?:now|currently|current|today)\b", re.I)
_ASKS_HOLDER = re.compile(
    r"^\W*who(?:['’]s|\s(?:is|will|becomes|succeeds|was (?:appointed|named)|has (?:become|been (?:appointed|named))))"
    r"\b",
    re.I,
)
"""Matches questions for the holder, or the new holder, of an office: "Who was appointed chief executive?"."""
_FORMER = re.compile(r"\b(?:former|formerly|previous|previously|was|were|until|ex)\b", re.I)
_NOW = re.compile(r"\b(?:is|are|since|current|currently)\b", re.I)
_PAST_OFFICE = re.compile(
    r"\b(?:former(?:ly)?|previously|prior to|was|were|until|held|served|ex|from (?:[A-Z]\w{2,8} )?\d{4} (?:to|until))\b"
)
"""Of a sentence about an office: its holder held it before, unless one of the next words says more."""
_STILL = re.compile(
    r"\b(?:is|are|serves|since|current|currently|appointed|named|elected|becomes?|succeed(?:s|ed))\b", re.I
)
_LEAVES = re.compile(
    r"\b(?:retir(?:e|es|ed|ing)|resign(?:s|ed|ing)?|step(?:s|ped|ping)? down|(?:has|have|will) left|departed|outgoing"
    r"|departing|former|formerly)\b",
    re.I,
)
_COMES = re.compile(
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
POINTS_BACK = re.compile(
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
        placed: The index terms of its heading and its title.
        covered: The question's terms in the sentence, its heading and title, or the sentence to which it refers.
        heading: The index terms of its heading.
    """

    source: Source
    start: int
    end: int
    text: str
    terms: frozenset[str]
    placed: frozenset[str]
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
        return {source.n: list(self._placed(source)) for source in self._sources}

    @cached_property
    def _rivals(self) -> list[PlacedSentence]:
        """The sentences with most of the question's words, at most `MOST_RIVALS`."""
        every = list(chain.from_iterable(self.sentences.values()))
        return sorted(every, key=lambda item: (-len(item.covered), item.source.n, item.start))[:MOST_RIVALS]

    def misfits(self, n: int, quote: str) -> bool:
        """Return whether a quote of a passage is about another subject, or says the opposite.

        For a yes/no question, or one for what something does, a denial is an answer.
        """
        if self.is_of_other_document(n):
            return True
        return any(self._off(item) or self._of_another_office(item) for item in self._at(n, quote))

    def is_elsewhere(self, n: int, quote: str) -> bool:
        """Return whether a quote of a passage is plainly about something else than the question.

        It is so in another document than the named one, below another heading than the one that is asked for, where it
        is about another office or about an edition that is replaced, and where it affirms what a question denies.
        """
        if self.is_of_other_document(n) or self.outdated(n, quote) or self.is_replaced(n, quote):
            return True
        return any(
            self._of_another_office(item)
            or (self.denying and self._opposite(item))
            or any(self._is_under_heading_asked_for(other, item) for other in self._rivals)
            for item in self._at(n, quote)
        )

    @property
    def names_document(self) -> bool:
        """Whether the question names a document that was found."""
        return bool(self._of_documents)

    def is_of_other_document(self, n: int) -> bool:
        """Return whether the question names a document to be asked of, and a passage is of another."""
        return bool(self._of_documents) and n not in self._of_documents

    def outdated(self, n: int, quote: str) -> int:
        """Return how many newer versions of the document say something similar to a quote of a passage."""
        most = 0
        for item in self._at(n, quote):
            documents = {newer.source.document_id for newer in self._newer(item)}
            most = max(most, len(documents))
        return most

    def replacements(self, n: int, quote: str) -> list[PlacedSentence]:
        """Return the sentences of newer versions of the document that say something similar to a quote of a passage."""
        return list(chain.from_iterable(map(self._newer, self._at(n, quote))))

    def other_subject(self, n: int, quote: str) -> bool:
        """Return whether a quote of a passage is about another subject."""
        return any(self.off_subject(item) for item in self._at(n, quote))

    def is_heading(self, n: int, text: str) -> bool:
        """Return whether a part of a passage is a heading or the foot of a page, which states nothing by itself."""
        source = next((each for each in self._sources if each.n == n), None)
        if source is None or is_page_line(text):
            return source is not None
        return text in (source.heading, *(heading for _, heading in headings_of(source.text)))

    def may_claim(self, n: int, quote: str) -> bool:
        """Return whether an answer in a quote of a passage may be claimed.

        To a question that denies something, only one from a sentence that denies it too; to one for who holds an
        office, only one that stands with the office's name.
        """
        found = self._at(n, quote)
        if self.is_of_other_document(n):
            return False
        if self._office and not any(self._names_office(item) for item in found):
            return False
        if any(self._off(item) or self._newer(item) for item in found) or self.is_replaced(n, quote):
            return False
        return not self.denying or any(self._polarity(item) > 0 for item in found)

    def source(self, n: int) -> Source:
        """Return the passage of a number."""
        return {source.n: source for source in self._sources}[n]

    def is_replaced(self, n: int, quote: str) -> bool:
        """Return whether a quote is from an edition that another one replaces, and which the question does not name."""
        if n not in self._replacing:
            source = next((each for each in self._sources if each.n == n), None)
            named = source is None or names_version(self.question, source)
            self._replacing[n] = [] if named or source is None else replacing(source, self._sources)
        newer = self._replacing[n]
        return bool(newer) and not any(quote in each.text for each in newer)

    def better(self, n: int, quote: str) -> list[PlacedSentence]:
        """Return fitting sentences similar to a quote that does not fit, those with most question words first."""
        asked = self._at(n, quote)
        found = []
        for item in self._rivals:
            if not any(_parallel(item, other, self._terms) for other in asked):
                continue
            if self._off(item) or self._newer(item):
                continue
            if not self.denying or self._polarity(item) > 0:
                found.append(item)
        return found

    def off_subject(self, item: PlacedSentence) -> bool:
        """Return whether a sentence repeats another one nearly word for word about another subject.

        Under two headings of one document, a word of the question that both have is enough: "It is open from six"
        below "Kitchen" and "It is open from four" below "Sauna".
        """
        for other in self._rivals:
            if self._is_under_heading_asked_for(other, item):
                return True
            more = other.covered > item.covered
            if not (more or other.placed & self._terms > item.placed & self._terms):
                continue
            missing = (other.covered if more else other.placed & self._terms) - item.covered
            if not missing or not _parallel(item, other, self._terms):
                continue
            if any(_has_another(item, other, term) for term in missing):
                return True
        return False

    def _is_under_heading_asked_for(self, other: PlacedSentence, item: PlacedSentence) -> bool:
        """Return whether of two sentences of a document the first alone stands under the heading that is asked for."""
        named = other.heading & self._terms
        if not named or not item.heading or item.heading == other.heading or not _same_document(item, other):
            return False
        if not (item.terms & other.terms & self._terms - other.heading) or not other.covered >= item.covered:
            return False
        if named > item.heading & self._terms:
            return not named <= item.terms | item.heading
        # "Former members" is not the heading of "What is the fee for members?" where another is "Members".
        return named == item.heading & self._terms and other.heading <= self._terms < item.heading | self._terms

    def _off(self, item: PlacedSentence) -> bool:
        """Return whether a sentence is about another subject, says the opposite, or is about a former holder."""
        return self.off_subject(item) or self._opposite(item) or self._former(item)

    def _former(self, item: PlacedSentence) -> bool:
        """Return whether a sentence is about a former holder of an office while another names the present one."""
        leaves = _LEAVES.search(item.text) and not _COMES.search(item.text)
        if leaves and _ASKS_HOLDER.search(self.question) and not _ASKS_LEAVING.search(self.question):
            return True
        if not _OF_NOW.search(self.question) or not _FORMER.search(item.text):
            return False
        return any(
            _NOW.search(other.text) and not _FORMER.search(other.text) and _parallel(item, other, self._terms)
            for other in self._rivals
        )

    def _of_another_office(self, item: PlacedSentence) -> bool:
        """Return whether a sentence lacks the requested office, or is only about its past, while another does not."""
        if not self._office:
            return False
        now, named = bool(_OF_NOW.search(self.question)), self._names_office(item)
        if named and not (now and _is_of_the_past(item.text)):
            return False
        naming = [other for other in self._rivals if self._names_office(other)]
        return any(not (now and named and _is_of_the_past(other.text)) for other in naming)

    def _names_office(self, item: PlacedSentence) -> bool:
        """Return whether a sentence, its heading or its title names the office that is asked for."""
        placed = item.placed.issuperset(words_by_token(" ".join(self._office)))
        return placed or names_office(item.text, self._office)

    def _newer(self, item: PlacedSentence) -> list[PlacedSentence]:
        """Return similar sentences in newer versions of the document, unless the question asks for another year."""
        return [
            other
            for other in self._rivals
            if _parallel(item, other, self._terms)
            and other.terms != item.terms
            and supersedes(other.source, item.source)
            and not self.off_subject(other)
            and not self.is_heading(other.source.n, other.text)
        ]

    def _opposite(self, item: PlacedSentence) -> bool:
        """Return whether a sentence says the opposite of what a question says, unless a denial may answer it."""
        return not self._takes_denials and self._polarity(item) < 0

    def _polarity(self, item: PlacedSentence) -> int:
        """Return whether a sentence affirms or denies what the question asks (see `polarity`)."""
        return polarity(self.question, item.text)

    def _at(self, n: int, quote: str) -> list[PlacedSentence]:
        """Return the sentences of a passage that a quote is from."""
        found = [item for item in self.sentences.get(n, []) if quote in item.text]
        return found[:1] or [item for item in self.sentences.get(n, []) if item.text in quote]

    def _placed(self, source: Source) -> list[PlacedSentence]:
        """Return the sentences of a source with their headings and the question's words in them."""
        headings = headings_of(source.text)
        title = frozenset(words_by_token(source.title))
        found: list[PlacedSentence] = []
        before: tuple[str, frozenset[str]] = "", frozenset()
        for start, end in sentence_spans(source.text):
            text = source.text[start:end].strip()
            if not text or text.startswith("#"):
                continue
            heading = next((own for at, own in reversed(headings) if at <= start), source.heading)
            terms = frozenset(words_by_token(text))
            placed = title | frozenset(words_by_token(heading))
            context = terms | placed
            if POINTS_BACK.match(text) and before[0] == heading:
                context |= before[1]
            own = frozenset(words_by_token(heading))
            found.append(PlacedSentence(source, start, end, text, terms, placed, self._terms & context, own))
            before = heading, context
        return found


def _is_of_the_past(text: str) -> bool:
    """Return whether a sentence about an office is about its holder's past alone."""
    return bool(_PAST_OFFICE.search(text)) and not _STILL.search(text)


def _same_document(a: PlacedSentence, b: PlacedSentence) -> bool:
    """Return whether two sentences stand in the same document."""
    return a.source is b.source or bool(a.source.document_id and a.source.document_id == b.source.document_id)


def _parallel(a: PlacedSentence, b: PlacedSentence, asked: frozenset[str]) -> bool:
    """Return whether two sentences say nearly the same except for the words that distinguish two things."""
    shared, least = a.terms & b.terms, min(len(a.terms), len(b.terms))
    return a is not b and bool(shared & asked) and len(shared) >= PARALLEL * least


def _has_another(item: PlacedSentence, other: PlacedSentence, term: str) -> bool:
    """Return whether a sentence has another word in place of a term, e.g. "north" for "south branch".

    A shorter sentence, such as "lies in Abiko" beside "lies in Abiko city", is about the same thing.
    """
    if term not in other.terms:
        return term not in other.placed or bool(item.placed - other.placed)
    mine, theirs = _tokens(item.text), _tokens(other.text)
    for place, token in enumerate(theirs):
        if term not in words_by_token(token):
            continue
        before, behind = theirs[place - 1 : place], theirs[place + 1 : place + 2]
        instead = [now for then, now in pairwise(mine) if [then] == before]
        instead += [now for now, then in pairwise(mine) if [then] == behind]
        if any(now not in theirs and now not in STOP_WORDS for now in instead):
            return True
    return False


def _tokens(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [token.casefold() for token in _TOKEN.findall(text)]
