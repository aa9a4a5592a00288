"""Experiment `trust`: which claims are made over real documents, and whether they are right; the main criterion.

Each question of a part is asked as a user asks it (`Preflight.ask`, no options, a conversation of its own) over the
library of that part's documents, which the product's own ingest has built. A claim is a headline (the outcome
"answered" with a short answer, a verdict or several answers), a listing, or the sentence that sources contradict each
other. Claims are judged by rule against human annotations, and if a rule can err, it is strict:

- a short answer is right if it contains a name of the answer, or `same_answer` says so of both, with few words more;
  not if it also contains an answer that is known to be false, or if it is one of several and another is not right;
- a yes/no question is answered only by a verdict; a listing has to cite or name every document, and a count to say it;
- if documents disagree, one side alone is wrong;
- the right passage is one with a sentence of the evidence, or any passage of a document that answers as a whole; the
  right quote contains such a sentence, or is a part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluation.datasets.trust import KINDS, RECORDS, SILENT, TrustDocument, TrustQuestion, TrustSet
from evaluation.harness.asking import open_asking
from evaluation.intervals import Estimate, bootstrap, share
from evaluation.report import Report, Table, checksums, number
from evaluation.rows import ScoreRow
from evaluation.samples import check_selection, digest
from evaluation.vector_cache import cached_embedder
from preflight_rag.cache import cache_dir
from preflight_rag.corg.agreement import same_answer
from preflight_rag.state.errors import LibraryError, UsageError
from preflight_rag.text.headers import CONTRADICTED
from preflight_rag.text.sentences import sentence_spans

if TYPE_CHECKING:
    import numpy as np

    from evaluation.runs import ExperimentRun
    from preflight_rag.app import Preflight
    from preflight_rag.library.collection import Collection
    from preflight_rag.state.values import Answer

CLAIMS = ("answered", "listing")
"""Outcomes that claim something."""
SURE = 0.9
BINS = 10
NOT_PROSE = ("table", "metadata", "collection")
UNCOUNTED = (*SILENT, "language", "open")
"""Kinds that do not count as answerable: for an open question no rule can decide whether an answer is right."""
FIRST = 3
LONGER = 12
"""Most additional words of a right short answer beyond a name of the answer; a guess: the rest of its clause."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SEVERAL = "; "
"""Separator of several answers in one headline."""
CELL, BETWEEN = " | ", r"\w{0,60}?"
"""Separator of the cells of a row of evidence, and a pattern for text between them: other cells, names of columns."""
LEAST = 25
"""Least letters and digits of a text that identify its place in a document; a guess: four words."""


@dataclass(frozen=True)
class ShownCitations:
    """A citation as an answer shows it.

    Attributes:
        document: Name of the document.
        title: Its title.
        quote: The shown words.
        passage: The text of their passage.
    """

    document: str
    title: str
    quote: str
    passage: str


@dataclass(frozen=True)
class JudgedAnswer:
    """One answer, and whether its claims are right.

    Attributes:
        question: The question.
        answer: The answer.
        shown: Its citations in their order.
        claimed: Whether it claims anything.
        right: Whether that is right.
        reason: Why, in a few words.
    """

    question: TrustQuestion
    answer: Answer
    shown: tuple[ShownCitations, ...]
    claimed: bool
    right: bool
    reason: str

    @property
    def kind(self) -> str:
        """The question's kind, with questions about pairs of passages marked as such."""
        return f"{self.question.kind}, two passages" if self.question.given else self.question.kind

    @property
    def counts(self) -> bool:
        """Whether the library answers the question, and a rule can decide whether an answer is right."""
        return self.question.kind not in UNCOUNTED and not self.question.given

    @property
    def found(self) -> bool | None:
        """Whether a right passage is among the first quotes'; None if the question is not about a passage."""
        return self._within([item.passage for item in self.shown])

    @property
    def quoted(self) -> bool | None:
        """Whether a right sentence is among the first quotes."""
        return self._within([item.quote for item in self.shown])

    def _within(self, texts: Sequence[str]) -> bool | None:
        """Return whether one of some citations' texts contains the evidence; None for questions without evidence."""
        asked = self.question
        if not asked.answerable or asked.given or asked.kind in ("metadata", "collection"):
            return None
        first = list(zip(self.shown, texts, strict=True))[:FIRST]
        return any(holds_evidence(asked, item, text) for item, text in first)


