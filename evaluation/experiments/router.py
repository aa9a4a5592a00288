"""Experiment `router`: right answers against calls, for ways to choose between plain reading and map/reduce.

Questions with a marked answer are put to a library of whole documents, or of short passages, through the product's own
retrieval. Where the first passage that answers stands in the order that the reader gets is known then; what a model
makes of it is simulated by four curves: two that BriefContext measured (Supplementary Table 1, 16 passages), one of a
model that loses nothing, and a steep one. A lost answer is noticed by the look at the plain answer in a share of the
cases (`model_profile.NOTICED`), and read again in parts. Right answers and calls are expectations over the curve, so
nothing is drawn by chance; an answer that was not retrieved is right by no way.

What the look notices is measured on answers made by rule, where a set marks them: a wrong one is what the extractive
reader takes from the first passage that does not answer, with that passage cited; a right one the marked words, with
theirs. Of the first as many as can be are to go on to map/reduce, of the second none. An answer that finds nothing, or
cites nothing that supports it, is always noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from evaluation import datasets
from evaluation.intervals import bootstrap, mean, wilson
from evaluation.metrics import roc_area
from evaluation.papers import tables_of
from evaluation.report import Report, Table, number
from evaluation.rows import Row
from evaluation.runs import Run
from evaluation.samples import DataSet, Sample, digest, sampled
from evaluation.searching import collection_library, inputs
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.library import Library
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, pairs
from preflight_rag.routing.calibration import turn_passages
from preflight_rag.routing.decision import ALWAYS_PLAIN_PASSAGES, dense_order, partition, predict_loss
from preflight_rag.routing.expected_value import parts_value
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import UNMEASURED, ModelProfile
from preflight_rag.routing.risk_features import TOP, risk_features
from preflight_rag.routing.second_look import SURE, SURE_OF_A_LOSING_MODEL, compares, found_elsewhere
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft, Source

DEADLINE = 600.0
"""Seconds for the second stage, which is never cut short here."""
DOCUMENTS = 100
"""Most long documents of a set, those with the smallest hashes: as many as a person's folder may have."""
FORMER_LIMIT = 0.082
"""The risk from which every question went to map/reduce before the value of its calls was counted."""
LEVELS = (SURE, SURE_OF_A_LOSING_MODEL)
PLACES = ("0 %", "25 %", "50 %", "75 %", "100 %")
RULES = ("never", "always", "IoU rule", f"risk from {FORMER_LIMIT}", "router", "router, model not measured", "oracle")
HEAD = ("rule", "right %", "above never by", "calls a turn", "in parts at once %", "in parts at all %")


@dataclass(frozen=True)
class Case:
    """A question with what the rules see, and where its answer stands.

    Attributes:
        sample: The question.
        risk: Of a lost key passage, by the calibrated model; None where none serves the library.
        iou: Of both rankings' first passages.
        place: Rank of the first passage that answers, in the order that the reader gets; None where none was found.
        dense_place: The same in the dense order of these passages.
        passages: How many are read.
        notices: Whether the look notices a wrong answer, of a model that loses nothing and of one that does; None
            where there is none to hold against others.
        alarms: Whether it takes a right answer for a wrong one; likewise.
        values: The features that the risk is made of, by name.
    """

    sample: Sample
    risk: float
    iou: float
    place: int | None
    dense_place: int | None
    passages: int
    notices: tuple[bool, ...] | None = None
    alarms: tuple[bool, ...] | None = None
    values: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def lost(self) -> bool:
        """Whether the answer was retrieved and stands below the first three of what the reader gets."""
        return self.place is not None and self.place > TOP

    @property
    def not_nearest(self) -> bool:
        """BriefContext's event: no passage that answers is among the dense first three."""
        return self.dense_place is None or self.dense_place > TOP


@dataclass(frozen=True)
class Expected:
    """What a rule brings for one question: chance of a right answer, calls, chances of parts at once and at all."""

    right: float
    calls: float
    at_once: float
    at_all: float


