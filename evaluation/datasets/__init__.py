"""The data sets that `--dataset` may name, one file each, in every role that an experiment has for them.

Nothing is downloaded: each adapter reads files in their published form, gzipped or not, from a folder under `--data`.
An adapter's module says where its set is published (`SOURCE`) and under which licence (`LICENCE`). To add a set, write
such a module with a function `(folder, name) -> DataSet` for each role, and name these functions in `ROLES`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from evaluation.datasets.files import as_published, json_lines
from evaluation.samples import DataSet, ReaderPart, Sample
from preflight_rag.state.errors import UsageError

Opener: TypeAlias = Callable[[Path, str], DataSet]
Examples: TypeAlias = Callable[[Path, ReaderPart, random.Random], Iterator[Sample]]

RETRIEVAL, QUESTIONS, SPANS, UNITS = "retrieval", "questions", "spans", "units"
SUMMARIES, ANSWERS, SHORT_ANSWERS = "summaries", "answers", "short answers"
READING, STATEMENTS = "reading", "statements"
"""Roles, and what a set in one holds:

- retrieval: a corpus, and grades of its documents for the questions (`relevance`);
- questions: right answers, with the passages that come with each question (`given`) or a corpus, where it has them;
- spans: long documents, and where in them a question is answered (`document`, `spans`);
- units: as retrieval, over the sentences or turns of long documents;
- summaries: a document for each sample, and the summaries that people wrote of it;
- answers, short answers: as retrieval, with the right answers (`answers`; short ones alone);
- reading: samples of one passage each, with its spans or verdict;
- statements: as reading; the statement is the sample's answer, and the verdict what the passage says to it.
"""
BEIR = "github.com/beir-cellar/beir"
MIRAGE_PARTS = {
    "medqa": "MedQA-US",
    "medmcqa": "MedMCQA",
    "pubmedqa": "PubMedQA*",
    "bioasq": "BioASQ-Y/N",
    "mmlu": "MMLU-Med",
}
"""The names of parts in MIRAGE's tables, by those in its file."""
TRAINING = {
    "nq_open_oracle": "nq_open_oracle.examples",
    "xquad_en": "squad.examples",
    "squadshifts-new_wiki": "squadshifts.wikipedia",
    "squadshifts-reddit": "squadshifts.comments",
    "squadshifts-amazon": "squadshifts.reviews",
    "squad2": "squad2.examples",
    "covidqa": "covidqa.examples",
    "ramdocs": "ramdocs.examples",
    "clapnq": "clapnq.examples",
    "medquad": "medquad.examples",
    "boolq": "boolq.examples",
    "pubmedqa": "pubmedqa.examples",
    "scifact": "scifact.examples",
    "evidence_inference": "evidence_inference.examples",
    "conflictqa": "conflictqa.examples",
    "poisonedrag": "poisonedrag.examples",
}
"""Sets on which the project's reader is trained, and the functions that make examples from them."""
CONFLICTS = ("ramdocs", "ambigdocs", "conflictqa", "dragged_conflicts", "wikicontradict")
"""Sets whose questions come with contradicting passages."""
ROLES: dict[str, dict[str, str]] = {
    RETRIEVAL: {
        "bioasq": "bioasq.collection",
        "scifact": "scifact.collection",
        "biomix-bioasq": "biomix.collection",
        "biomix-scifact": "biomix.collection",
        "nfcorpus": "nfcorpus.collection",
        "cranfield": "classic.collection",
        "cisi": "classic.collection",
        "medquad": "medquad.collection",
        "xquad_en-languages": "languages.collection",
    },
    QUESTIONS: {
        "mirage": "mirage.questions",
        **{f"mirage-{part}": "mirage.questions" for part in MIRAGE_PARTS},
        "pubmedqa": "pubmedqa.questions",
        "bioasq": "bioasq.questions",
        "biomix-bioasq": "biomix.questions",
        "scifact": "scifact.questions",
        "medquad": "medquad.questions",
        "ramdocs": "ramdocs.questions",
        "ambigdocs": "ambigdocs.questions",
        "conflictqa": "conflictqa.questions",
        "dragged_conflicts": "dragged.questions",
        "wikicontradict": "wikicontradict.questions",
        "nq_open_oracle": "nq_open_oracle.questions",
        "nq_open": "nq_open.questions",
        "xquad_en": "squad.questions",
        "covidqa": "covidqa.questions",
        "clapnq": "clapnq.questions",
        "qmsum": "qmsum.questions",
        "financebench": "financebench.questions",
        "natural_questions": "natural_questions.questions",
        "triviaqa": "triviaqa.questions",
        "narrativeqa": "narrativeqa.questions",
    },
    SPANS: {
        "covidqa": "covidqa.spans",
        "evidence_inference": "evidence_inference.spans",
        "qmsum": "qmsum.spans",
        "financebench": "financebench.spans",
    },
    UNITS: {
        "qmsum": "qmsum.units",
        "covidqa": "covidqa.units",
        "natural_questions": "natural_questions.units",
        "triviaqa": "triviaqa.units",
        "narrativeqa": "narrativeqa.units",
    },
    SUMMARIES: {
        "mediqa2021_mas": "mediqa.summaries",
        "qmsum": "qmsum.summaries",
        "gov_report": "gov_report.summaries",
        "legal": "legal.summaries",
    },
    ANSWERS: {"biomix-bioasq": "biomix.answers", "ramdocs": "ramdocs.answers"},
    SHORT_ANSWERS: {"nq_open_oracle": "nq_open_oracle.short_answers", "biomix-bioasq": "biomix.short_answers"},
    READING: {
        **TRAINING,
        "bioasq": "bioasq.reading",
        "pubmedqa": "pubmedqa.reading",
        "pubmedqa-abstracts": "pubmedqa.reading",
    },
    STATEMENTS: {
        "scifact": "scifact.statements",
        "made": "statements.made",
        "clapnq": "clapnq.statements",
        "answers": "statements.answers",
    },
}
"""For each role, the function that opens a set in it, by the set's name on the command line."""
LACKS = {
    SPANS: "marks no answers in documents",
    SUMMARIES: "has no summaries",
    ANSWERS: "has no answers here",
    SHORT_ANSWERS: "has no short answers",
    READING: "has no passages to read",
    STATEMENTS: "has no statements",
}
"""Text for the error message if a set does not exist in a role."""