Measure: TypeAlias = Callable[[JudgedAnswer], bool | None]
"""Whether an answer passes; None if it does not count."""


def among(counts: Callable[[JudgedAnswer], object], passes: Callable[[JudgedAnswer], bool]) -> Measure:
    """Return a measure: whether an answer passes, among those that count."""
    return lambda item: passes(item) if counts(item) else None


MEASURES: dict[str, Measure] = {
    "headline or listing shown: right": among(lambda j: j.claimed and not j.question.given, lambda j: j.right),
    "headline shown: right": among(
        lambda j: j.claimed and not j.question.given and j.answer.outcome != "listing", lambda j: j.right
    ),
    "answerable questions with a headline or listing": among(lambda j: j.counts, lambda j: j.claimed),
    "answerable questions with a right one": among(lambda j: j.counts, lambda j: j.right),
    "shown at 90 % sure or more: right": among(
        lambda j: j.claimed and not j.question.given and (j.answer.confidence or 0) >= SURE, lambda j: j.right
    ),
    "no answer there, off topic, false premise: no headline": among(
        lambda j: j.question.kind in SILENT, lambda j: not j.claimed
    ),
    "verdicts opposite to the truth": among(
        lambda j: j.question.right and verdict_of(j.answer), lambda j: verdict_of(j.answer) != j.question.right
    ),
    "yes/no questions given a verdict": among(lambda j: j.question.right, lambda j: verdict_of(j.answer) is not None),
    "contradictions announced: true": among(lambda j: announced(j.answer), lambda j: j.question.kind == "disagree"),
    "two given passages that contradict: announced or set side by side": among(
        lambda j: j.question.given, lambda j: announced(j.answer) or side_by_side(j.question, j.answer)
    ),
    "… announced": among(lambda j: j.question.given, lambda j: announced(j.answer)),
    "… both quoted, as evidence or an answer": among(lambda j: j.question.given, lambda j: len(j.shown) > 1),
    "… one side alone claimed": among(lambda j: j.question.given, lambda j: j.claimed and not j.right),
    "documents of the library that disagree: announced or set side by side": among(
        lambda j: j.kind == "disagree", lambda j: announced(j.answer) or side_by_side(j.question, j.answer)
    ),
    "one document alone: no contradiction announced": among(
        lambda j: j.question.kind == "alone", lambda j: not announced(j.answer)
    ),
    "tables, metadata, collection: right": among(lambda j: j.question.kind in NOT_PROSE, lambda j: j.right),
    "right passage among the first three quotes' passages": lambda j: j.found,
    "right sentence among the first three quotes": lambda j: j.quoted,
    "other languages: nothing claimed": among(lambda j: j.question.kind == "language", lambda j: not j.claimed),
}
"""The measures by their lines in the table."""


def run(found: TrustSet, run: ExperimentRun) -> Report:
    """Ask the questions of the part, and judge the claims."""
    check_selection(run.part, run.limit)
    if run.part == "all":
        raise UsageError("trust has a library for each part", help="Choose --part test or --part development.")
    with open_asking(run) as asking:
        judged, given = _ask_all(found, run, asking.chat_model or "offline")
    rows = [row for item in judged for row in _rows(item, run.model)]
    tables, figures = _tables(judged, run.seed)
    about = f"{len(judged):,} questions ({run.part} part) over {given['library']['documents']:,} documents"
    return Report(
        experiment="trust",
        dataset=found.title,
        about=f"{about}, {given['library']['passages']:,} passages; reader: {run.model}.",
        tables=tables,
        rows=tuple(rows),
        figures=figures,
        inputs={"source": found.source, "licence": found.licence, "sha256": checksums(found.files), **given},
    )


