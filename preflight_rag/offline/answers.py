"""Answers read out of passages by an extractive reader: short answers with the sentences around them, or abstention.

Each passage is read by itself. It answers when its probability of holding the answer reaches the reader's threshold,
which was set on validation data (`reader.json`); sentences that merely look like the question never do. Equal answers
of several passages count as agreement. A question for an explanation gets whole sentences of the passages that answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading, Span
from preflight_rag.offline.evidence import (
    MARGIN,
    NOT_FOUND,
    Scored,
    SentenceReader,
    agreeing,
    extract_of,
    plain,
    quote_around,
    sentences_of,
    statement,
    verdict_options,
)
from preflight_rag.offline.verdicts import ReadPassage, VerdictReader
from preflight_rag.state.reading import Draft, Extract, Source
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.sentences import sentence_spans

PLACE = 0.2
"""What each place in the search's order takes from the log odds of a passage's answers, when answers are ranked.
Chosen on BioASQ's development questions."""
CLOSE = 1.2
"""How far below the best answer, in log odds, a different answer may rank and still be shown beside it. Set by hand;
no command shows it."""
AGREEMENT = 0.15
"""Power of the number of passages that agree, in the odds of their answer. Set by hand; no command shows it."""
MAX_ANSWERS = 3
"""Different answers shown beside each other; set by hand, so that an answer fits a screen."""
MAX_LISTED = 10
"""Answers in a list; set by hand, as above."""
MAX_EXPLAINING = 3
"""Passages, likeliest first, whose sentences make an explanation. Set by hand."""
SPAN_BONUS = 0.2
"""What a sentence of an explanation gains that holds the best span of a passage that surely answers. Set by hand."""
NEAR = 0.15
"""How far below the threshold a partition's likeliest passage may lie and its best sentence still be handed on. Set
by hand."""
MAX_MORE = 6
"""Words that one of two equal answers may have more than the other. A guess."""
LEAST = 1e-4
"""Least distance of a probability from 0 and 1 when its odds are taken."""
SETTLED = 4
"""Decimals of a probability."""


@dataclass(frozen=True)
class FoundAnswer:
    """An answer in one passage.

    Attributes:
        source: The passage.
        span: Where it stands.
        probability: That it is the answer: of the passage to answer, times the span's share.
    """

    source: Source
    span: Span
    probability: float

    @property
    def text(self) -> str:
        """The answer as running text."""
        return plain(self.span.text) or " ".join(self.span.text.split())

    @property
    def worth(self) -> float:
        """What it ranks by: its log odds, less the further down the search found its passage."""
        probability = min(max(self.probability, LEAST), 1 - LEAST)
        return round(math.log(probability / (1 - probability)) - PLACE * self.source.n, SETTLED)

    @property
    def quote(self) -> str:
        """The sentence around it, verbatim."""
        return self.source.text[slice(*quote_around(self.source.text, self.span.start, self.span.end))]


@dataclass(frozen=True)
class AnswerGroup:
    """Passages with one answer, the one that ranks first before the others.

    `confidence` is the likeliest one's probability, raised a little by those that agree.
    """

    found: tuple[FoundAnswer, ...]
    confidence: float

    @property
    def worth(self) -> float:
        """What it ranks by: the worth of the first passage, raised a little by those that agree."""
        return round(self.found[0].worth + AGREEMENT * math.log(len(self.found)), SETTLED)

    @property
    def text(self) -> str:
        """The answer as the first passage words it."""
        return self.found[0].text

    @property
    def marks(self) -> str:
        """Marks of the passages, by number."""
        return "".join(f"[{n}]" for n in sorted({item.source.n for item in self.found}))

    def line(self) -> str:
        """The answer with its marks, and the sentence around it where that says more."""
        quote = plain(self.found[0].quote)
        if quote.strip(" .").casefold() == self.text.strip(" .").casefold():
            return f"{quote} {self.marks}"
        return f"{self.text} {self.marks}\n\n{quote} [{self.found[0].source.n}]"

    def quotes(self) -> list[tuple[int, str]]:
        """The sentence around each passage's answer."""
        return [(item.source.n, item.quote) for item in self.found]


