"""Experiment `routing`: which questions need COrg, and how well the router's signals recognise them.

One library holds the documents of all data sets. A question comes with 16 passages: the nearest of its own documents,
then other search results; and once more with the 16 that the search finds by itself. It needs COrg if RAMDocs gives it
several right answers or a wrong one, and if DRAGged gives it any type of conflict; complementary information counts,
since its answers belong side by side. It does not if RAMDocs gives it one right answer and no wrong one, nor in
PubMedQA, NQ-Open and XQuAD. Two comparisons stay within the data sets of conflicts, so that recognising a data set does
not help: with their own questions that need no COrg, and with each RAMDocs question that needs it, asked once more with
only the documents of one right answer and the noise. BioASQ's questions come with several documents that agree; they
count in training and for the threshold, and are compared separately.

Without a reader (`--extractive-reader none`) questions are split into halves by the first byte of the SHA-256 of their
text: even is the development half, on which weights and threshold are set (`python -m training.signals`); odd is the
test half. With one, its own parts are used, because it is overconfident on its training data: weights and threshold are
set on the validation part; tables are of those questions of the test part that are also in the test half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from evaluation import datasets
from evaluation.intervals import wilson
from evaluation.metrics import roc_area, roc_area_gain
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, check_selection, digest, half_of, reader_part_of, sampled
from evaluation.searching import collection_library, inputs
from preflight_rag.corg.signals import ANSWERS, SIGNALS, Model, measure, trained
from preflight_rag.library.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.search.retrieval import reference
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import NO_READER, ExtractiveReader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.schema import PassageRef
from preflight_rag.state.values import Document

NAME = "conflicts-and-others"
"""The name in `--dataset` for the six data sets, which are measured as one."""
SETS = {
    "RAMDocs": "ramdocs",
    "DRAGged": "dragged_conflicts",
    "PubMedQA": "pubmedqa",
    "NQ-Open": "nq_open_oracle",
    "XQuAD": "xquad_en",
}
EXPERT, EXPERTS = "BioASQ", 120
"""The sixth set, and how many of its questions are used; each adds its documents to the library."""
MIXED = ("RAMDocs", "DRAGged")
"""Sets that have questions of both classes."""
NEGATIVES = ("PubMedQA", "NQ-Open", "XQuAD")
PASSAGES = 16
SAMPLE, READ_SAMPLE = 300, 100
"""Questions of each set without any that need COrg, by the hashes of their texts; the second number with a reader, for
each part."""
DEPTH = 1000
"""Depth of the ranking in which a question's own documents are looked for."""
FALSE_ALARMS = 0.05
"""Largest share of questions without need that may go to COrg, averaged over the sets, for choosing the threshold."""
PENALTY = 1.0
"""L2 penalty on the weights, whose features lie in [0, 1]; a guess."""
SEED = 0

Passages: TypeAlias = tuple[list[PassageRef], list[Source]]


NEEDS, PLAIN = "COrg", "plain"
"""The classes of a case, its `right`. Its label is its data set and, after a slash, that set's own class."""


def set_of(case: Sample) -> str:
    """Return the data set of a case."""
    return case.label.partition("/")[0]


def needs(case: Sample) -> bool:
    """Return whether a case needs COrg."""
    return case.right == NEEDS


def parts(found: DataSet, *, read: bool) -> tuple[list[Sample], list[Sample]]:
    """Return training and test cases, set by set: halves, or with a reader its validation and test parts."""
    training: list[Sample] = []
    test: list[Sample] = []
    for name in dict.fromkeys(map(set_of, found.samples)):
        cases = [case for case in found.samples if set_of(case) == name]
        if read:
            training += few([case for case in cases if reader_part_of(case.key) == "validation"], READ_SAMPLE)
            own = [case for case in cases if reader_part_of(case.key) == "test" and half_of(case.question) == "test"]
            test += few(own, READ_SAMPLE)
            continue
        for case in few(cases, SAMPLE):
            (test if half_of(case.question) == "test" else training).append(case)
    return training, test


def few(cases: Sequence[Sample], most: int) -> list[Sample]:
    """Return all cases of the sets with questions of both classes, and the first `most` by hash of the others."""
    if any(map(needs, cases)):
        return list(cases)
    return sorted(cases, key=lambda case: digest(case.question))[:most]