def _ask_all(found: TrustSet, run: ExperimentRun, model: Any) -> tuple[list[JudgedAnswer], dict[str, Any]]:
    """Return every question's answer, judged, and the settings that the numbers depend on."""
    from preflight_rag.app import Preflight

    asked = found.select(run.part, run.limit)
    folder = library_of(found, run.part, run)
    pairs = pairs_of([question for question in asked if question.given], folder, run)
    own = run.extractive_reader
    judged: list[JudgedAnswer] = []
    with (
        Preflight.open(folder / "library", model, embedder=run.embedder, extractive_reader=own) as over_part,
        Preflight.open(pairs / "library", model, embedder=run.embedder, extractive_reader=own) as over_pairs,
    ):
        stats = over_part.library.stats()
        names = names_of(over_part.library)
        ids = {name: document for document, name in names.items()}
        for done, question in enumerate(asked, 1):
            app, where = (over_pairs, (f"pair = {pair_name(question)}",)) if question.given else (over_part, ())
            if question.alone:
                where = (f"id = {ids[question.documents[0]]}",)
            judged.append(judge(question, *ask(app, question, where, names)))
            run.progress(f"{found.name}: questions", done, len(asked))
        embedder = over_part.library.embedder
    described = {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension}
    counts = {name: stats[name] for name in ("documents", "passages", "splitter")}
    return judged, {"library": counts, "embedder": described, "settings": {"extractive_reader": own}}


def ask(
    app: Preflight, question: TrustQuestion, where: Sequence[str], names: Mapping[str, str]
) -> tuple[Answer, tuple[ShownCitations, ...]]:
    """Return the product's answer to a question and its citations, after the earlier questions of the conversation.

    Args:
        app: The application, opened over the library.
        question: The question.
        where: Filters, if only a part of the library is asked.
        names: The set's names of the library's documents, by their ids.
    """
    app.delete_thread(question.id)  # an interrupted run may have left one
    for earlier in question.before:
        app.ask(earlier, thread_id=question.id, where=where)
    answer = app.ask(question.question, thread_id=question.id, where=where)
    app.delete_thread(question.id)
    passages = app.library.passages([cited.passage_id for cited in answer.citations])
    texts = {passage.id: passage.text for passage in passages}
    return answer, tuple(
        ShownCitations(names.get(cited.document_id, ""), cited.title, cited.quote, texts.get(cited.passage_id, ""))
        for cited in answer.citations
    )


def names_of(library: Collection) -> dict[str, str]:
    """Return the set's names of a library's documents, by id: the path of their file, or a record's id."""
    names = {}
    for entry in library.documents():
        path = Path(str(entry["metadata"].get("path", ""))).as_posix()
        name = path.rpartition(f"/{FILES}/")[2]
        names[str(entry["id"])] = str(entry["id"]) if name in ("", RECORDS) else name
    return names


def pair_name(question: TrustQuestion) -> str:
    """Return the filter value by which the two records of a pair are found."""
    return f"p{digest(question.id).hex()[:12]}"


def judge(question: TrustQuestion, answer: Answer, shown: tuple[ShownCitations, ...]) -> JudgedAnswer:
    """Return an answer with whether its claims are right."""
    return JudgedAnswer(question, answer, shown, *claim_of(question, answer, shown))


def claim_of(question: TrustQuestion, answer: Answer, shown: Sequence[ShownCitations]) -> tuple[bool, bool, str]:
    """Return whether an answer claims something, whether that is right, and why."""
    said = headline(answer)
    if answer.outcome not in CLAIMS:
        return False, False, f"nothing claimed ({answer.outcome})"
    if question.kind in SILENT:
        return True, False, "claimed where there is no answer"
    if question.right:
        verdict = verdict_of(answer)
        return True, verdict == question.right, f"verdict {verdict}" if verdict else "no verdict"
    if question.kind == "disagree":
        both = announced(answer) or side_by_side(question, answer)
        return True, both, "both sides" if both else "one side alone"
    if question.kind == "collection":
        return True, *lists(question, answer, shown)
    if question.kind == "open":
        right = bool(shown) and holds_evidence(question, shown[0], shown[0].passage)
        return True, right, "first quote from the marked turns" if right else "first quote from elsewhere"
    if not said:
        right = bool(shown) and holds_evidence(question, shown[0], shown[0].quote)
        return True, right, "quotes the sentence that answers" if right else "quotes another sentence"
    right = says_all(said, question.answers, question.false)
    return True, right, "says the answer" if right else "says something else"