def open_dataset(name: str, data: Path | None, role: str = RETRIEVAL) -> DataSet:
    """Return the data set of a name, from its folder under `data`, in a role.

    Besides the names of `ROLES`, for retrieval any folder in BEIR's form; for questions also a folder with
    questions.jsonl (the user's own, with documents.jsonl if there is something to search), and a file: *.jsonl is the
    user's own questions, or in the form of "Lost in the middle" if its first line has `ctxs`; *.json is in SQuAD's
    form. A folder or file is looked for under `data`; questions also relative to the current folder.

    Raises:
        UsageError: There is nothing of that name, or a file is missing; the message says where it is published.
        UnreadableDocument: A file is damaged or in another form: the message has its name and the line.
    """
    if role == UNITS and name not in ROLES[UNITS]:
        role = RETRIEVAL
    known = ROLES[role].get(name)
    if known is None:
        if role in LACKS:
            raise UsageError(f"the data set {name!r} {LACKS[role]}", help=f"Choose {' or '.join(ROLES[role])}.")
        return _in_general_form(name, data, role)
    if data is None:
        raise _no_folder(name, folder_of(name), adapter_of(known).SOURCE)
    folder = data / folder_of(name)
    if role in (RETRIEVAL, QUESTIONS) and folder.name == name and in_beir_form(folder):
        known = f"beir.{'collection' if role == RETRIEVAL else 'questions'}"
    with as_published(name):
        if role == READING and known == TRAINING.get(name):
            return _pairs(folder, name)
        opened: Opener = getattr(adapter_of(known), known.partition(".")[2])
        return opened(folder, name)