def open_dataset(name: str, data: Path | None) -> DataSet:
    """Return the six data sets as one.

    Raises:
        UsageError: The name is another, or a file is missing; the message says where it is published.
    """
    if name != NAME or data is None:
        raise UsageError(f"routing has no data set {name!r}", help=f"Give --data DIR; the only one is {NAME}.")
    found = {shown: datasets.open_dataset(folder, data, datasets.QUESTIONS) for shown, folder in SETS.items()}
    experts, documents = _experts(data)
    cases = [case for shown, each in found.items() for case in _cases(shown, each.samples)]

    def corpus() -> Iterator[Document]:
        for each in found.values():
            yield from each.documents()
        yield from documents

    return DataSet(
        name=NAME,
        title=", ".join((*SETS, EXPERT)),
        source="; ".join(each.source for each in found.values()),
        licence="those of its parts",
        files=tuple(file for each in found.values() for file in each.files),
        samples=(*cases, *experts),
        corpus=corpus,
        library="routing",
    )


def _cases(dataset: str, samples: Sequence[Sample]) -> Iterator[Sample]:
    """Yield one case for each question; for each of RAMDocs that needs COrg a second one with only one answer left."""
    for sample in samples:
        ids, key = [passage.id for passage in sample.given], "" if dataset in MIXED else sample.key
        if dataset != "RAMDocs":
            differs = dataset == "DRAGged" and sample.label != "No conflict"
            yield _case(sample, dataset, differs, ids, sample.label if dataset == "DRAGged" else "", key)
            continue
        differs = len(sample.answers) > 1 or bool(sample.wrong)
        yield _case(sample, dataset, differs, ids, "ambiguous" if differs else "single")
        if differs:
            (only,) = sample.answers[digest(sample.question)[1] % len(sample.answers)]
            chosen = [p.id for p in sample.given if p.answer == only or p.role == "noise"]
            yield _case(sample, dataset, False, chosen, "one answer left")


def _case(
    sample: Sample, dataset: str, differs: bool, documents: Iterable[str], kind: str = "", key: str = ""
) -> Sample:
    """Return a question with its own documents; passages from other documents are removed."""
    return replace(
        sample,
        label=f"{dataset}/{kind}",
        right=NEEDS if differs else PLAIN,
        documents=frozenset(documents),
        key=key or sample.question,
    )


def _experts(data: Path) -> tuple[list[Sample], list[Document]]:
    """Return BioASQ's first questions by hash, with the documents of their gold snippets, which agree."""
    found = datasets.open_dataset("bioasq", data)
    chosen = sorted(found.samples, key=lambda sample: digest(sample.question))[:EXPERTS]
    own = {sample.id: found.relevant(sample.id) for sample in chosen}
    wanted = frozenset[str]().union(*own.values())
    documents = [
        document.model_copy(update={"id": f"bioasq/{document.id}"})
        for document in found.documents()
        if document.id in wanted
    ]
    cases = []
    for sample in chosen:
        cases.append(_case(sample, EXPERT, False, (f"bioasq/{name}" for name in own[sample.id])))
    return cases, documents


def put(case: Sample, library: Library) -> Passages:
    """Return the passages for a question: the nearest of its own documents, then other search results."""
    found = library.search(SearchQuery(case.question, k=DEPTH, candidates=DEPTH))
    own = case.documents
    without = {passage.id for passage in case.given} - own
    hits = [hit for hit in found.fused if hit.document_id not in without]
    mine = [hit.passage_id for hit in hits if hit.document_id in own][:PASSAGES]
    others = [hit.passage_id for hit in hits if hit.document_id not in own][: PASSAGES - len(mine)]
    return _passages(library, [*mine, *others], found.dense_scores)


def searched(case: Sample, library: Library) -> Passages:
    """Return the passages that search finds for a question by itself."""
    found = library.search(SearchQuery(case.question, k=PASSAGES))
    return _passages(library, [hit.passage_id for hit in found.fused], found.dense_scores)


def _passages(library: Library, ids: Sequence[str], cosines: Mapping[str, float]) -> Passages:
    """Return passages as a turn has them: references and sources, nearest to the question first."""
    passages = library.passages(sorted(ids, key=lambda name: -cosines[name]))
    refs = [
        reference(Candidate(passage, rank, score=0.0, cosine=cosines[passage.id]), rank)
        for rank, passage in enumerate(passages, 1)
    ]
    return refs, [Source.of(passage, rank) for rank, passage in enumerate(passages, 1)]


@dataclass(frozen=True)
class MeasuredCase:
    """A case with the signals' scores: for the passages with its own documents first, and for the search's own."""

    case: Sample
    scores: dict[str, float]
    searched: dict[str, float]


