"""Sentences of passages, scored for a question without reading them: by vectors and by words.

A sentence's score is a weighted sum of its cosine similarity to the question (embedded under its passage's title) and
of the share of the question's terms that it holds, each term weighted by its inverse document frequency over the
sentences at hand. Position plays no part. Similarity weight, threshold and margin were chosen on the development half
of public question sets, for the default embedder, all-MiniLM-L6-v2 (`preflight eval keyless-abstention` shows what they
do on either half); least score of an extract, sentences embedded and least collection were set by hand on that half.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from preflight_rag.models.cache import PureCache
from preflight_rag.offline.definite_kinds import states_definite_kind
from preflight_rag.offline.found_answers import has_figure
from preflight_rag.offline.opposite_conditions import is_for_opposite_case
from preflight_rag.offline.other_times import is_of_another_time
from preflight_rag.offline.scored_sentences import ScoredSentence, Sentence, weighted
from preflight_rag.offline.sentence_order import SentenceFeatures, features_of, order_scores
from preflight_rag.offline.word_variants import variants
from preflight_rag.state.reading import Draft, Extract, Source
from preflight_rag.text.asked_headings import is_question
from preflight_rag.text.asked_years import gives_year, is_of_other_years, of_another_year
from preflight_rag.text.check_boxes import has_box
from preflight_rag.text.citations import quoted
from preflight_rag.text.headers import NOT_ANSWERED
from preflight_rag.text.letter_lines import QUOTED_PART, states_nothing, writer_and_words
from preflight_rag.text.links import TARGET_LINE, is_bare_reference
from preflight_rag.text.money import asks_price, asks_sum, has_money
from preflight_rag.text.names import RELATIVES, surface_names
from preflight_rag.text.negation import DENIAL
from preflight_rag.text.offices import other_spelling
from preflight_rag.text.other_things import answers_to, subject_words
from preflight_rag.text.overlap import compared_words
from preflight_rag.text.question_forms import may_answer
from preflight_rag.text.quotes import is_title, locate, plain
from preflight_rag.text.tables import is_row
from preflight_rag.text.under_headings import under_headings
from preflight_rag.text.values import asked_kind, figures_of, last_question
from preflight_rag.text.versions import names_version, newest_first, versions_lead
from preflight_rag.text.words import STOP_WORDS, encodable, words

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.offline.found_answers import ReadPassage
from preflight_rag.text.sentence_fit import SentenceFit

EXTRACT_THRESHOLD = 0.30
"""Least score of a sentence that a partition hands on."""
MARGIN = 0.10
"""Greatest difference from the best sentence's score for a further sentence to be quoted."""
MAX_QUOTED = 3
"""Sentences of one answer; set by hand."""
MAX_EXTRACTED = 4
"""Sentences that a partition hands on; set by hand."""
MAX_EMBEDDED = 32
"""Sentences that are embedded for one question, chosen by their lexical share."""

LEAST_COLLECTION = 100
"""Number of sentences that document frequencies are taken over at least, so that the few sentences of a partition, or
those handed on to `reduce`, score as they do among all."""

NOTHING = Draft(NOT_ANSWERED, found=False)
MISFIT = 0.5
"""Penalty of a sentence that seems to be about another subject, or to say the opposite of what the question asks, in
units of `sentence_order`. Of 2,168 sentences for 136 development questions of `preflight eval trust` it is one of 349,
of which 14 answer; the tuning half of `tests/one_word_pairs.py` needs it."""
ELSEWHERE = 1.5
"""Penalty of a sentence that is plainly about something else, or about another time: of 40 such sentences for the same
questions 1 answers."""
NO_REASON = 0.4
"""Penalty of a sentence without words that give a reason, where the question asks why; a guess."""
ANOTHER_YEAR = 0.9
"""Penalty of a sentence about another year, where one is about the year that is asked for; a guess."""
ONLY_NAME = 0.9
"""Penalty of a sentence with the question's name alone, where another of its passage has what is asked of it; a guess,
the one above."""
LEAST_SURE = 0.8
"""Probability that a passage answers from which the sentence with its answer counts as saying it; a guess."""
LACKS_KIND = 2.5
"""Penalty of a sentence without the deadline or the age limit that is asked for, where another one has it; a guess,
more than any sum of likeness and shared words."""
EARLIER = 0.9
"""Penalty of a sentence that a mail quotes from another one, where the mail's own words are about the same: they answer
what it quotes. A guess, the one above."""
LEAST_WORDS = 0.5
"""Least share of the question's words in the first quote that a further one has. Chosen on the development part of
`preflight eval trust`: one in eight quotes went, and none of 111 right sentences; with 0.67 more than one in four, and
one of them."""
MOST_BEHIND = 1.33
"""Greatest difference from the first quote's score of a further one. Of 871 further quotes for development questions of
`preflight eval trust` and of articles of Wikipedia, 508 went, and none of 360 right sentences."""
MOST_BESIDE = 1.0
"""The same for a second quote of the first one's passage."""
FAR_BEHIND = 2 * MOST_BEHIND
"""Greatest difference from the first quote's score where there are only a few passages; a guess."""
MOST_OF_PASSAGE = 2
"""Most quotes of one passage. With one, a right sentence was shown for 360 of the same 436 questions, with two for
375."""
LEAST_TOPIC = 0.25
"""Similarity of the best sentence, among those with the most words of the question, below which no sentence is looked
for that says the same in other words. Over 31 denied questions with ten documents of daily life, a sentence that means
the same was found for six; the best with their words had 0.32 to 0.49."""
MOST_ALIKE = 96
"""Sentences that are compared by their meaning alone, where nothing else is near; a guess."""
MOST_KNOWN = 4096
"""Vectors of sentences that are kept, six megabytes with the default embedder."""
LETTERHEAD = 6
"""Lines at the beginning of a document that may be its letterhead; a guess."""
MAX_COMPARED = 16
"""Sentences that are embedded for evidence; with 32 it was no better."""
VERDICTS = frozenset({"yes", "no", "maybe"})

