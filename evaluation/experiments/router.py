"""Experiment `router`: right answers against calls, for ways to choose between plain reading and map/reduce.

Questions with a marked answer are asked of a library of whole documents, or of short passages, through the product's
own retrieval. The rank of the first answering passage, in the order that the reader gets, is then known; a model's
success with it is simulated by four curves: two that BriefContext measured (Supplementary Table 1, 16 passages), one of
a model that loses nothing, and a steep one. Right answers and calls are expectations over the curve, so nothing is
random; an answer that was not retrieved is never right.

The check of a plain answer, after which passages may be read again, is measured for each question on answers made by
rule, if a set marks them: a wrong one is what the extractive reader finds in the first passage that does not answer,
with that passage cited; a right one is the marked words, with their passage. Both cost the calls of the second reading;
a wrong one is corrected with the probability that the model's curve had lost, if the answering passage is among those
read again. If no answering passage was retrieved, there is only the wrong one. This is the harder case for the check:
an answer that finds nothing, or cites nothing that supports it, is always noticed.
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
from evaluation.plots import Curves, PlotAxis, Trace
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, digest, sampled
from evaluation.searching import collection_library, inputs
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.library import Library
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, pairs
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.routing.calibration import turn_passages
from preflight_rag.routing.costs import cost, overheads
from preflight_rag.routing.decision import ALWAYS_PLAIN_PASSAGES, dense_order, partition, predict_loss
from preflight_rag.routing.expected_value import LOOK_CALLS, LOOKS, REACHES, choose_look, parts_value
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import UNMEASURED, ModelProfile
from preflight_rag.routing.risk_features import TOP, risk_features
from preflight_rag.routing.second_look import found_elsewhere, reread_size
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft, Source

DEADLINE = 600.0
"""Seconds for the second stage, which is never cut short here."""
DOCUMENTS = 100
"""Most long documents of a set, those with the smallest hashes: as many as a user's folder may have."""
FORMER_LIMIT = 0.082
"""The former rule's least risk for map/reduce, before the value of its calls was taken into account."""
PLACES = ("0 %", "25 %", "50 %", "75 %", "100 %")
UNMEASURED_RULE = "router, model not measured"
RULES = ("never", "always", "IoU rule", f"risk from {FORMER_LIMIT}", "router", UNMEASURED_RULE, "oracle")
BOUND = "places known, at half the calls of always"
HEAD = ("rule", "right %", "above never by", "calls a turn", "tokens a turn", "in parts at once %", "read again %")


@dataclass(frozen=True)
class RoutingCase:
    """A question with the inputs of the rules, and the rank of its answer.

    Attributes:
        sample: The question.
        risk: Risk of a lost key passage, by the calibrated model; None if there is none for the library.
        iou: IoU of both rankings' first passages.
        place: Rank of the first answering passage, in the order that the reader gets; None if none was found.
        dense_place: The same in the dense order of these passages.
        passages: How many are read.
        notices: Whether the check has a wrong answer read again, at each level of `LOOKS`; None if there is none.
        alarms: Whether it has a right answer read again; likewise.
        reaches: Whether the answering passage is among those read again then; likewise.
        values: The features from which the risk is computed, by name.
        tokens: Tokens read and written in one go, in parts, and by the check's second reading.
    """

    sample: Sample
    risk: float
    iou: float
    place: int | None
    dense_place: int | None
    passages: int
    notices: tuple[bool, ...] | None = None
    alarms: tuple[bool, ...] | None = None
    reaches: bool | None = None
    values: Mapping[str, float] = field(default_factory=dict, hash=False)
    tokens: tuple[int, ...] = (0, 0, 0)

    @property
    def lost(self) -> bool:
        """Whether the answer was retrieved and is not among the first three that the reader gets."""
        return self.place is not None and self.place > TOP

    @property
    def not_nearest(self) -> bool:
        """BriefContext's event: no answering passage is among the dense first three."""
        return self.dense_place is None or self.dense_place > TOP


@dataclass(frozen=True)
class ExpectedOutcome:
    """The outcome of a rule: probability of a right answer, calls, shares read in parts at once and again, tokens."""

    right: float
    calls: float
    at_once: float = 0.0
    again: float = 0.0
    tokens: float = 0.0


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
            # these roles only say which documents are asked about; here the passage with the marked span counts
            relevance={},
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
        rag, parts = (columns.index(f"{model}, 16, {arm}") for arm in _arms(columns))
        shares = {place: [float(cell or 0) / 100 for cell in published.rows[place]] for place in PLACES}
        plain = {at / 4: shares[place][rag] for at, place in enumerate(PLACES)}
        reduced = fmean(shares[place][parts] for place in PLACES)
        found[model] = ModelProfile(model, "BriefContext, Supplementary Table 1", plain, reduced)
    steep = {0.0: 0.9, 0.25: 0.5, 0.5: 0.4, 0.75: 0.45, 1.0: 0.7}
    found["steep"] = ModelProfile("steep", "simulated", steep, 0.85)
    return found


