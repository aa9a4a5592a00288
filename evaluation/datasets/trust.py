"""Questions over whole documents, as a user has them, for measuring which claims are made and whether they are right.

The documents are articles, trial reports, filings, meetings, web pages, tables and abstracts of the published sets,
each as the file that a user would have, and a few small ones of our own (`trust_documents.jsonl`), because the files
have no tables of records and no two documents that disagree. The questions about them are our own
(`trust_questions.jsonl`), each checked by reading, and those of the published sets that can be understood without their
document. The texts are not stored here but read from the published sets.

Everything is split by document before any run. Documents of sets on which the product's reader was trained are in the
reader's own parts (`samples.reader_part_of` of the set's own key: its test part is test, its validation part
development, and its training part has no questions); every other one by the first byte of the SHA-256 of its name
without its extension (`samples.half_of`: odd is test, even is development). Questions that no document answers are
split by their own key. Each part has a library of its own, with only that part's documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias, cast, get_args

from evaluation.datasets import clapnq, conflictqa, covidqa, pubmedqa, qmsum, ramdocs
from evaluation.datasets.files import entries, find, json_lines, listed, texts
from evaluation.datasets.files import field as field_of
from evaluation.samples import Span, digest, half_of, reader_part_of
from preflight_rag.state.errors import UsageError
from preflight_rag.text.sentences import sentence_spans

NAME = "trust"
TITLE = "Real documents"
SOURCE = "the published sets that docs/evaluation.md names"
LICENCE = "our questions as this project; the documents' as their sets state"

Kind: TypeAlias = Literal[
    "fact", "number", "yes/no", "comparison", "table", "metadata", "collection", "open", "false premise", "absent near",
    "absent far", "disagree", "alone", "follow-up", "language",
]  # fmt: skip
Part: TypeAlias = Literal["test", "development"]
KINDS: tuple[str, ...] = get_args(Kind)
SILENT = ("false premise", "absent near", "absent far")
"""Kinds of questions for which no claim is right: nothing in the library answers them."""
MOST = {"covidqa": 16, "evidence_inference": 30, "qmsum": 12, "pubmedqa": 320, "scifact": 500, "clapnq": 40}
"""Most documents of a set in a part, so that its library has 5,000 to 8,000 passages."""
ASKED = {
    "evidence_inference": 24,
    "pubmedqa": 24,
    "scifact": 16,
    "clapnq": 20,
    "nq_open": 24,
    "qmsum": 12,
    "absent": 14,
}
"""Most questions of a set in a part: `absent` are prompts about trial reports that are in no library."""
PAIRS = {"conflictqa": 60, "ramdocs": 60}
"""Most pairs of contradicting passages in a part."""
RECORDS = "abstracts.jsonl"


@dataclass(frozen=True)
class TrustDocument:
    """A document of a part's library.

    Attributes:
        name: Unique: for a file, its path in the library's folder of files; for a record, its id.
        content: Returns the file's bytes; for a record, its line of JSON.
        record: Whether it is a line of the folder's file of records.
    """

    name: str
    content: Callable[[], bytes]
    record: bool = False


@dataclass(frozen=True)
class TrustQuestion:
    """A question, its right answers, and claims that would be false.

    Attributes:
        id: Unique; it begins with the set from which the question is, "own" for our own.
        kind: One of `KINDS`.
        question: The question in a user's words.
        part: The part in whose library it is asked.
        documents: Names of the documents that it is about, all of them in the part: if there is an answer, those that
            give it.
        answers: The right answers, each with its names; a listing has to name all of them. Empty: nothing that a rule
            can compare, or nothing answers it.
        right: The right verdict of a yes/no question.
        evidence: Texts in a document, each of which answers; empty if the whole document does.
        false: Answers that would be false claims.
        before: Questions that are asked before it in the same conversation.
        given: The only passages that are searched, for a question about two passages.
        alone: Whether only its first document is searched.
    """

    id: str
    kind: Kind
    question: str
    part: Part
    documents: tuple[str, ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()
    right: str | None = None
    evidence: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    alone: bool = False

    @property
    def answerable(self) -> bool:
        """Whether the library contains an answer."""
        return self.kind not in SILENT


@dataclass(frozen=True)
class TrustSet:
    """The questions of both parts and the documents of their libraries."""

    name: str
    title: str
    source: str
    licence: str
    files: tuple[Path, ...]
    questions: tuple[TrustQuestion, ...]
    pairs: tuple[TrustQuestion, ...]
    documents: dict[str, tuple[TrustDocument, ...]] = field(hash=False)

    def select(self, part: str, limit: int | None = None) -> tuple[TrustQuestion, ...]:
        """Return the questions and pairs of a part in the order of their ids' hashes.

        A limit takes from each kind in turn.
        """
        found = sorted((q for q in (*self.questions, *self.pairs) if q.part == part), key=lambda q: digest(q.id))
        if limit is None:
            return tuple(found)
        seen: dict[str, int] = {}
        turns: list[tuple[int, int, TrustQuestion]] = []
        for place, asked in enumerate(found):
            kind = f"{asked.kind} {bool(asked.given)}"
            seen[kind] = seen.get(kind, 0) + 1
            turns.append((seen[kind], place, asked))
        return tuple(asked for _, _, asked in sorted(turns, key=lambda turn: turn[:2])[:limit])


def open_dataset(name: str, data: Path | None) -> TrustSet:
    """Return the set; its documents are read from the published sets' folders under `data`.

    Raises:
        UsageError: The name is another, or a file is missing; the message says where it is published.
    """
    if name != NAME or data is None:
        raise UsageError(f"trust has no data set {name!r}", help=f"Give --data DIR; the only one is {NAME}.")
    sources = [
        _covidqa(data / "covidqa"),
        _trials(data / "evidence_inference", {path.stem for path in (data / "ingest_docs").rglob("*.nxml")}),
        _abstracts(data),
        _meetings(data / "qmsum"),
        _pages(data / "crag_sample"),
        _files(data / "financebench" / "pdfs", "financebench", "*.pdf", lambda path: "10K" not in path.stem),
        _files(data / "ingest_docs", "ingest_docs", "*", _is_read),
        _passages(data / "clapnq"),
        _own_documents(),
    ]
    documents: dict[str, list[TrustDocument]] = {part: [] for part in get_args(Part)}
    questions: list[TrustQuestion] = []
    files: list[Path] = []
    for source in sources:
        for part, found in source.documents:
            documents[part].append(found)
        questions += source.questions
        files += source.files
    part_of = {found.name: cast("Part", part) for part, parts in documents.items() for found in parts}
    articles = {question.id: question for question in questions if question.id.startswith("covidqa ")}
    questions = [question for question in questions if question.id not in articles]
    questions += [*_own_questions(articles, part_of), *_asked_elsewhere(data / "nq_open")]
    pairs = [*_for_and_against(data / "conflictqa"), *_right_and_wrong(data / "ramdocs")]
    return TrustSet(
        name,
        TITLE,
        SOURCE,
        LICENCE,
        tuple(files),
        tuple(questions),
        tuple(pairs),
        {part: tuple(found) for part, found in documents.items()},
    )


@dataclass
class TrustSource:
    """The contributions of one published set: documents with their parts, questions, and the files it was read from."""

    files: list[Path] = field(default_factory=list)
    documents: list[tuple[Part, TrustDocument]] = field(default_factory=list)
    questions: list[TrustQuestion] = field(default_factory=list)

    def add_text(self, part: Part, name: str, text: str) -> None:
        """Add a text file."""
        self.documents.append((part, TrustDocument(name, lambda: text.encode("utf-8"))))

    def add_record(self, part: Part, name: str, **fields: str) -> None:
        """Add a record."""
        line = json.dumps({"id": name, **fields}, ensure_ascii=False)
        self.documents.append((part, TrustDocument(name, lambda: line.encode("utf-8"), record=True)))


def own_part(name: str) -> Part:
    """Return the part of a document of a set on which the reader was not trained."""
    path = PurePosixPath(name)
    return "test" if half_of(str(path.with_suffix(""))) == "test" else "development"


def trained_part(key: str) -> Part | None:
    """Return the part of a document of the reader's own sets; None if it was used for training."""
    parts: dict[str, Part] = {"test": "test", "validation": "development"}
    return parts.get(reader_part_of(key))