LEAST_ENTRIES = 3
"""Titles with dots behind them and a page number that make a table of contents; a menu has one in a line. A guess."""
_ENTRY_END = re.compile(r"(?<![. ])[. ](?:[. ]){6,}+\d{1,4}\b")
_FRAGMENT = 2
"""Words of what is no statement: a label, a part of an address; an item with a box says whether it holds."""
_VERB = re.compile(
    r" (?:is|are|was|were|be|may|must|can|cannot|will|shall|has|have|had|does|did|not|never)\b", re.IGNORECASE
)
"""Words of a statement that is as short as a label: "No dogs are permitted."."""
_ORDERS = re.compile(r"(?:no|not|never|only|all|please|do|don['’]t|keep|always)\b", re.IGNORECASE)
"""Begins a line of a notice: "No diving"."""
_FIGURES = re.compile(r"[\d.,]+")
_TOTAL = re.compile(r"\b(?:totals?|altogether|sum)\b", re.IGNORECASE)
_TITLE_SHARE = 0.5
"""Weight of a term in the title alone, relative to one in the sentence; set by hand."""
_SAME_WORDS = 0.8
"""Share of common terms from which two sentences may say the same; a guess."""
_TAKES_PART = re.compile(r"\bt(?:ak(?:e|es|ing|en)|ook) part\b", re.I)
"""Expressions for participating in a study that a sentence about participants does not use."""
_MOST = re.compile(r"\b(?:largest|biggest|greatest|highest|smallest|lowest|main|(?<!at )(?:most|least)) \w+ of\b", re.I)
"""Asks for a thing, though the word behind it may be one for figures: "the largest cost of the branch" is repairs."""
_DAY = re.compile(
    r"\b(?:January|February|March|April|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|days?|weeks?|months?|years?|hours?|today|tomorrow|yesterday|noon)\b"
    r"|\d{1,2}:\d\d|\d ?[ap]\.?m\b"
)
_RELATIVE = re.compile(rf"['’]s? (?:[a-z]+ )?({RELATIVES})\b", re.IGNORECASE)
"""Somebody of a person's family: "Mina Lyle’s father"."""
_PAGE_HEAD = re.compile(r"(?:Header|Footer): (?:[^\n]{0,100}\b)?page \d", re.IGNORECASE)
"""A line at the head or the foot of each page with its number, as loaders write it."""
_DOUBT = re.compile(r"\b(?:unclear|inconclusive|uncertain|controversial)\b", re.I)


