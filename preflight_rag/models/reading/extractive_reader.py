"""Extractive readers: small models that find, for a question and a passage, the answer spans, or that there is none.

This file has their interface, the conversion of question and passage into the model's input, and of its output into
answers; the bundled reader and those of the Hub share all of it. Each passage is read alone: its reading does not
depend on other passages. Scores are rounded, so that the last bits of a sum never decide an order.

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
"""A span before it is widened to whole words: its rounded margin, and its start and end in title and text joined."""

BUNDLED, NO_READER = "default", "none"
"""Names of the reader that comes with the package, and of no reader."""
MAX_TOKENS = 256
"""Word pieces of one input: the setting of all-MiniLM-L6-v2, the bundled reader's encoder."""
MAX_QUESTION = 64
"""Maximum number of word pieces of a question that are read; a guess: most questions have fewer."""
STRIDE = 64
"""Word pieces that two windows share: more than `MAX_SPAN_TOKENS`, so that one of them contains the whole answer."""
LONGEST_PIECE = 32
"""Characters per word piece to which a question is cut before it is tokenized."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("start", "end", "descriptor_start", "descriptor_end", "scores")
SCORES = ("answerable", "relevant", "yes", "no", "neither")
"""Columns of the output `scores`."""
DECIMALS = 3
"""Decimals of logits."""
MAX_SPANS = 4
"""Maximum number of answers from one passage; a guess."""
MAX_SPAN_TOKENS = 40
"""Maximum number of word pieces of an answer; a guess, more than BERT's setting for SQuAD, 30."""
CANDIDATES = 12
"""Number of most likely starts, and of most likely ends, that are combined; a guess; BERT's setting for SQuAD is 20."""
CACHED_READINGS = 4096
"""Cached readings: those of a few hundred questions over 16 passages; a guess, about 10 MB."""
READ_LANGUAGES = ("en", UNKNOWN)
"""Languages that the bundled reader reads; "unknown" covers texts of a few names and figures."""
EVEN = 0.5
"""Threshold of a reader that was not calibrated: an answer is as likely as none."""
_EDGES = " \t\n\r.,;:!?\"'“”‘’«»"
_WORD = re.compile(r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+(?:[.,]\d+)*")
"""A word, or a number with its commas; not Thai, kana or Chinese, where no spaces separate words."""
_WORD_CHARACTER = re.compile(r"\w")
_NEARBY = 40
"""Distance in characters from a span within which the ends of its words are looked for."""


@dataclass(frozen=True)
class Span:
    """A part of a passage's text that answers.

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
    """The extractive reader's result for one passage and question.

    Attributes:
        spans: Parts that answer, best first, none inside another; empty only if the text has no word.
        answerable: Probability that the passage contains the answer.
        relevance: Probability that a search should find the passage; None if the model has no such score.
        verdict: Probabilities of yes, no and neither; None likewise.
        descriptor: What distinguishes the passage's subject from others with its name, or None.
    """

    spans: tuple[Span, ...]
    answerable: float
    relevance: float | None = None
    verdict: tuple[float, float, float] | None = None
    descriptor: str | None = None

    @property
    def best(self) -> Span | None:
        """The most probable answer span; None if there is none."""
        return self.spans[0] if self.spans else None


@runtime_checkable
class ExtractiveReader(Protocol):
    """Reads passages for a question. `name` is shown in the receipt."""

    name: str

    @property
    def threshold(self) -> float:
        """Least probability at which a passage counts as answering."""
        ...

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """Return one reading for each pair, in order, independent of the other pairs."""
        ...


def pairs(question: str, sources: Sequence[Source]) -> list[Pair]:
    """Return the reader's inputs for a question over passages: (question, title, text) for each."""
    return [(question, source.title, source.text) for source in sources]


class CachedReader:
    """An extractive reader that reads each pair once; as a reading depends on its pair alone, no result changes.

    Args:
        reader: The reader.
        most: Most readings that are cached.
    """

    def __init__(self, reader: ExtractiveReader, most: int = CACHED_READINGS) -> None:
        self.reader, self.name = reader, reader.name
        self._readings: PureCache[Pair, PassageReading] = PureCache(most)

    @property
    def threshold(self) -> float:
        """The reader's threshold."""
        return self.reader.threshold

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """Return one reading for each pair, in order."""
        return self._readings.get(pairs, self.reader.read)


@dataclass(frozen=True)
class Window:
    """One input sequence: a question and (a part of) a passage.

    Attributes:
        pair: Index of the pair in the caller's list.
        ids, types: Word pieces and their segment (0 question, 1 passage).
        offsets: For each piece its range in title and text joined; (0, 0) for pieces outside the passage.
        shift: Length of the title and its separator; smaller offsets are in the title.
    """

    pair: int
    ids: list[int]
    types: list[int]
    offsets: list[tuple[int, int]]
    shift: int


def load_tokenizer(path: Path) -> Tokenizer:
    """Load the tokenizer of a `tokenizer.json`, set to split the passage of a pair into windows of `MAX_TOKENS`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, stride=STRIDE, strategy="only_second")
    return tokenizer


def join_title_and_text(title: str, text: str) -> str:
    """Return a passage as the reader reads it: the title in a line above the text; the text alone without a title."""
    return f"{title}\n{text}" if title else text


def windows(
    pairs: Sequence[tuple[str, str, str]],
    tokenizer: Tokenizer,
    *,
    all_windows: bool = True,
    most_question: int = MAX_QUESTION,
) -> list[Window]:
    """Return the input sequences of (question, title, text) pairs, in order; long passages have several.

    Args:
        pairs: Questions with a passage's title and text.
        tokenizer: A tokenizer from `load_tokenizer`.
        all_windows: Whether to return all windows of a pair; else only the first.
        most_question: Maximum number of word pieces of a question that are read.
    """
    questions = {question: _truncate_question(question, tokenizer, most_question) for question, _, _ in pairs}
    encoded = tokenizer.encode_batch(
        [(questions[question], join_title_and_text(title, text)) for question, title, text in pairs]
    )
    result = []
    for pair, ((_, title, _), encoding) in enumerate(zip(pairs, encoded, strict=True)):
        shift = len(join_title_and_text(title, ""))
        for window_encoding in [encoding, *encoding.overflowing] if all_windows else [encoding]:
            result.append(_window(pair, window_encoding, shift))
    return result


def _window(pair: int, encoding: Encoding, shift: int) -> Window:
    """Convert a tokenizer's encoding into a window; tokens outside the passage get empty offsets."""
    passage_sequence = 1  # the question is sequence 0, and special tokens are of none
    offsets = [
        offset if sequence == passage_sequence else (0, 0)
        for offset, sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True)
    ]
    return Window(pair, encoding.ids, encoding.type_ids, offsets, shift)