def first_by_hash(names: Sequence[str], most: int) -> list[str]:
    """Return the `most` names with the smallest hashes."""
    return sorted(names, key=digest)[:most]


def _covidqa(folder: Path) -> TrustSource:
    """Read COVID-QA's articles and questions; our own file lists which questions are asked."""
    path, articles = covidqa.question_files(folder)
    source = TrustSource([path, articles])
    asked = [question for question in covidqa.marked(path) if question.spans]
    names = {question.document for question in asked}
    whole = {article.id: article.text for article in texts(articles, "document_id") if article.id in names}
    part_of: dict[str, Part] = {}
    for part in get_args(Part):
        for name in first_by_hash([name for name in whole if trained_part(name) == part], MOST["covidqa"]):
            part_of[name] = part
            source.add_text(part, f"covidqa/{name}.txt", whole[name])
    for sample in asked:
        if sample.document in part_of:
            text = whole[sample.document]
            source.questions.append(
                TrustQuestion(
                    f"covidqa {sample.id}",
                    "fact",
                    sample.question,
                    part_of[sample.document],
                    (f"covidqa/{sample.document}.txt",),
                    sample.answers,
                    evidence=tuple(_around(text, at) for (at,) in sample.spans),
                )
            )
    return source


def _around(text: str, at: Span) -> str:
    """Return the sentence that contains an answer."""
    return next((text[a:b] for a, b in sentence_spans(text) if a <= at[0] < b), text[slice(*at)])