def measured(case: Sample, library: Library, extractive: ExtractiveReader | None = None) -> MeasuredCase:
    """Return the signals of a case."""
    scores = []
    for passages in (put(case, library), searched(case, library)):
        signals = measure(case.question, *passages, extractive)
        scores.append({name: signal.score for name, signal in signals.items()})
    return MeasuredCase(case, *scores)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Measure the signals of a part's questions; models without one signal are fitted on the training ones."""
    check_selection(run.part, run.limit)
    extractive = open_extractive_reader(run.extractive_reader)
    training, test = (_limited(cases, run.limit) for cases in parts(found, read=extractive is not None))
    chosen = {"test": test, "development": training, "all": [*training, *test]}[run.part]
    wanted: set[str] = set()
    for case in (*training, *chosen):
        wanted |= {*case.documents, *(passage.id for passage in case.given)}
    part = sampled(found, wanted, run.documents)
    rows: dict[int, MeasuredCase] = {}
    with collection_library(part, run) as library:
        for done, case in enumerate(both := [*training, *test], 1):
            rows[id(case)] = measured(case, library, extractive)
            run.progress(f"{found.name}: questions", done, len(both))
        given = inputs(part, library, passages=PASSAGES)
    model, threshold = trained()[NO_READER if extractive is None else "reader"], Settings().corg_threshold
    learned, reported = [rows[id(case)] for case in training], [rows[id(case)] for case in chosen]
    tables, numbers = compared(learned, reported, model, threshold)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in model.weights.items())
    return Report(
        experiment="routing",
        dataset=found.title,
        about=f"{len(training)} training and {len(test)} test questions; {run.part} part. Weights: {weights}; bias "
        f"{model.bias:g}. Threshold for false alarms of {FALSE_ALARMS:.0%} in the mean over the training sets: "
        f"{choose_threshold(learned, model):g}.",
        tables=tables,
        rows=tuple(
            ScoreRow(
                row.case.question,
                row.case.label.replace("/", " ").strip(),
                "signals",
                model.score(row.scores),
                details={"needs": needs(row.case), "scores": row.scores, "searched": row.searched},
            )
            for row in reported
        ),
        figures=numbers,
        inputs=given,
    )


def _limited(cases: Sequence[Sample], limit: int | None) -> list[Sample]:
    """Return the cases of the first questions by hash, of each data set in turn."""
    by_set: dict[str, dict[str, None]] = {}
    for case in sorted(cases, key=lambda case: digest(case.question)):
        by_set.setdefault(set_of(case), {})[case.question] = None
    in_turn = chain.from_iterable(zip_longest(*by_set.values()))
    kept = frozenset([question for question in in_turn if question is not None][:limit])
    return [case for case in cases if case.question in kept]


def fit(rows: Sequence[MeasuredCase], names: Sequence[str] = SIGNALS) -> Model:
    """Return a logistic regression with equal weight for both classes; weights have an L2 penalty.

    A signal whose weight would be negative is left out and the others are fitted anew: differing passages must not
    speak against COrg. Without rows of both classes, all weights are 0.
    """
    from sklearn.linear_model import LogisticRegression

    truth, used = [needs(row.case) for row in rows], list(names)
    while used and len(set(truth)) == 2:
        x = [[row.scores[name] for name in used] for row in rows]
        fitted = LogisticRegression(C=1 / PENALTY, class_weight="balanced", tol=1e-10, max_iter=1000).fit(x, truth)
        weights = dict(zip(used, fitted.coef_[0].tolist(), strict=True))
        if min(weights.values()) >= 0:
            found = {name: round(weights.get(name, 0.0), 3) for name in names}
            return Model(round(float(fitted.intercept_[0]), 3), found)
        used = [name for name in used if weights[name] >= 0]
    return Model(0.0, dict.fromkeys(names, 0.0))


def choose_threshold(rows: Sequence[MeasuredCase], model: Model) -> float:
    """Return the least threshold, in steps of 0.01, with a mean false alarm rate of at most `FALSE_ALARMS`."""
    scores: dict[str, list[float]] = {name: [] for name in (*NEGATIVES, EXPERT)}
    for row in rows:
        if set_of(row.case) in scores:
            scores[set_of(row.case)].append(model.score(row.scores))
    sets = [found for found in scores.values() if found]
    for threshold in (at / 100 for at in range(102)):
        alarms = [fmean(score >= threshold for score in found) for found in sets]
        if not alarms or fmean(alarms) <= FALSE_ALARMS:
            break
    return threshold


def contrasts(rows: Sequence[MeasuredCase]) -> dict[str, list[MeasuredCase]]:
    """Return the comparisons by name: questions that need COrg, each time against others that do not."""
    needing = [row for row in rows if needs(row.case)]
    plain = [row for row in rows if not needs(row.case)]

    def against(*kinds: str) -> list[MeasuredCase]:
        return [row for row in plain if row.case.label in kinds]

    main = against(*(f"{name}/" for name in NEGATIVES), "RAMDocs/single")
    ramdocs_needing = [row for row in needing if set_of(row.case) == "RAMDocs"]
    return {
        "all": needing + main,
        "all, complementary information left out": [r for r in needing if "/Compl" not in r.case.label] + main,
        "within RAMDocs and DRAGged": needing + against("RAMDocs/single", "DRAGged/No conflict"),
        "RAMDocs, the same questions with one answer left": ramdocs_needing + against("RAMDocs/one answer left"),
        "against BioASQ": needing + against("BioASQ/"),
    }