def _arms(columns: Sequence[str]) -> tuple[str, str]:
    """Return the names of plain RAG and of BriefContext in the published table's columns."""
    arms = list(dict.fromkeys(column.split(", ")[2] for column in columns))
    return arms[0], arms[1]


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Run retrieval for the part's questions, and apply every rule with every curve's reader."""
    samples = found.select(run.part, run.limit)
    if not found.relevance:
        found = sampled(found, [sample.document for sample in samples], run.documents)
    with collection_library(found, run) as library:
        cases = measure(found, library, samples, run)
        given = inputs(found, library, k=Settings().k)
    if not cases:
        raise UsageError(f"{found.name} has no question whose answer is marked in its documents")
    tables, rows = [_where(cases, run.seed), *_look(cases)], []
    numbers: dict[str, dict[str, dict[str, float]]] = {}
    for name, profile in curves().items():
        expected = {rule: [_expected(rule, case, profile) for case in cases] for rule in RULES}
        expected[BOUND] = _bound(expected["never"], expected["always"])
        tables.append(_table(name, profile, expected, run.seed))
        numbers[name] = {}
        for rule, each in expected.items():
            numbers[name][rule] = {
                "right": fmean(one.right for one in each),
                "calls": fmean(one.calls for one in each),
                "tokens": fmean(one.tokens for one in each),
            }
            rows += [_row(case, name, rule, one) for case, one in zip(cases, each, strict=True)]
    return Report(
        experiment="router",
        dataset=found.title,
        about=f"{len(cases):,} questions ({run.part} part) over {given['library']['documents']:,} documents, "
        f"{given['library']['passages']:,} passages, in the order of the reranker “{_settings(run).reranker}”; readers "
        "are simulated.",
        tables=tuple(tables),
        rows=tuple(rows),
        figures=numbers,
        plots=tuple(_plot(name, rules) for name, rules in numbers.items()),
        inputs=given,
    )


def measure(
    found: DataSet, library: Library, samples: Sequence[Sample], run: ExperimentRun, *, looks: bool = True
) -> list[RoutingCase]:
    """Return the questions with marked answers, with the inputs of the rules and the ranks of the answers.

    Args:
        found: The data set.
        library: Its library.
        samples: The questions.
        run: The run with the part and the extractive reader.
        looks: Whether the check of an answer is measured, too, which reads all passages.
    """
    settings = _settings(run)
    order, model = turn_passages(library, settings), risk_model_of(library)
    extractive = None if found.relevance or not looks else open_extractive_reader(run.extractive_reader)
    counter = OfflineReader(library.embedder)
    answers = answering(found, samples)
    cases = []
    for sample in run.each(samples, f"{found.name}: {run.part} questions"):
        if sample.id not in answers:
            continue
        question = normalised(sample.question)
        refs, sources = order(question)
        prediction = predict_loss(question, refs, sources, settings, model)
        texts = library.passages([ref["id"] for ref in refs])
        passages = {ref["rank"]: passage for ref, passage in zip(refs, texts, strict=True)}
        holds = answers[sample.id]
        right = {rank for rank, p in passages.items() if holds(p.document_id, p.start, p.end)}
        dense = [place for place, rank in enumerate(dense_order(refs), 1) if rank in right]
        place = min(right, default=None)
        looked: Looked = (None, None, None)
        if extractive is not None:
            looked = _looked(question, sources, right, sample.names, extractive)
        seen = sample, prediction.risk, prediction.iou, place, min(dense, default=None), len(refs)
        tokens = _tokens(overheads(counter, question), [ref["tokens"] for ref in refs])
        cases.append(RoutingCase(*seen, *looked, values=risk_features(question, refs, sources), tokens=tokens))
    return cases


def _tokens(overhead: tuple[int, int, int], passages: Sequence[int]) -> tuple[int, ...]:
    """Return tokens read and written in one go, in parts, and by the check's second reading, of mean length."""
    size = Settings().partition_size
    second = reread_size(size)
    part = [round(fmean(passages))] * min(second, len(passages)) if passages else []
    costs = (("plain", passages, size), ("map_reduce", passages, size), ("map_reduce", part, second))
    once, mapped, again = (cost(route, overhead, some, at_once) for route, some, at_once in costs)
    return tuple(each.input_tokens + each.output_tokens for each in (once, mapped, again))


