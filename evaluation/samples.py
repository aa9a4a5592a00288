"""What every data set is turned into: samples, the passages that come with them, and the set that holds them."""

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
"""Where a stretch of text begins and ends, in characters."""
Spans: TypeAlias = tuple[tuple[Span, ...], ...]
"""Alternatives, each of them the stretches of the document that together answer the question."""

PARTS: tuple[str, ...] = get_args(Part)
READ_PARTS: dict[str, tuple[ReaderPart, ...]] = {
    "test": ("test",),
    "development": ("validation",),
    "all": ("test", "validation"),
}
"""What `--part` means for a set that the reader was trained on; nothing is measured on what was trained on."""


@dataclass(frozen=True)
class Context:
    """A passage that comes with a sample.

    Attributes:
        id: Unique within the data set; the same passage under two questions may have one id.
        title: Its title, or nothing.
        text: As the data set gives it.
        date: As the data set writes it, or nothing.
        role: What it is to the question: "gold" (it gives a right answer), "wrong" (it gives a wrong one), "noise" (it
            gives none), "support" or "contradict" (of a claim), "neutral" (cited, and neither), or nothing where the
            data set does not say.
        answer: The answer that it gives, or nothing.
        entity: The descriptor of the thing that it is about, or nothing.
        thing: The descriptor that it lacks, where the thing that it is about is known all the same.
        source: Where it is from, or nothing.
        spans: Stretches of the text that answer; empty when none does. None: there is an answer without a marked span,
            or it is not known whether there is one.
        relevant: Whether a search should find it; None where that is not known.
        verdict: What it says to a yes/no question or of a statement; None where that is not known.
        descriptor: Where it holds the descriptor of the thing that it is about; empty where it has none, None where
            that is not known.
        sub_question: The question with what tells its thing from others, where the data set has one.
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
    """A question (or a claim to be judged) and what its data set knows of it.

    Attributes:
        id: Unique within the data set, unless each sample has one passage: then of all samples of a question.
        question: As the data set asks it.
        kind: "choice" and "yes/no" (one of `options` is right), "claim" (as "yes/no", of a statement), "short" (a name
            or a few words), "list" (several of them), "long" (a sentence or more, or not known).
        options: What can be chosen, in the data set's order.
        right: The right option; None where nothing is to be chosen.
        answers: Each right answer with its names; one of the names suffices. Of a question with options: the answer in
            words, where the data set has one.
        wrong: Answers that documents give and that are wrong.
        given: The passages that come with it, in the data set's order.
        answerable: Whether the given passages hold an answer; None where the data set does not say.
        documents: Ids of the documents that answer it, in the set's corpus where it has one.
        label: What the data set says of it: the source of a question in MIRAGE, the conflict's type, ...
        key: What decides on its part of the data that the project's reader was trained on; empty where the reader was
            trained on no part of the set.
        part: Its part of the reader's data where no key decides on it; None where the id decides on its half.
        document: Id of the one long document that it asks about; empty where it asks about none.
        spans: Where that document answers it; empty where nothing is marked by characters.
        evidence: Ids of the documents that are known to give each of `answers`, in their order; empty where the set
            does not tell them apart.
        by_words: Whether any document with an answer's words gives it too, not only those that are known to.
        summaries: Kind of summary to the summary that people wrote.
        entities: Names of all things that the question may mean, where the set lists them beside the passages.
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
        """The passage of a sample that has one."""
        (passage,) = self.given
        return passage

    def is_in(self, part: str) -> bool:
        """Return whether it is measured in a part.

        One that the project's reader was trained on is in none, not even "all".
        """
        if self.key or self.part:
            return (self.part or reader_part_of(self.key)) in READ_PARTS[part]
        return part in ("all", half_of(self.id))