def area(rows: Sequence[MeasuredCase], model: Model, *, by_search: bool = False) -> str:
    """Return the area under the ROC curve with its bootstrap interval."""
    scores = [model.score(row.searched if by_search else row.scores) for row in rows]
    return number(roc_area(scores, [needs(row.case) for row in rows], seed=SEED))


def compared(
    training: Sequence[MeasuredCase], test: Sequence[MeasuredCase], model: Model, threshold: float
) -> tuple[tuple[Table, ...], dict[str, Any]]:
    """Return the tables of the test questions, and the areas and shares in them."""
    tables = [_areas(test, model), *([_beside(test, model)] if ANSWERS in model.weights else [])]
    tables += [_each_signal(training, test, list(model.weights)), _threshold(test, model, threshold)]
    return tuple(tables), {table.title: {row[0]: list(row[1:]) for row in table.rows} for table in tables}


def _beside(test: Sequence[MeasuredCase], model: Model) -> Table:
    """Return the model without a reader on the same questions, and the reader's paired gain."""
    plain = trained()[NO_READER]
    cells = []
    for name, rows in contrasts(test).items():
        ours = [model.score(row.scores) for row in rows]
        without = [plain.score(row.scores) for row in rows]
        gain = roc_area_gain(ours, without, [needs(row.case) for row in rows], seed=SEED)
        cells.append((name, area(rows, plain), area(rows, model), number(gain)))
    columns = ("comparison", "four signals, no reader", "five signals", "difference, paired")
    return Table("What the reader adds", columns, tuple(cells))


def _areas(test: Sequence[MeasuredCase], model: Model) -> Table:
    """Return a table of the ROC areas of each comparison, on the own documents and by search alone."""
    cells = []
    for name, rows in contrasts(test).items():
        needing = sum(needs(row.case) for row in rows)
        by_search = "–" if "one answer left" in name else area(rows, model, by_search=True)
        cells.append((name, f"{needing} / {len(rows) - needing}", area(rows, model), by_search))
    columns = ("comparison", "needs / does not", "own documents first", "search alone")
    return Table("Area under the ROC curve", columns, tuple(cells), "[95 % bootstrap interval.]")


def _each_signal(training: Sequence[MeasuredCase], test: Sequence[MeasuredCase], names: Sequence[str]) -> Table:
    """Return a table with each signal: how often it fires, and the ROC areas of it alone and without it."""
    comparisons = contrasts(test)
    rows, control = comparisons["all"], comparisons["RAMDocs, the same questions with one answer left"]
    cells = []
    for name in names:
        alone = Model(0.0, {name: 1.0})
        without = fit(training, [other for other in names if other != name])
        fired: dict[bool, list[bool]] = {True: [], False: []}
        for row in rows:
            fired[needs(row.case)].append(row.scores[name] > 0)
        shares = " / ".join(f"{fmean(some) * 100:.0f}" if some else "–" for some in fired.values())
        cells.append((name, shares, *(area(among, model) for among in (rows, control) for model in (alone, without))))
    full = fit(training, names)
    cells.append((f"all {len(names)}", "", area(rows, full), "", area(control, full), ""))
    columns = ("signal", "fires: needs / does not, %", "alone", "all but it", "one answer left: alone", "all but it")
    return Table("Each signal", columns, tuple(cells), "All but it: fitted anew on the training questions.")


def _threshold(test: Sequence[MeasuredCase], model: Model, threshold: float) -> Table:
    """Return a table of the shares of each kind of question that reach the threshold."""
    kinds: dict[str, list[MeasuredCase]] = {}
    for row in test:
        name, _, kind = row.case.label.partition("/")
        kind = ("needs" if needs(row.case) else kind) if name in MIXED else ""
        kinds.setdefault(f"{name} {kind}".strip(), []).append(row)
    cells = []
    for name, rows in kinds.items():
        passing = (
            sum(model.score(row.scores) >= threshold for row in rows),
            sum(model.score(row.searched) >= threshold for row in rows),
        )
        shares = [wilson(count, len(rows)) for count in passing]
        cells.append((name, str(len(rows)), *(number(share, percent=True) for share in shares)))
    main = contrasts(test)["all"]
    sent = [row for row in main if model.score(row.scores) >= threshold]
    right = sum(needs(row.case) for row in sent)
    precision, recall = wilson(right, len(sent)), wilson(right, sum(needs(row.case) for row in main))
    reached = f"precision {number(precision, percent=True)}, recall {number(recall, percent=True)}"
    note = f"Threshold {threshold:g}: {reached}."
    return Table("Sent to COrg", ("questions", "n", "to COrg, %", "search alone, %"), tuple(cells), note)