def _settings(run: ExperimentRun) -> Settings:
    """Return the settings of retrieval, with the run's reranker if one is named."""
    settings = Settings(rerank_deadline=DEADLINE)
    if len(run.rerankers) > 1:
        raise UsageError(f"{len(run.rerankers)} rerankers are given", help="Give one, or none for the default.")
    return settings.model_copy(update={"reranker": run.rerankers[0]}) if run.rerankers else settings


Looked = tuple[tuple[bool, ...] | None, tuple[bool, ...] | None, bool | None]


def _looked(
    question: str, sources: Sequence[Source], right: set[int], names: Sequence[str], extractive: ExtractiveReader
) -> Looked:
    """Return whether a right and a wrong answer are read again, and whether that reaches the answering passage."""
    readings = {s.n: r for s, r in zip(sources, extractive.read(pairs(question, sources)), strict=True)}

    def answered(n: int, text: str) -> Draft:
        return Draft(f"{text} [{n}].", ((n, text),))

    def looks(draft: Draft) -> tuple[bool, ...]:
        return tuple(found_elsewhere(question, draft, sources, extractive, look.sure) is not None for look in LOOKS)

    notices, alarms, reaches = None, None, None
    wrong = next((n for n in readings if n not in right), None)
    if wrong is not None and (best := readings[wrong].best) is not None:
        draft = answered(wrong, best.text)
        notices = looks(draft)
        least = found_elsewhere(question, draft, sources, extractive, 0.0)
        reaches = least is not None and not right.isdisjoint(least.likeliest[: reread_size(Settings().partition_size)])
    if right:
        place = min(right)
        best = readings[place].best
        answer = names[0] if names else best.text if best is not None else ""
        alarms = looks(answered(place, answer)) if answer else None
    return notices, alarms, reaches


def answering(found: DataSet, samples: Sequence[Sample]) -> dict[str, Callable[[str, int, int], bool]]:
    """Return a test, by sample id, whether a span of a document answers: it is marked, or the document relevant."""
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
    """Return a test whether a passage `(document, start, end)` is of a relevant document."""
    return lambda document, start, end: document in relevant


def _of_stretch(name: str, starts: Sequence[int]) -> Callable[[str, int, int], bool]:
    """Return a test whether a passage `(document, start, end)` contains one of a document's places."""
    return lambda document, start, end: document == name and any(start <= at < end for at in starts)


def _expected(rule: str, case: RoutingCase, profile: ModelProfile) -> ExpectedOutcome:
    """Return the outcome of a rule for a question, with a reader of this profile."""
    parts = len(partition(case.passages, Settings().partition_size))
    once, mapped, _ = case.tokens
    plain = ExpectedOutcome(profile.right_at([case.place], case.passages) if case.place else 0.0, 1.0, tokens=once)
    whole = ExpectedOutcome(profile.map_reduce if case.place else 0.0, parts + 1, 1.0, tokens=mapped)
    known = UNMEASURED if rule == UNMEASURED_RULE else profile
    in_parts = {
        "never": False,
        "always": True,
        "IoU rule": case.iou <= Settings().threshold,
        f"risk from {FORMER_LIMIT}": case.risk >= FORMER_LIMIT,
        "router": _worth(case, known, parts),
        UNMEASURED_RULE: _worth(case, known, parts),
        "oracle": whole.right > plain.right + 1e-9,
    }
    if case.passages > ALWAYS_PLAIN_PASSAGES and in_parts[rule]:
        return whole
    return _looked_at(case, profile, known, parts, plain.right) if rule in ("router", UNMEASURED_RULE) else plain


def _looked_at(
    case: RoutingCase, profile: ModelProfile, known: ModelProfile, parts: int, plain: float
) -> ExpectedOutcome:
    """Return the outcome of plain reading with the check, given the planner's knowledge of the model."""
    once, mapped, second = case.tokens
    if parts < 2:
        return ExpectedOutcome(plain, 1.0, tokens=once)
    look = choose_look(known, case.passages, parts, Settings().thoroughness)
    level = LOOKS.index(look)
    notices = look.notices if case.notices is None else float(case.notices[level])
    alarms = look.alarms if case.alarms is None else float(case.alarms[level])
    reaches = REACHES if case.reaches is None else float(case.reaches)
    itself = profile.noticed
    lost = max(0.0, profile.best - plain) if case.place else 0.0
    kept = profile.map_reduce / profile.best if profile.best else 0.0
    regained = lost * (itself + (1 - itself) * notices * reaches) * kept
    wrong, right = (1 - plain) * (1 - itself) * notices, plain * alarms
    calls = (1 - plain) * itself * (parts + 1) + (wrong + right) * LOOK_CALLS
    again = (1 - plain) * itself + wrong + right
    tokens = once + (1 - plain) * itself * mapped + (wrong + right) * second
    return ExpectedOutcome(plain - right * (1 - kept) + regained, 1 + calls, again=again, tokens=tokens)


