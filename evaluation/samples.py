"""The common form of all data sets: samples, the passages that come with them, and the set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

Kind: TypeAlias = Literal["choice", "yes/no", "short", "list", "long", "claim"]
Part: TypeAlias = Literal["test", "development", "all"]
ReaderPart: TypeAlias = Literal["train", "validation", "test"]
Verdict: TypeAlias = Literal["yes", "no", "neither"]
Span: TypeAlias = tuple[int, int]
"""Start and end of a part of a text, in characters."""
Spans: TypeAlias = tuple[tuple[Span, ...], ...]
"""Alternatives, each consisting of the spans of the document that together answer the question."""

PARTS: tuple[str, ...] = get_args(Part)
READ_PARTS: dict[str, tuple[ReaderPart, ...]] = {
    "test": ("test",),
    "development": ("validation",),
    "all": ("test", "validation"),
}
"""The reader's parts for each `--part`, for sets on which the reader was trained; nothing is measured on training data.
"""


@dataclass(frozen=True)
class Context:
    """A passage that comes with a sample.

    Attributes:
        id: Unique within the data set; the same passage under two questions may have one id.
        title: Its title, or "".
        text: Its text in the data set.
        date: Its date in the data set's form, or "".
        role: Its role for the question: "gold" (it gives a right answer), "wrong" (it gives a wrong one), "noise" (it
            gives none), "support" or "contradict" (a claim), "neutral" (cited, and neither), or "" if the data set does
            not say.
        answer: The answer that it gives, or "".
        entity: The descriptor of its entity, or "".
        thing: The descriptor that it lacks, if its entity is known all the same.
        source: Its origin, or "".
        spans: Spans of the text that answer; empty if none does. None: there is an answer without a marked span, or it
            is unknown whether there is one.
        relevant: Whether a search should find it; None if unknown.
        verdict: Its verdict on a yes/no question or a statement; None if unknown.
        descriptor: Where it contains the descriptor of its entity; empty if it has none, None if unknown.
        sub_question: The question with what distinguishes its entity from others, if the data set has one.
    """

    id: str
    title: str
    text: str
    date: str = ""
    role: str = ""
    answer: str = ""
    entity: str = ""
    thing: str = ""
    source: str = ""
    spans: tuple[Span, ...] | None = None
    relevant: bool | None = None
    verdict: Verdict | None = None
    descriptor: tuple[Span, ...] | None = None
    sub_question: str = ""


@dataclass(frozen=True)
class Sample:
    """A question (or a claim to be judged) and its labels.

    Attributes:
        id: Unique within the data set, unless each sample has one passage: then shared by all samples of a question.
        question: The question in the data set's wording.
        kind: "choice" and "yes/no" (one of `options` is right), "claim" (as "yes/no", of a statement), "short" (a name
            or a few words), "list" (several of them), "long" (a sentence or more, or not known).
        options: The options, in the data set's order.
        right: The right option; None without options.
        answers: Each right answer with its names; one of the names suffices. For a question with options: the answer in
            words, if the data set has one.
        wrong: Answers in documents that are wrong.
        given: The passages that come with it, in the data set's order.
        answerable: Whether the given passages contain an answer; None if the data set does not say.
        documents: Ids of the documents that answer it, in the set's corpus if it has one.
        label: The data set's label: the source of a question in MIRAGE, the conflict's type, ...
        key: Text whose hash decides its part of the data on which the project's reader was trained; empty if the reader
            was trained on no part of the set.
        part: Its part of the reader's data if no key decides it; None if the id decides its half.
        document: Id of the one long document that it asks about; empty if there is none.
        spans: Where that document answers it; empty if no characters are marked.
        evidence: Ids of the documents that are known to give each of `answers`, in their order; empty if the set does
            not distinguish them.
        by_words: Whether any document with an answer's words gives it too, not only those that are known to.
        summaries: The human summaries, by kind.
        entities: Names of all entities that the question may mean, if the set lists them apart from the passages.
    """

    id: str
    question: str
    kind: Kind = "long"
    options: tuple[str, ...] = ()
    right: str | None = None
    answers: tuple[tuple[str, ...], ...] = ()
    wrong: tuple[str, ...] = ()
    given: tuple[Context, ...] = ()
    answerable: bool | None = None
    documents: frozenset[str] = frozenset()
    label: str = ""
    key: str = ""
    part: ReaderPart | None = None
    document: str = ""
    spans: Spans = ()
    evidence: tuple[frozenset[str], ...] = ()
    by_words: bool = False
    summaries: Mapping[str, str] = field(default_factory=dict, hash=False)
    entities: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all right answers."""
        return tuple(name for answer in self.answers for name in answer)

    @property
    def passage(self) -> Context:
        """The only passage of a sample."""
        (passage,) = self.given
        return passage

    def is_in(self, part: str) -> bool:
        """Return whether it is measured in a part.

        A sample on which the project's reader was trained is in no part, not even "all".
        """
        if self.key or self.part:
            return (self.part or reader_part_of(self.key)) in READ_PARTS[part]
        return part in ("all", half_of(self.id))