class SentenceReader:
    """Quotes the sentences that score best, and abstains if none is good enough.

    Args:
        embedder: The embedder for comparing sentences with the question.
        threshold: Least score of the best sentence, in [0, 1], for an answer.
    """

    def __init__(self, embedder: Embedder, threshold: float) -> None:
        self.embedder, self.threshold = embedder, threshold
        self._known: PureCache[str | tuple[str, str], np.ndarray] = PureCache(MOST_KNOWN)

    def draft(self, question: str, sentences: Sequence[Sentence], options: Sequence[str]) -> Draft:
        """Return one to three sentences, best first; with options, the option that agrees best with them."""
        ranked = self.rank(question, sentences)
        if not ranked or ranked[0].score < self.threshold:
            return Draft(NOT_ANSWERED, found=False)
        groups = agreeing(ranked, least=max(self.threshold, ranked[0].score - MARGIN))
        choice = self.choose(question, [group[0] for group in groups], options) if options else None
        quotes: dict[tuple[int, str], None] = {}
        for group in groups:
            for item in group:
                quotes[(item.sentence.n, item.sentence.text)] = None
        return Draft("\n\n".join(statement(group) for group in groups), tuple(quotes), choice=choice)

    def extract(self, question: str, sentences: Sequence[Sentence]) -> Extract:
        """Return the best sentences, one a line under its passage's title."""
        ranked = self.rank(question, sentences)
        kept = [item.sentence for item in ranked[:MAX_EXTRACTED] if item.score >= EXTRACT_THRESHOLD]
        return extract_of([(sentence.n, sentence.title, sentence.text) for sentence in kept])

    def rank(
        self,
        question: str,
        sentences: Sequence[Sentence],
        most: int = MAX_EMBEDDED,
        first: Collection[int] = (),
        preferred: Sequence[float] = (),
    ) -> list[ScoredSentence]:
        """Return the `most` sentences with the largest lexical shares, scored, best first; ties in their order.

        Args:
            question: The question.
            sentences: The sentences.
            most: How many are scored.
            first: Places of sentences that are scored whatever their shares.
            preferred: What is added to the share of each sentence where the scored ones are chosen.
        """
        import numpy as np

        if not sentences:
            return []
        known = frozenset[str]().union(*(sentence.terms for sentence in sentences))
        spellings = [question, *filter(None, [other_spelling(question)]), *variants(question, known)]
        by_spelling = [
            _lexical_shares(frozenset(words(_TAKES_PART.sub("participated", spelling))), sentences)
            for spelling in spellings
        ]
        shares = [max(found) for found in zip(*by_spelling, strict=True)]
        # Words choose which sentences are embedded, as embedding is what takes the time.
        chances = [share + more for share, more in zip(shares, preferred, strict=True)] if preferred else shares
        # A deadline or an age limit may share no word with its question.
        states = states_definite_kind(question)
        definite = [i for i, sentence in enumerate(sentences) if states and states(sentence.text)][:MAX_QUOTED]
        first = {*first, *definite}
        order = sorted(range(len(sentences)), key=lambda i: (i not in first, -chances[i], sentences[i].n, i))
        # Back in the order of the passages, in which sentences of equal scores stay.
        chosen = sorted(order[:most], key=lambda i: (sentences[i].n, i))
        vectors = self._vectors(
            [(encodable(sentences[i].title), encodable(_without_target(sentences[i].text))) for i in chosen]
        )
        # Of a follow-up behind the question it leans on, the last one is what a sentence is to answer.
        last = last_question(question)
        encode = self.embedder.encode_query
        # The keys of a dict, so that a question that is its own last one is embedded once.
        asked = _unit(np.mean([_unit(encode(encodable(each))) for each in {question: 0, last: 0}], axis=0))
        cosines = (vectors @ asked).tolist()
        floor = self.embedder.unrelated_cosine
        # Cosines of unrelated texts lie far above 0 with some embedders; from that floor on they are comparable.
        similarities = [(cosine - floor) / (1 - floor) for cosine in cosines]
        scored = [
            ScoredSentence(sentences[i], similarity, shares[i], vector)
            for i, similarity, vector in zip(chosen, similarities, vectors, strict=True)
        ]
        return sorted(scored, key=lambda item: -item.score)

    def alike(self, question: str, sentences: Sequence[Sentence], least: float) -> list[Sentence]:
        """Return the sentences that mean the same as the question, most alike first, whatever words they have.

        Args:
            question: The question; where it asks for a number or a date, only sentences with one are compared.
            sentences: The sentences; the first `MOST_ALIKE` are compared.
            least: Least cosine, of the sentence without its title.
        """
        says = says_of_kind(question)
        compared = [item for item in sentences if says is None or says(item.text)][:MOST_ALIKE]
        if not compared:
            return []
        vectors = self._vectors([encodable(item.text) for item in compared])
        floor = self.embedder.unrelated_cosine
        likeness = (vectors @ _unit(self.embedder.encode_query(encodable(question))) - floor) / (1 - floor)
        # Rounded, so that the last bits of a product never decide an order.
        order = sorted(range(len(compared)), key=lambda place: (-round(float(likeness[place]), 4), place))
        return [compared[place] for place in order if likeness[place] >= least]

    def _vectors(self, passages: Sequence[str | tuple[str, str]]) -> np.ndarray:
        """Return the unit vectors of texts or of `(title, text)`, one a row.

        A conversation finds the same passages again and again, and embedding their sentences took half of a turn.
        """
        import numpy as np

        encode = self.embedder.encode_passages
        return np.stack(self._known.get(passages, lambda new: list(_unit(encode(list(new))))))

    def agreement(self, question: str, options: Sequence[str], evidence: Sequence[ScoredSentence]) -> list[float]:
        """Return how well each option agrees with sentences: by its nearest vector, and by the words of all."""
        claims = _unit(self.embedder.encode_passages([encodable(f"{question} {option}") for option in options]))
        there = frozenset[str]().union(*(item.sentence.terms for item in evidence))
        found = []
        for claim, option in zip(claims, options, strict=True):
            terms = frozenset(words(option))
            share = len(terms & there) / len(terms) if terms else 0.0
            found.append(weighted(max(float(claim @ item.vector) for item in evidence), share))
        return found

    def choose(self, question: str, evidence: Sequence[ScoredSentence], options: Sequence[str]) -> str:
        """Return the option that agrees best with the quoted sentences; the first of equals."""
        by_name = verdict_options(options)
        if by_name:
            return by_name.get(_verdict(question, evidence, by_name), options[0])
        scores = self.agreement(question, options, evidence)
        return options[max(range(len(options)), key=lambda i: (scores[i], -i))]


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors scaled to unit length.

    Embedders whose vectors are compared by inner product do not return unit vectors.
    """
    lengths = (vectors**2).sum(axis=-1, keepdims=True) ** 0.5
    # A vector of zeros stays one, in place of a division by zero.
    unit: np.ndarray = vectors / (lengths + (lengths == 0))
    return unit


def _lexical_shares(question: frozenset[str], sentences: Sequence[Sentence]) -> list[float]:
    """Return the share of the question's terms in each sentence, weighted by inverse document frequency.

    A term in the title alone counts half.
    """
    found = Counter(chain.from_iterable(sentence.terms & question for sentence in sentences))
    # In a few sentences every term is rare or everywhere, and their own frequencies would say nothing.
    count = max(len(sentences), LEAST_COLLECTION)
    weights = {term: math.log(1 + count / (0.5 + found[term])) for term in sorted(question)}
    total = sum(weights.values()) or 1.0
    shares = []
    for sentence in sentences:
        found_weight = sum(
            weight * (1.0 if term in sentence.terms else _TITLE_SHARE)
            for term, weight in weights.items()
            if term in sentence.terms or term in sentence.title_terms
        )
        shares.append(round(found_weight / total, 6))
    return shares


def sentences_of(sources: Sequence[Source], question: str) -> list[Sentence]:
    """Return the sentences of all sources.

    Headings, titles, questions and fragments are only included from a source that has no other sentences; lines around
    a letter or mail only where the question asks for what they state.

    Args:
        sources: The passages.
        question: The question.
    """
    found: list[Sentence] = []
    for source in sources:
        headed = under_headings(source)
        quotes = [quote for quote in headed if not states_nothing(question, quote, source.text)]
        title = words(source.title)
        # A title that is a sentence states something, as other titles do not.
        own = [quote for quote in quotes if quote.endswith((".", "。")) or words(quote) != title] or quotes
        own = [quote for quote in own if not (_is_letterhead(quote, source) or _is_contents(quote))] or own
        own = [quote for quote in own if not _PAGE_HEAD.match(quote)] or own
        own = [quote for quote in own if not is_bare_reference(question, quote)] or own
        # A question in a document shares most words with the user's question and answers nothing.
        stating = [
            quote
            for quote in own
            if not is_question(quote)
            and (len(words(quote)) > _FRAGMENT or ": " in quote or has_box(quote) or _is_short_statement(quote))
        ]
        title_terms = frozenset(title)
        found += [
            Sentence(
                source.n, quote, source.title, frozenset(words(_without_target(quote))), title_terms | headed[quote]
            )
            for quote in stating or own
        ]
    return found


def _is_contents(quote: str) -> bool:
    """Return whether a quote is made of entries of a table of contents, which loaders leave out where they see it."""
    return sum(1 for _ in _ENTRY_END.finditer(quote)) >= LEAST_ENTRIES


def _is_letterhead(quote: str, source: Source) -> bool:
    """Return whether a quote is a line above a document's first sentence that says what it is: "Inspection report"."""
    # A letterhead is at the beginning alone, and a line with a figure, a colon or a verb states something.
    if source.start or any(map(str.isdigit, quote)) or ":" in quote or _VERB.search(f" {quote}") or is_row(quote):
        return False
    if _ORDERS.match(quote):
        return False
    opening = [line.strip() for line in source.text.split("\n") if line.strip()][:LETTERHEAD]
    # A list has no sentence and no label in its first lines, and states something with each of them.
    below = next((at for at, line in enumerate(opening) if ": " in line or line.endswith((".", "!", "?", "。"))), 0)
    return quote in opening[:below]


