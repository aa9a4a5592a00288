"""The experiments by name, their inputs, and how one is run over data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.datasets import (
    ANSWERS,
    QUESTIONS,
    READING,
    RETRIEVAL,
    ROLES,
    SHORT_ANSWERS,
    SPANS,
    STATEMENTS,
    SUMMARIES,
    UNITS,
    open_dataset,
)
from evaluation.runs import ExperimentRun
from preflight_rag.state.errors import BudgetUsedUp, UsageError
from preflight_rag.state.extras import require_extra

if TYPE_CHECKING:
    from evaluation.report import Report


OWN = "Preflight's own"


@dataclass(frozen=True)
class Experiment:
    """An experiment's declaration: its module has `run(data set, Run) -> Report`.

    Attributes:
        module: Its module; after a colon, the function's name if it is not `run`.
        summary: What it measures, in a few words.
        datasets: The role of its data sets, one of `datasets.ROLES`; or the module whose `open_dataset` makes one from
            several.
        usual: Its default data sets.
        asks: Whether it uses the model.
        paper: The paper of the experiment; `OWN` for one of Preflight's own.
    """

    module: str
    summary: str
    datasets: str = RETRIEVAL
    usual: tuple[str, ...] = ("bioasq",)
    asks: bool = False
    paper: str = OWN


_brief_context = partial(
    Experiment, datasets=QUESTIONS, usual=("nq_open_oracle", "mirage"), asks=True, paper="BriefContext"
)
_cpqa = partial(Experiment, datasets=QUESTIONS, usual=("pubmedqa",), asks=True, paper="CPQA")
_corg = partial(Experiment, datasets=QUESTIONS, usual=("ramdocs",), asks=True, paper="COrg")

EXPERIMENTS = {
    "retrieval": Experiment(".retrieval", "recall, MRR and nDCG of the dense, BM25 and fused rankings"),
    "languages": Experiment(
        ".languages", "whether questions find documents in another language", usual=("xquad_en-languages",)
    ),
    "rewriting": Experiment(
        ".rewriting", "spelling by rules on planted slips, and what the ladder of expressions finds"
    ),
    "reranking": Experiment(".reranking", "what a second stage adds to the dense, BM25 and fused rankings"),
    "preflight": Experiment(
        ".preflight", "how well the preflight predicts that the key passage would be lost", paper="BriefContext"
    ),
    "sources": Experiment(
        ".sources",
        "what semantic search, Boolean search and both find, and where it comes to stand",
        asks=True,
        paper="CPQA",
    ),
    "calibration": Experiment(
        ".calibration", "the calibrated preflight beside the IoU rule, on collections it never saw"
    ),
    "router": Experiment(
        ".router",
        "right answers against calls, by rules that choose between plain reading and map/reduce",
        ".router",
        ("scifact",),
        paper="BriefContext",
    ),
    "splitters": Experiment(
        ".splitters",
        "how much of an answer's span each splitter's chunks bring in equal budgets",
        SPANS,
        ("covidqa", "qmsum"),
        paper="CPQA",
    ),
    "diversity": Experiment(
        ".diversity",
        "how much of what is relevant MMR and FPS bring into a token budget, before and after reading",
        UNITS,
        ("bioasq", "covidqa"),
        asks=True,
        paper="Diversity",
    ),
    "pruning": Experiment(
        ".pruning",
        "which tokens a language model is spared by the reader, and which answers are lost",
        SHORT_ANSWERS,
        ("nq_open_oracle", "biomix-bioasq"),
    ),
    "statements": Experiment(
        ".statements",
        "whether the reader tells supported statements from others",
        STATEMENTS,
        ("scifact", "made", "clapnq", "answers"),
    ),
    "summaries": Experiment(
        ".summaries",
        "how near selected sentences come to summaries that people wrote, and which a model prefers",
        SUMMARIES,
        ("mediqa2021_mas", "qmsum"),
        asks=True,
        paper="Diversity",
    ),
    "reading": Experiment(
        ".reading",
        "the extractive reader's spans, answerability and verdicts on given passages",
        READING,
        (
            "nq_open_oracle",
            "xquad_en",
            "covidqa",
            "ramdocs",
            "clapnq",
            "bioasq",
            "pubmedqa",
            "pubmedqa-abstracts",
            "scifact",
        ),
    ),
    "answering": Experiment(
        ".answering",
        "right answers shown with a right passage cited, by the whole pipeline",
        ANSWERS,
        ("biomix-bioasq", "ramdocs"),
    ),
    "keyless-abstention": Experiment(
        ".keyless_abstention",
        "whether the keyless reader quotes answers, and says so where there is none",
        ".keyless_abstention",
        ("five-sets",),
    ),
    "off-topic": Experiment(
        ".off_topic",
        "whether questions about other things are refused, and those that the documents answer are not",
        ".off_topic",
        ("covidqa",),
    ),
    "trust": Experiment(
        ".trust",
        "what is claimed over real, whole documents, and is it so",
        "..datasets.trust",
        ("trust",),
        asks=True,
    ),
    "poisoned": Experiment(
        ".poisoned",
        "how often an answer that somebody has planted stands alone",
        ".poisoned",
        ("poisonedrag",),
    ),
    "relations": Experiment(
        ".relations", "how right the keyless reader's relations between contexts are", QUESTIONS, ("ramdocs",)
    ),
    "routing": Experiment(
        ".routing",
        "how well the router's signals tell which questions need COrg",
        ".routing",
        ("conflicts-and-others",),
    ),
    "positions": _brief_context(
        ".positions", "whether an answer gets lost where its passage stands in the middle, by RAG and by BriefContext"
    ),
    "conflicts": _brief_context(
        ".conflicts",
        "questions whose partitions disagree, and how many BriefContext gets right",
        usual=("ramdocs", "conflictqa"),
    ),
    "integration": _brief_context(
        ".integration", "closed book, RAG, BriefContext and the auto route on each subset of MIRAGE", usual=("mirage",)
    ),
    "context-length": _brief_context(
        ".context_length", "right answers by the number of passages, beside an oracle and a closed book"
    ),
    "distractors": _brief_context(".distractors", "retrieved against random passages beside the one that answers"),
    "cost": _brief_context(
        ".cost", "tokens and calls of each way to read, and what the preflight's router saves", usual=("mirage",)
    ),
    "open-ended": _brief_context(
        ".open_ended", "long answers of BriefContext and RAG, judged in pairs in both orders", usual=("bioasq",)
    ),
    "routes": Experiment(
        ".routes",
        "every route's score, cost and time, and what the router chose beside the best",
        QUESTIONS,
        ("biomix-bioasq", "ramdocs"),
        asks=True,
    ),
    "citations": Experiment(
        ".citations",
        "whether cited passages support an answer's statements and hold its quotes",
        QUESTIONS,
        ("biomix-bioasq", "ramdocs"),
        asks=True,
    ),
    "split-level": Experiment(
        ".split_level",
        "what sentences, stretches, passages or lines bring within a token budget, with and without diversity",
        SPANS,
        ("covidqa", "qmsum"),
        asks=True,
        paper="Diversity",
    ),
    "pooled-levels": Experiment(
        ".pooled_levels",
        "sentences, or chunks of 256 or 512 tokens, of all documents in one pool, with and without diversity",
        QUESTIONS,
        ("xquad_en",),
        asks=True,
        paper="Diversity",
    ),
    "pairs": Experiment(
        ".pairs",
        "Hits@5 and MRR@5 of each embedder with each reranker, on questions a model writes",
        asks=True,
        paper="CPQA",
    ),
    "cpqa": _cpqa(".cpqa", "closed book, naive RAG and CPQA's pipeline, and the pipeline without each of its parts"),
    "cpqa-sources": _cpqa(".cpqa:sources", "abstracts, with reviews, with all articles of PMC, on hard questions"),
    "cpqa-splitters": _cpqa(".cpqa:splitting", "each splitter with each retriever, on hard questions"),
    "abstention": Experiment(
        ".abstention",
        "whether it answers what its passages answer, and says so where they don't",
        QUESTIONS,
        ("clapnq", "nq_open_oracle"),
        asks=True,
    ),
    "corg": _corg(".corg", "COrg beside Base, Retrieve, Summarize, Random, KMeans and Separate on identical contexts"),
    "corg-offline": Experiment(
        ".corg_offline",
        "what COrg shows with the reader that needs no model, and what it sets side by side",
        QUESTIONS,
        ("ramdocs",),
        paper="COrg",
    ),
    "corg-factors": _corg(".corg_factors", "which way of asking helps with each relation between contexts"),
    "corg-ablation": _corg(".corg:ablation", "COrg without each of its parts"),
    "corg-cost": _corg(".corg:cost", "calls, tokens and seconds of COrg and its baselines"),
    "corg-stats": _corg(".corg_stats", "which relations there are between given and between retrieved contexts"),
    "corg-build": _corg(".corg_build", "a corpus with all four relations, written and filtered by a model"),
}


ALIASES = {"hsrdr": "sources", "splitting": "splitters"}
"""Other names of experiments."""


def dataset_names() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the names that `--dataset` accepts, for each group of experiments with the same data sets."""
    groups: dict[str, list[str]] = {}
    for name, entry in EXPERIMENTS.items():
        groups.setdefault(entry.datasets, []).append(name)
    return {tuple(names): tuple(ROLES.get(role, EXPERIMENTS[names[0]].usual)) for role, names in groups.items()}


