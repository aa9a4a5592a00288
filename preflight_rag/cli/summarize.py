"""`summarize`: a summary of one document, without a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import (
    DEFAULT_LIBRARY,
    EmbedderOption,
    JsonOption,
    LibraryOption,
    ModelOption,
    app,
    command,
)
from preflight_rag.cli.options import with_settings
from preflight_rag.state.errors import LibraryMissing, UsageError
from preflight_rag.text.page_names import page_name

if TYPE_CHECKING:
    from preflight_rag.library.opening import LibraryPlace
    from preflight_rag.state.values import Summary


@app.command(epilog="Example: preflight summarize report.pdf --tokens 400")
@command
@with_settings("instructions")
def summarize(
    document: Annotated[str, typer.Argument(help="A file, or the id of a document in the library.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="Token budget of the selected sentences.")] = 800,
    model: ModelOption = None,
    json: JsonOption = False,
    embedder: EmbedderOption = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Summarise a document: its most representative sentences in their order, and the model's summary of them."""
    from preflight_rag.summarize import is_on_disk, summarize_file

    if is_on_disk(document):
        found = summarize_file(Path(document), model, embedder=embedder, tokens=tokens, **settings)
    else:
        found = _from_library(document, library, model, embedder, tokens, settings)
    show.model_line(found.receipt.model)
    if json:
        show.as_json(found.model_dump(mode="json"))
    else:
        _show(found)


def _from_library(
    document: str, library: LibraryPlace, model: str | None, embedder: str | None, tokens: int, settings: dict[str, Any]
) -> Summary:
    """Return the summary of a document of the library, or of a file if the library has none of that name."""
    from preflight_rag.app import Preflight

    try:
        with Preflight.open(library, model, embedder=embedder) as preflight:
            return preflight.summarize(document, tokens=tokens, **settings)
    except LibraryMissing:
        raise UsageError(
            f"there is no file {document!r}, and no library at {library}", help="Give a file, or --library DIR."
        ) from None


def _show(found: Summary) -> None:
    """Print the summary, where each of its sentences stands in the document, and how much of the document they are."""
    show.echo(found.summary)
    show.echo(f"\n{found.title or found.document_id} - {found.source}")
    for citation in found.citations:
        page = page_name(found.source, citation.page)
        place = f"{page}, " if page else ""
        mark = "" if citation.verified else "  (not found in the document)"
        quote = " ".join(citation.quote.split())
        show.echo(f'[{citation.n}] {place}characters {citation.start}-{citation.end}: "{quote}"{mark}')
    for gap in found.gaps:
        show.echo(f"gap: {gap.stage} {gap.item}: {gap.error}")
    receipt = found.receipt
    typer.echo(
        f"\nselected: {found.sentences} sentences, {found.tokens} tokens, {found.share:.0%} of what can be selected"
    )
    about = "about " if receipt.estimated else ""
    typer.echo(
        f"model: {receipt.model} - {receipt.model_calls} calls, {about}{receipt.input_tokens} tokens in, "
        f"{receipt.output_tokens} out, {receipt.seconds:.2f} s"
    )
