"""How answers, searches and reports look in a terminal."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import typer

from preflight_rag.cli.explain import judgement
from preflight_rag.library.storage.copies import copy_note
from preflight_rag.state.values import file_name
from preflight_rag.text.citations import speaker_and_words
from preflight_rag.text.inert import INVISIBLE, visible
from preflight_rag.text.page_names import page_name

if TYPE_CHECKING:
    from rich.live import Live
    from rich.markdown import Markdown

    from preflight_rag.ingest.loaders.read_report import ReadReport
    from preflight_rag.ingest.report import IngestReport, ReadDocument
    from preflight_rag.library.opening import LibraryPlace
    from preflight_rag.library.storage.catalogue import CatalogueEntry
    from preflight_rag.state.values import (
        Answer,
        Citation,
        Clarification,
        Ranking,
        SearchResult,
    )

ROUTES = {
    "plain": "read in one go (plain)",
    "map_reduce": "read in parts (map/reduce)",
    "corg": "compared and grouped (COrg)",
    "abstain": "not answered (abstain)",
    "conversation": "answered from the conversation",
    "listing": "listed, not read (listing)",
    "metadata": "looked up in what is known of the document (metadata)",
}
# " (risk 0.05, below the limit of 0.11, five features)" and " (score 0.83, compared from 0.53 on)" behind the words; in
# turns recorded before, "risk 0.05 < 0.11 (five features): " and "COrg score 0.83 >= 0.53: " before them; not "(film)".
COMPARISON = re.compile(
    r" \((?:risk|score) \d[^()]*\)(?=;|$)|^(?:risk|COrg score) \S+ (?:>=|<) [\d.]+(?: \([^)]*\))?(?:: )?"
)


def as_json(value: Any) -> None:
    """Print a value as JSON in UTF-8, whatever the terminal's encoding; invisible characters are written as escapes."""
    text = INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False, indent=2))
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a text that may contain a document's words, without terminal control sequences and invisible characters."""
    typer.echo(visible(text.replace("\r", " ")), nl=nl, err=err)


def model_line(name: str) -> None:
    """Print on standard error which model answers."""
    echo(f"model: {name}", err=True)


def answer(found: Answer, *, explain: bool = False, with_text: bool = True, with_way: bool = False) -> None:
    """Print the answer, its sources, and the cost of the model; with `with_way` or `explain`, the route, too."""
    if with_text:
        _text(found.answer)
    if found.choice is not None:
        echo(f"\nchoice: {found.choice}")
    if found.confidence is not None:
        echo(f"\n{found.confidence:.0%} sure")
    for statement in found.statements:
        if statement.supported is False:
            echo(f"{judgement(statement)}: {statement.text}")
    if found.citations:
        echo("")
    _sources(found)
    _missing(found, explain=explain)
    lines = [f"route: {way(found.route.name, found.route.reason)}"] if with_way or explain else []
    lines += [_spent(found)] if found.receipt.model_calls else []
    if lines:
        echo("\n" + "\n".join(lines))
    if explain:
        from preflight_rag.cli.explain import explanation

        explanation(found)


def _text(markdown: str) -> None:
    """Print an answer, with its Markdown drawn where the output is a terminal."""
    if sys.stdout.isatty():
        from rich.console import Console

        Console(highlight=False).print(drawn(markdown))
    else:
        echo(markdown)


def _sources(found: Answer) -> None:
    """Print each document that is cited, once."""
    of_document: dict[str, list[Citation]] = {}
    for citation in found.citations:
        of_document.setdefault(citation.document_id or citation.passage_id, []).append(citation)
    sources = [cited[0].source for cited in of_document.values()]
    names = Counter(PurePath(source).name for source in sources)
    for cited in of_document.values():
        source = cited[0].source
        # Two files of one name are told apart by their folders.
        parts = 2 if names[PurePath(source).name] > 1 and "://" not in source else 1
        name = "/".join(PurePath(source).parts[-parts:]) if parts > 1 else file_name(source)
        _source(cited, name, quoted=found.outcome != "evidence")


def _spent(found: Answer) -> str:
    """Return a line with the calls, tokens and seconds that the model took."""
    receipt = found.receipt
    about = "about " if receipt.estimated else ""
    calls = "1 call" if receipt.model_calls == 1 else f"{receipt.model_calls} calls"
    tokens = f"{about}{receipt.input_tokens} tokens in, {receipt.output_tokens} out"
    return f"model: {receipt.model} - {calls}, {tokens}, {receipt.seconds:.2f} s"


