"""Which questions need COrg? How well the router's signals tell, and the script that sets their weights.

    python -m preflight_rag.evaluation.routing --data DIR --library-cache DIR [--train]

One library holds the documents of all data sets. A question is put to 16 passages: the nearest of its own documents,
then what search finds; once more to the 16 that search finds by itself. It needs COrg when RAMDocs gives it several
right answers or a wrong one, and when DRAGged gives it any type of conflict; complementary information counts, since
its answers belong side by side. It does not when RAMDocs gives it one right answer and no wrong one, nor in PubMedQA,
NQ-Open and XQuAD. Two comparisons stay within the data sets of conflicts, so that telling data sets apart earns
nothing: with their own questions that need no COrg, and with each RAMDocs question that needs it, put once more with
the documents of one right answer and the noise, the others kept from it. BioASQ's questions come with several
documents that agree; they count in training and for the threshold, and are compared by themselves.

Questions fall into halves by the first byte of the SHA-256 of their text: even is the development half, on which
weights and threshold are set; odd is the test half.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from ..library.gather import reference
from ..library.library import Library
from ..models.corg_signals import SIGNALS, WEIGHTS, Model, measure, trained
from ..state.context import Settings
from ..state.reading import Source
from ..state.retrieval import Candidate
from ..state.schema import PassageRef
from ..state.values import Document
from .datasets import bioasq as open_bioasq
from .intervals import wilson
from .metrics import roc_area
from .records import find, json_lines
from .report import number

PASSAGES = 16
SAMPLE = 300
"""Questions of each set that holds no question in need of COrg, taken by the hashes of their texts."""
EXPERTS = 120
"""Questions of BioASQ; each brings its documents into the library."""
DEPTH = 1000
"""How deep a question's own documents are looked for."""
NEGATIVES = ("PubMedQA", "NQ-Open", "XQuAD")
EXPERT = "BioASQ"
MIXED = ("RAMDocs", "DRAGged")
"""Sets that hold questions of both classes."""
FALSE_ALARMS = 0.05
PENALTY = 1.0
STEPS = 25
SEED = 0

Passages: TypeAlias = tuple[list[PassageRef], list[Source]]


@dataclass(frozen=True)
class Case:
    """A question with the documents that its data set gives it.

    Attributes:
        dataset: Its data set.
        question: As the data set asks it.
        needs: Whether it needs COrg.
        documents: Ids of its own documents.
        without: Ids of documents that are kept from it.
        kind: The data set's own class of the question.
    """

    dataset: str
    question: str
    needs: bool
    documents: tuple[str, ...]
    without: frozenset[str] = frozenset()
    kind: str = ""

    @property
    def development(self) -> bool:
        """Whether the first byte of the question's SHA-256 is even."""
        return digest(self.question)[0] % 2 == 0