def open_dataset(name: str, data: Path | None) -> DataSet:
    """Open the whole documents of a set with marked answers, else a collection of short passages.

    Raises:
        UsageError: There is no such set, or a file is missing.
    """
    if name in datasets.ROLES[datasets.SPANS]:
        found = datasets.open_dataset(name, data, datasets.SPANS)
        taken = frozenset(sorted({document.id for document in found.documents()}, key=digest)[:DOCUMENTS])
        return replace(
            found,
            most_documents=None,
            relevance={},  # which documents are asked about; what counts here is the passage with the marked span
            corpus=lambda: (document for document in found.documents() if document.id in taken),
            samples=tuple(sample for sample in found.samples if sample.document in taken),
            library=f"{name} {len(taken)} whole",
        )
    return datasets.open_dataset(name, data, datasets.RETRIEVAL)


def curves() -> dict[str, ModelProfile]:
    """Return the simulated readers: profiles of models by name."""
    published = tables_of("brief_context")["positions"][0]
    columns = list(published.columns)
    found = {"loses nothing": ModelProfile("flat", "simulated", {0.0: 0.9, 1.0: 0.9}, 0.9)}
    for model in ("GPT-3.5-turbo-0125", "Mixtral-7x8b"):
        rag, parts = (next(i for i, c in enumerate(columns) if c == f"{model}, 16, {arm}") for arm in _arms(columns))
        shares = {place: [float(cell or 0) / 100 for cell in published.rows[place]] for place in PLACES}
        plain = {at / 4: shares[place][rag] for at, place in enumerate(PLACES)}
        reduced = fmean(shares[place][parts] for place in PLACES)
        found[model] = ModelProfile(model, "BriefContext, Supplementary Table 1", plain, reduced)
    steep = {0.0: 0.9, 0.25: 0.5, 0.5: 0.4, 0.75: 0.45, 1.0: 0.7}
    found["steep"] = ModelProfile("steep", "simulated", steep, 0.85)
    return found


def _arms(columns: Sequence[str]) -> tuple[str, str]:
    """The names of plain RAG and of BriefContext in the published table's columns."""
    arms = list(dict.fromkeys(column.split(", ")[2] for column in columns))
    return arms[0], arms[1]


def run(found: DataSet, run: Run) -> Report:
    """Put the part's questions through retrieval, and every curve's reader through every rule."""
    samples = found.select(run.part, run.limit)
    if not found.relevance:
        found = sampled(found, [sample.document for sample in samples], run.documents)
    with collection_library(found, run) as library:
        cases = measure(found, library, samples, run)
        given = inputs(found, library, k=Settings().k)
    if not cases:
        raise UsageError(f"{found.name} has no question whose answer is marked in its documents")
    tables, numbers, rows = [_where(cases, run.seed), *_look(cases)], {}, []
    for name, profile in curves().items():
        expected = {rule: [_expected(rule, case, profile) for case in cases] for rule in RULES}
        tables.append(_table(name, profile, expected, run.seed))
        numbers[name] = {
            rule: {"right": fmean(e.right for e in each), "calls": fmean(e.calls for e in each)}
            for rule, each in expected.items()
        }
        for rule, each in expected.items():
            rows += [_row(case, name, rule, one) for case, one in zip(cases, each, strict=True)]
    return Report(
        experiment="router",
        dataset=found.title,
        about=f"{len(cases):,} questions ({run.part} part) over {given['library']['documents']:,} documents, "
        f"{given['library']['passages']:,} passages; readers are simulated.",
        tables=tuple(tables),
        rows=tuple(rows),
        figures=numbers,
        inputs=given,
    )