def _without_target(quote: str) -> str:
    """Return a quote without the address that a link leads to, whose words are no statement."""
    link = TARGET_LINE.match(quote)
    return link[1] if link else quote


def _is_short_statement(quote: str) -> bool:
    """Return whether a short text states something.

    It ends like a sentence and contains a verb, orders something ("No diving"), or labels an amount ("TOTAL $82.14").
    """
    if _ORDERS.match(quote) or (quote.endswith((".", "!")) and _VERB.search(quote)):
        return True
    return has_money(quote) and bool(words(_FIGURES.sub(" ", quote)))


def line(n: int, title: str, text: str) -> str:
    """Return a sentence with its passage's title before it, as extracts store it."""
    title = " ".join(title.split())
    return f"{title}: {plain(text)} [{n}]" if title else f"{plain(text)} [{n}]"


def extract_of(kept: Sequence[tuple[int, str, str]]) -> Extract:
    """Return an extract of (n, title, quote), one a line."""
    return Extract("\n".join(line(*item) for item in kept), tuple((n, quote) for n, _, quote in kept))


def extracted(extract: Extract) -> list[Source]:
    """Return the sentences of an extract; titles are read from lines that are as `extract_of` writes them."""
    lines = extract.text.split("\n")
    found = []
    for i, (n, quote) in enumerate(extract.quotes):
        end = f"{plain(quote)} [{n}]"
        title = lines[i].removesuffix(end).rstrip(": ") if i < len(lines) and lines[i].endswith(end) else ""
        found.append(Source(n, "", title, quote))
    return found