def headline(answer: Answer) -> str:
    """Return an answer's claim: its short answer, or its several answers, or a listing's text; "" for quotes alone."""
    if answer.outcome == "listing":
        return answer.answer
    if answer.outcome not in CLAIMS:
        return ""
    return answer.short_answer or answer.choice or SEVERAL.join(group.answer for group in answer.groups)


def verdict_of(answer: Answer) -> str | None:
    """Return the yes or no that an answer gives to its question, if it gives one."""
    said = headline(answer) if answer.outcome == "answered" else ""
    found = VERDICT.match(said)
    return found[1].lower() if found else None


VERDICT = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


def announced(answer: Answer) -> bool:
    """Return whether an answer's text says that sources contradict each other."""
    return CONTRADICTED.rstrip(":") in answer.answer.casefold()


def side_by_side(question: TrustQuestion, answer: Answer) -> bool:
    """Return whether both sides' answers are in the claim, or in groups of different documents."""
    if len(answer.groups) > 1 and answer.outcome in ("answered", "evidence"):
        of = {cited.n: cited.document_id for cited in answer.citations}
        cited = []
        for group in answer.groups:
            cited.append({of[n] for n in group.citations if n in of})
        if any(a and b and a.isdisjoint(b) for a, b in combinations(cited, 2)):
            return True
    said = headline(answer) if answer.outcome == "answered" else ""
    for names in question.answers:
        if not any(holds(said, name) for name in names):
            return False
    return bool(question.answers)


def says_all(said: str, answers: Sequence[Sequence[str]], false: Sequence[str]) -> bool:
    """Return whether a headline gives every right answer, and no other one."""
    several = said.split(SEVERAL)
    for names in answers:
        if not any(says(one, names, false) for one in several):
            return False
    given = [one for one in several if any(says(one, names, false) for names in answers)]
    return len(given) == len(several)


def says(said: str, names: Sequence[str], false: Sequence[str]) -> bool:
    """Return whether a short answer gives one of an answer's names, with few more words, and none that is false.

    `same_answer` accepts a part of a name, e.g. "India" for "Varanasi, India"; so more than half is required.
    """
    really_false = [name for name in false if not any(holds(right, name) for right in names)]
    denied = any(holds(said, name) for name in really_false)
    words = len(tokens(said))
    fitting = [name for name in names if len(tokens(name)) / 2 < words <= len(tokens(name)) + LONGER]
    return not denied and any(holds(said, name) or same_answer(said, name) for name in fitting)


def lists(question: TrustQuestion, answer: Answer, shown: Sequence[ShownCitations]) -> tuple[bool, str]:
    """Return whether a listing has every document, cited or named, or begins with the requested count.

    An answer that is not a listing has to name the titles in its claim.
    """
    if question.answers:
        counts = [word for word in tokens(headline(answer)) if word.isdigit() or word in NUMBERS][:1]
        counted = bool(counts) and counts[0] in {name for names in question.answers for name in names}
        return counted, "says the count" if counted else "does not say the count"
    cited = {item.document for item in shown}
    if answer.outcome != "listing" and headline(answer).count(SEVERAL) >= len(question.documents):
        return False, "says other things, too"
    if answer.outcome != "listing":
        cited = {item.document for item in shown if item.title and item.title.casefold() in headline(answer).casefold()}
    missing = [name for name in question.documents if name not in cited and Path(name).name not in headline(answer)]
    others = len(cited - set(question.documents))
    right = not missing and others <= len(question.documents)
    return right, f"{len(missing)} of {len(question.documents)} documents missing, {others} others"


