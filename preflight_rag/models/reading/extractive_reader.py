"""Small models that read: for a question and a passage the spans that answer, whether any does, and what it says.

What one is, how question and passage become its input, and how its output becomes answers; the bundled reader and
those of the Hub share all of it. Each passage is read by itself: what is said of it does not depend on the passages
beside it. Scores are rounded, so that the last bits of a sum never decide an order.

The input is `[CLS] question [SEP] title, passage [SEP]`, at most `MAX_TOKENS` word pieces; a longer passage is read in
windows that overlap by `STRIDE` (Devlin et al., NAACL 2019, section 4.2). Position 0 stands for "no answer here".
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from preflight_rag.models.cache import PureCache
from preflight_rag.text.languages import UNKNOWN

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Encoding, Tokenizer

    from preflight_rag.state.reading import Source

Pair: TypeAlias = tuple[str, str, str]
"""Question, title and text of a passage."""

Candidate: TypeAlias = tuple[float, int, int]
"""A span before it is widened to whole words: its margin, rounded, its start and its end in title and text joined."""

BUNDLED, NO_READER = "default", "none"
"""Names of the reader that comes with the package, and of no reader."""
MAX_TOKENS = 256
"""Word pieces of one input: what all-MiniLM-L6-v2, the bundled reader's encoder, is set to read."""
MAX_QUESTION = 64
"""Word pieces of a question that are read; a guess: people ask in fewer."""
STRIDE = 64
"""Word pieces that two windows share: more than `MAX_SPAN_TOKENS`, so that one of them holds an answer whole."""
LONGEST_PIECE = 32
"""Characters that one word piece of a question is given room for before it is tokenized."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("start", "end", "descriptor_start", "descriptor_end", "scores")
SCORES = ("answerable", "relevant", "yes", "no", "neither")
"""Columns of the output `scores`."""
DECIMALS = 3
"""Of logits."""
MAX_SPANS = 4
"""Answers that one passage may give; a guess."""
MAX_SPAN_TOKENS = 40
"""Word pieces of an answer; BERT's setting for SQuAD is 30, the rest a guess."""
CANDIDATES = 12
"""Likeliest starts and ends that are combined; BERT's setting for SQuAD is 20, this a guess."""
CACHED_READINGS = 4096
"""Readings that are kept: those of a few hundred questions over 16 passages; a guess, some 10 MB."""
READ_LANGUAGES = ("en", UNKNOWN)
"""What the bundled reader reads; a few names and figures are no language."""
EVEN = 0.5
"""Threshold of a reader that was not calibrated: a span is as likely as that there is none."""
_EDGES = " \t\n\r.,;:!?\"'“”‘’«»"
_WORD = re.compile(r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+(?:[.,]\d+)*")
"""A word, or a number with its commas; Thai, kana and Chinese characters are none, as no space parts their words."""
_LETTER = re.compile(r"\w")
_NEAR = 40
"""Characters from a span at which the ends of its words are looked for."""


@dataclass(frozen=True)
class Span:
    """A stretch of a passage's text that answers.

    Attributes:
        start, end: Its characters: `text == passage[start:end]`.
        text: Its words.
        margin: Its score above "no answer here", in logits.
    """

    start: int
    end: int
    text: str
    margin: float


@dataclass(frozen=True)
class PassageReading:
    """One passage, read for one question.

    Attributes:
        spans: Stretches that answer, best first, none inside another; empty only where the text has no word.
        answerable: Probability that the passage holds the answer.
        relevance: Probability that a search should find the passage; None where the model has no such score.
        verdict: Probabilities of yes, no and neither; None likewise.
        descriptor: What distinguishes the passage's subject from others of its name, or None.
    """

    spans: tuple[Span, ...]
    answerable: float
    relevance: float | None = None
    verdict: tuple[float, float, float] | None = None
    descriptor: str | None = None

    @property
    def best(self) -> Span | None:
        """The span that answers best."""
        return self.spans[0] if self.spans else None


@runtime_checkable
class ExtractiveReader(Protocol):
    """Reads passages for a question. `name` goes into the receipt."""

    name: str

    @property
    def threshold(self) -> float:
        """Least probability at which a passage counts as answering."""
        ...

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """Return one reading a pair, in order; the same for a pair whatever stands beside it."""
        ...


def pairs(question: str, sources: Sequence[Source]) -> list[Pair]:
    """Return what a reader is given of passages for a question."""
    return [(question, source.title, source.text) for source in sources]


class CachedReader:
    """An extractive reader that reads each pair once; as a reading depends on its pair alone, no result changes.

    Args:
        reader: What reads.
        most: Readings that are kept.
    """

    def __init__(self, reader: ExtractiveReader, most: int = CACHED_READINGS) -> None:
        self.reader, self.name = reader, reader.name
        self._readings: PureCache[Pair, PassageReading] = PureCache(most)

    @property
    def threshold(self) -> float:
        """That of the reader."""
        return self.reader.threshold

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """Return one reading a pair, in order."""
        return self._readings.get(pairs, self.reader.read)


@dataclass(frozen=True)
class Window:
    """One sequence of a question and (a part of) a passage.

    Attributes:
        pair: Position of the pair in the caller's list.
        ids, types: Word pieces and their segment (0 question, 1 passage).
        offsets: For each piece its stretch of title and text joined; (0, 0) for pieces outside the passage.
        shift: Characters of the title and what joins it; offsets below it are the title's.
    """

    pair: int
    ids: list[int]
    types: list[int]
    offsets: list[tuple[int, int]]
    shift: int


def load_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer of a `tokenizer.json`, set to cut pairs as the reader takes them."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, stride=STRIDE, strategy="only_second")
    return tokenizer


def joined(title: str, text: str) -> str:
    """Title and text as the reader takes them."""
    return f"{title}\n{text}" if title else text


def windows(
    pairs: Sequence[tuple[str, str, str]],
    tokenizer: Tokenizer,
    *,
    all_windows: bool = True,
    most_question: int = MAX_QUESTION,
) -> list[Window]:
    """Return the sequences of (question, title, text) pairs, in order; long passages have several.

    Args:
        pairs: Questions with a passage's title and text.
        tokenizer: As `load_tokenizer` makes it.
        all_windows: False takes the first of each pair only.
        most_question: Word pieces of a question that are read.
    """
    questions = {question: _cut(question, tokenizer, most_question) for question, _, _ in pairs}
    encoded = tokenizer.encode_batch([(questions[question], joined(title, text)) for question, title, text in pairs])
    found = []
    for pair, ((_, title, _), encoding) in enumerate(zip(pairs, encoded, strict=True)):
        shift = len(joined(title, ""))
        for part in [encoding, *encoding.overflowing] if all_windows else [encoding]:
            found.append(_window(pair, part, shift))
    return found


def _window(pair: int, encoding: Encoding, shift: int) -> Window:
    offsets = [
        offset if sequence == 1 else (0, 0)
        for offset, sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True)
    ]
    return Window(pair, encoding.ids, encoding.type_ids, offsets, shift)


