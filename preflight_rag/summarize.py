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
"""Maximum number of tokens of the selected sentences, unless the caller sets another; a guess."""
PROMPT_TOKENS = 6_000
"""Maximum number of tokens of sentences, or of parts' summaries, in one prompt; a guess for a window of 8,000."""
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
    """Summarise a file, without a library.

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

    checked_settings, opened_embedder = Settings.read(**settings), open_embedder(embedder)
    reader = open_reader(model, opened_embedder, checked_settings)
    subject = subject_of_file(path, opened_embedder.count_tokens)
    return asyncio.run(
        summarize(subject, reader=reader, embedder=opened_embedder, settings=checked_settings, tokens=tokens)
    )


def is_on_disk(document: str | Path) -> bool:
    """Return whether a name is the path of a file, rather than a document's id."""
    try:
        return Path(document).expanduser().exists()
    except (OSError, ValueError):
        return False


def subject_of_file(path: Path, count_tokens: Callable[[str], int]) -> SummarySubject:
    """Load the only document of a file of any kind that the loaders read, split into sentences.

    Raises:
        DocumentError: The file cannot be read, or has no text.
        UsageError: The file has several documents.
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
    return _require_sentences(SummarySubject(document.id, document.title, document.source, document.date, statements))


def find_subject(library: Collection, document: str | Path, count_tokens: Callable[[str], int]) -> SummarySubject:
    """Return a document of the library by its id or name; if there is none, the document of the file of that name.

    Raises:
        PreflightError: As `subject_of_file` and `subject_of_library`.
    """
    if is_on_disk(document) and not library.document_passages(str(document)):
        return subject_of_file(Path(document), count_tokens)
    return subject_of_library(library, str(document), count_tokens)


def subject_of_library(library: Collection, document_id: str, count_tokens: Callable[[str], int]) -> SummarySubject:
    """Read a document of the library by its id or its name, split into sentences.

    Raises:
        UsageError: There is no such document; the message names those of similar ids and titles.
        EmptyDocument: The document has no text.
    """
    passages = library.document_passages(document_id := names_of(library).document_id(document_id))
    if not passages:
        raise unknown_document(library, document_id)
    first = passages[0]
    statements = selection.of_passages(passages, count_tokens)
    return _require_sentences(SummarySubject(document_id, first.title, first.source, first.date, statements))


def unknown_document(library: Collection, document_id: str) -> UsageError:
    """Return the error for an id that no document of the library has; its help names similar documents."""
    similar = [names_of(library).name(match) for match in close_matches(document_id, library.documents())]
    help = f"Did you mean {' or '.join(similar)}?" if similar else "Give a file, or the id of a document."
    return UsageError(
        f"there is no file {document_id!r}, and no document of that id in the library at {library.path}", help=help
    )


def close_matches(name: str, documents: Any) -> list[str]:
    """Return the ids of at most three documents whose id, file name or title is most like a name, best first."""
    from rapidfuzz import fuzz, process

    ids: dict[str, str] = {}
    for row in documents:
        for known_name in (row["id"], Path(row["id"]).name, row["title"]):
            ids.setdefault(known_name.casefold(), row["id"])
    target = name.strip().casefold()
    # Twice as many matches as documents: two names may be of the same document.
    matches = process.extract(target, [*ids], scorer=fuzz.ratio, limit=6, score_cutoff=60)
    return list(dict.fromkeys(ids[match] for match, _, _ in matches))[:3]


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
    """Summarise a document from its most representative sentences.

    Args:
        subject: The document, from `subject_of_file` or `subject_of_library`.
        reader: Writes the summary.
        embedder: Compares the sentences.
        settings: `max_concurrency` is how many parts are read at once, `instructions` how the summary is worded.
        tokens: Maximum number of tokens of the selected sentences.
        alpha: Weight of closeness to the document's mean against redundancy.
        prompt_tokens: Maximum number of tokens of material in one prompt.

    Raises:
        UsageError: The budget is below 1 or smaller than every sentence, or `alpha` is out of range.
        ModelError: The reader failed; `receipt` says what was spent.
        AllPartitionsFailed: No part of a long selection could be read.
    """
    if tokens < 1:
        raise UsageError(f"tokens is {tokens!r}", help="Give 1 or more (--tokens)")
    settings, started = settings or Settings(), perf_counter()
    selected = await asyncio.to_thread(_select_sentences, subject, embedder, tokens, alpha)
    instructions, ignored = instructions_of((), settings.instructions, reader)
    reader = instructed(reader, instructions)
    cost = SummaryCost([], [Gap(stage="summarize", item="instructions", error=note) for note in ignored])
    cost.add("select", Usage(seconds=perf_counter() - started))
    try:
        draft = await _draft_summary(subject, selected, reader, settings.max_concurrency, prompt_tokens, cost)
    except PreflightError as error:
        if isinstance(error, ModelError):
            cost.add("summarize", Usage.of_failed(error.spent))
        seconds = perf_counter() - started
        receipt = receipt_of({"spent": cost.rows}, reader=reader, settings=settings, seconds=seconds)
        error.receipt = receipt.model_dump()
        raise
    text, citations = _number_citations(subject, selected, draft, cost)
    selected_tokens = sum(statement.tokens for statement in selected)
    all_tokens = sum(statement.tokens for statement in subject.statements)
    seconds = perf_counter() - started
    return Summary(
        document_id=subject.document_id,
        title=subject.title,
        source=subject.source,
        summary=text,
        citations=tuple(citations),
        sentences=len(selected),
        tokens=selected_tokens,
        share=round(selected_tokens / max(1, all_tokens), 4),
        gaps=tuple(cost.gaps),
        receipt=receipt_of({"spent": cost.rows}, reader=reader, settings=settings, seconds=seconds),
    )


def _require_sentences(subject: SummarySubject) -> SummarySubject:
    """Return the subject; raise EmptyDocument if it has no sentences."""
    if not subject.statements:
        raise EmptyDocument(f"{subject.document_id} holds no text to summarise")
    return subject


def _select_sentences(subject: SummarySubject, embedder: Embedder, tokens: int, alpha: float) -> list[Statement]:
    """Return the most representative sentences within a budget of tokens, in the document's order.

    They are all sentences if these fit, else first those of the document's core (`roles.core`), then others.
    """
    statements = subject.statements
    if sum(statement.tokens for statement in statements) <= tokens:
        return list(statements)
    core = roles.core(statements, tokens)
    remaining = tokens - sum(statements[i].tokens for i in core)
    candidates = roles.telling(statements) if core else range(len(statements))
    others = [i for i in candidates if i not in core]
    if core and min((statements[i].tokens for i in others), default=tokens) > remaining:
        others = []  # none of them fits beside the core
    selected = list(core)
    if others:
        vectors = embedder.encode_passages([statements[i].text for i in others])
        other_statements = [statements[i] for i in others]
        picks = selection.select(other_statements, vectors, budget=remaining, alpha=alpha)
        selected += [others[i] for i in picks]
    return [statements[i] for i in sorted(selected)]


async def _draft_summary(
    subject: SummarySubject,
    selected: Sequence[Statement],
    reader: Reader,
    max_concurrency: int,
    prompt_tokens: int,
    cost: SummaryCost,
) -> Draft:
    """Have the reader summarise the selected sentences, in one call if they fit into a prompt.

    Else parts are summarised at once, and then their summaries together, until a single summary is left. A part whose
    call fails is left out, with a gap; if all fail, an error is raised.
    """
    sections = _numbered_sources(subject, selected)
    parts = _split_into_parts(sections, lambda source: reader.count_tokens(source.text) + SOURCE_TOKENS, prompt_tokens)
    if len(parts) == 1:
        reply = await reader.summarize(title=subject.title, sections=sections)
        return _record_reply(reply, "summarize", "reply", cost)
    slots = asyncio.Semaphore(max_concurrency)

    async def summarize_part(stage: str, number: int, **material: Any) -> Draft | None:
        """Return the draft of one model call and record its cost; return None and record a gap if it failed."""
        async with slots:
            try:
                reply = await reader.summarize(title=subject.title, **material)
            except ModelError as error:
                cost.add(stage, Usage.of_failed(error.spent))
                cost.gaps.append(Gap(stage=stage, item=str(number), error=str(error)))
                return None
            return _record_reply(reply, stage, str(number), cost)

    replies = await asyncio.gather(*(summarize_part("map_summary", n, sections=part) for n, part in enumerate(parts)))
    while len(drafts := [draft for draft in replies if draft]) > 1:
        extracts = [[Extract(draft.text, draft.quotes)] for draft in drafts]
        groups = _split_into_parts(
            extracts, lambda extract: reader.count_tokens(extract.text) + SOURCE_TOKENS, prompt_tokens
        )
        if len(groups) == len(drafts):
            groups = [extracts]  # no two summaries fit into one prompt: without this the loop would not end
        flat_groups = [list(chain.from_iterable(group)) for group in groups]
        replies = await asyncio.gather(
            *(summarize_part("reduce_summary", n, sections=(), parts=group) for n, group in enumerate(flat_groups))
        )
    if not drafts:
        raise AllPartitionsFailed(f"none of the {len(parts)} parts could be read: {cost.gaps[-1].error}")
    return drafts[0]


def _record_reply(reply: Reply[Draft], stage: str, item: str, cost: SummaryCost) -> Draft:
    """Record a reply's cost, and its notes as gaps; return its draft."""
    cost.add(stage, reply.usage)
    cost.gaps += [Gap(stage=stage, item=item, error=note) for note in reply.notes]
    return reply.value


