"""Experiment `relations`: how accurate the keyless reader's models of relations between contexts are on RAMDocs.

Labels come from the data set: a context that is not noise answers; two are about one entity if the right answers of
their entities are the same; two about one entity give one answer if the data set gives them the same. A misinforming
context is about the same entity as the right one of which it is an edited copy (`EDITED_COPY`); if there is none, its
pairs are left out.

For sentences (`--extractive-reader none`) questions are split into halves by the first byte of the SHA-256 of the
question: the models are fitted on the even one, `--part development` (by `python -m training.relations`). For the
trained reader's spans the parts of its data are used, as `--part train`, `validation` or `test`: it is overconfident on
its training data, so the models are fitted, and their thresholds chosen, on validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean

from evaluation.intervals import wilson
from evaluation.metrics import roc_area
from evaluation.reading_metrics import words_of
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, digest, reader_part_of
from evaluation.searching import described
from evaluation.vector_cache import CachedEmbedder
from preflight_rag.models.opening import open_embedder, open_extractive_reader
from preflight_rag.offline import relations
from preflight_rag.offline.context_readings import Features
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import RelationKind
from preflight_rag.text.words import words

PARTS = ("train", "validation", "test", "development", "all")
EDITED_COPY = 0.3
"""Least Jaccard index of two contexts' words at which one counts as an edited copy of the other; a guess."""
MODELS = {
    relations.SENTENCES: ("answers", "same_entity", "same_answer"),
    relations.SPANS: ("same_entity", "same_answer"),
}
"""The models of each way of reading; for spans, the reader itself decides which context answers."""
KINDS: tuple[RelationKind, ...] = ("duplicated", "ambiguous", "counterfactual", "distracting", "none")
TRUTHS: dict[str, frozenset[RelationKind]] = {
    "duplicated": frozenset({"duplicated", "ambiguous"}),
    "counterfactual": frozenset({"counterfactual"}),
    "different things": frozenset({"distracting", "none"}),
}
"""The data set's labels for two contexts, and the relations that mean the same."""


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Read the contexts of a part's questions, and compare with the data set's labels."""
    extractive = open_extractive_reader(run.extractive_reader)
    embedder = CachedEmbedder(open_embedder(run.embedder))
    reader = OfflineReader(embedder, extractive)
    asked = chosen(found.samples, run.part, halves=extractive is None, limit=run.limit)
    examples, related, scored = [], [], []
    for sample in run.each(asked, f"{found.name}: questions"):
        examples += list(rows(sample, reader))
        pairs = list(related_pairs(sample, reader))
        related += pairs
        score = fmean(kind in TRUTHS[truth] for truth, kind, _ in pairs) if pairs else None
        details = {"question": sample.question, "known, related, both answer": list(map(list, pairs))}
        scored.append(ScoreRow(sample.id, arm="reader", score=score, details=details))
    models, kinds = _models(examples, reader), _relations(related)
    return Report(
        experiment="relations",
        dataset=found.title,
        about=f"{len(asked)} questions ({run.part} part).",
        tables=(models, kinds),
        rows=tuple(scored),
        figures={table.title: {row[0]: list(row[1:]) for row in table.rows} for table in (models, kinds)},
        inputs=described(found, embedder, read_by=way_of(reader)),
    )


def chosen(samples: Sequence[Sample], part: str, *, halves: bool, limit: int | None = None) -> list[Sample]:
    """Return the samples of a part: a half (development or test), for a reader of spans one of its own parts; or all.

    Raises:
        UsageError: There is no such part, the limit is below 1, or the part is empty.
    """
    if part not in PARTS:
        raise UsageError(f"part {part!r} is unknown", help=f"Choose {', '.join(PARTS[:-1])} or {PARTS[-1]}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit {limit} leaves no question", help="Give 1 or more, or leave --limit out.")
    with_contexts = [sample for sample in samples if sample.given]
    if part == "development" or (halves and part == "test"):
        odd = part == "test"
        found = [sample for sample in with_contexts if digest(sample.question)[0] % 2 == odd]
    else:
        found = [sample for sample in with_contexts if part in ("all", reader_part_of(sample.question))]
    if not found:
        raise UsageError(f"no question with contexts is in the {part} part", help="Try --part all, or ramdocs.")
    return found[:limit]


def sources_of(sample: Sample) -> list[Source]:
    """Return a sample's contexts as sources for a reader, numbered from 1."""
    return [Source(n, passage.id, passage.title, passage.text) for n, passage in enumerate(sample.given, 1)]