def holds(text: str, name: str) -> bool:
    """Return whether a text contains a name, word for word; a number only as a whole."""
    words, wanted = tokens(text), tokens(name)
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def tokens(text: str) -> list[str]:
    """Return words and whole numbers of a text, without case and thousands' separators."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.casefold().replace("−", "-").replace("–", "-"))
    return re.findall(r"\d+(?:[.:]\d+)*|[^\W\d_]+", plain)


def holds_evidence(question: TrustQuestion, item: ShownCitations, text: str) -> bool:
    """Return whether a document's text contains a sentence or row of the question's evidence, or is part of one."""
    if item.document not in question.documents:
        return False
    squeezed = letters(text)
    return not question.evidence or any(
        stands_in(piece, squeezed) or (len(squeezed) >= LEAST and squeezed in letters(piece))
        for evidence in question.evidence
        for piece in pieces_of(evidence)
    )


def pieces_of(evidence: str) -> list[str]:
    """Return the sentences of evidence that are long enough to identify their place.

    Without any, the whole, such as the row of a table.
    """
    pieces = [] if CELL in evidence else [evidence[a:b] for a, b in sentence_spans(evidence)]
    return [piece for piece in pieces if len(letters(piece)) >= LEAST] or [evidence]


def stands_in(piece: str, squeezed: str) -> bool:
    """Return whether a text's letters and digits contain those of a sentence, or of a row's cells in their order."""
    if CELL not in piece:
        return letters(piece) in squeezed
    return re.search(BETWEEN.join(map(letters, piece.split(CELL))), squeezed) is not None


def letters(text: str) -> str:
    """Return only the letters and digits, so that line breaks and hyphens make no difference."""
    return re.sub(r"[\W_]+", "", text).casefold()


def _rows(item: JudgedAnswer, arm: str) -> Iterator[ScoreRow]:
    """Yield a row for each measure for which an answer counts.

    The first one has everything that a human judge needs.
    """
    asked, answer = item.question, item.answer
    details = {
        "question": asked.question,
        "before": list(asked.before),
        "right": asked.right or [list(names) for names in asked.answers],
        "false": list(asked.false),
        "documents": list(asked.documents),
        "evidence": list(asked.evidence),
        "outcome": answer.outcome,
        "headline": headline(answer),
        "confidence": answer.confidence,
        "announced": announced(answer),
        "route": answer.route.name,
        "answer": answer.answer,
        "quotes": [{"document": shown.document, "quote": shown.quote} for shown in item.shown],
    }
    counted = {name: value for name, measure in MEASURES.items() if (value := measure(item)) is not None}
    for place, (name, value) in enumerate((counted or {"read": True}).items()):
        yield ScoreRow(
            asked.id, item.kind, arm, float(value), item.reason, measure=name, details={} if place else details
        )


def _tables(judged: Sequence[JudgedAnswer], seed: int) -> tuple[tuple[Table, ...], dict[str, Any]]:
    """Return the measures with their intervals, and each kind of question by itself."""
    estimates = {}
    for name, measure in MEASURES.items():
        values = [float(value) for item in judged if (value := measure(item)) is not None]
        estimates[name] = share(values, seed=seed), len(values)
    sure = [j for j in judged if j.claimed and not j.question.given and j.answer.confidence is not None]
    levels = [item.answer.confidence or 0.0 for item in sure]
    error = calibration_error(levels, [float(item.right) for item in sure], seed=seed)
    lines = [(name, number(estimate, percent=True), f"{count}") for name, (estimate, count) in estimates.items()]
    lines.append(("error of calibration (ECE), %", number(error, percent=True), f"{len(sure)}"))
    note = "[95 %: Wilson for shares, bootstrap for the error of calibration, in ten bins of equal width.]"
    kinds = [kind for name in KINDS for kind in (name, f"{name}, two passages")]
    by_kind: dict[str, list[JudgedAnswer]] = {kind: [] for kind in kinds}
    for item in judged:
        by_kind[item.kind].append(item)
    heads = ("kind", "questions", "claimed %", "claims that are right %", "right passage in three %", "announced")
    figures = {name: estimate.as_json() | {"n": count} for name, (estimate, count) in estimates.items()}
    tables = (
        Table("What is claimed, and is it so", ("measure", "share %", "of"), tuple(lines), note),
        Table("By kind of question", heads, tuple((kind, *_shares(of)) for kind, of in by_kind.items() if of)),
    )
    return tables, figures | {"ECE": error.as_json() | {"n": len(sure)}}


def _shares(judged: Sequence[JudgedAnswer]) -> Iterator[str]:
    """Yield a kind's cells: its questions, claims, right claims, right passages, announced contradictions."""
    claims = [item.right for item in judged if item.claimed]
    passages = [item.found for item in judged if item.found is not None]
    yield f"{len(judged)}"
    yield f"{100 * len(claims) / len(judged):.0f}"
    yield f"{100 * sum(claims) / len(claims):.0f}" if claims else "–"
    yield f"{100 * sum(passages) / len(passages):.0f}" if passages else "–"
    yield f"{sum(announced(item.answer) for item in judged)}"