def _trials(folder: Path, others: set[str]) -> TrustSource:
    """Read trial reports, with their prompts as yes/no questions; prompts about other reports have no answer here."""
    articles = find(folder, "articles_txt.jsonl", origin="github.com/jayded/evidence-inference")
    prompts = find(folder, "prompts_annotated_v2.jsonl", origin="github.com/jayded/evidence-inference")
    source = TrustSource([articles, prompts])
    found = {article.id: article.text for article in texts(articles, "pmcid") if article.id not in others}
    asked: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for place, record in json_lines(prompts):
        asked.setdefault(field_of(record, place, "pmcid"), []).append((place, record))
    for part in get_args(Part):
        names = first_by_hash([n for n in found if n in asked and trained_part(n) == part], len(found))
        taken, left = names[: MOST["evidence_inference"]], names[MOST["evidence_inference"] :]
        for name in taken:
            source.add_text(part, f"evidence_inference/{name}.txt", found[name])
        reported = [(name, *prompt) for name in taken for prompt in asked[name]]
        questions = [q for name, place, record in reported if (q := _on_trial(name, place, record, part))]
        questions.sort(key=lambda question: digest(question.id))
        source.questions += _balanced(questions, ASKED["evidence_inference"])
        there = " ".join(found[name] for name in taken).casefold()
        source.questions += _on_other_trials([p for name in left for p in asked[name]], there, part)
    return source