def agreeing(ranked: Sequence[ScoredSentence], *, least: float) -> list[list[ScoredSentence]]:
    """Return the first sentences that differ in their statement, each with the agreeing ones of other sources."""
    groups: list[list[ScoredSentence]] = []
    for item in ranked:
        group = next((group for group in groups if same_statement(group[0].sentence, item.sentence)), None)
        if group is not None:
            group.append(item)
        elif len(groups) < MAX_QUOTED and item.score >= least:
            groups.append([item])
    return groups


def same_statement(a: Sentence, b: Sentence) -> bool:
    """Return whether two sentences differ in at most a few words, and in no number or negation."""
    if len(a.terms & b.terms) < _SAME_WORDS * len(a.terms | b.terms):
        return False
    # Two sentences alike in all words but a number are two statements.
    if any(any(map(str.isdigit, term)) for term in a.terms ^ b.terms):
        return False
    return len(DENIAL.findall(a.text)) == len(DENIAL.findall(b.text))


def statement(group: Sequence[ScoredSentence]) -> str:
    """Return the first sentence of a group with the citation marks of all that say the same."""
    numbers = sorted({item.sentence.n for item in group})
    return f"{plain(group[0].sentence.text)} " + "".join(f"[{n}]" for n in numbers)


def _has_day(text: str) -> bool:
    """Return whether a text names a date, a month, a day of the week, or how long something takes."""
    return bool(figures_of(text).dates or _DAY.search(text))


_ASKS_SHARE = re.compile(r"\bby how much\b|\b(?:what|which) (?:percent\w*|share|proportion)\b", re.IGNORECASE)


def _has_share(text: str) -> bool:
    """Return whether a text has a percentage or an amount of money."""
    return "%" in text or " per cent" in text or " percent" in text or has_money(text)


def _has_amount(text: str) -> bool:
    """Return whether a text states an amount of money, or a share: a deposit may be 30 per cent."""
    return has_money(text) or _has_share(text)


def _has_total(text: str) -> bool:
    """Return whether a text states an amount of money as a total."""
    return has_money(text) and _TOTAL.search(text) is not None


def says_of_kind(question: str) -> Callable[[str], bool] | None:
    """Return whether a text has what a question asks for, a number, a date or money; None where it asks for neither."""
    if _ASKS_SHARE.search(question):
        return _has_share
    if asks_sum(question):
        if _TOTAL.search(question):
            return _has_total
        return _has_amount if asks_price(question) else has_money
    kind = "" if _MOST.search(question) else asked_kind(question)
    return {"number": has_figure, "date": _has_day}.get(kind)


def alike_quotes(found: Sequence[Sentence], most: int) -> list[tuple[int, str]]:
    """Return `(passage, sentence)` of sentences that mean the same, at most `MOST_OF_PASSAGE` of each passage."""
    shown: list[tuple[int, str]] = []
    for sentence in found:
        if sum(n == sentence.n for n, _ in shown) < MOST_OF_PASSAGE:
            shown.append((sentence.n, sentence.text))
    return shown[:most]


def nearest_quotes(
    ranked: Sequence[ScoredSentence],
    read: Sequence[ReadPassage],
    fit: SentenceFit,
    most: int = MAX_QUOTED,
) -> list[tuple[int, str]]:
    """Return the sentences nearest to an answer, at most two of a passage, as (passage, sentence), nearest first.

    A sentence counts by `sentence_order`, and less where it is about another subject or says the opposite.

    Args:
        ranked: The sentences that are like the question.
        read: The passages that they are from.
        fit: Which sentences say what is asked for.
        most: How many are shown.
    """
    candidates = _candidates(shown_sentences(ranked, fit), read, fit)
    nearest: list[tuple[int, str]] = []
    bearing = _of_few(candidates, fit) if len(read) <= most else _bearing(candidates, fit)
    for item in bearing:
        n, text = item.sentence.n, item.sentence.text
        # Rows of one table that are as near as each other are not told apart.
        shown = [quote for number, quote in nearest if number == n]
        is_full = len(shown) >= MOST_OF_PASSAGE and not all(map(is_row, [text, *shown]))
        if not is_full and not _is_shown(text, [shown for _, shown in nearest]):
            nearest.append((n, text))
    return nearest[:most]


