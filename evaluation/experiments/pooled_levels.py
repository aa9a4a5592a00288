"""Experiment `pooled-levels`: sentences or chunks of all documents in one pool, with and without diversity.

Diversity (sections 3.2 and 3.3, Tables 3 to 8): documents are split into sentences, or into chunks of 256 or 512 tokens
with 50 % overlap; the units of all documents are mixed, and a selection is made for each question up to T_max. It is
measured whether an answer is in the selection and, with a language model, in its reply under each order. α and w are
searched on other questions of the same pool, at the reported limits; the paper's are measured, too. Chunks that are
longer than the run's embedder reads are embedded by one that reads 512 tokens, if there is one. The paper uses all
levels for SQuAD, and chunks of 512 tokens for Natural Questions, NarrativeQA and TriviaQA.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from evaluation.experiments.diversity import AsInThePaper, as_in_the_paper
from evaluation.experiments.splitters import long_embedder, word_pieces
from evaluation.intervals import Estimate
from evaluation.published import beside
from evaluation.reading_metrics import holds
from evaluation.report import Report
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, digest, sampled
from evaluation.searching import described
from evaluation.selection_cases import SelectionCase
from evaluation.selections import MMR, OWN_PRESETS, presets_of
from evaluation.vector_cache import cached_embedder
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

SENTENCE = "sentence"
SIZES = {SENTENCE: None, "256 tokens": 256, "512 tokens": 512}
"""The paper's units: sentences, and chunks with their length in tokens, including special ones."""
OVERLAP = 0.5
"""Overlap of a chunk with the next one."""
SHOWN = {"natural_questions": "4", "narrativeqa": "5", "triviaqa": "6"}
"""The paper's tables that a set's figures are compared with, in addition to Table 3; for other sets 7 and 8."""
TUNED_ON = 25
"""Questions on which α and w are searched: a selection of sentences takes hundreds of picks."""
NEAREST = 2_000
"""Units of the pool among which a selection is made: nearest by cosine, where the paper searches clusters of PCA."""


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Split, pool, tune on other questions, and select for the questions of the run's part."""
    samples = [sample for sample in found.select(run.part, run.limit) if sample.names]
    tuning = tuning_of(found, samples, min(TUNED_ON, run.limit or TUNED_ON))
    answering = {name for sample in (*samples, *tuning) for name in sample.documents}
    documents = list(sampled(found, answering, run.documents).documents())
    if not samples or not documents:
        raise UsageError(f"{found.name} has no short answers or nothing to search", help="Take xquad_en.")
    made: list[AsInThePaper] = []
    counts: dict[str, int] = {}
    with ExitStack() as stack:
        embedder = stack.enter_context(cached_embedder(run))
        long = long_embedder(embedder, run)
        reads_more = stack.enter_context(cached_embedder(run, long)) if long else embedder
        for level, size in SIZES.items():
            reader = embedder if size is None or size <= embedder.max_tokens else reads_more
            pool = UnitPool(documents, reader, size, fill=run.fill)
            counts[level] = len(pool.units)
            cases = [pool.case(sample) for sample in samples]
            tried = [case for case in map(pool.case, tuning) if case.relevant]
            presets = presets_of_level(found.name, level)
            made.append(
                as_in_the_paper(cases, tried or cases, False, run, of=f"{level}, ", selectors=(MMR,), presets=presets)
            )
            run.progress(f"{found.name}: levels", len(made), len(SIZES))
        given = described(found, embedder, units=counts, overlap=OVERLAP, long=reads_more.name)
    estimates: dict[str, dict[str, Estimate]] = {}
    for one in made:
        for name, row in one.estimates.items():
            estimates.setdefault(name, {}).update(row)
    model = made[0].model
    here = f"{found.title}, {len(documents):,} documents, {len(samples):,} questions, {model or 'no language model'}"
    own = SHOWN.get(found.name)
    only = ("Table 3", f"Table {own}") if own else ("Table 7", "Table 8")
    return Report(
        experiment="pooled-levels",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part) over {len(documents):,} documents in one pool; "
        f"α and w searched on {len(tuning):,} {'of these' if tuning[0] in samples else 'others'}.",
        tables=(
            *(table for one in made for table in one.tables),
            *beside("pooled-levels", estimates, here=here, only=only),
        ),
        rows=tuple(row for one in made for row in one.rows),
        figures={name: value for one in made for name, value in one.figures.items()},
        inputs={**given, "model": model or OFFLINE},
    )


