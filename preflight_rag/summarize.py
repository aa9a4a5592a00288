"""Summarisation without a query: the sentences that stand for a document best, read as one text.

The sentences are selected within a token budget (`library/search/summary.py`) and given to the reader in the
document's order. What is longer than one prompt is read in parts, in parallel, and the parts'
summaries are made into one. Marks are checked against the document as those of an answer are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from preflight_rag.conversation.instructions import instructions_of
from preflight_rag.graph.outcome import receipt_of
from preflight_rag.library.names import names_of
from preflight_rag.library.search import roles
from preflight_rag.library.search import summary as selection
from preflight_rag.models.protocol import instructed
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import (
    AllPartitionsFailed,
    DocumentError,
    EmptyDocument,
    ModelError,
    PreflightError,
    UsageError,
)
from preflight_rag.state.reading import Draft, Extract, Reply, Source
from preflight_rag.state.values import Citation, Gap, Passage, Summary, Usage
from preflight_rag.text.citations import attributed, find_citation, renumbered
from preflight_rag.text.inert import inert
from preflight_rag.text.words import unicode_text

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.search.summary import Statement
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.models.protocol import Reader

TOKENS = 800
"""Most tokens of the sentences that stand for a document, unless the caller says otherwise; a guess."""
PROMPT_TOKENS = 6_000
"""Tokens of sentences, or of parts' summaries, in one prompt; a guess that leaves room in a window of 8,000."""
SOURCE_TOKENS = 16
"""Tokens that a prompt needs around each sentence; a guess."""

Sections = list[list[Source]]


@dataclass(frozen=True)
class SummarySubject:
    """A document that is to be summarised, with the sentences that can stand for it."""

    document_id: str
    title: str
    source: str
    date: str | None
    statements: Sequence[Statement]


@dataclass
class SummaryCost:
    """The cost of a summary so far, and the gaps: the parts that no model reply covers."""

    rows: list[dict[str, Any]]
    gaps: list[Gap]

    def add(self, stage: str, usage: Usage) -> None:
        """Record the cost of one call."""
        self.rows.append({"stage": stage, "started": perf_counter() - usage.seconds, **usage.model_dump()})


def summarize_file(
    path: Path, model: Any = None, *, embedder: Any = None, tokens: int = TOKENS, **settings: Any
) -> Summary:
    """Return the summary of a file; no library is needed.

    Args:
        path: A file of any kind that the loaders read.
        model: A LangChain chat model, `provider:name`, `offline`, or None for the environment's model.
        embedder: An embedder or its name, as `open_embedder` takes it; None for the default one.
        tokens: Most tokens of the selected sentences.
        **settings: Fields of `Settings`.

    Raises:
        PreflightError: As `subject_of_file` and `summarize`.
    """
    from preflight_rag.graph.readers import open_reader
    from preflight_rag.models.opening import open_embedder

    numbers, opened = Settings.read(**settings), open_embedder(embedder)
    reader = open_reader(model, opened, numbers)
    subject = subject_of_file(path, opened.count_tokens)
    return asyncio.run(summarize(subject, reader=reader, embedder=opened, settings=numbers, tokens=tokens))


def is_on_disk(document: str | Path) -> bool:
    """Return whether a name is the path of a file, rather than a document's id."""
    try:
        return Path(document).expanduser().exists()
    except (OSError, ValueError):
        return False


def subject_of_file(path: Path, count_tokens: Callable[[str], int]) -> SummarySubject:
    """Return the only document of a file of any kind that the loaders read.

    Raises:
        DocumentError: The file cannot be read, or holds no text.
        UsageError: It holds several documents.
    """
    from preflight_rag.ingest.loaders import load

    path = path.expanduser()
    documents = list(islice(load(path), 2))
    if len(documents) > 1:
        raise UsageError(
            f"{path} holds several documents",
            help=f"Run: preflight ingest {path}, then: preflight summarize with an id of `preflight library list`",
        )
    document = documents[0]
    if isinstance(document, DocumentError):
        raise document
    document = document.model_copy(update={"text": unicode_text(document.text)})
    statements = selection.of_document(document, count_tokens)
    return _checked(SummarySubject(document.id, document.title, document.source, document.date, statements))


def find_subject(library: Collection, document: str | Path, count_tokens: Callable[[str], int]) -> SummarySubject:
    """Return a document of the library by its id; where there is none, the file of that name.

    Raises:
        PreflightError: As `subject_of_file` and `subject_of_library`.
    """
    if is_on_disk(document) and not library.document_passages(str(document)):
        return subject_of_file(Path(document), count_tokens)
    return subject_of_library(library, str(document), count_tokens)