def digest(text: str) -> bytes:
    """Orders the questions and halves them."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True)
class Part:
    """A data set: its cases and the documents that go into the library."""

    cases: list[Case]
    documents: list[Document]


def ramdocs(data: Path) -> Part:
    """RAMDocs, from github.com/HanNight/RAMDocs; and each question that needs COrg once more, with one answer left."""
    path = find(data / "ramdocs", "RAMDocs_test.jsonl", origin="github.com/HanNight/RAMDocs")
    cases, documents = [], []
    for place, (_, entry) in enumerate(json_lines(path)):
        ids = [f"ramdocs/{place}/{position}" for position in range(len(entry["documents"]))]
        documents += [
            Document(id=name, text=item["text"], source=name)
            for name, item in zip(ids, entry["documents"], strict=True)
        ]
        needs = len(entry["gold_answers"]) > 1 or bool(entry["wrong_answers"])
        cases.append(Case("RAMDocs", entry["question"], needs, tuple(ids), kind="ambiguous" if needs else "single"))
        if needs:
            only = entry["gold_answers"][digest(entry["question"])[1] % len(entry["gold_answers"])]
            kept = {
                name
                for name, item in zip(ids, entry["documents"], strict=True)
                if item["answer"] == only or item["type"] == "noise"
            }
            chosen = tuple(name for name in ids if name in kept)
            cases.append(
                Case("RAMDocs", entry["question"], False, chosen, frozenset(ids) - kept, kind="one answer left")
            )
    return Part(cases, documents)


def dragged(data: Path) -> Part:
    """DRAGged into Conflicts, the published sample, from github.com/ShubhamX90/llm-conflicts-dataset."""
    path = find(data / "dragged_conflicts", "sample.jsonl", origin="github.com/ShubhamX90/llm-conflicts-dataset")
    cases, documents = [], []
    for _, entry in json_lines(path):
        ids = []
        for item in entry["docs"]:
            ids.append(f"dragged/{entry['id']}/{item['doc_id']}")
            date = item.get("date")
            documents.append(
                Document(
                    id=ids[-1],
                    text=item["snippet"] or item["title"],
                    title=item["title"] or "",
                    source=item["url"] or ids[-1],
                    date=date if date and any(map(str.isdigit, date)) else None,
                )
            )
        kind = entry["conflict_type"]
        cases.append(Case("DRAGged", entry["query"], kind != "No conflict", tuple(ids), kind=kind))
    return Part(cases, documents)


def pubmedqa(data: Path) -> Part:
    """PubMedQA, abstracts without their conclusions, dated by year, from github.com/pubmedqa/pubmedqa."""
    path = find(data / "pubmedqa", "ori_pqal.json", origin="github.com/pubmedqa/pubmedqa")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        entries = json.load(file)
    cases, documents = [], []
    for pmid, entry in entries.items():
        name = f"pubmedqa/{pmid}"
        documents.append(Document(id=name, text="\n".join(entry["CONTEXTS"]), source=name, date=entry.get("YEAR")))
        cases.append(Case("PubMedQA", entry["QUESTION"], False, (name,)))
    return Part(cases, documents)


def nq_open(data: Path) -> Part:
    """NQ-Open with its gold passages, from github.com/nelson-liu/lost-in-the-middle."""
    path = find(data / "nq_open_oracle", "nq-open-oracle.jsonl", origin="github.com/nelson-liu/lost-in-the-middle")
    cases, documents = [], []
    for place, (_, entry) in enumerate(json_lines(path)):
        name = f"nq/{place}"
        gold = entry["ctxs"][0]
        documents.append(Document(id=name, text=gold["text"], title=gold["title"], source=name))
        cases.append(Case("NQ-Open", entry["question"], False, (name,)))
    return Part(cases, documents)


def xquad(data: Path) -> Part:
    """XQuAD English, from github.com/google-deepmind/xquad."""
    path = find(data / "xquad_en", "xquad.en.json", origin="github.com/google-deepmind/xquad")
    cases, documents = [], []
    for article_number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            name = f"xquad/{article_number}/{place}"
            documents.append(Document(id=name, text=paragraph["context"], title=article.get("title", ""), source=name))
            cases += [Case("XQuAD", entry["question"], False, (name,)) for entry in paragraph["qas"]]
    return Part(cases, documents)


def bioasq(data: Path) -> Part:
    """BioASQ's first questions by hash, with the documents of their gold snippets, which agree with each other."""
    collection = open_bioasq(data / "bioasq")
    chosen = sorted(collection.queries, key=lambda query: digest(query.text))[:EXPERTS]
    own = {query.id: collection.relevant(query.id) for query in chosen}
    wanted = frozenset[str]().union(*own.values())
    documents = [
        document.model_copy(update={"id": f"bioasq/{document.id}"})
        for document in collection.documents()
        if document.id in wanted
    ]
    cases = [
        Case("BioASQ", query.text, False, tuple(f"bioasq/{name}" for name in sorted(own[query.id]))) for query in chosen
    ]
    return Part(cases, documents)


DATASETS = (ramdocs, dragged, pubmedqa, nq_open, xquad, bioasq)


def sampled(cases: Sequence[Case]) -> list[Case]:
    """All cases of the sets that hold questions of both classes, the first `SAMPLE` by hash of the others."""
    if any(case.needs for case in cases):
        return list(cases)
    return sorted(cases, key=lambda case: digest(case.question))[:SAMPLE]


def open_library(folder: Path, parts: Sequence[Part]) -> Library:
    """One library of the documents of all data sets."""
    library = Library.open(folder, create=True)
    library.add([document for part in parts for document in part.documents])
    return library