def joined_quotes(quotes: Sequence[tuple[int, str]], sources: Mapping[int, Source]) -> list[tuple[int, str]]:
    """Return quotes, those of one passage that overlap or follow one another as one quote, in the better one's place.

    Args:
        quotes: Numbers of passages and verbatim parts of their texts.
        sources: The passages, by number.
    """
    joined: list[tuple[int, str]] = []
    for n, quote in quotes:
        for place, (other, shown) in enumerate(joined):
            if other == n and (both := _joined(sources[n].text, shown, quote)):
                joined[place] = n, both
                break
        else:
            joined.append((n, quote))
    return joined


def _joined(text: str, a: str, b: str) -> str:
    """Return two parts of a text as one, if they overlap or have at most one line end between them; else "".

    Rows stay apart: joined they would be read as one line.
    """
    if is_row(a) or is_row(b):
        return ""
    spans = [locate(part, text) for part in (a, b)]
    located = sorted(span for span in spans if span)
    if len(located) < 2:
        return ""
    (start, end), (begin, last) = located
    between = text[end:begin]
    return "" if between.strip() or between.count("\n") > 1 else text[start : max(end, last)]


def shown_sentences(ranked: Sequence[ScoredSentence], fit: SentenceFit) -> list[ScoredSentence]:
    """Return the sentences that are neither a title nor a heading; headings where there is nothing else."""
    stated = [item for item in ranked if not is_title(item.sentence.text, item.sentence.title)]
    return [item for item in stated if not fit.is_heading(item.sentence.n, item.sentence.text)] or stated


def order_features(
    ranked: Sequence[ScoredSentence], read: Sequence[ReadPassage], fit: SentenceFit
) -> tuple[list[SentenceFeatures], list[float]]:
    """Return for each sentence its features, and what counts against it.

    Against it counts that it is about another subject, time, year or case than the question, that it lacks the deadline
    or the age that is asked for, that it has only the question's name, that it gives no reason where one is asked for,
    or that it is what a mail quotes of another one, where the mail's own words are about the same.

    Args:
        ranked: The sentences that are like the question.
        read: The passages that they are from.
        fit: Which sentences say what is asked for.
    """
    sources = {item.source.n: item.source for item in read}
    own_shares: dict[int, float] = {}
    for item in ranked:
        if not QUOTED_PART.match(item.sentence.text):
            own_shares[item.sentence.n] = max(item.share, own_shares.get(item.sentence.n, 0.0))
    only_names = _sentences_with_only_names(ranked, read, fit.question) + _about_the_person(ranked, fit.question)
    # Where nothing is about the year that is asked for, what names no year is not nearer for that.
    given = any(gives_year(fit.question, sources[item.sentence.n], item.sentence.text) for item in ranked)
    states = states_definite_kind(fit.question)
    is_stated = states is not None and any(states(item.sentence.text) for item in ranked)

    def penalty(item: ScoredSentence) -> float:
        """Return the sum of the penalties of a sentence."""
        own = item.sentence.n, item.sentence.text
        off = MISFIT * fit.misfits(*own)
        off += ELSEWHERE * (
            fit.is_elsewhere(*own) or is_of_another_time(fit.question, sources[item.sentence.n], item.sentence.text)
        )
        off += ANOTHER_YEAR * (given and of_another_year(fit.question, item.sentence.title, item.sentence.text))
        off += LACKS_KIND * (states is not None and is_stated and not states(item.sentence.text))
        off += MISFIT * is_for_opposite_case(fit.question, item.sentence.text)
        off += ONLY_NAME * (item.sentence in only_names)
        off += NO_REASON * (not may_answer(fit.question, item.sentence.text))
        is_quoted = QUOTED_PART.match(item.sentence.text) is not None
        return off + EARLIER * (is_quoted and own_shares.get(item.sentence.n, 0.0) >= LEAST_WORDS * item.share)

    features = features_of(fit.question, ranked, read, says_of_kind(fit.question))
    return features, [penalty(item) for item in ranked]