def _on_trial(name: str, place: str, record: dict[str, Any], part: Part) -> TrustQuestion | None:
    """Return a question of Evidence Inference on a trial as a yes/no question.

    Return None where annotators disagree or mark nothing, or a term means nothing alone.
    """
    marks = [mark for mark in entries(record, place, "annotations") if mark["valid_label"] and mark["evidence"].strip()]
    intervention, comparator, outcome = (field_of(record, place, n) for n in ("intervention", "comparator", "outcome"))
    changes = {mark["label_code"] for mark in marks}
    evidence = tuple(dict.fromkeys(" ".join(mark["evidence"].split()) for mark in marks))
    if len(changes) != 1 or not _stands_alone(intervention, comparator, outcome):
        return None
    change, number = changes.pop(), field_of(record, place, "prompt_id")
    up = digest(f"direction {number}")[0] % 2 == 0
    question = f"Does {intervention} {'increase' if up else 'reduce'} {outcome} compared with {comparator}?"
    right = "yes" if change == (1 if up else -1) else "no"
    document = f"evidence_inference/{name}.txt"
    return TrustQuestion(f"evidence_inference {number}", "yes/no", question, part, (document,), (), right, evidence)


def _stands_alone(*terms: str) -> bool:
    """Return whether a prompt can be understood without its report.

    Each of its terms has to be one thing, not a list or a group's letter.
    """
    return all(3 < len(term) <= 90 and not UNCLEAR.search(term) for term in terms)


UNCLEAR = re.compile(r"[;&,]| or |\b(?:groups?|arm|study|G\d|[A-Z]\d)\b|reduc|improve|±", re.IGNORECASE)
"""Matches terms that list several things, are the name of a group in one report, or are themselves a change."""