def measure(found: DataSet, library: Library, samples: Sequence[Sample], run: Run, *, looks: bool = True) -> list[Case]:
    """Return the questions whose answers are marked, with what the rules see and where the answers stand.

    Args:
        found: The data set.
        library: Its library.
        samples: The questions.
        run: Names the part, and the extractive reader.
        looks: Whether the look at an answer is measured, too, which reads all passages.
    """
    settings = Settings(rerank_deadline=DEADLINE)
    order, model = turn_passages(library, settings), risk_model_of(library)
    extractive = None if found.relevance or not looks else open_extractive_reader(run.extractive_reader)
    answers = _answering(found, samples)
    cases = []
    for sample in run.each(samples, f"{found.name}: {run.part} questions"):
        if sample.id not in answers:
            continue
        question = normalised(sample.question)
        refs, sources = order(question)
        prediction = predict_loss(question, refs, sources, settings, model)
        passages = {ref["rank"]: p for ref, p in zip(refs, library.passages([r["id"] for r in refs]), strict=True)}
        holds = answers[sample.id]
        right = {rank for rank, p in passages.items() if holds(p.document_id, p.start, p.end)}
        dense = [place for place, rank in enumerate(dense_order(refs), 1) if rank in right]
        place = min(right, default=None)
        looked: tuple[tuple[bool, ...] | None, tuple[bool, ...] | None] = (None, None)
        if extractive is not None and place is not None and sample.names:
            looked = _looked(question, sources, right, sample.names[0], extractive)
        seen = sample, prediction.risk, prediction.iou, place, min(dense, default=None), len(refs)
        cases.append(Case(*seen, *looked, risk_features(question, refs, sources)))
    return cases


def _looked(
    question: str, sources: Sequence[Source], right: set[int], answer: str, extractive: ExtractiveReader
) -> tuple[tuple[bool, ...] | None, tuple[bool, ...] | None]:
    """Whether the look notices an answer from a passage that does not answer, and takes the right one for wrong."""
    if not compares(question):
        return None, None

    def looks(draft: Draft) -> tuple[bool, ...]:
        return tuple(found_elsewhere(question, draft, sources, extractive, sure) is not None for sure in LEVELS)

    place = min(right)
    wrong = next((source for source in sources if source.n not in right), None)
    notices = None
    if wrong is not None:
        (reading,) = extractive.read(pairs(question, [wrong]))
        if reading.best is not None:
            notices = looks(Draft(f"{reading.best.text} [{wrong.n}].", ((wrong.n, reading.best.text),)))
    return notices, looks(Draft(f"{answer} [{place}].", ((place, answer),)))


def _answering(found: DataSet, samples: Sequence[Sample]) -> dict[str, Callable[[str, int, int], bool]]:
    """Sample id to whether a stretch of a document answers: a marked span begins in it, or the document is relevant."""
    if found.relevance:
        return {s.id: _of_documents(found.relevant(s.id)) for s in samples if found.relevant(s.id)}
    wanted = {sample.id: sample.document for sample in samples}
    holds: dict[str, Callable[[str, int, int], bool]] = {}
    for document, spans in found.read(set(wanted.values())):
        for name, alternatives in spans.items():
            if wanted.get(name) == document.id and alternatives:
                starts = [stretch[0] for alternative in alternatives for stretch in alternative]
                holds[name] = _of_stretch(document.id, starts)
    return holds


def _of_documents(relevant: frozenset[str]) -> Callable[[str, int, int], bool]:
    return lambda document, start, end: document in relevant


def _of_stretch(name: str, starts: Sequence[int]) -> Callable[[str, int, int], bool]:
    return lambda document, start, end: document == name and any(start <= at < end for at in starts)


def _expected(rule: str, case: Case, profile: ModelProfile) -> Expected:
    """What a rule brings for a question, with a reader of this profile."""
    parts = len(partition(case.passages, Settings().partition_size))
    retrieved = case.place is not None
    plain = profile.right_at([case.place], case.passages) if case.place else 0.0
    reduced = profile.map_reduce if retrieved else 0.0
    whole = Expected(reduced, parts + 1, 1.0, 1.0)
    noticed = profile.noticed * (max(0.0, profile.best - plain) if retrieved else 0.0)
    again = Expected(
        plain + noticed * (reduced / profile.best if profile.best else 0.0), 1 + noticed * parts, 0.0, noticed
    )
    if rule == "never":
        return Expected(plain, 1.0, 0.0, 0.0)
    in_parts = {
        "always": True,
        "IoU rule": case.iou <= Settings().threshold,
        f"risk from {FORMER_LIMIT}": case.risk >= FORMER_LIMIT,
        "router": _worth(case, profile, parts),
        "router, model not measured": _worth(case, UNMEASURED, parts),
        "oracle": whole.right > again.right + 1e-9,
    }
    return whole if case.passages > ALWAYS_PLAIN_PASSAGES and in_parts[rule] else again