def _truncate_question(question: str, tokenizer: Tokenizer, most: int) -> str:
    """Return the beginning of a question with its first `most` word pieces; the whole question if it has fewer."""
    question = question[: LONGEST_PIECE * most]
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question if len(encoding.ids) <= most else question[: encoding.offsets[most - 1][1]]


def padded(batch: Sequence[Window]) -> dict[str, np.ndarray]:
    """Return the model's inputs for a batch, each of shape (windows, tokens of the longest), padded with zeros."""
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

    `outputs` has the model's `OUTPUTS` for each window: four arrays of shape (tokens,), and the scores (5,).

    Returns:
        Spans best first; the descriptor or None; the logit of each of `SCORES` in the window most likely to answer.
    """
    words = _Words(join_title_and_text(title, text))
    descriptor_candidates: list[Candidate] = []
    scores: dict[str, float] = {}
    for window, (_, _, start, end, pooled) in zip(windows, outputs, strict=True):
        descriptor_candidates += _candidate_spans(words, window, start, end)
        logits = {name: round(float(value), DECIMALS) for name, value in zip(SCORES, pooled, strict=True)}
        if not scores or logits["answerable"] > scores["answerable"]:
            scores = logits
    shift = windows[0].shift
    # A descriptor is in the title or in the text, not across both.
    descriptors = _widen_best_first(words, descriptor_candidates)
    best = next((span for span in descriptors if not span.start < shift < span.end), None)
    descriptor = best.text if best and best.margin > 0 else None
    answers = _best_answers(words, shift, windows, [(start, end) for start, end, *_ in outputs])
    return answers, descriptor, scores


def answer_spans(
    title: str, text: str, windows: Sequence[Window], scores: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[Span, ...]:
    """Return the likeliest answers in a passage's text (not its title), best first, none inside another.

    `scores` has the logits of starts and of ends for each window, each of shape (tokens,).
    """
    return _best_answers(_Words(join_title_and_text(title, text)), len(join_title_and_text(title, "")), windows, scores)


class _Words:
    """A text and the boundaries of its words.

    Args:
        text: Title and text joined.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        word_spans = [word.span() for word in _WORD.finditer(text)]
        self._begins, self._ends = [begin for begin, _ in word_spans], [end for _, end in word_spans]

    def begin(self, offset: int) -> int:
        """Return the beginning of the word around an offset; the offset itself if that is far away or in no word."""
        i = bisect_left(self._begins, offset) - 1
        if i < 0 or offset >= self._ends[i]:
            return offset
        if self._begins[i] > offset - _NEARBY or offset <= _NEARBY:
            return self._begins[i]
        begin, _ = self._long_word_bounds(offset)
        return begin

    def end(self, offset: int) -> int:
        """Return the end of the word around an offset; the offset itself if that is far away or in no word."""
        i = bisect_left(self._begins, offset) - 1
        if i < 0 or offset >= self._ends[i]:
            return offset
        if self._ends[i] < offset + _NEARBY or offset + _NEARBY >= len(self.text):
            return self._ends[i]
        _, end = self._long_word_bounds(offset)
        return end

    def _long_word_bounds(self, offset: int) -> tuple[int, int]:
        """Return begin and end of the part of a long word, such as "1,2,3,…", that is within `_NEARBY` of an offset.

        A bound that is farther away is the offset itself, and so are both if no word is around it.
        """
        first, last = max(0, offset - _NEARBY), min(len(self.text), offset + _NEARBY)
        for word in _WORD.finditer(self.text, first, last):
            if word.start() < offset < word.end():
                is_whole_begin = word.start() > first or first == 0
                is_whole_end = word.end() < last or last == len(self.text)
                return word.start() if is_whole_begin else offset, word.end() if is_whole_end else offset
        return offset, offset