def _bound(never: Sequence[ExpectedOutcome], always: Sequence[ExpectedOutcome]) -> list[ExpectedOutcome]:
    """Return the outcome of an ideal rule, which knows where each answer is, with half the calls of "always"."""
    left = sum(each.calls for each in always) / 2 - sum(each.calls for each in never)
    found = list(never)
    for at in sorted(range(len(never)), key=lambda at: never[at].right - always[at].right):
        cost = always[at].calls - never[at].calls
        if always[at].right > never[at].right and cost <= left:
            found[at], left = always[at], left - cost
    return found


def _worth(case: RoutingCase, profile: ModelProfile, parts: int) -> bool:
    """Return whether the expected value rule sends a case to map/reduce."""
    thoroughness = Settings().thoroughness
    value = parts_value(profile, case.risk, passages=case.passages, partitions=parts, thoroughness=thoroughness)
    return case.risk >= value.limit


def _plot(reader: str, rules: Mapping[str, Mapping[str, float]]) -> Curves:
    """Return a plot of right answers over calls, with a point for each rule."""
    traces = tuple(Trace(rule, ((found["calls"], found["right"]),), joined=False) for rule, found in rules.items())
    axis = PlotAxis("right answers", percent=True)
    return Curves(
        f"Right answers by calls: {reader}", PlotAxis("calls a turn"), axis, traces, note="Up and left is better."
    )


def _row(case: RoutingCase, reader: str, rule: str, expected: ExpectedOutcome) -> ScoreRow:
    """Return a case's expected result under a rule, as a row."""
    spent = {"calls": round(expected.calls, 4), "tokens": round(expected.tokens)}
    details = {**spent, "risk": case.risk, "iou": case.iou, "place": case.place}
    return ScoreRow(case.sample.id, reader, rule, round(expected.right, 6), details=details)


def _where(cases: Sequence[RoutingCase], seed: int) -> Table:
    """Return a table of the answers' ranks, and of how well the risk and the IoU predict them."""
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


def _look(cases: Sequence[RoutingCase]) -> list[Table]:
    """Return the tables on how often the second look notices a wrong answer; none if no answer was compared."""
    wrong = [(case.notices, case.lost) for case in cases if case.notices is not None and case.place is not None]
    absent = [case.notices for case in cases if case.notices is not None and case.place is None]
    alarms = [case.alarms for case in cases if case.alarms is not None]
    if not alarms:
        return []
    groups = {
        "a wrong answer is read again": [notices for notices, _ in wrong],
        "… where the right one stands below the first three": [notices for notices, lost in wrong if lost],
        "a right answer is read again": alarms,
        "an answer is read again where nothing that answers was retrieved": absent,
    }
    lines = []
    for name, some in groups.items():
        if some:
            counts = map(sum, zip(*some, strict=True))
            lines.append((name, *(number(wilson(count, len(some)), percent=True) for count in counts)))
    reaches = [case.reaches for case in cases if case.reaches is not None and case.place is not None]
    among = number(wilson(sum(reaches), len(reaches)), percent=True) if reaches else "–"
    note = f"The passage that answers is among the six that are read again: {among} %."
    head = ("what", *(f"share %, where the reader is sure by {look.sure}" for look in LOOKS))
    return [Table("What the look at an answer notices", head, tuple(lines), f"[95 %: Wilson.] {note}")]


def _table(name: str, profile: ModelProfile, expected: Mapping[str, Sequence[ExpectedOutcome]], seed: int) -> Table:
    """Return a table of right answers and calls of every rule, for one simulated reader."""
    never = np.array([each.right for each in expected["never"]])
    rows = []
    for rule, each in expected.items():
        right = np.array([one.right for one in each])
        gain = number(bootstrap(mean, right - never, seed=seed), percent=True, signed=True)
        calls, tokens = fmean(e.calls for e in each), fmean(e.tokens for e in each)
        at_once, again = fmean(one.at_once for one in each), fmean(one.again for one in each)
        shares = (f"{at_once * 100:.1f}", f"{again * 100:.1f}")
        rows.append((rule, f"{right.mean() * 100:.1f}", gain, f"{calls:.2f}", f"{tokens:,.0f}", *shares))
    places = ", ".join(f"{place:.0%}: {share * 100:.1f}" for place, share in profile.plain.items())
    parts = f"in parts {profile.map_reduce * 100:.1f}."
    return Table(f"Reader: {name}", HEAD, tuple(rows), f"In one go, by place: {places}; {parts}")