@dataclass(frozen=True)
class DataSet:
    """The samples of a data set, and what is searched for them.

    Attributes:
        name: What `--dataset` calls it.
        title: Its public name.
        source: Where it is published.
        licence: As its publisher states it.
        files: The files that it was read from; their checksums go into the manifest.
        samples: In the order of the files.
        corpus: Reads anew, at each call, the documents that can be searched; None where the set has none.
        relevance: Sample id to document id to grade, 0 for judged and not relevant; of samples with a relevant
            one. Empty where nothing is graded.
        library: Name of the corpus where several sets share one; its library is built once.
        most_documents: Of long documents that are asked about: how many are taken. None: all.
        located: Reads the documents of some ids, each with where it answers which samples, by their ids, where that is
            known only once a document was read; None where the samples' `spans` say it.
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
        """Yield the documents of these ids, each with where it answers which samples, by their ids.

        A sample whose answer is not found in its document is not among them.
        """
        if self.located is not None:
            yield from self.located(ids)
            return
        for document in self.documents():
            if document.id in ids:
                yield document, {s.id: s.spans for s in self.samples if s.document == document.id}

    def documents(self) -> Iterator[Document]:
        """Return the documents that can be searched; none where the set has none."""
        return self.corpus() if self.corpus else iter(())

    def relevant(self, name: str) -> frozenset[str]:
        """Ids of the documents whose grade for a sample is above 0."""
        return frozenset(document for document, grade in self.relevance.get(name, {}).items() if grade > 0)

    def select(self, part: str, limit: int | None = None) -> tuple[Sample, ...]:
        """Return the samples of a part by the hash of their ids, so that a limit takes a fixed random sample of ids.

        Where few documents are taken: samples about those with the smallest hashes, document by document. Of a set that
        the project's reader was trained on, test is the reader's own test part, development its validation part; what
        it was trained on is in neither, nor in "all".

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
        """What samples are ordered by: document by document where few documents are taken."""
        return b"" if self.most_documents is None else digest(sample.document), digest(sample.id)


def sampled(found: DataSet, wanted: Iterable[str], count: int | None) -> DataSet:
    """Return a data set of few documents: all required ones, and others by the hash of their ids up to `count`.

    Judgements of the rest are left out with it, so that a question is asked only for what is there.

    Args:
        found: The whole; it is left as it is where no count is given.
        wanted: Ids of documents that answer; those that the set has not are passed over.
        count: How many documents there are to be; more where more are wanted.
    """
    if count is None:
        return found
    names = sorted((document.id for document in found.documents()), key=digest)
    asked = frozenset(wanted)
    answering = [name for name in names if name in asked]
    kept = frozenset([*answering, *(name for name in names if name not in asked)][: max(count, len(answering))])
    drawn = digest("\n".join(sorted(kept))).hex()[:8]
    return replace(
        found,
        corpus=lambda: (document for document in found.documents() if document.id in kept),
        samples=tuple(sample for sample in found.samples if sample.documents & kept or not found.relevance),
        relevance={
            query: judged
            for query, grades in found.relevance.items()
            if (judged := {name: grade for name, grade in grades.items() if name in kept})
        },
        library=f"{found.library or found.name} {len(kept)} {drawn}",
    )


def check_selection(part: str, limit: int | None, *, of: str = "question") -> None:
    """Refuse what selects nothing.

    Args:
        part: One of `PARTS`.
        limit: How many are wanted at most.
        of: What is selected.

    Raises:
        UsageError: There is no such part, or the limit is below 1.
    """
    if part not in PARTS:
        raise UsageError(f"part {part!r} is unknown", help=f"Choose {', '.join(PARTS[:-1])} or {PARTS[-1]}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit {limit} leaves no {of}", help="Give 1 or more, or leave --limit out.")


def digest(name: str) -> bytes:
    """SHA-256 of a name: what orders samples and tells their parts."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def half_of(name: str) -> Part:
    """Return the half that a sample belongs to, by the first byte of the SHA-256 of its id.

    Even is development, for tuning; odd is test, for reporting.
    """
    return "test" if digest(name)[0] % 2 else "development"


def reader_part_of(key: str) -> ReaderPart:
    """Return the part of the reader's data that a key falls into, by the first byte of its SHA-256.

    The key is the question, or where several questions share a text, the article, document or subject. Test is a part
    of the half that the other experiments report on. A key is one for all passages of its question, so no question is
    trained on and measured.
    """
    first = digest(key)[0]
    return "test" if first % 4 == 1 else "validation" if first % 8 == 3 else "train"


def passages_as_corpus(samples: Iterable[Sample]) -> Callable[[], Iterator[Document]]:
    """Reads the passages that come with the samples as documents, each id once."""
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
    """Ids of the passages that give a right answer."""
    return frozenset(passage.id for passage in given if passage.role == "gold")