def _sentences_with_only_names(
    ranked: Sequence[ScoredSentence], read: Sequence[ReadPassage], question: str
) -> list[Sentence]:
    """Return the sentences that have no more of a question than a name, where another of the passage answers rather.

    So it is where a number, a day or an amount is asked of one name. "The Owner lets the Corn Exchange to the Hirer"
    names what the whole contract is about; "A deposit of 30 per cent falls due" or, without a word of the question,
    the sentence in which the reader finds the answer, need not name it.
    """
    says = says_of_kind(question)
    named = [name for name in surface_names(question) if not _DAY.search(" ".join(name).title())]
    names = frozenset(words(" ".join(named[0] if named else ())))
    asked = subject_words(question) - names
    # Of two names, what is asked may be between them.
    is_one = bool(names) and all(names >= frozenset(words(" ".join(name))) for name in named)
    if says is None or not is_one or not asked:
        return []
    spans = {item.source.n: likely_span(item) for item in read}
    found = []
    for n in {item.sentence.n for item in ranked}:
        own = [item.sentence for item in ranked if item.sentence.n == n and not is_row(item.sentence.text)]
        saying = [sentence for sentence in own if sentence.terms & asked and says(sentence.text)]
        holding = [sentence for sentence in own if spans[n] and spans[n] in sentence.text]
        better = saying or holding
        found += [each for each in own if better and each not in better and each.terms & names]
    return found


def _about_the_person(ranked: Sequence[ScoredSentence], question: str) -> list[Sentence]:
    """Return the sentences about a person of whom a relative is asked for, where others speak of that relative.

    "Mina Lyle was arrested in 1943" says nothing of "Mina Lyle’s father", unlike "Her father was shot".
    """
    relative = _RELATIVE.search(question)
    asked = frozenset(words(relative[1])) if relative else frozenset[str]()
    others = [item.sentence for item in ranked if not asked & item.sentence.terms]
    return others if asked and len(others) < len(ranked) else []


def likely_span(item: ReadPassage) -> str:
    """Return the answer that the reader finds in a passage that surely holds one; "" in another."""
    return item.reading.best.text if item.reading.best and item.reading.answerable >= LEAST_SURE else ""


@dataclass(frozen=True)
class _Candidate:
    """A sentence that may be quoted.

    Attributes:
        item: The sentence.
        behind: The difference of its score from the first one's.
        may_be_second: Whether it may be the second quote of its passage: not far behind, a whole sentence, and with a
            word of the question, or with the answer that the reader finds if it is of the kind that is asked for.
    """

    item: ScoredSentence
    behind: float
    may_be_second: bool


def _candidates(ranked: Sequence[ScoredSentence], read: Sequence[ReadPassage], fit: SentenceFit) -> list[_Candidate]:
    """Return the sentences that may be quoted, best first."""
    features, penalties = order_features(ranked, read, fit)
    scores = [round(score - penalty, 4) for score, penalty in zip(order_scores(features), penalties, strict=True)]
    order = sorted(range(len(ranked)), key=lambda place: (-scores[place], ranked[place].sentence.n))
    asked = frozenset(words(fit.question)) - STOP_WORDS
    candidates = []
    for place in order:
        item, behind = ranked[place], scores[order[0]] - scores[place]
        says = bool(asked & item.sentence.terms) or (features[place].holds > 0 and not features[place].no_figure)
        candidates.append(_Candidate(item, behind, behind <= MOST_BESIDE and says and _is_whole(item.sentence.text)))
    return candidates


def _bearing(candidates: Sequence[_Candidate], fit: SentenceFit) -> Iterator[ScoredSentence]:
    """Yield the first sentence, and the later ones that are nearly as relevant to the question.

    They contain most of the question's words that the first one contains, are about the same subject, and are not far
    behind it.

    Args:
        candidates: The sentences, best first.
        fit: Which sentences say what is asked for.
    """
    asked = frozenset(words(fit.question)) - STOP_WORDS

    def words_found(item: ScoredSentence) -> int:
        """Return how many of the question's words a sentence or its title contains."""
        return len(asked & (item.sentence.terms | item.sentence.title_terms))

    def misfits(item: ScoredSentence) -> bool:
        """Return whether a sentence is about another subject or says the opposite."""
        return fit.misfits(item.sentence.n, item.sentence.text)

    if not candidates:
        return
    first = candidates[0].item
    yield first
    for candidate in candidates[1:]:
        item = candidate.item
        if candidate.behind > MOST_BEHIND:
            return
        # Beside the first quote a sentence need not repeat what both are about.
        is_beside = item.sentence.n == first.sentence.n
        bears = candidate.may_be_second if is_beside else words_found(item) >= LEAST_WORDS * words_found(first)
        # If the first quote is itself about another subject, that is no reason to leave out others.
        if bears and (misfits(first) or not misfits(item)):
            yield item


def _of_few(candidates: Sequence[_Candidate], fit: SentenceFit) -> Iterator[ScoredSentence]:
    """Yield the first sentence of each of a few passages, then those that may be the second of theirs.

    Each passage may be one side of what is in question, unless it is about something else altogether.
    """
    firsts: dict[int, _Candidate] = {}
    for candidate in candidates:
        if candidate.behind <= FAR_BEHIND:
            firsts.setdefault(candidate.item.sentence.n, candidate)
    for candidate in firsts.values():
        yield candidate.item
    for candidate in candidates:
        item = candidate.item
        is_first = firsts.get(item.sentence.n) is candidate
        if not is_first and candidate.may_be_second and not fit.misfits(item.sentence.n, item.sentence.text):
            yield item