def run(experiment: str, data: Path | None, datasets: Sequence[str], settings: ExperimentRun) -> list[Report]:
    """Run an experiment over data sets, or its default ones if none is named, one report each.

    When the budget is used up (`settings.budget` says so), the reports are about the cases that were answered.

    Raises:
        BudgetUsedUp: The budget was used up before the first case was answered.
        UsageError: The experiment, a data set or a part is unknown, or a file is missing.
        UnreadableDocument: A data file is damaged.
    """
    experiment = ALIASES.get(experiment, experiment)
    if experiment not in EXPERIMENTS:
        near = get_close_matches(experiment, EXPERIMENTS)
        advice = f"Did you mean {' or '.join(near)}?" if near else "`preflight eval list` names them all."
        raise UsageError(f"the experiment {experiment!r} is unknown", help=advice)
    require_extra("eval", "preflight eval")
    entry = EXPERIMENTS[experiment]
    collections = [_opened(entry, name, data) for name in dict.fromkeys(datasets or entry.usual)]
    module, _, function = entry.module.partition(":")
    ask = getattr(import_module(module, __package__), function or "run")
    reports: list[Report] = []
    for collection in collections:
        try:
            report = ask(_searched(collection, settings), settings)
            reports.append(replace(report, about=_about(report, settings), summary=entry.summary))
        except BudgetUsedUp:
            if not reports:
                raise
            break
    return reports


def _opened(entry: Experiment, name: str, data: Path | None) -> Any:
    """Return a data set of an experiment."""
    if entry.datasets in ROLES:
        return open_dataset(name, data, entry.datasets)
    return import_module(entry.datasets, __package__).open_dataset(name, data)


def _searched(collection: Any, settings: ExperimentRun) -> Any:
    """Return the data set with as many documents as `--documents` allows.

    Unchanged are sets without a library to search, and those whose questions are about one document each.
    """
    from evaluation.samples import DataSet
    from evaluation.searching import searched_part

    if not isinstance(collection, DataSet) or not collection.relevance or collection.samples[0].document:
        return collection
    return searched_part(collection, settings)


def _about(report: Report, settings: ExperimentRun) -> str:
    """Return the report's description, with a note if only a part of the documents was searched."""
    documents = report.inputs.get("library", {}).get("documents")
    if settings.documents is None or documents is None:
        return report.about
    sampled = f"Searched are {documents:,} documents: those that answer and a sample of the others, not the whole."
    return f"{report.about} {sampled}"