def way(route: str, reason: str) -> str:
    """Return in words the route by which the passages are read, and its reason; `--explain` shows the numbers."""
    why = COMPARISON.sub("", reason)
    return f"{ROUTES[route]}: {why}" if why else ROUTES[route]


GAPS = {
    "map_context": "Some parts could not be read, so something may be missing.",
    "relate_contexts": "Some documents could not be compared.",
    "answer_group": "Some of several answers could not be given.",
    "aggregate_groups": "Some of several answers could not be given.",
    "answer_plain": "The language model's reply was not whole, or not read from all passages.",
    "reduce_context": "The language model's reply was not whole, or not made of all parts.",
    "cite": "Some quotes could not be checked as usual.",
}
"""What a gap of a stage means for who asks, as the page says it (`server/page/static/route.js`). Gaps of other stages
are about what the user has set or can mend, such as a model that cannot be reached, and are printed as they are."""


def _missing(found: Answer, *, explain: bool) -> None:
    """Print the gaps of the answer, those of a stage in one line, and how much of the conversation was condensed."""
    in_words: dict[str, None] = {}
    for gap in found.gaps:
        if explain or gap.stage not in GAPS:
            in_words[f"gap: {gap.stage} {gap.item}: {gap.error}"] = None
        else:
            in_words[f"gap: {GAPS[gap.stage]} (--explain shows why)"] = None
    for line in in_words:
        echo(line)
    if found.condensed:
        echo(f"note: {found.condensed} earlier messages were condensed")


def _source(cited: Sequence[Citation], name: str, *, quoted: bool) -> None:
    """Print a document with the numbers that cite it, and its quotes unless the answer itself consists of quotes.

    Args:
        cited: The citations of the document.
        name: What its file is called.
        quoted: Whether quotes are printed.
    """
    first = cited[0]
    pages = dict.fromkeys(page_name(each.source, each.page) for each in cited)
    saved = f"file saved {first.file_saved}" if first.file_saved else ""
    place = ", ".join(part for part in (name, *pages, first.date or saved) if part)
    echo(f"{''.join(f'[{each.n}]' for each in cited)} {first.title or first.name} - {place}")
    for each in cited:
        mark = "" if each.verified else "  (not found in the passage)"
        if quoted or mark:
            number = f"[{each.n}] " if len(cited) > 1 else ""
            speaker, spoken = speaker_and_words(" ".join(each.quote.split()))
            echo(f'    {number}{f"{speaker}: " if speaker else ""}"{spoken}"{mark}')
        for other in each.also_in:
            echo(f"    also in {file_name(other.source) or other.document_id}")


class ShownAnswer:
    """Prints an answer as it arrives; unchanged if the output is a file or a pipe."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, text: str) -> None:
        """Print the next piece of the answer."""
        self.text += text
        echo(text, nl=False)

    def note(self, line: str) -> None:
        """Print a note on standard error."""
        echo(f"\n{line}" if self.text else line, err=True)

    def end(self, answer: str) -> None:
        """Print the whole answer, unless exactly this was printed last."""
        if self.text:
            echo("")
        if not self.text.strip().endswith(answer.strip()):
            echo(answer)


class MarkdownStream(ShownAnswer):
    """Draws an answer's Markdown on a terminal, anew with each piece; the Markdown may be unfinished meanwhile.

    Only its last lines are drawn while it comes: what has left the screen at its top cannot be drawn again.
    """

    def __init__(self, live: Live) -> None:
        super().__init__()
        self._live = live

    def add(self, text: str) -> None:
        """Draw the answer so far."""
        self.text += text
        height = max(3, self._live.console.size.height - 2)
        self._live.update(drawn("\n".join(self.text.split("\n")[-height:])), refresh=True)

    def note(self, line: str) -> None:
        """Print a note above the answer."""
        self.text = ""
        self._live.console.print(line, style="dim", markup=False, highlight=False)

    def end(self, answer: str) -> None:
        """Replace the drawing by the whole answer."""
        self._live.update("", refresh=True)
        self._live.stop()
        self._live.console.print(drawn(answer))


@contextmanager
def streamed_answer() -> Iterator[ShownAnswer]:
    """Yield the printer of an answer: drawn Markdown on a terminal, plain text in a file or a pipe."""
    if not sys.stdout.isatty():
        yield ShownAnswer()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(highlight=False), transient=True, auto_refresh=False, vertical_overflow="crop") as live:
        live.refresh()
        yield MarkdownStream(live)


def drawn(text: str) -> Markdown:
    """Return a text as Markdown for a terminal; its line ends stay, and links show their addresses."""
    from rich.markdown import Markdown

    # A line end within a paragraph would be a space: rows and lists without marks would run together.
    lines = [f"{line}  " if line.strip() else line for line in text.split("\n")]
    return Markdown("\n".join(lines), hyperlinks=False)


def clarification(asked: Clarification) -> None:
    """Print the turn's question to the person, with a number for each choice."""
    echo(f"Which one is meant? ({asked.question})")
    for number, choice in enumerate(asked.choices, 1):
        echo(f"  {number}. {choice.label}")
    echo('Reply with a number, several (1, 3), a name, or "all"; or ask something else.')