def put(case: Case, library: Library) -> Passages:
    """The passages that a question is put to: the nearest of its own documents, filled up with what search finds."""
    found = library.search(case.question, k=DEPTH, candidates=DEPTH)
    own = set(case.documents)
    hits = [hit for hit in found.fused if hit.document_id not in case.without]
    mine = [hit.passage_id for hit in hits if hit.document_id in own][:PASSAGES]
    others = [hit.passage_id for hit in hits if hit.document_id not in own][: PASSAGES - len(mine)]
    return _passages(library, [*mine, *others], found.dense_scores)


def searched(case: Case, library: Library) -> Passages:
    """The passages that search finds for a question by itself."""
    found = library.search(case.question, k=PASSAGES)
    return _passages(library, [hit.passage_id for hit in found.fused], found.dense_scores)


def _passages(library: Library, ids: Sequence[str], cosines: Mapping[str, float]) -> Passages:
    passages = library.passages(sorted(ids, key=lambda name: -cosines[name]))
    refs = [
        reference(Candidate(passage, rank, score=0.0, cosine=cosines[passage.id]), rank)
        for rank, passage in enumerate(passages, 1)
    ]
    return refs, [Source.of(passage, rank) for rank, passage in enumerate(passages, 1)]


@dataclass(frozen=True)
class Measured:
    """A case with the signals' scores: of the passages it was put to, and of those that search finds by itself."""

    case: Case
    scores: dict[str, float]
    searched: dict[str, float]


def measured(case: Case, library: Library) -> Measured:
    """The signals of a case."""
    own, found = (
        {name: signal.score for name, signal in measure(case.question, *passages).items()}
        for passages in (put(case, library), searched(case, library))
    )
    return Measured(case, own, found)


def fit(rows: Sequence[Measured], names: Sequence[str] = SIGNALS) -> Model:
    """Logistic regression by Newton's method; both classes weigh the same, weights have an L2 penalty.

    A signal whose weight would be negative is left out and the others are fitted anew: that passages differ must not
    speak against COrg.
    """
    import numpy as np

    x = np.array([[row.scores[name] for name in names] + [1.0] for row in rows])
    y = np.array([float(row.case.needs) for row in rows])
    balance = np.where(y > 0, 0.5 / y.sum(), 0.5 / (1 - y).sum()) * len(y)
    penalty = np.diag([PENALTY] * len(names) + [0.0])
    weights = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (balance * (y - chance)) - penalty @ weights
        weights = weights + np.linalg.solve((x.T * (balance * chance * (1 - chance))) @ x + penalty, gradient)
    if (weights[:-1] < 0).any():
        return fit(rows, [name for name, weight in zip(names, weights[:-1], strict=True) if weight >= 0])
    found = dict(zip(names, weights.tolist(), strict=False))
    return Model(round(float(weights[-1]), 3), {name: round(found.get(name, 0.0), 3) for name in SIGNALS})


def choose_threshold(rows: Sequence[Measured], model: Model) -> float:
    """The least threshold, in steps of 0.01, that keeps false alarms at `FALSE_ALARMS` in the mean over the sets."""
    scores = [[model.score(row.scores) for row in rows if row.case.dataset == name] for name in (*NEGATIVES, EXPERT)]
    sets = [found for found in scores if found]
    steps = (step / 100 for step in range(101))
    return next(at for at in steps if fmean(fmean(score >= at for score in scores) for scores in sets) <= FALSE_ALARMS)


def contrasts(rows: Sequence[Measured]) -> dict[str, list[Measured]]:
    """The comparisons by name: questions that need COrg, each time against others that don't."""
    needing = [row for row in rows if row.case.needs]
    plain = [row for row in rows if not row.case.needs]

    def against(*kinds: str) -> list[Measured]:
        return [row for row in plain if f"{row.case.dataset}/{row.case.kind}" in kinds]

    main = against(*(f"{name}/" for name in NEGATIVES), "RAMDocs/single")
    ramdocs_needing = [row for row in needing if row.case.dataset == "RAMDocs"]
    return {
        "all": needing + main,
        "all, complementary information left out": [r for r in needing if not r.case.kind.startswith("Compl")] + main,
        "within RAMDocs and DRAGged": needing + against("RAMDocs/single", "DRAGged/No conflict"),
        "RAMDocs, the same questions with one answer left": ramdocs_needing + against("RAMDocs/one answer left"),
        "against BioASQ": needing + against("BioASQ/"),
    }


def area(rows: Sequence[Measured], model: Model, *, by_search: bool = False) -> str:
    """Area under the ROC curve with its bootstrap interval."""
    scores = [model.score(row.searched if by_search else row.scores) for row in rows]
    return number(roc_area(scores, [row.case.needs for row in rows], seed=SEED))