def _best_answers(
    words: _Words, shift: int, windows: Sequence[Window], scores: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[Span, ...]:
    """Return the best answer spans of a pair over all its windows, best first, none inside another.

    Their offsets are those in the text alone, which begins at `shift` in title and text joined.
    """
    candidates: list[Candidate] = []
    for window, (start, end) in zip(windows, scores, strict=True):
        candidates += _candidate_spans(words, window, start, end, least=window.shift)
    best = without_overlaps(_widen_best_first(words, candidates))
    return tuple(replace(span, start=span.start - shift, end=span.end - shift) for span in best)


def _candidate_spans(
    words: _Words, window: Window, start: np.ndarray, end: np.ndarray, *, least: int = 0
) -> list[Candidate]:
    """Return the likeliest spans of a window that begin at offset `least` or later, not widened to whole words.

    They combine the likeliest starts and ends; if none of these contains a word, every single token is returned.
    """
    import numpy as np

    begins, ends = np.array(window.offsets).T
    (allowed,) = np.nonzero((begins >= least) & (begins < ends))
    # In doubles, so that a sum of two of these numbers is exact before it is rounded.
    starts, lasts = start.astype(np.float64), end.astype(np.float64)
    null = starts[0] + lasts[0]
    best_firsts, best_lasts = _highest_positions(starts, allowed), _highest_positions(lasts, allowed)
    first, last = (grid.ravel() for grid in np.meshgrid(best_firsts, best_lasts, indexing="ij"))
    is_valid = (first <= last) & (last - first < MAX_SPAN_TOKENS)

    def candidates(first: np.ndarray, last: np.ndarray) -> list[Candidate]:
        """Return the spans between pairs of first and last tokens, with their margins above "no answer here"."""
        margins = np.round(starts[first] + lasts[last] - null, DECIMALS)
        return list(zip(margins.tolist(), begins[first].tolist(), ends[last].tolist(), strict=True))

    spans = candidates(first[is_valid], last[is_valid])
    has_words = any(_widen_to_words(words, span) for span in spans)
    return spans if has_words else candidates(allowed, allowed)


def _highest_positions(logits: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the `CANDIDATES` allowed positions with the highest logits, best first; of equal ones, the first."""
    import numpy as np

    return allowed[np.argsort(-np.round(logits[allowed], DECIMALS), kind="stable")[:CANDIDATES]]


def _widen_best_first(words: _Words, candidates: Iterable[Candidate]) -> Iterator[Span]:
    """Yield candidates widened to whole words, best first; only as many are widened as the caller takes."""
    ordered = sorted(candidates, key=itemgetter(0), reverse=True)
    for _, equal_margin in groupby(ordered, key=itemgetter(0)):
        spans = [_widen_to_words(words, candidate) for candidate in equal_margin]
        yield from sorted((span for span in spans if span is not None), key=_sort_key)


def without_overlaps(spans: Iterable[Span], most: int = MAX_SPANS) -> tuple[Span, ...]:
    """Return the first `most` spans, given best first, that do not overlap a better one."""
    selected: list[Span] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in selected):
            selected.append(span)
            if len(selected) == most:
                break
    return tuple(selected)


def _sort_key(span: Span) -> tuple[float, int, int]:
    """Return the sorting key of spans: highest margin first, then by their offsets."""
    return -span.margin, span.start, span.end


def _widen_to_words(words: _Words, candidate: Candidate) -> Span | None:
    """Return a span widened to whole words, without punctuation at its ends; None if no word is left."""
    margin, start, end = candidate
    start, end = words.begin(start), words.end(end)
    text = words.text[start:end]
    start += len(text) - len(text.lstrip(_EDGES))
    text = text.strip(_EDGES)
    if not _WORD_CHARACTER.search(text):
        return None
    return Span(start, start + len(text), text, margin)


def sigmoid(logit: float) -> float:
    """Return the probability of a logit, rounded to four decimals."""
    return round(1 / (1 + math.exp(-max(-40.0, min(40.0, logit)))), 4)


def softmax(logits: Sequence[float]) -> tuple[float, ...]:
    """Return the probabilities of logits, which add up to 1, each rounded to four decimals."""
    top = max(logits)
    masses = [math.exp(logit - top) for logit in logits]
    return tuple(round(mass / sum(masses), 4) for mass in masses)