def _cut(question: str, tokenizer: Tokenizer, most: int) -> str:
    """Return the question's first pieces; what a person asks is shorter."""
    question = question[: LONGEST_PIECE * most]
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question if len(encoding.ids) <= most else question[: encoding.offsets[most - 1][1]]


def padded(batch: Sequence[Window]) -> dict[str, np.ndarray]:
    """Return the model's inputs, each of shape (windows, tokens of the longest)."""
    import numpy as np

    shape = (len(batch), max(len(window.ids) for window in batch))
    feed = {name: np.zeros(shape, dtype=np.int64) for name in INPUTS}
    for i, window in enumerate(batch):
        feed["input_ids"][i, : len(window.ids)] = window.ids
        feed["token_type_ids"][i, : len(window.ids)] = window.types
        feed["attention_mask"][i, : len(window.ids)] = 1
    return feed


def decode(
    title: str, text: str, windows: Sequence[Window], outputs: Sequence[Sequence[np.ndarray]]
) -> tuple[tuple[Span, ...], str | None, dict[str, float]]:
    """Return spans, descriptor and scores of one passage from the model's outputs for its windows.

    Args:
        title: The passage's title; a descriptor may stand there.
        text: Its text; answers stand here.
        windows: Its windows.
        outputs: For each window the model's `OUTPUTS`: four of shape (tokens,), and the scores (5,).

    Returns:
        Spans best first; the descriptor or None; for each of `SCORES` its logit, of the window most likely to answer.
    """
    words = _Words(joined(title, text))
    describing: list[Candidate] = []
    scores: dict[str, float] = {}
    for window, (_, _, start, end, pooled) in zip(windows, outputs, strict=True):
        describing += _candidates(words, window, start, end)
        logits = {name: round(float(value), DECIMALS) for name, value in zip(SCORES, pooled, strict=True)}
        if not scores or logits["answerable"] > scores["answerable"]:
            scores = logits
    shift = windows[0].shift
    # In the title or in the text, not across both.
    best = next((span for span in _in_order(words, describing) if not span.start < shift < span.end), None)
    answers = _answers(words, shift, windows, [(start, end) for start, end, *_ in outputs])
    return answers, best.text if best and best.margin > 0 else None, scores