@dataclass(frozen=True)
class DataSet:
    """The samples of a data set, and its corpus.

    Attributes:
        name: Its name in `--dataset`.
        title: Its public name.
        source: Where it is published.
        licence: The licence in its publisher's words.
        files: The files that were read; their checksums go into the manifest.
        samples: The samples in the order of the files.
        corpus: Reads the documents that can be searched, anew at each call; None if the set has none.
        relevance: Grades by sample id and document id, 0 for judged and not relevant, for samples with a relevant
            document. Empty if nothing is graded.
        library: Name of the corpus if several sets share one; its library is built once.
        most_documents: Number of long documents that are used; None: all.
        located: Reads documents by their ids, each with its answering spans by sample id, if these are known only after
            reading a document; None if the samples' `spans` have them.
    """

    name: str
    title: str
    source: str
    licence: str
    files: tuple[Path, ...]
    samples: tuple[Sample, ...]
    corpus: Callable[[], Iterator[Document]] | None = None
    relevance: Mapping[str, Mapping[str, int]] = field(default_factory=dict, hash=False)
    library: str = ""
    most_documents: int | None = None
    located: Callable[[Collection[str]], Iterator[tuple[Document, Mapping[str, Spans]]]] | None = None

    def read(self, ids: Collection[str]) -> Iterator[tuple[Document, Mapping[str, Spans]]]:
        """Yield the documents of these ids, each with its answering spans by sample id.

        A sample whose answer is not found in its document is left out.
        """
        if self.located is not None:
            yield from self.located(ids)
            return
        for document in self.documents():
            if document.id in ids:
                yield document, {s.id: s.spans for s in self.samples if s.document == document.id}

    def documents(self) -> Iterator[Document]:
        """Return the documents that can be searched; none if the set has none."""
        return self.corpus() if self.corpus else iter(())

    def relevant(self, name: str) -> frozenset[str]:
        """Return the ids of the documents whose grade for a sample is above 0."""
        return frozenset(document for document, grade in self.relevance.get(name, {}).items() if grade > 0)

    def select(self, part: str, limit: int | None = None) -> tuple[Sample, ...]:
        """Return the samples of a part by the hash of their ids, so that a limit takes a fixed random sample of ids.

        If few documents are used: samples about those with the smallest hashes, document by document. For a set on
        which the project's reader was trained, test is the reader's own test part, development its validation part;
        training data are in neither, nor in "all".

        Raises:
            UsageError: There is no such part, the limit is below 1, or no sample is left.
        """
        check_selection(part, limit)
        chosen = [sample for sample in self.samples if sample.is_in(part)]
        if not chosen:
            raise UsageError(f"{self.name} has no question in its {part} part", help="Try --part all.")
        if self.most_documents is not None:
            taken = sorted({sample.document for sample in chosen}, key=digest)[: self.most_documents]
            chosen = [sample for sample in chosen if sample.document in taken]
        ordered: dict[str, list[Sample]] = {}
        for sample in sorted(chosen, key=self._place):
            ordered.setdefault(sample.id, []).append(sample)
        return tuple(sample for name in list(ordered)[:limit] for sample in ordered[name])

    def _place(self, sample: Sample) -> tuple[bytes, bytes]:
        """Return the sort key of a sample: if few documents are used, document by document."""
        return b"" if self.most_documents is None else digest(sample.document), digest(sample.id)


