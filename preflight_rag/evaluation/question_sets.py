"""Questions of published data sets in one form, whatever their files look like, and one's own. Nothing is downloaded.

The adapters are in `question_files_choice`, `question_files_short`, `question_files_conflicts`, `question_files_long`
and `question_files_own`. Each reads the files as they are published, gzipped or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from preflight_rag.evaluation.datasets import BIOMIX, MEDQUAD, SCIFACT, in_beir_form
from preflight_rag.evaluation.long_documents import COVIDQA, FINANCEBENCH, QMSUM
from preflight_rag.evaluation.reader_data import CLAPNQ, CONFLICTQA, NQ, PUBMEDQA, RAMDOCS, XQUAD
from preflight_rag.evaluation.records import json_lines, unique
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.state.errors import UnreadableDocument, UsageError

MIRAGE = "github.com/Teddy-XiongGZ/MIRAGE"
BIOASQ_TASK = "participants-area.bioasq.org"
AMBIGDOCS = "ambigdocs.github.io"
DRAGGED = "github.com/google-research-datasets/rag_conflicts"
WIKICONTRADICT = "huggingface.co/datasets/ibm-research/Wikipedia_contradict_benchmark"
NQ_OPEN = "github.com/google-research-datasets/natural-questions (nq_open)"
SQUAD = "rajpurkar.github.io/SQuAD-explorer"
MIRAGE_PARTS = {
    "medqa": "MedQA-US",
    "medmcqa": "MedMCQA",
    "pubmedqa": "PubMedQA*",
    "bioasq": "BioASQ-Y/N",
    "mmlu": "MMLU-Med",
}
"""Name of a part in MIRAGE's file to its name in MIRAGE's tables."""


@dataclass(frozen=True)
class Source:
    """Where a data set's adapter is, and what it reads.

    Attributes:
        adapter: Module and function, which takes the folder and the set's name.
        folder: Name of the folder with its files.
        origin: Where they are published.
    """

    adapter: str
    folder: str
    origin: str


SOURCES = {
    "mirage": Source("choice.mirage", "mirage", MIRAGE),
    **{f"mirage-{part}": Source("choice.mirage", "mirage", MIRAGE) for part in MIRAGE_PARTS},
    "pubmedqa": Source("choice.pubmedqa", "pubmedqa", PUBMEDQA),
    "bioasq": Source("choice.bioasq", "bioasq", BIOASQ_TASK),
    "biomix-bioasq": Source("choice.biomix_bioasq", "biomix", BIOMIX),
    "scifact": Source("choice.scifact", "scifact", SCIFACT),
    "medquad": Source("long.medquad", "medquad", MEDQUAD),
    "ramdocs": Source("conflicts.ramdocs", "ramdocs", RAMDOCS),
    "ambigdocs": Source("conflicts.ambigdocs", "ambigdocs", AMBIGDOCS),
    "conflictqa": Source("conflicts.conflictqa", "conflictqa", CONFLICTQA),
    "dragged_conflicts": Source("conflicts.dragged", "dragged_conflicts", DRAGGED),
    "wikicontradict": Source("conflicts.wikicontradict", "wikicontradict", WIKICONTRADICT),
    "nq_open_oracle": Source("short.nq_open_oracle", "nq_open_oracle", NQ),
    "nq_open": Source("short.nq_open", "nq_open", NQ_OPEN),
    "xquad_en": Source("short.xquad", "xquad_en", XQUAD),
    "covidqa": Source("short.covidqa", "covidqa", COVIDQA),
    "clapnq": Source("short.clapnq", "clapnq", CLAPNQ),
    "qmsum": Source("long.qmsum", "qmsum", QMSUM),
    "financebench": Source("long.financebench", "financebench", FINANCEBENCH),
}
"""Data sets by the name that `--dataset` takes."""


def open_dataset(name: str, data: Path | None) -> DataSet:
    """The data set of that name in its folder under `data`, or one's own.

    Besides the names of `SOURCES`: a folder with questions.jsonl (one's own, with documents.jsonl where there is
    something to search) or in BEIR's form, and a file: *.jsonl is one's own questions, or in the form of "Lost in the
    middle" where its first line has `ctxs`; *.json is in SQuAD's form. A folder or file is looked for under `data`, and
    without `data` where one is.

    Raises:
        UsageError: There is nothing of that name, or a file is missing; the message says where it is published.
        UnreadableDocument: A file is damaged or in another form: the message has its name and the line.
    """
    known = SOURCES.get(name)
    if known is not None:
        if data is None:
            raise UsageError(
                f"no folder with the data set {name!r}",
                help=f"Give --data DIR or PREFLIGHT_DATA, where DIR/{known.folder} holds the files of {known.origin}.",
            )
        folder = data / known.folder
        if name == known.folder and in_beir_form(folder):
            return _adapter("own.beir")(folder, name)
        return _adapter(known.adapter)(folder, name)
    path = data / name if data else Path(name)
    if path.is_file():
        return _in_file(path)
    if (path / "questions.jsonl").is_file() or (path / "questions.jsonl.gz").is_file():
        return _adapter("own.own_folder")(path, path.resolve().name)
    if path.is_dir() and in_beir_form(path):
        return _adapter("own.beir")(path, path.resolve().name)
    raise UsageError(
        f"the data set {name!r} is unknown, and {str(path)!r} is no file and no folder with questions.jsonl",
        help=f"Choose {' or '.join(SOURCES)}, or name a file of your own questions (*.jsonl).",
    )


def _in_file(path: Path) -> DataSet:
    """A file in one of the general forms, told by its name's ending and its first record."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".json"):
        return _adapter("short.squad")(path, name.removesuffix(".json"))
    if not name.endswith(".jsonl"):
        raise UsageError(
            f"{path.name} is in no form that is known", help="Name a *.jsonl or *.json file, or *.gz of it."
        )
    _, first = next(json_lines(path), ("", {}))
    return _adapter("short.lost_in_the_middle" if "ctxs" in first else "own.own")(path, name.removesuffix(".jsonl"))


def _adapter(name: str) -> Callable[[Path, str], DataSet]:
    module, _, function = name.partition(".")
    found: Callable[[Path, str], DataSet] = getattr(import_module(f".question_files_{module}", __package__), function)
    return found


def collected(read: Iterable[tuple[str, Sample]], path: Path) -> tuple[Sample, ...]:
    """The questions of a file, each with its place in it.

    Raises:
        UnreadableDocument: Two questions or different passages have one id, a right answer is not among its options,
            or there is no question at all.
    """
    found = list(read)
    unique([(question.id, place) for place, question in found])
    texts: dict[str, str] = {}
    for place, question in found:
        for passage in question.given:
            if texts.setdefault(passage.id, passage.text) != passage.text:
                raise UnreadableDocument(
                    f"{place}: the passage {passage.id!r} has another text than before",
                    help="Give it an id of its own.",
                )
        if question.right is not None and question.right not in question.options:
            raise UnreadableDocument(
                f"{place}: the right answer {question.right!r:.60} is not among the options",
                help=f"They are {', '.join(question.options)}.",
            )
    if not found:
        raise UnreadableDocument(f"{path.name} holds no question", help="Check that it is the published file.")
    return tuple(question for _, question in found)