def _numbered_sources(subject: SummarySubject, selected: Sequence[Statement]) -> Sections:
    """Return the selected sentences as sources for the reader, numbered from 1, by section."""
    number, sections = 0, []
    for section in selection.sections(selected):
        sources = []
        for statement in section:
            number += 1
            source = Source(number, statement.passage_id, statement.section, statement.text, subject.source)
            sources.append(source)
        sections.append(sources)
    return sections


def _split_into_parts(
    sections: Sequence[Sequence[Any]], count_tokens: Callable[[Any], int], max_tokens: int
) -> list[list[list[Any]]]:
    """Divide sections of items into parts (lists of sections) of at most `max_tokens` tokens, in order.

    A section may be divided, an item may not: one that is longer is a part of its own.
    """
    parts: list[list[list[Any]]] = [[]]
    used = 0
    for section in sections:
        is_section_open = False
        for item in section:
            tokens = count_tokens(item)
            if used and used + tokens > max_tokens:
                parts.append([])
                used, is_section_open = 0, False
            if not is_section_open:
                parts[-1].append([])
                is_section_open = True
            parts[-1][-1].append(item)
            used += tokens
    return parts


def _number_citations(
    subject: SummarySubject, selected: Sequence[Statement], draft: Draft, cost: SummaryCost
) -> tuple[str, list[Citation]]:
    """Return the summary with its marks numbered in order of first use, and the sentence behind each of them.

    Marks without a sentence are recorded as gaps of `cost`.
    """
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
        for n, statement in enumerate(selected, 1)
    }
    text, notes = attributed(draft.text, passages)
    cost.gaps += [Gap(stage="cite", item="reply", error=note) for note in notes]
    summary, numbers = renumbered(text)
    citations = []
    for mark, number in numbers.items():
        citation = find_citation(number, mark, text, draft.quotes, passages)
        if mark not in passages:
            error = f"the reply cites [{mark}], but {len(selected)} sentences were given"
            cost.gaps.append(Gap(stage="cite", item=str(mark), error=error))
        elif citation.verified:
            # The offsets are those in the sentence; a citation has those in its passage.
            offset = selected[mark - 1].start
            citation = citation.model_copy(update={"start": citation.start + offset, "end": citation.end + offset})
        citations.append(citation)
    return inert(summary), citations