MOST_LINES = 20
"""Lines of one kind in a report, unless every name is asked for."""


def ingested(report: IngestReport, library: LibraryPlace, passages: int, *, names: bool, details: bool = False) -> None:
    """Print what an ingest did, what it could not read, and how to continue."""
    if report.stopped:
        files = "1 file is" if report.left == 1 else f"{report.left:,} files are"
        echo(f"stopped: what was done is kept; {files} left. Run the same command again to go on.")
    echo(
        f"added {report.added}, updated {report.updated}, skipped {report.skipped} unchanged, "
        f"removed {report.removed}, failed {len(report.failed)}"
    )
    if report.gone:
        files = "The file of 1 document is" if report.gone == 1 else f"The files of {report.gone:,} documents are"
        echo(f"{files} no longer there; --prune removes what was read of them.")
    failed = [f"failed: {reason if source in reason else f'{source}: {reason}'}" for source, reason in report.failed]
    notes = list(dict.fromkeys(f"note: {source}: {note}" for source, note in report.notes))
    copies = [f"same text: {copy_note(each)}" for each in report.copies]
    for lines, what in ((failed, "failures"), (notes, "notes"), (copies, "documents with the same text")):
        shown = lines if names else lines[:MOST_LINES]
        for line in shown:
            echo(line)
        if len(lines) > len(shown):
            echo(f"... and {len(lines) - len(shown):,} more {what}; --names shows all")
    _passed_over(report.passed_over, names=names)
    _read(report.read, details=details)
    if not library.is_there():
        return
    echo(f"{library} now holds {passages:,} passage{'s' if passages != 1 else ''}.")
    if passages:
        echo(f'Ask: preflight ask "..." --library {shlex.quote(library.option)}')


def refused(report: IngestReport, library: LibraryPlace) -> None:
    """Print on standard error how many documents were rejected, to explain the exit status."""
    count, kept = len(report.failed), report.added + report.updated + report.skipped
    files = len({source for source, _ in report.failed})
    of = f"{files} file{'s' if files != 1 else ''}"
    rest = f"; the {kept:,} other document{'s are' if kept != 1 else ' is'} in {library}" if kept else ""
    many = f"{count:,} failure{'s' if count != 1 else ''}"
    echo(f"{many} in {of}: not all could be taken in{rest}. See above for what and why.", err=True)


def _read(read: Sequence[ReadDocument], *, details: bool) -> None:
    """Print what was read of all documents together, and which documents gave less text than expected.

    With `details`, the same is printed for each document.
    """
    from preflight_rag.ingest.loaders.read_report import counted

    if details:
        for each in read:
            echo(f"read: {each.source}: {', '.join(counted(each.report.counts))}")
            _left_out(each.report)
        return
    together: dict[str, int] = {}
    for each in read:
        for name, number in each.report.counts.items():
            together[name] = together.get(name, 0) + number
    if together:
        echo(f"read: {', '.join(counted(together))} (--details says it of each document)")
    less = [each.source for each in read if each.report.less]
    if less:
        named = ", ".join(Path(source).name for source in less[:3]) + (", ..." if len(less) > 3 else "")
        many = "1 document" if len(less) == 1 else f"{len(less):,} documents"
        echo(f"look at {many} of which less than expected was read: {named}")


