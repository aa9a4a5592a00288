"""How an answer came about, for `--explain`: a sentence, then the numbers, in tables that read by themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from preflight_rag.text.inert import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from preflight_rag.state.values import Answer, Receipt, RouteDecision, Statement

STAGES = {
    "rewrite": "understanding the question",
    "retrieve": "searching",
    "preflight": "choosing how to read",
    "answer_plain": "reading and answering",
    "map_context": "reading the parts",
    "reduce_context": "putting the parts together",
    "relate_contexts": "comparing passages",
    "organize_contexts": "grouping passages",
    "clarify": "asking which is meant",
    "answer_group": "answering each group",
    "aggregate_groups": "setting answers side by side",
    "cite": "checking citations",
    "abstain": "finding no answer",
    "converse": "answering from the conversation",
    "list_documents": "looking through all documents",
    "read_metadata": "looking up the document",
}
SIGNALS = {
    "passages": "passages read",
    "context_tokens": "their tokens",
    "corg": "score for comparing (0 to 1)",
    "corg_names": "several things of one name",
    "corg_values": "different numbers",
    "corg_duplicates": "near copies",
    "corg_dates": "written years apart",
    "corg_answers": "different answers",
    "risk_first_places": "places of the best passages",
    "risk_no_lead": "lead of the best passages",
    "risk_bm25_missed": "missed by the word search",
    "risk_uncovered": "question not covered",
    "risk_untitled": "question not in titles",
}
BAR = 12
"""Characters of the longest bar."""


def explanation(found: Answer) -> None:
    """Print how a question was searched, routed and answered, and what each stage cost."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    for title, lines in _sections(found):
        if lines:
            console.print(Text(f"\n{title}", style="bold"))
            for line in lines:
                console.print(Padding(Text(visible(line)), (0, 0, 0, 2)))
    _numbers(console, found.route)
    _stages(console, found.receipt)


def judgement(statement: Statement) -> str:
    """Return in words whether the cited passages support a statement."""
    marks = "".join(f"[{n}]" for n in statement.citations) or "any passage"
    if statement.supported is None:
        return f"not checked against {marks}"
    if statement.supported:
        return f"supported by {marks}"
    return f"{'contradicted' if statement.contradicted else 'not supported'} by {marks}"


def _sections(found: Answer) -> Iterator[tuple[str, list[str]]]:
    """Yield the headings of the explanation with their lines, in the order of the turn."""
    searched = [f"for: {query}" for query in found.queries]
    searched += [f"spelling: {was} -> {now}" for was, now in found.corrections]
    for rung in found.expressions:
        note = f" ({rung.note})" if rung.note else ""
        searched.append(f"expression in {rung.where}: {rung.expression}: {rung.hits:,} hits{note}")
    yield "What was searched", searched
    yield "Why it was read this way", [part.strip() for part in found.route.reason.split("; ")]
    yield "Why no answer is claimed", [found.unclaimed] if found.unclaimed else []
    yield "Answers side by side", list(_groups(found))
    kinds = Counter((one.kind, one.inferred, one.announced) for one in found.relations)
    yield (
        "Documents compared, two and two",
        [
            f"documents {kind}{' (inferred)' if inferred else ''}{', announced' if announced else ''}: {count}"
            for (kind, inferred, announced), count in sorted(kinds.items())
        ],
    )
    yield (
        "Statements checked",
        [
            f"{judgement(each)}{'' if each.score is None else f' ({each.score:.2f})'}: {each.text}"
            for each in found.statements
        ],
    )
    yield (
        "Passages left out",
        [
            f"pruned: passage {each.rank}, answerability {each.answerable:.2g}, {each.tokens} tokens: "
            f"{each.title or each.document_id}"
            for each in found.pruned
        ],
    )


def _groups(found: Answer) -> Iterator[str]:
    """Yield a line for each group of contexts: its entity and its answer."""
    for group in found.groups:
        about = f"{group.entity} ({group.descriptor})" if group.descriptor else group.entity
        yield f"answer for {about}: {' '.join(group.answer.split())} {''.join(f'[{n}]' for n in group.citations)}"


def _numbers(console: Console, route: RouteDecision) -> None:
    """Print the risk and the rankings' agreement beside their limits, and then the signals."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    if route.risk is not None and any(name.startswith("risk_") for name in route.signals):
        meaning = f"{_bar(route.risk)} in parts from {route.threshold:.2g}"
        table.add_row("  risk of a lost key passage", f"{route.risk:.2g}", meaning)
    if route.iou is not None:
        table.add_row(f"  IoU of the top {route.top_n}", f"{route.iou:.2g}", "of both searches: 0 none, 1 the same")
    for name, value in route.signals.items():
        if value:
            table.add_row(f"  {SIGNALS.get(name, name.replace('_', ' '))}", f"{value:.3g}", "")
    if table.row_count:
        console.print("\n[bold]The numbers behind it[/bold]")
        console.print(table)


def _stages(console: Console, receipt: Receipt) -> None:
    """Print what each stage cost, with a bar for its share of the time."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("  stage", no_wrap=True)
    for name in ("calls", "tokens in", "out", "seconds"):
        table.add_column(name, justify="right")
    table.add_column("")
    longest = max((row.seconds for row in receipt.by_stage.values()), default=0.0)
    for stage, row in receipt.by_stage.items():
        numbers = (str(row.calls), f"{row.input_tokens:,}", f"{row.output_tokens:,}", f"{row.seconds:.3f}")
        share = row.seconds / longest if longest else 0.0
        table.add_row(f"  {STAGES.get(stage, stage.replace('_', ' '))}", *numbers, _bar(share, framed=False))
    if table.row_count:
        console.print("\n[bold]What it took[/bold]")
        console.print(table)
    if receipt.saved.why:
        saved = receipt.saved
        tokens = f"{saved.input_tokens:+,d} input and {saved.output_tokens:+,d} output tokens"
        console.print(f"  the other route: {saved.calls:+d} calls, {tokens} ({saved.why})", markup=False)


def _bar(share: float, *, framed: bool = True) -> str:
    """Return a bar whose length is a share of the width."""
    filled = round(max(0.0, min(1.0, share)) * BAR)
    return "█" * filled + ("░" * (BAR - filled) if framed else "")