def subject_of_library(library: Collection, document_id: str, count_tokens: Callable[[str], int]) -> SummarySubject:
    """Return a document of the library by its id or its name.

    Raises:
        UsageError: There is no such document; the message names those of similar ids and titles.
        EmptyDocument: It holds no text.
    """
    passages = library.document_passages(document_id := names_of(library).document_id(document_id))
    if not passages:
        raise unknown_document(library, document_id)
    first = passages[0]
    statements = selection.of_passages(passages, count_tokens)
    return _checked(SummarySubject(document_id, first.title, first.source, first.date, statements))


def unknown_document(library: Collection, document_id: str) -> UsageError:
    """Return the error for an id that the library does not hold."""
    near = [names_of(library).name(match) for match in close_matches(document_id, library.documents())]
    help = f"Did you mean {' or '.join(near)}?" if near else "Give a file, or the id of a document."
    return UsageError(
        f"there is no file {document_id!r}, and no document of that id in the library at {library.path}", help=help
    )


def close_matches(name: str, documents: Any) -> list[str]:
    """Return the ids of at most three documents whose id, file name or title is most like a name, best first."""
    from rapidfuzz import fuzz, process

    names: dict[str, str] = {}
    for row in documents:
        for other in (row["id"], Path(row["id"]).name, row["title"]):
            names.setdefault(other.casefold(), row["id"])
    target = name.strip().casefold()
    matches = process.extract(target, [*names], scorer=fuzz.ratio, limit=6, score_cutoff=60)
    return list(dict.fromkeys(names[match] for match, _, _ in matches))[:3]


async def summarize(
    subject: SummarySubject,
    *,
    reader: Reader,
    embedder: Embedder,
    settings: Settings | None = None,
    tokens: int = TOKENS,
    alpha: float = selection.SUMMARY_ALPHA,
    prompt_tokens: int = PROMPT_TOKENS,
) -> Summary:
    """Return the summary of a document.

    Args:
        subject: What `subject_of_file` or `subject_of_library` gave.
        reader: Writes the summary.
        embedder: Compares the sentences.
        settings: `max_concurrency` is how many parts are read at once, `instructions` how the summary is worded.
        tokens: Most tokens of the selected sentences.
        alpha: Weight of closeness to the document's mean against redundancy.
        prompt_tokens: Most tokens of material in one prompt.

    Raises:
        UsageError: The budget is below 1 or smaller than every sentence, or `alpha` is out of range.
        ModelError: The reader failed; `receipt` says what was spent.
        AllPartitionsFailed: No part of a long selection could be read.
    """
    if tokens < 1:
        raise UsageError(f"tokens is {tokens!r}", help="Give 1 or more (--tokens)")
    settings, started = settings or Settings(), perf_counter()
    chosen = await asyncio.to_thread(_selected, subject, embedder, tokens, alpha)
    instructions, ignored = instructions_of((), settings.instructions, reader)
    reader = instructed(reader, instructions)
    spending = SummaryCost([], [Gap(stage="summarize", item="instructions", error=note) for note in ignored])
    spending.add("select", Usage(seconds=perf_counter() - started))
    try:
        draft = await _read(subject, chosen, reader, settings.max_concurrency, prompt_tokens, spending)
    except PreflightError as error:
        if isinstance(error, ModelError):
            spending.add("summarize", Usage.of_failed(error.spent))
        seconds = perf_counter() - started
        error.receipt = receipt_of(
            {"spent": spending.rows}, reader=reader, settings=settings, seconds=seconds
        ).model_dump()
        raise
    text, citations = _cited(subject, chosen, draft, spending)
    selected_tokens = sum(statement.tokens for statement in chosen)
    return Summary(
        document_id=subject.document_id,
        title=subject.title,
        source=subject.source,
        summary=text,
        citations=tuple(citations),
        sentences=len(chosen),
        tokens=selected_tokens,
        share=round(selected_tokens / max(1, sum(statement.tokens for statement in subject.statements)), 4),
        gaps=tuple(spending.gaps),
        receipt=receipt_of(
            {"spent": spending.rows}, reader=reader, settings=settings, seconds=perf_counter() - started
        ),
    )


def _checked(subject: SummarySubject) -> SummarySubject:
    """Return the subject; raise EmptyDocument unless it has sentences."""
    if not subject.statements:
        raise EmptyDocument(f"{subject.document_id} holds no text to summarise")
    return subject


def _selected(subject: SummarySubject, embedder: Embedder, tokens: int, alpha: float) -> list[Statement]:
    """Return the most representative sentences within the token budget, in the document's order."""
    statements = subject.statements
    if sum(statement.tokens for statement in statements) <= tokens:
        return list(statements)
    first = roles.core(statements, tokens)
    left = tokens - sum(statements[i].tokens for i in first)
    candidates = roles.telling(statements) if first else range(len(statements))
    rest = [i for i in candidates if i not in first]
    if first and min((statements[i].tokens for i in rest), default=tokens) > left:
        rest = []
    chosen = list(first)
    if rest:
        vectors = embedder.encode_passages([statements[i].text for i in rest])
        others = [statements[i] for i in rest]
        chosen += [rest[i] for i in selection.select(others, vectors, budget=left, alpha=alpha)]
    return [statements[i] for i in sorted(chosen)]