def _worth(case: Case, profile: ModelProfile, parts: int) -> bool:
    thoroughness = Settings().thoroughness
    value = parts_value(profile, case.risk, passages=case.passages, partitions=parts, thoroughness=thoroughness)
    return case.risk >= value.limit


def _row(case: Case, reader: str, rule: str, expected: Expected) -> Row:
    details = {"calls": round(expected.calls, 4), "risk": case.risk, "iou": case.iou, "place": case.place}
    return Row(case.sample.id, reader, rule, round(expected.right, 6), details=details)


def _where(cases: Sequence[Case], seed: int) -> Table:
    """Where answers stand, and how well the risk and the IoU foretell it."""
    lost, nearest = [case.lost for case in cases], [case.not_nearest for case in cases]
    found = [case.place is not None for case in cases]
    retrieved = [case for case in cases if case.place is not None]
    lines = [
        ("a passage that answers is among those that are read", number(wilson(sum(found), len(cases)), percent=True)),
        ("… and stands below the first three", number(wilson(sum(lost), len(cases)), percent=True)),
        (
            "none is among the dense first three (BriefContext's event)",
            number(wilson(sum(nearest), len(cases)), percent=True),
        ),
    ]
    for name, event, of in (
        ("below the first three", [c.lost for c in retrieved], retrieved),
        ("BriefContext's event", nearest, cases),
    ):
        risks, agreement = [case.risk for case in of], [1 - case.iou for case in of]
        lines.append((f"area under ROC of the risk, for: {name}", number(roc_area(risks, event, seed=seed))))
        lines.append((f"area under ROC of 1 − IoU, for: {name}", number(roc_area(agreement, event, seed=seed))))
    return Table(
        "What there is to lose", ("what", "share % or area"), tuple(lines), "[95 %: Wilson; of areas bootstrap.]"
    )


def _look(cases: Sequence[Case]) -> list[Table]:
    """What the look at an answer notices; nothing where no answer could be held against others."""
    wrong = [(case.notices, case.lost) for case in cases if case.notices is not None]
    alarms = [case.alarms for case in cases if case.alarms is not None]
    if not alarms:
        return []
    groups = {
        "a wrong answer is noticed": [notices for notices, _ in wrong],
        "… where the right one stands below the first three": [notices for notices, lost in wrong if lost],
        "a right answer is read again": alarms,
    }
    lines = []
    for name, some in groups.items():
        shares = (wilson(sum(each[level] for each in some), len(some)) for level in range(len(LEVELS)))
        if some:
            lines.append((name, *(number(share, percent=True) for share in shares)))
    note = f"{len(alarms)} questions for a short answer or a verdict whose answer is among what is read."
    head = ("what", "share %, of a model that loses little", "of one that loses a tenth or more")
    return [Table("What the look at an answer notices", head, tuple(lines), f"[95 %: Wilson.] {note}")]


def _table(name: str, profile: ModelProfile, expected: Mapping[str, Sequence[Expected]], seed: int) -> Table:
    """Right answers and calls of every rule, for one simulated reader."""
    never = np.array([each.right for each in expected["never"]])
    rows = []
    for rule, each in expected.items():
        right = np.array([one.right for one in each])
        gain = number(bootstrap(mean, right - never, seed=seed), percent=True, signed=True)
        rest = (fmean(e.calls for e in each), fmean(e.at_once for e in each) * 100, fmean(e.at_all for e in each) * 100)
        rows.append((rule, f"{right.mean() * 100:.1f}", gain, f"{rest[0]:.2f}", f"{rest[1]:.1f}", f"{rest[2]:.1f}"))
    shares = ", ".join(f"{place:.0%}: {share * 100:.1f}" for place, share in profile.plain.items())
    parts = f"in parts {profile.map_reduce * 100:.1f}; {profile.noticed:.0%} of lost answers are noticed."
    return Table(f"Reader: {name}", HEAD, tuple(rows), f"In one go, by place: {shares}; {parts}")