def things_of(sample: Sample) -> dict[int, str]:
    """Return, for each context by number, the right answer of its entity, if known.

    A wrong context is about the entity that the data set names for it, else about that of the right one it is a copy
    of.
    """
    right = {n: passage for n, passage in enumerate(sample.given, 1) if passage.role == "gold"}
    found = {n: words_of(passage.answer) for n, passage in right.items()}
    named = {passage.entity: found[n] for n, passage in right.items() if passage.entity}
    for n, passage in enumerate(sample.given, 1):
        if passage.role == "wrong" and passage.entity in named:
            found[n] = named[passage.entity]
        elif passage.role == "wrong" and right:
            alike = {other: _alike(passage.text, right[other].text) for other in right}
            nearest = max(alike, key=lambda other: (alike[other], -other))
            if alike[nearest] >= EDITED_COPY:
                found[n] = words_of(right[nearest].answer)
    return found


def _alike(a: str, b: str) -> float:
    """Return the share of common words of two texts (Jaccard index)."""
    first, second = set(words(a)), set(words(b))
    return len(first & second) / len(first | second) if first | second else 0.0


def rows(sample: Sample, reader: OfflineReader) -> Iterator[tuple[str, Features, bool]]:
    """Yield the data with which the models are fitted and evaluated: the model's name, features, label."""
    sources = sources_of(sample)
    read = dict(zip((s.n for s in sources), reader.contexts.read_all(sample.question, sources), strict=True))
    about = things_of(sample)
    answers = {n: words_of(passage.answer) for n, passage in enumerate(sample.given, 1) if passage.role != "noise"}
    if "answers" in reader.contexts.models:
        for n, reading in read.items():
            yield "answers", reading.features, n in answers
    for a, b in combinations((n for n in answers if n in about), 2):
        features = relations.pair_features(read[a], read[b])
        one_thing = about[a] == about[b]
        yield "same_entity", features, one_thing
        if one_thing:
            yield "same_answer", features, answers[a] == answers[b]


def way_of(reader: OfflineReader) -> str:
    """Return how a reader reads contexts: by sentences or by spans."""
    return relations.SENTENCES if "answers" in reader.contexts.models else relations.SPANS


def _models(found: Sequence[tuple[str, Features, bool]], reader: OfflineReader) -> Table:
    """Return a table of each model's accuracy."""
    models, lines = reader.contexts.models, []
    for name in MODELS[way_of(reader)]:
        pairs = [(relations.probability(models[name], features), label) for of, features, label in found if of == name]
        if not pairs:
            continue
        labels, least = [label for _, label in pairs], models[name]["threshold"]
        right = sum((p >= least) == label for p, label in pairs) / len(pairs)
        often = max(sum(labels), len(labels) - sum(labels)) / len(labels)
        area = number(roc_area([p for p, _ in pairs], labels, seed=0))
        shown = (sum(labels) / len(labels), often, right)
        lines.append((name, f"{len(pairs)}", *(f"{share:.3f}" for share in shown), area))
    head = ("model", "cases", "share of yes", "accuracy of the commoner label", "accuracy", "area under ROC")
    return Table("Models of two contexts", head, tuple(lines))


def related_pairs(sample: Sample, reader: OfflineReader) -> Iterator[tuple[str, RelationKind, bool]]:
    """Yield, for each two contexts that answer, the label, the reader's relation, whether it finds both to answer."""
    about, answers = things_of(sample), [words_of(passage.answer) for passage in sample.given]
    known = {source.n: source for source in sources_of(sample) if source.n in about}
    for a, b in combinations(known, 2):
        same = about[a] == about[b]
        truth = ("duplicated" if answers[a - 1] == answers[b - 1] else "counterfactual") if same else "different things"
        compared = reader.contexts.compare(sample.question, known[a], [known[b]])
        yield truth, compared.kinds[b], all(note.answer is not None for note in compared.notes.values())


def _relations(found: Sequence[tuple[str, RelationKind, bool]]) -> Table:
    """Return a table of relations between contexts that answer, by label (rows) and by the reader (columns)."""
    both = [pair for pair in found if pair[2]]
    lines = {truth: [pair for pair in found if pair[0] == truth] for truth in TRUTHS}
    lines |= {"all": list(found), f"both found to answer ({len(both)})": both}
    cells = []
    for name, pairs in lines.items():
        counts = Counter(kind for _, kind, _ in pairs)
        cells.append((name, *(str(counts[kind]) for kind in KINDS), _right(pairs)))
    return Table("Relations", ("by the data set", *KINDS, "right, %"), tuple(cells))


def _right(pairs: Sequence[tuple[str, RelationKind, bool]]) -> str:
    """Return the share of pairs with the right relation, as a table's cell."""
    right = [kind in TRUTHS[truth] for truth, kind, _ in pairs]
    return number(wilson(sum(right), len(right)), percent=True) if right else "–"