async def _read(
    subject: SummarySubject,
    chosen: Sequence[Statement],
    reader: Reader,
    most_at_once: int,
    prompt_tokens: int,
    spending: SummaryCost,
) -> Draft:
    """Summarise in one call where the sentences fit into a prompt; else part by part, then the parts' summaries."""
    sections = _sources(subject, chosen)
    parts = _parts(sections, lambda source: reader.count_tokens(source.text) + SOURCE_TOKENS, prompt_tokens)
    if len(parts) == 1:
        reply = await reader.summarize(title=subject.title, sections=sections)
        return _record(reply, "summarize", "reply", spending)
    slots = asyncio.Semaphore(most_at_once)

    async def read(stage: str, number: int, **material: Any) -> Draft | None:
        """Return the draft of one model call and record its cost; return None and record a gap if it failed."""
        async with slots:
            try:
                reply = await reader.summarize(title=subject.title, **material)
            except ModelError as error:
                spending.add(stage, Usage.of_failed(error.spent))
                spending.gaps.append(Gap(stage=stage, item=str(number), error=str(error)))
                return None
            return _record(reply, stage, str(number), spending)

    drafts = await asyncio.gather(*(read("map_summary", n, sections=part) for n, part in enumerate(parts)))
    while len(read_parts := [draft for draft in drafts if draft]) > 1:
        extracts = [[Extract(draft.text, draft.quotes)] for draft in read_parts]
        groups = _parts(extracts, lambda part: reader.count_tokens(part.text) + SOURCE_TOKENS, prompt_tokens)
        if len(groups) == len(read_parts):
            groups = [extracts]
        flat = []
        for group in groups:
            flat.append(list(chain.from_iterable(group)))
        drafts = await asyncio.gather(
            *(read("reduce_summary", n, sections=(), parts=group) for n, group in enumerate(flat))
        )
    if not read_parts:
        raise AllPartitionsFailed(f"none of the {len(parts)} parts could be read: {spending.gaps[-1].error}")
    return read_parts[0]


def _record(reply: Reply[Draft], stage: str, item: str, spending: SummaryCost) -> Draft:
    """Record a reply's cost and gaps, and return its draft."""
    spending.add(stage, reply.usage)
    spending.gaps += [Gap(stage=stage, item=item, error=note) for note in reply.notes]
    return reply.value


def _sources(subject: SummarySubject, chosen: Sequence[Statement]) -> Sections:
    """Return the sentences as the reader sees them, numbered from 1."""
    number, sections = 0, []
    for run in selection.sections(chosen):
        sections.append(
            [
                Source(number + i, statement.passage_id, statement.section, statement.text, subject.source)
                for i, statement in enumerate(run, 1)
            ]
        )
        number += len(run)
    return sections


def _parts(runs: Sequence[Sequence[Any]], size: Callable[[Any], int], most: int) -> list[list[list[Any]]]:
    """Divide runs of items into parts of at most `most` tokens, in order; a run may be divided, an item may not."""
    parts: list[list[list[Any]]] = [[]]
    used = 0
    for run in runs:
        opened = False
        for item in run:
            tokens = size(item)
            if used and used + tokens > most:
                parts.append([])
                used, opened = 0, False
            if not opened:
                parts[-1].append([])
                opened = True
            parts[-1][-1].append(item)
            used += tokens
    return parts


def _cited(
    subject: SummarySubject, chosen: Sequence[Statement], draft: Draft, spending: SummaryCost
) -> tuple[str, list[Citation]]:
    """Return the summary with its marks numbered in order of first use, and the sentence behind each of them."""
    passages = {
        n: Passage(
            id=statement.passage_id,
            document_id=subject.document_id,
            text=statement.text,
            title=subject.title,
            source=subject.source,
            date=subject.date,
            page=statement.page,
        )
        for n, statement in enumerate(chosen, 1)
    }
    text, notes = attributed(draft.text, passages)
    spending.gaps += [Gap(stage="cite", item="reply", error=note) for note in notes]
    summary, numbers = renumbered(text)
    citations = []
    for mark, number in numbers.items():
        found = find_citation(number, mark, text, draft.quotes, passages)
        if mark not in passages:
            error = f"the reply cites [{mark}], but {len(chosen)} sentences were given"
            spending.gaps.append(Gap(stage="cite", item=str(mark), error=error))
        elif found.verified:
            at = chosen[mark - 1].start
            found = found.model_copy(update={"start": found.start + at, "end": found.end + at})
        citations.append(found)
    return inert(summary), citations