def presets_of_level(name: str, level: str) -> tuple[str, ...]:
    """Return the names of the paper's presets for a unit.

    For chunks of 512 they are those of the sets of Table 3, for all other units those of SQuAD.
    """
    if any(name.startswith(known) for known in OWN_PRESETS):
        return presets_of(name, one_document=False) if SIZES[level] == 512 else ()
    return (f"paper-squad-{SIZES[level] or 'sentences'}",)


def tuning_of(found: DataSet, samples: Sequence[Sample], count: int) -> list[Sample]:
    """Return questions on which α and w are searched: none of those reported, and none of the test part.

    Questions used to train the project's reader may be among them, since it reads nothing here. If all questions are
    reported, as by `--part all`, the reported ones are used.
    """
    reported = {sample.id for sample in samples}
    others = [s for s in found.samples if s.names and s.id not in reported and not s.is_in("test")]
    return sorted(others or samples, key=lambda sample: digest(sample.id))[:count]


class UnitPool:
    """The units of all documents with their vectors.

    Args:
        documents: The documents to split.
        embedder: Embeds the units and counts their tokens.
        size: Tokens of a chunk, including special ones; None: sentences.
        fill: Whether a budget is filled with units that fit, after one that does not.
    """

    def __init__(
        self, documents: Sequence[Document], embedder: Embedder, size: int | None, *, fill: bool = False
    ) -> None:
        self._fill = fill
        spans = [(document, start, end) for document in documents for start, end in split(document, embedder, size)]
        self.units = [document.text[start:end] for document, start, end in spans]
        self._sources = [document.id for document, _, _ in spans]
        self._places = [start for _, start, _ in spans]
        self._tokens = [max(1, embedder.count_tokens(unit)) for unit in self.units]
        self._vectors = embedder.encode_passages(self.units)
        self._embedder = embedder

    def case(self, sample: Sample) -> SelectionCase:
        """Return a question with its nearest units; relevant are those of its own paragraph that contain an answer."""
        asked = self._embedder.encode_query(sample.question)
        near = np.argsort(-(self._vectors @ asked), kind="stable")[:NEAREST].tolist()
        relevant = (
            i for i, unit in enumerate(self.units) if self._sources[i] in sample.documents and holds(unit, sample.names)
        )
        return SelectionCase(
            query=replace(sample, document=""),
            relevant=frozenset(str(i) for i in relevant),
            documents=[str(i) for i in near],
            texts=[self._sources[i] for i in near],
            places=[self._places[i] for i in near],
            tokens=[self._tokens[i] for i in near],
            vectors=self._vectors[near],
            asked=asked,
            shown=[self.units[i] for i in near],
            fill=self._fill,
        )


def split(document: Document, embedder: Embedder, size: int | None) -> Iterator[tuple[int, int]]:
    """Yield start and end of the units of a document: its sentences, or chunks that share half of their tokens."""
    if size is None:
        yield from sentence_spans(document.text)
        return
    pieces = word_pieces(embedder, document.text)
    size -= embedder.special_tokens
    step = max(1, round(size * (1 - OVERLAP)))
    for first in range(0, len(pieces.starts), step):
        last = min(first + size, len(pieces.starts)) - 1
        yield pieces.starts[first], pieces.ends[last]
        if last == len(pieces.starts) - 1:
            return