def _balanced(questions: Sequence[TrustQuestion], most: int) -> list[TrustQuestion]:
    """Return as many questions with yes as with no, at most `most` in all."""
    sides = [[question for question in questions if question.right == right] for right in ("yes", "no")]
    each = min(most // 2, *map(len, sides))
    return [*sides[0][:each], *sides[1][:each]]


def _on_other_trials(prompts: Sequence[tuple[str, dict[str, Any]]], there: str, part: Part) -> list[TrustQuestion]:
    """Return prompts about reports that are not in the library, one for each, whose treatment no report there names."""
    found: dict[str, TrustQuestion] = {}
    for place, record in prompts:
        question = _on_trial(field_of(record, place, "pmcid"), place, record, part)
        treatment = field_of(record, place, "intervention").casefold()
        if question is not None and treatment not in there:
            found.setdefault(
                record["pmcid"],
                replace(question, kind="absent near", documents=(), right=None, evidence=(), false=("yes", "no")),
            )
    return sorted(found.values(), key=lambda question: digest(question.id))[: ASKED["absent"]]


def _abstracts(data: Path) -> TrustSource:
    """Read abstracts of PubMedQA with their conclusions and of SciFact; questions are asked about a few of them."""
    source = TrustSource([pubmedqa.file_of(data / "pubmedqa")])
    read = {pmid: (place, record) for place, pmid, record in pubmedqa.records(data / "pubmedqa")}
    for part in get_args(Part):
        own = first_by_hash([pmid for pmid in read if trained_part(pmid) == part], MOST["pubmedqa"])
        other = [pmid for pmid in read if trained_part(pmid) is None and own_part(f"pubmedqa/{pmid}") == part]
        for pmid in [*own, *first_by_hash(other, MOST["pubmedqa"] - len(own))]:
            place, record = read[pmid]
            text = "\n".join([*listed(record, place, "CONTEXTS"), field_of(record, place, "LONG_ANSWER")])
            source.add_record(part, f"pubmedqa/{pmid}", text=text, date=field_of(record, place, "YEAR", default=""))
        asked = []
        for pmid in own:
            place, record = read[pmid]
            right = field_of(record, place, "final_decision")
            if right != "maybe":
                question = field_of(record, place, "QUESTION")
                asked.append(
                    TrustQuestion(f"pubmedqa {pmid}", "yes/no", question, part, (f"pubmedqa/{pmid}",), (), right)
                )
        source.questions += _balanced(asked, ASKED["pubmedqa"])
    _scifact(data / "scifact", source)
    return source


def _scifact(folder: Path, source: TrustSource) -> None:
    """Add abstracts to the parts of their own names, and claims as questions if all cited abstracts are in one part."""
    from evaluation.datasets import scifact

    path, claims = (find(folder, name, origin=scifact.SOURCE) for name in ("corpus.jsonl", "claims.jsonl"))
    source.files += [path, claims]
    corpus = {field_of(record, place, "_id"): (place, record) for place, record in json_lines(path)}
    for part in get_args(Part):
        here = {name for name in corpus if own_part(f"scifact/{name}") == part}
        asked: list[TrustQuestion] = []
        for place, record in json_lines(claims):
            number, cited = field_of(record, place, "id"), listed(record, place, "cited_doc_ids")
            labels = {mark["label"] for mark in record.get("evidence") or ()}
            if trained_part(number) == part and set(cited) <= here and len(labels) == 1:
                marks = [(str(mark["doc_id"]), at) for mark in record["evidence"] for at in mark["sentences"]]
                evidence = tuple(corpus[name][1]["sentences"][at].strip() for name, at in marks)
                claim = field_of(record, place, "claim").rstrip(". ")
                question = f"Is it true that {claim[0].lower() if claim[1:2].islower() else claim[0]}{claim[1:]}?"
                right = "yes" if labels == {"SUPPORT"} else "no"
                documents = tuple(dict.fromkeys(f"scifact/{name}" for name, _ in marks))
                asked.append(
                    TrustQuestion(f"scifact {number}", "yes/no", question, part, documents, (), right, evidence)
                )
        asked = _balanced(sorted(asked, key=lambda question: digest(question.id)), ASKED["scifact"])
        source.questions += asked
        wanted = [name for question in asked for name in question.documents]
        others = first_by_hash([f"scifact/{name}" for name in here], MOST["scifact"])
        for name in dict.fromkeys([*wanted, *others][: MOST["scifact"]]):
            place, record = corpus[name.partition("/")[2]]
            text = " ".join(line.strip() for line in listed(record, place, "sentences"))
            source.add_record(part, name, title=field_of(record, place, "title"), text=text)


def _meetings(folder: Path) -> TrustSource:
    """Read meetings as text files, with the annotators' questions and the marked answers."""
    path = find(folder, "val.jsonl", "test.jsonl", origin=qmsum.SOURCE)
    source = TrustSource([path])
    read = {f"qmsum/{meeting.document('meeting').id}.txt": meeting for meeting in qmsum.meetings(path)}
    for part in get_args(Part):
        asked = []
        for name in first_by_hash([name for name in read if own_part(name) == part], MOST["qmsum"]):
            meeting = read[name]
            source.add_text(part, name, "".join(meeting.lines))
            for number, query in enumerate(meeting.specific):
                turns = [meeting.turns[at][1] for first, last in query.turns for at in range(first, last + 1)]
                evidence = tuple(turn for turn in turns if len(turn) > LONG_TURN)
                if evidence and not query.text.startswith("Summarize"):
                    said = f"qmsum {meeting.number}-{number}"
                    asked.append(TrustQuestion(said, "open", query.text, part, (name,), evidence=evidence))
        source.questions += sorted(asked, key=lambda question: digest(question.id))[: ASKED["qmsum"]]
    return source


LONG_TURN = 60
"""Least characters of a meeting's turn that says something of its own; a guess: "Yeah, okay" does not."""


def _pages(folder: Path) -> TrustSource:
    """Read fetched web pages; the pages of one search are in one part."""
    path = find(folder, "dev_10.jsonl", origin="github.com/facebookresearch/CRAG")
    source = TrustSource([path])
    for place, record in json_lines(path):
        name = field_of(record, place, "interaction_id")
        part, seen = own_part(f"crag/{name}"), set[str]()
        for number, page in enumerate(entries(record, place, "search_results")):
            html = field_of(page, place, "page_result", default="")
            if html and html not in seen:
                seen.add(html)
                source.add_text(part, f"crag/{name[:8]}-{number}.html", html)
    return source


def _files(folder: Path, name: str, pattern: str, wanted: Callable[[Path], bool]) -> TrustSource:
    """Read the files of a folder, unchanged."""
    source = TrustSource()
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and wanted(path):
            place = f"{name}/{path.relative_to(folder).as_posix()}"
            source.files.append(path)
            source.documents.append((own_part(place), TrustDocument(place, path.read_bytes)))
    return source


def _is_read(path: Path) -> bool:
    """Return whether a file of `ingest_docs` is used: of a readable kind, and not another form of one that is used.

    Left out are files without text of their own (forms, overlays, passwords), a page of 450,000 characters, and the
    texts that their publishers made from the articles and files.
    """
    if path.suffix not in (".csv", ".docx", ".html", ".nxml", ".pdf", ".txt", ".xml"):
        return False
    if path.suffix == ".txt" and path.parent.name in ("pmc_pairs", "unstructured"):
        return path.name == "norwich-city.txt"
    return not path.name.startswith(LEFT_OUT)


LEFT_OUT = (
    "MEDRPT", "equations", "rlink", "test_mskanji", "test_rss", "test_with_comment", "factbook", "fake-html-pre",
    "003-", "005-", "007-", "012-", "013-", "014-", "015-", "016-", "022-", "024-", "pdf__password", "pdf__emphasis",
    "pdf__header", "pdf__all-number", "pdf__table-multi", "pdf__embedded", "pdf__fake-memo-with", "docx-hdrftr",
    "duplicate-paragraphs", "fake.docx",
)  # fmt: skip


def _passages(folder: Path) -> TrustSource:
    """Read Wikipedia's passages in which annotators found no answer, with the questions."""
    source = TrustSource()
    for part in get_args(Part):
        found = {}
        for place, record, answerable in clapnq.records(folder):
            text = field_of(record, place, "input")
            if not answerable and trained_part(text) == part:
                found[text] = place, record
        for text in first_by_hash(list(found), MOST["clapnq"]):
            place, record = found[text]
            name = f"clapnq/{field_of(record, place, 'id')}"
            (passage, *_) = entries(record, place, "passages")
            source.add_record(
                part, name, title=field_of(passage, place, "title"), text=field_of(passage, place, "text")
            )
            if len(source.questions) < ASKED["clapnq"] * (1 + (part == get_args(Part)[1])):
                source.questions.append(TrustQuestion(name.replace("/", " "), "absent near", asked_as(text), part))
    return source


def asked_as(text: str) -> str:
    """Return a question as a user writes it: with a capital and a question mark."""
    return f"{text[0].upper()}{text[1:].rstrip(' ?')}?"


def _asked_elsewhere(folder: Path) -> Iterator[TrustQuestion]:
    """Yield questions of NQ-Open, which are about the world and not about any document here."""
    path = find(folder, "NQ-open.dev.jsonl", origin="github.com/google-research-datasets/natural-questions")
    asked = {field_of(record, place, "question"): listed(record, place, "answer") for place, record in json_lines(path)}
    for part in get_args(Part):
        there = [text for text in asked if trained_part(text) == part and text not in ANSWERED_HERE]
        for text in first_by_hash(there, ASKED["nq_open"]):
            yield TrustQuestion(f"nq_open {digest(text).hex()[:8]}", "absent far", asked_as(text), part)


ANSWERED_HERE = ("a drug that might be used in surgery for its amnesic properties is",)
"""Questions of NQ-Open that a trial report of the library may answer."""


def _own_documents() -> TrustSource:
    """Read small documents of our own: tables of records, and pairs that disagree."""
    path = Path(__file__).with_name("trust_documents.jsonl")
    source = TrustSource([path])
    for place, record in json_lines(path):
        name = field_of(record, place, "name")
        source.add_text(own_part(field_of(record, place, "with", default=name)), name, field_of(record, place, "text"))
    return source


def _own_questions(articles: Mapping[str, TrustQuestion], part_of: Mapping[str, Part]) -> Iterator[TrustQuestion]:
    """Yield the questions of our own file: our own, each in the part of its documents, and those of COVID-QA.

    For COVID-QA a line has the id, names of the answer besides the set's, and a question if the set's cannot be
    understood without the article; those about an article that no part has are skipped.

    Raises:
        UsageError: A question's documents are missing, or in different parts.
    """
    for place, record in json_lines(Path(__file__).with_name("trust_questions.jsonl")):
        name, kind, given = field_of(record, place, "id"), field_of(record, place, "kind"), record.get("answers") or ()
        answers = tuple(tuple(map(str, names)) for names in given)
        if name.startswith("covidqa "):
            if (asked := articles.get(name)) is not None:
                names = tuple(dict.fromkeys((*asked.answers[0], *(answers[0] if answers else ()))))
                yield replace(
                    asked, kind=cast("Kind", kind), question=record.get("question", asked.question), answers=(names,)
                )
            continue
        question, documents = field_of(record, place, "question"), tuple(listed(record, place, "documents"))
        parts = {part_of.get(document) for document in documents} or {own_part(question)}
        if len(parts) != 1 or None in parts or kind not in KINDS:
            raise UsageError(f"{place}: {name!r} is {kind!r} about {documents}, which are in the parts {parts}")
        yield TrustQuestion(
            id=f"own {name}",
            kind=cast("Kind", kind),
            question=question,
            part=cast("Part", parts.pop()),
            documents=documents,
            answers=answers,
            right=record.get("right"),
            evidence=tuple(record.get("evidence", ())),
            false=tuple(record.get("false", ())),
            before=tuple(record.get("before", ())),
            alone=bool(record.get("alone")),
        )


def _for_and_against(folder: Path) -> Iterator[TrustQuestion]:
    """Yield one question for two passages that models wrote for and against a statement."""
    found: dict[str, TrustQuestion] = {}
    for sample in conflictqa.questions(folder, "conflictqa").samples:
        part = trained_part(sample.key)
        sides = [passage for passage in sample.given if passage.answer in ("yes", "no")]
        if part and sample.kind == "yes/no" and {passage.answer for passage in sides} == {"yes", "no"}:
            given = tuple(passage.text for passage in sides)
            answers = tuple((passage.answer,) for passage in sides)
            pair = TrustQuestion(f"conflictqa {sample.id}", "disagree", sample.question, part, given=given)
            found.setdefault(sample.question, replace(pair, answers=answers))
    for part in get_args(Part):
        chosen = [pair for pair in found.values() if pair.part == part]
        yield from sorted(chosen, key=lambda pair: digest(pair.id))[: PAIRS["conflictqa"]]


def _right_and_wrong(folder: Path) -> Iterator[TrustQuestion]:
    """Yield a document with the right answer and one with a wrong one, for questions with one right answer."""
    found: list[TrustQuestion] = []
    for sample in ramdocs.questions(folder, "ramdocs").samples:
        part = trained_part(sample.key)
        right = [passage for passage in sample.given if passage.role == "gold"]
        wrong = [passage for passage in sample.given if passage.role == "wrong"]
        if part and len(sample.answers) == 1 and right and wrong:
            given, answers = (right[0].text, wrong[0].text), ((right[0].answer,), (wrong[0].answer,))
            found.append(TrustQuestion(sample.id, "disagree", sample.question, part, answers=answers, given=given))
    for part in get_args(Part):
        chosen = [pair for pair in found if pair.part == part]
        yield from sorted(chosen, key=lambda pair: digest(pair.id))[: PAIRS["ramdocs"]]