class AnswerReader:
    """Reads short answers out of passages. Deterministic; of the order of the passages only their numbers matter.

    Args:
        extractive: What reads.
        sentences: Ranks sentences, for explanations.
    """

    def __init__(self, extractive: ExtractiveReader, sentences: SentenceReader) -> None:
        self.extractive, self.sentences, self.threshold = extractive, sentences, extractive.threshold
        self.chooser = VerdictReader(extractive, sentences, self.threshold)

    def read(self, question: str, sources: Sequence[Source]) -> list[ReadPassage]:
        """The passages with their readings, by number."""
        ordered = sorted(sources, key=lambda source: source.n)
        readings = self.extractive.read([(question, source.title, source.text) for source in ordered])
        return [ReadPassage(source, reading) for source, reading in zip(ordered, readings, strict=True)]

    def draft(self, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Draft:
        """The answer of all passages, or NOT_FOUND with the probability that none holds one."""
        read = self.read(question, sources)
        form = form_of(question)
        verdicts = verdict_options(options)
        if (verdicts or (form == "verdict" and not options)) and any(item.reading.verdict for item in read):
            return self.chooser.verdict(question, read, verdicts) or _not_found(read)
        answering = self._answering(read)
        if not answering:
            return _not_found(read)
        if options:
            return self._chosen(question, answering, options)
        if form in ("explanation", "verdict"):
            return self._explanation(question, answering)
        return _drafted(self._shown(answering, several=form == "list"), several=form == "list")

    def extract(self, question: str, sources: Sequence[Source]) -> Extract:
        """The sentences around the answers of the passages that answer; where none does, of one that nearly does."""
        read = self.read(question, sources)
        several = form_of(question) == "list"
        answering = self._answering(read)
        if answering:
            found = [item for read_ in answering for item in self._kept(read_, several=several)]
            return _extract(sorted(found, key=lambda item: (-item.probability, item.source.n)))
        near = [item for item in read if item.reading.spans and self._nearly(item)]
        best = max(near, key=lambda item: (item.reading.answerable, -item.source.n), default=None)
        return _extract(answers_of(best)[:1]) if best else Extract("")

    def _answering(self, read: Sequence[ReadPassage]) -> list[ReadPassage]:
        return [item for item in read if item.reading.spans and item.reading.answerable >= self.threshold]

    def _nearly(self, item: ReadPassage) -> bool:
        return item.reading.answerable >= self.threshold - NEAR or item.bearing >= self.threshold

    def _kept(self, item: ReadPassage, *, several: bool) -> list[FoundAnswer]:
        """A passage's best answer, and with `several` all that reach the threshold by themselves."""
        found = answers_of(item, several=several)
        return found[:1] + [other for other in found[1:] if several and other.probability >= self.threshold]

    def _shown(self, answering: Sequence[ReadPassage], *, several: bool) -> list[AnswerGroup]:
        """The answers to show, best first: one, those about as good, or with `several` all that passages give."""
        if several:
            found = [item for read in answering for item in self._kept(read, several=True)]
            return grouped(found)[:MAX_LISTED]
        groups = grouped([item for read in answering for item in answers_of(read)])
        return [group for group in groups[:MAX_ANSWERS] if group.worth >= groups[0].worth - CLOSE]

    def _explanation(self, question: str, answering: Sequence[ReadPassage]) -> Draft:
        """Sentences of the likeliest passages; those around their best spans come sooner."""
        chosen = sorted(answering, key=lambda item: (-item.reading.answerable, item.source.n))[:MAX_EXPLAINING]
        ranked = self.sentences.rank(question, sentences_of([item.source for item in chosen]))
        by_number = {item.source.n: item.reading for item in chosen}
        score = _worth(by_number)
        ranked.sort(key=lambda item: (-score(item), item.sentence.n))
        groups = agreeing(ranked, least=score(ranked[0]) - MARGIN, score=score)
        quotes = dict.fromkeys((item.sentence.n, item.sentence.text) for group in groups for item in group)
        text = "\n\n".join(statement(group) for group in groups)
        return Draft(text, tuple(quotes), confidence=chosen[0].reading.answerable)

    def _chosen(self, question: str, answering: Sequence[ReadPassage], options: Sequence[str]) -> Draft:
        """The option that the passages support best, with the answer that comes nearest to it as its evidence."""
        groups = grouped([item for read in answering for item in answers_of(read)])
        answers = [(group.text, group.confidence) for group in groups]
        choice = self.chooser.choose(question, answering, options, answers)
        equal = next((group for group in groups if same_answer(group.text, choice)), None)
        quoting = next((group for group in groups if choice.casefold() in group.found[0].quote.casefold()), None)
        evidence = equal or quoting or groups[0]
        n, quote = evidence.quotes()[0]
        text = f"{choice} {evidence.marks}\n\n{plain(quote)} [{n}]" if choice.strip() else f"{plain(quote)} [{n}]"
        return Draft(text, tuple(evidence.quotes()), choice=choice, short=choice, confidence=evidence.confidence)


def answers_of(item: ReadPassage, *, several: bool = False) -> list[FoundAnswer]:
    """The different answers of a passage, best first.

    The spans of a passage share its probability, as alternatives of which one is right; with `several`, where more
    than one may be, each has it as far as the span is better than none.
    """
    spans = within_sentences(item.source.text, item.reading.spans)
    top = max((span.margin for span in spans), default=0.0)
    odds = [math.exp(span.margin - top) for span in spans]
    found: list[FoundAnswer] = []
    for span, odd in zip(spans, odds, strict=True):
        share = _above_none(span.margin) / _above_none(top) if several else odd / sum(odds)
        probability = round(item.reading.answerable * share, SETTLED)
        same = next((i for i, other in enumerate(found) if agree(other.text, span.text)), None)
        if same is None:
            found.append(FoundAnswer(item.source, span, probability))
        elif not several:
            total = round(found[same].probability + probability, SETTLED)
            found[same] = replace(found[same], probability=total)
    return sorted(found, key=lambda answer: (-answer.probability, answer.span.start))


def within_sentences(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans of a text cut where the sentence that they begin in ends; a short answer is not longer."""
    ends = sentence_spans(text) if spans else []
    found = []
    for span in spans:
        end = next((end for start, end in ends if start <= span.start < end), span.end)
        kept = text[span.start : min(end, span.end)].rstrip(".!?;: \n")
        cut = replace(span, end=span.start + len(kept), text=kept) if end < span.end and kept else span
        found.append(cut)
    return found


def _above_none(margin: float) -> float:
    """Probability of a span against that of "no answer here", from its margin in logits."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))


def grouped(found: Sequence[FoundAnswer]) -> list[AnswerGroup]:
    """The answers of all passages, equal ones together, the best before the others.

    A passage is read by itself; that the search found it before others says something of it that the reading does not.
    """
    groups: list[list[FoundAnswer]] = []
    for item in sorted(found, key=lambda item: (-item.worth, item.source.n, item.span.start)):
        group = next((group for group in groups if agree(group[0].text, item.text)), None)
        if group is None:
            groups.append([item])
        elif all(other.source.n != item.source.n for other in group):
            group.append(item)
    made = [AnswerGroup(tuple(group), agreed([item.probability for item in group])) for group in groups]
    return sorted(made, key=lambda group: (-group.worth, group.found[0].source.n, group.found[0].span.start))


def agree(a: str, b: str) -> bool:
    """Whether two spans say the same; one that says much more than the other says something else."""
    return abs(len(a.split()) - len(b.split())) <= MAX_MORE and same_answer(a, b)


def agreed(probabilities: Sequence[float]) -> float:
    """Confidence in an answer that several passages give: the likeliest one's log odds and a little for each doubling.

    Passages of one collection repeat each other and a reader errs on like passages alike, so they are far from
    independent witnesses: one that says it plainly counts for more than many that barely do.
    """
    best = min(max(probabilities), 1 - LEAST)
    odds = best / (1 - best) * math.pow(len(probabilities), AGREEMENT)
    return round(odds / (1 + odds), SETTLED)


def _drafted(groups: Sequence[AnswerGroup], *, several: bool) -> Draft:
    quotes = dict.fromkeys(quote for group in groups for quote in group.quotes())
    short = "; ".join(group.text for group in groups) if several else groups[0].text
    text = _listed(groups) if several and len(groups) > 1 else "\n\n".join(group.line() for group in groups)
    return Draft(text, tuple(quotes), short=short, confidence=groups[0].confidence)


def _listed(groups: Sequence[AnswerGroup]) -> str:
    """Several answers, one a line, and each sentence around them once."""
    lines = "\n".join(f"- {group.text} {group.marks}" for group in groups)
    around = dict.fromkeys((group.found[0].source.n, plain(group.found[0].quote)) for group in groups)
    return "\n\n".join([lines, *(f"{quote} [{n}]" for n, quote in around)])


def _worth(readings: dict[int, PassageReading]) -> Callable[[Scored], float]:
    """Score of a sentence of an explanation: as ranked, and more where it holds its passage's best span."""

    def worth(item: Scored) -> float:
        reading = readings[item.sentence.n]
        holds = reading.best is not None and reading.best.text in item.sentence.text
        return round(item.score + SPAN_BONUS * reading.answerable * holds, SETTLED)

    return worth


def _not_found(read: Sequence[ReadPassage]) -> Draft:
    likeliest = max((item.reading.answerable for item in read), default=0.0)
    return Draft(NOT_FOUND, found=False, confidence=round(1 - likeliest, SETTLED))


def _extract(found: Sequence[FoundAnswer]) -> Extract:
    kept = dict.fromkeys((item.source.n, item.source.title, item.quote) for item in found)
    return extract_of(list(kept))