def sampled(found: DataSet, wanted: Iterable[str], count: int | None) -> DataSet:
    """Return a data set with few documents: all required ones, and others by the hash of their ids up to `count`.

    Judgements of the rest are removed with it, so that a question is asked only about existing documents.

    Args:
        found: The whole; returned unchanged if no count is given.
        wanted: Ids of documents that answer; those that are not in the set are ignored.
        count: Number of documents; more if more are required.
    """
    if count is None:
        return found
    names = sorted((document.id for document in found.documents()), key=digest)
    asked = frozenset(wanted)
    answering = [name for name in names if name in asked]
    kept = frozenset([*answering, *(name for name in names if name not in asked)][: max(count, len(answering))])
    drawn = digest("\n".join(sorted(kept))).hex()[:8]
    relevance = {}
    for query, grades in found.relevance.items():
        kept_grades = {name: grade for name, grade in grades.items() if name in kept}
        if kept_grades:
            relevance[query] = kept_grades
    return replace(
        found,
        corpus=lambda: (document for document in found.documents() if document.id in kept),
        samples=tuple(sample for sample in found.samples if sample.documents & kept or not found.relevance),
        relevance=relevance,
        library=f"{found.library or found.name} {len(kept)} {drawn}",
    )


def check_selection(part: str, limit: int | None, *, of: str = "question") -> None:
    """Raise an error for a selection that selects nothing.

    Args:
        part: One of `PARTS`.
        limit: The maximum number.
        of: The name of the selected things, for the message.

    Raises:
        UsageError: There is no such part, or the limit is below 1.
    """
    if part not in PARTS:
        raise UsageError(f"part {part!r} is unknown", help=f"Choose {', '.join(PARTS[:-1])} or {PARTS[-1]}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit {limit} leaves no {of}", help="Give 1 or more, or leave --limit out.")


def digest(name: str) -> bytes:
    """Return the SHA-256 of a name, by which samples are ordered and split into parts."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def half_of(name: str) -> Part:
    """Return the half to which a sample belongs, by the first byte of the SHA-256 of its id.

    Even is development, for tuning; odd is test, for reporting.
    """
    return "test" if digest(name)[0] % 2 else "development"


def reader_part_of(key: str) -> ReaderPart:
    """Return the part of the reader's data to which a key belongs, by the first byte of its SHA-256.

    The key is the question, or if several questions share a text, the article, document or subject. Test is a part of
    the half on which the other experiments report. All passages of a question have the same key, so no question is used
    for both training and measuring.
    """
    first = digest(key)[0]
    return "test" if first % 4 == 1 else "validation" if first % 8 == 3 else "train"


def passages_as_corpus(samples: Iterable[Sample]) -> Callable[[], Iterator[Document]]:
    """Return a function that reads the passages of the samples as documents, each id once."""
    given = {passage.id: passage for sample in samples for passage in sample.given}

    def documents() -> Iterator[Document]:
        for passage in given.values():
            dated = any(map(str.isdigit, passage.date))
            yield Document(
                id=passage.id,
                text=passage.text,
                title=passage.title,
                source=passage.source or passage.id,
                date=passage.date if dated else None,
            )

    return documents


def gold_of(given: Sequence[Context]) -> frozenset[str]:
    """Return the ids of the passages that give a right answer."""
    return frozenset(passage.id for passage in given if passage.role == "gold")