def _is_whole(text: str) -> bool:
    """Return whether a text is a row or ends as a sentence does."""
    return is_row(text) or text.rstrip(" \n\"'”’)]").endswith((".", "!", "?", ";", ":", "。"))


def _is_shown(sentence: str, shown: Iterable[str]) -> bool:
    """Return whether a sentence is already shown, possibly from another file format of the same document."""
    own = _compared(sentence)
    return any(own == _compared(other) for other in shown)


def _compared(quote: str) -> tuple[str, ...]:
    """Return the words by which a quote is compared with others, without who wrote what a mail quotes."""
    return tuple(compared_words(writer_and_words(quote)[1]))


def unread_quotes(
    question: str, sources: Sequence[Source], sentences: SentenceReader, most: int = MAX_QUOTED, least: float = -1.0
) -> list[tuple[int, str]]:
    """Return the sentences most similar to the question, one for each passage, if no reader knows their language.

    Args:
        question: The question.
        sources: The passages.
        sentences: Compares the sentences with the question.
        most: How many are shown.
        least: Least cosine of a sentence that shares no word with the question.
    """
    nearest: dict[int, str] = {}
    ranked = sentences.rank(question, sentences_of(sources, question))
    ranked = [item for item in ranked if item.share > 0 or item.similarity >= least]
    for item in [item for item in ranked if not is_title(item.sentence.text, item.sentence.title)] or ranked:
        if not _is_shown(item.sentence.text, nearest.values()):
            nearest.setdefault(item.sentence.n, item.sentence.text)
    return list(nearest.items())[:most]


def of_versions(quotes: Sequence[tuple[int, str]], fit: SentenceFit, lead: str) -> tuple[list[tuple[int, str]], str]:
    """Return the quotes and the line above them; where one is outdated, the versions' quotes under the change.

    Args:
        quotes: What is shown, nearest first.
        fit: Which sentences say what is asked for.
        lead: The line above quotes of which none is outdated.
    """
    newer = {(n, quote): fit.replacements(n, quote) for n, quote in quotes}
    texts = set()
    for found in newer.values():
        for item in found:
            texts.add(item.text)
    shown = [(n, quote) for n, quote in quotes if newer[n, quote] or any(text in quote for text in texts)]
    outdated = [(n, quote) for n, quote in shown if newer[n, quote]]
    if not outdated:
        return list(quotes), lead
    n, quote = outdated[0]
    latest = newest_first([item.source for item in newer[n, quote]])[0]
    text = next((item.text for item in newer[n, quote] if item.source is latest), "")
    of_other_years = is_of_other_years(fit.question, [(latest, text), (fit.source(n), quote)])
    if of_other_years or names_version(fit.question, fit.source(n)) or not answers_to(fit.question, latest, text):
        return list(quotes), lead  # what changed is no answer
    if all(number != latest.n for number, _ in shown):  # the older one must not stand alone under this line
        shown = [(latest.n, text), *shown]
    return shown, versions_lead(latest, text, quote)


def evidence(quotes: Sequence[tuple[int, str]], lead: str, why: str = "") -> Draft:
    """Return quotes, one for each paragraph, under an introducing line, without a claim; NOTHING without quotes.

    The same words of several passages are shown once, with the numbers of all.

    Args:
        quotes: The quotes, with the numbers of their passages.
        lead: The line above the quotes.
        why: A sentence on why nothing is claimed.
    """
    if not quotes:
        return NOTHING
    shown: dict[tuple[str, ...], str] = {}
    for n, quote in quotes:
        # A quote without any word would be equal to all others without one.
        words_of = _compared(quote) or (quote,)
        if words_of not in shown:
            shown[words_of] = quoted(n, plain(quote))
        elif not shown[words_of].endswith(f"[{n}]"):
            shown[words_of] += f"[{n}]"
    text = "\n\n".join([lead, *shown.values()])
    return Draft(text, tuple(quotes), claims=False, unclaimed=why)


def verdict_options(options: Sequence[str]) -> dict[str, str]:
    """Return options that are verdicts by the names yes, no and maybe; empty for any other options."""
    by_name = {option.strip().strip(".").casefold(): option for option in options}
    return by_name if len(by_name) > 1 and by_name.keys() <= VERDICTS else {}


def _verdict(question: str, evidence: Sequence[ScoredSentence], offered: Collection[str]) -> str:
    """Return yes, no or maybe by the words of negation and doubt in the quoted sentences and the question."""
    if "maybe" in offered and any(_DOUBT.search(item.sentence.text) for item in evidence):
        return "maybe"
    negative = bool(DENIAL.search(evidence[0].sentence.text)) != bool(DENIAL.search(question))
    return "no" if negative else "yes"