def calibration_error(confidence: Sequence[float], right: Sequence[float], *, seed: int) -> Estimate:
    """Return the expected calibration error: the mean gap between confidence and share right, over bins of equal width.

    (Guo et al. 2017, "On calibration of modern neural networks", section 3.)
    """

    def statistic(level: np.ndarray, hit: np.ndarray) -> np.ndarray:
        import numpy as np

        bins = np.minimum((level * BINS).astype(int), BINS - 1)
        gaps = [np.abs(np.where(bins == at, level - hit, 0.0).sum(axis=-1)) for at in range(BINS)]
        total: np.ndarray = np.sum(gaps, axis=0) / level.shape[-1]
        return total

    return bootstrap(statistic, list(confidence), list(right), seed=seed)


FILES = "files"
"""The folder of a library's files, beside the library."""


def library_of(found: TrustSet, part: str, run: ExperimentRun) -> Path:
    """Return the folder of a part's library, built by the product's own ingest; unchanged documents are kept.

    Raises:
        LibraryError: A document could not be ingested, so the numbers would be about another collection.
    """
    return _built(_searched(found, part, run), f"trust-{part}" if run.documents is None else f"trust-{part}-few", run)


def pairs_of(questions: Sequence[TrustQuestion], beside: Path, run: ExperimentRun) -> Path:
    """Return the folder of the library of pairs: each passage is a document of its own, found by its pair's name."""
    records = []
    for question in questions:
        for side, text in enumerate(question.given, 1):
            name = f"{pair_name(question)}-{side}"
            line = json.dumps({"id": name, "text": text, "pair": pair_name(question)}, ensure_ascii=False)
            records.append(TrustDocument(name, line.encode("utf-8").strip, record=True))
    return _built(records or [EMPTY], f"{beside.name}-pairs", run)


EMPTY = TrustDocument("none", lambda: b'{"id": "none", "text": "none"}', record=True)
"""The only document of the library of pairs if no pair is asked about: the product opens no empty library."""


def _built(documents: Sequence[TrustDocument], name: str, run: ExperimentRun) -> Path:
    """Return a folder with files and the library made from them."""
    from preflight_rag.library import Library
    from preflight_rag.models.opening import open_embedder

    embedder = open_embedder(run.embedder)
    folder = (run.library_cache or cache_dir() / "eval") / f"{name}-{embedder.name.rsplit('/', 1)[-1]}"
    write_files(documents, folder / FILES)
    with ExitStack() as stack:
        if run.documents is not None:
            embedder = stack.enter_context(cached_embedder(run))
        library = stack.enter_context(Library.open(folder / "library", embedder=embedder, create=True))
        report = library.ingest(
            folder / FILES,
            prune=True,
            progress=lambda event: run.progress(f"{name}: {event.stage}", event.done, event.total or 0),
        )
    if report.failed:
        source, reason = report.failed[0]
        raise LibraryError(f"{len(report.failed)} documents could not be taken in, first {source}: {reason}")
    return folder


def _searched(found: TrustSet, part: str, run: ExperimentRun) -> list[TrustDocument]:
    """Return the documents over which a part's questions are asked.

    If a run searches few, return those that answer, and records by the hash of their names.
    """
    documents = sorted(found.documents[part], key=lambda document: digest(document.name))
    if run.documents is None:
        return documents
    asked = {name for question in found.select(part, run.limit) for name in question.documents}
    answering = [document for document in documents if document.name in asked]
    others = [document for document in documents if document.name not in asked and document.record]
    return [*answering, *others][: max(run.documents, len(answering))]


def write_files(documents: Sequence[TrustDocument], folder: Path) -> None:
    """Write missing files unchanged, and the records into one file; remove others."""
    wanted = {document.name: document.content() for document in documents if not document.record}
    wanted[RECORDS] = b"".join(document.content() + b"\n" for document in documents if document.record)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = folder / name
        if content and (not path.is_file() or path.read_bytes() != content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