def examples(name: str, data: Path, part: ReaderPart, seed: int = 0) -> list[Sample]:
    """Return the reader's examples of a data set's part, a question with one passage each; the seed determines them.

    Raises:
        UsageError: A file is missing; the message says where it is published.
    """
    function = TRAINING[name]
    make: Examples = getattr(adapter_of(function), function.partition(".")[2])
    return list(make(data / folder_of(name), part, random.Random(f"{name} {part} {seed}")))  # noqa: S311


def _pairs(folder: Path, name: str) -> DataSet:
    """Return the reader's examples of the parts on which it was not trained."""
    from evaluation.datasets.pairs import reading_set

    adapter = adapter_of(TRAINING[name])
    title = ", ".join(filter(None, (adapter.TITLE, name.partition("-")[2])))
    return reading_set(
        folder, name, title, adapter.SOURCE, adapter.LICENCE, lambda part: examples(name, folder.parent, part)
    )


def adapter_of(function: str) -> Any:
    """Return the module of an adapter's function, with its `SOURCE`, `LICENCE` and `TITLE`."""
    return import_module(f"{__name__}.{function.partition('.')[0]}")


def folder_of(name: str) -> str:
    """Return the name of the folder with the files of a known set; sets with a dash in their names share one."""
    return name.partition("-")[0]


def in_beir_form(folder: Path) -> bool:
    """Return whether a folder contains a corpus and queries under BEIR's names."""
    return all(any(folder.glob(f"{name}.jsonl*")) for name in ("corpus", "queries"))


def _no_folder(name: str, folder: str, source: str) -> UsageError:
    """Return the error for a missing folder of a data set."""
    return UsageError(
        f"no folder with the data set {name!r}",
        help=f"Give --data DIR or PREFLIGHT_DATA, where DIR/{folder} holds the files of {source}.",
    )


def _in_general_form(name: str, data: Path | None, role: str) -> DataSet:
    """Return a folder in BEIR's form, or a folder or file of questions."""
    from evaluation.datasets import beir, own

    if role == RETRIEVAL:
        if data is None:
            raise _no_folder(name, name, BEIR)
        if not (data / name).is_dir():
            raise UsageError(
                f"the data set {name!r} is unknown, and {str(data / name)!r} is no folder",
                help=f"Choose {' or '.join(ROLES[role])}, or name a folder in BEIR's form ({BEIR}).",
            )
        return beir.collection(data / name, (data / name).resolve().name)
    path = data / name if data else Path(name)
    if path.is_file():
        return _in_file(path)
    if (path / "questions.jsonl").is_file() or (path / "questions.jsonl.gz").is_file():
        return own.own_folder(path, path.resolve().name)
    if path.is_dir() and in_beir_form(path):
        return beir.questions(path, path.resolve().name)
    raise UsageError(
        f"the data set {name!r} is unknown, and {str(path)!r} is no file and no folder with questions.jsonl",
        help=f"Choose {' or '.join(ROLES[role])}, or name a file of your own questions (*.jsonl).",
    )


def _in_file(path: Path) -> DataSet:
    """Return a file of questions in one of the general forms, recognised by its extension and its first record."""
    from evaluation.datasets import nq_open_oracle, own, squad

    name = path.name.removesuffix(".gz")
    if name.endswith(".json"):
        return squad.squad(path, name.removesuffix(".json"))
    if not name.endswith(".jsonl"):
        raise UsageError(
            f"{path.name} is in no form that is known", help="Name a *.jsonl or *.json file, or *.gz of it."
        )
    _, first = next(json_lines(path), ("", {}))
    return (nq_open_oracle.lost_in_the_middle if "ctxs" in first else own.own)(path, name.removesuffix(".jsonl"))