def _left_out(report: ReadReport) -> None:
    """Print how much of the documents was not read, and why."""
    for what, why in report.left_out:
        echo(f"  left out: {what}{f': {why}' if why else ''}")
    for reason in report.less:
        echo(f"  less than expected: {reason}")


def document(entry: CatalogueEntry, metadata: Mapping[str, Any]) -> None:
    """Print a document of the library: its description, its metadata, what was read of it and what was not."""
    from preflight_rag.ingest.loaders.read_report import READ_REPORT, counted

    echo(entry.title or entry.id)
    for label, value in (
        ("id", entry.id),
        ("file", entry.origin),
        ("date", entry.date),
        ("file saved", entry.saved),
        ("added", entry.added),
    ):
        if value:
            echo(f"  {label}: {value}")
    echo(f"  passages: {entry.passages:,}")
    if entry.copy_of:
        echo(f"  shares text with: {entry.copy_of}; what both have is searched once")
    for label, value in metadata.items():
        # Of headings and places there are as many as pages: --json has them.
        if value not in (None, "", [], {}) and label not in ("sections", "page_starts", READ_REPORT):
            echo(f"  {label}: {_field(value)}")
    if entry.read is None:
        echo("  what was read of it is not known: it came from a record, or an earlier version took it in")
        return
    echo(f"  read: {', '.join(counted(entry.read.counts))}")
    _left_out(entry.read)


def _passed_over(passed: list[tuple[str, str]], *, names: bool) -> None:
    """Print the files that no loader reads: one line for each file type with its reason, or one for each file."""
    if names:
        for source, reason in passed:
            echo(f"not read: {source}: {reason}")
        return
    kinds: dict[tuple[str, str], list[str]] = {}
    for source, reason in passed:
        ending = Path(source).suffix.lower() if reason != "hidden" else ""
        kinds.setdefault((ending, reason), []).append(Path(source).name)
    hidden = 0
    for (ending, reason), found in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])):
        shown = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
        counted = f"{len(found)} {ending or ('entries' if reason == 'hidden' else 'without ending')}"
        echo(f"not read: {found[0] if len(found) == 1 else f'{counted} ({shown})'}: {reason}")
        hidden += max(0, len(found) - 3)
    if hidden:
        echo("(--names names every file that is not read)")


def _field(value: Any) -> str:
    """Return a metadata value as text on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_field(each) or 'none'}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_field, value))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def documents(found: list[CatalogueEntry], called: dict[str, str], total: int, query: str) -> None:
    """Print the documents of a library, one a line where the terminal is wide enough."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not found:
        echo(f"No document's title, id or source holds {query!r}." if query else "There are no documents yet.")
        return
    console = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("title", ratio=3, overflow="fold")
    table.add_column("name", ratio=2, overflow="fold")
    for name in ("date", "passages", "added"):
        table.add_column(name, no_wrap=True, justify="right" if name == "passages" else "left")
    for each in found:
        numbers = (each.date or "", f"{each.passages:,}", each.added[:10])
        name = called[each.id]
        if each.copy_of:
            name += f" (shares text with {called.get(each.copy_of, each.copy_of)})"
        table.add_row(Text(visible(each.title or each.id)), Text(visible(name)), *numbers)
    console.print(table)
    more = f"; the first {len(found)} are shown (--limit, --find)" if total > len(found) else ""
    echo(f"{total:,} document{'s' if total != 1 else ''}{more}")


def search(found: SearchResult, titles: dict[str, tuple[str, str]]) -> None:
    """Print the passages that would be passed on, with their ranks in all rankings, and the preflight's decision."""
    rankings = [_places(ranking) for ranking in (found.fused, found.dense, found.lexical)]
    echo(f"{'':>5} {'fused':>5} {'dense':>5} {'BM25':>5}  passage")
    for hit in found.selected:
        title, preview = titles[hit.passage_id]
        places = " ".join(f"{places.get(hit.passage_id, '-'):>5}" for places in rankings)
        echo(f"{hit.rank:>5} {places}  {title or hit.document_id}: {preview}")
    for gap in found.gaps:
        echo(f"gap: {gap.item}: {gap.error}")
    echo(f"\npreflight: {way(found.preflight.route, found.preflight.reason)}")


def _places(ranking: Ranking) -> dict[str, str]:
    """Return the rank of each passage in a ranking, as text."""
    return {hit.passage_id: str(hit.rank) for hit in ranking}