def answer_spans(
    title: str, text: str, windows: Sequence[Window], scores: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[Span, ...]:
    """The likeliest answers of a passage, best first, none inside another: stretches of its text, not of its title.

    Args:
        title: The passage's title.
        text: Its text.
        windows: Its windows.
        scores: For each window the logits of starts and of ends, each of shape (tokens,).
    """
    return _answers(_Words(joined(title, text)), len(joined(title, "")), windows, scores)


class _Words:
    """A text, and where its words begin and end.

    Args:
        text: Title and text joined.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        places = [word.span() for word in _WORD.finditer(text)]
        self._begins, self._ends = [begin for begin, _ in places], [end for _, end in places]

    def begin(self, at: int) -> int:
        """Return where the word begins that a place lies inside; the place itself where that is far or in no word."""
        i = bisect_left(self._begins, at) - 1
        if i < 0 or at >= self._ends[i]:
            return at
        return self._begins[i] if self._begins[i] > at - _NEAR or at <= _NEAR else self._nearby(at)[0]

    def end(self, at: int) -> int:
        """Return where it ends, likewise."""
        i = bisect_left(self._begins, at) - 1
        if i < 0 or at >= self._ends[i]:
            return at
        return self._ends[i] if self._ends[i] < at + _NEAR or at + _NEAR >= len(self.text) else self._nearby(at)[1]

    def _nearby(self, at: int) -> tuple[int, int]:
        """Begin and end of a long word, such as a list of numbers: of its part that is near, where there is one."""
        first, last = max(0, at - _NEAR), min(len(self.text), at + _NEAR)
        for word in _WORD.finditer(self.text, first, last):
            if word.start() < at < word.end():
                begin = word.start() if word.start() > first or first == 0 else at
                return begin, word.end() if word.end() < last or last == len(self.text) else at
        return at, at


def _answers(
    words: _Words, shift: int, windows: Sequence[Window], scores: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[Span, ...]:
    found: list[Candidate] = []
    for window, (start, end) in zip(windows, scores, strict=True):
        found += _candidates(words, window, start, end, least=window.shift)
    best = apart(_in_order(words, found))
    return tuple(replace(span, start=span.start - shift, end=span.end - shift) for span in best)


def _candidates(
    words: _Words, window: Window, start: np.ndarray, end: np.ndarray, *, least: int = 0
) -> list[Candidate]:
    """The likeliest spans of a window that begin at character `least` or later, not yet widened to whole words."""
    import numpy as np

    begins, ends = np.array(window.offsets).T
    (allowed,) = np.nonzero((begins >= least) & (begins < ends))
    # Of doubles, so that a sum of these numbers is exact before it is rounded.
    starts, lasts = start.astype(np.float64), end.astype(np.float64)
    null = starts[0] + lasts[0]
    i, j = (each.ravel() for each in np.meshgrid(_highest(starts, allowed), _highest(lasts, allowed), indexing="ij"))
    short = (i <= j) & (j - i < MAX_SPAN_TOKENS)

    def candidates(i: np.ndarray, j: np.ndarray) -> list[Candidate]:
        margins = np.round(starts[i] + lasts[j] - null, DECIMALS)
        return list(zip(margins.tolist(), begins[i].tolist(), ends[j].tolist(), strict=True))

    found = candidates(i[short], j[short])
    return found if any(_whole_words(words, each) for each in found) else candidates(allowed, allowed)


def _highest(logits: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the places of the highest logits, of equal ones the first."""
    import numpy as np

    return allowed[np.argsort(-np.round(logits[allowed], DECIMALS), kind="stable")[:CANDIDATES]]


def _in_order(words: _Words, candidates: Iterable[Candidate]) -> Iterator[Span]:
    """Yield candidates as whole words, best first; only as many are widened as are taken."""
    ordered = sorted(candidates, key=itemgetter(0), reverse=True)
    for _, level in groupby(ordered, key=itemgetter(0)):
        yield from sorted(filter(None, (_whole_words(words, each) for each in level)), key=_order)


def apart(spans: Iterable[Span], most: int = MAX_SPANS) -> tuple[Span, ...]:
    """Return the first spans, of those given best first, of which none overlaps a better one."""
    kept: list[Span] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
            if len(kept) == most:
                break
    return tuple(kept)


def _order(span: Span) -> tuple[float, int, int]:
    return -span.margin, span.start, span.end


def _whole_words(words: _Words, candidate: Candidate) -> Span | None:
    """Return a span widened to whole words, without marks at its ends; None where no word is left."""
    margin, start, end = candidate
    start, end = words.begin(start), words.end(end)
    kept = words.text[start:end]
    start += len(kept) - len(kept.lstrip(_EDGES))
    kept = kept.strip(_EDGES)
    if not _LETTER.search(kept):
        return None
    return Span(start, start + len(kept), kept, margin)


def sigmoid(logit: float) -> float:
    """Return the probability of a logit, rounded."""
    return round(1 / (1 + math.exp(-max(-40.0, min(40.0, logit)))), 4)


def softmax(logits: Sequence[float]) -> tuple[float, ...]:
    """Probabilities of logits, rounded."""
    top = max(logits)
    masses = [math.exp(logit - top) for logit in logits]
    return tuple(round(mass / sum(masses), 4) for mass in masses)