def report(rows: Sequence[Measured], model: Model, threshold: float) -> str:
    """The tables for the test half, as Markdown; models that lack a signal are fitted on the development half."""
    test = [row for row in rows if not row.case.development]
    development = [row for row in rows if row.case.development]
    return "\n\n".join(
        (
            _areas(test, model),
            _each_signal(development, test),
            _threshold(test, model, threshold),
        )
    )


def _areas(test: Sequence[Measured], model: Model) -> str:
    cells = [
        (
            name,
            f"{sum(row.case.needs for row in rows)} / {sum(not row.case.needs for row in rows)}",
            area(rows, model),
            "–" if "one answer left" in name else area(rows, model, by_search=True),
        )
        for name, rows in contrasts(test).items()
    ]
    return table(("comparison", "needs / does not", "own documents first", "search alone"), cells)


def _each_signal(development: Sequence[Measured], test: Sequence[Measured]) -> str:
    compared = contrasts(test)
    rows, control = compared["all"], compared["RAMDocs, the same questions with one answer left"]
    cells = []
    for name in SIGNALS:
        alone = Model(0.0, {name: 1.0})
        without = fit(development, [other for other in SIGNALS if other != name])
        fired = [
            fmean(row.scores[name] > 0 for row in rows if row.case.needs is needs) * 100 for needs in (True, False)
        ]
        cells.append(
            (
                name,
                f"{fired[0]:.0f} / {fired[1]:.0f}",
                area(rows, alone),
                area(rows, without),
                area(control, alone),
                area(control, without),
            )
        )
    full = fit(development)
    cells.append(("all four", "", area(rows, full), "", area(control, full), ""))
    columns = ("signal", "fires: needs / does not, %", "alone", "all but it", "one answer left: alone", "all but it")
    return table(columns, cells)


def _threshold(test: Sequence[Measured], model: Model, threshold: float) -> str:
    kinds: dict[str, list[Measured]] = {}
    for row in test:
        kind = ("needs" if row.case.needs else row.case.kind) if row.case.dataset in MIXED else ""
        kinds.setdefault(f"{row.case.dataset} {kind}".strip(), []).append(row)
    cells = []
    for name, rows in kinds.items():
        shares = [
            wilson(sum(model.score(scores) >= threshold for scores in chosen), len(rows))
            for chosen in ([row.scores for row in rows], [row.searched for row in rows])
        ]
        cells.append((name, str(len(rows)), *(number(share, percent=True) for share in shares)))
    main = contrasts(test)["all"]
    sent = [row for row in main if model.score(row.scores) >= threshold]
    right = sum(row.case.needs for row in sent)
    precision, recall = wilson(right, len(sent)), wilson(right, sum(row.case.needs for row in main))
    summary = (
        f"Threshold {threshold:g}: precision {number(precision, percent=True)}, recall {number(recall, percent=True)}."
    )
    return f"{summary}\n\n{table(('test questions', 'n', 'to COrg, %', 'search alone, %'), cells)}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and with `--train` write the weights first."""
    parser = argparse.ArgumentParser(description="How well the signals tell which questions need COrg.")
    parser.add_argument("--data", type=Path, required=True, help="The folder that holds a folder of each data set.")
    parser.add_argument("--library-cache", type=Path, required=True, help="Where the library is kept.")
    parser.add_argument("--train", action="store_true", help="Set the weights on the development half.")
    options = parser.parse_args(arguments)
    parts = [read(options.data) for read in DATASETS]
    with open_library(options.library_cache, parts) as library:
        rows = [measured(case, library) for part in parts for case in sampled(part.cases)]
    development = [row for row in rows if row.case.development]
    model = fit(development) if options.train else trained()
    if options.train:
        found = {"bias": model.bias, "weights": model.weights}
        WEIGHTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    chosen = choose_threshold(development, model)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in model.weights.items())
    counts = f"{len(development)} development and {len(rows) - len(development)} test questions"
    lines = (
        f"{counts}. Weights: {weights}; bias {model.bias:g}.",
        f"Threshold for false alarms of {FALSE_ALARMS:.0%} in the mean over the development sets: {chosen:g}.",
        report(rows, model, Settings().corg_threshold),
    )
    sys.stdout.write("\n\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
