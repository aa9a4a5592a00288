"""How answers, searches and reports look in a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from preflight_rag.state.values import (
        Answer,
        Citation,
        Clarification,
        Ranking,
        RouteDecision,
        SearchResult,
        Statement,
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
    """Print a value as JSON, in UTF-8 whatever the terminal's encoding."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def model_line(name: str) -> None:
    """Say on stderr which model answers."""
    typer.echo(f"model: {name}", err=True)


def answer(found: Answer, *, explain: bool = False, with_text: bool = True) -> None:
    """The answer, its sources, and how the passages were read, in one line each."""
    if with_text:
        typer.echo(found.answer)
    if found.choice is not None:
        typer.echo(f"\nchoice: {found.choice}")
    if found.confidence is not None:
        typer.echo(f"\n{found.confidence:.0%} sure")
    for statement in found.statements:
        if statement.supported is False:
            typer.echo(f"{_judgement(statement)}: {statement.text}")
    if found.citations:
        typer.echo("")
    for citation in found.citations:
        _source(citation, quoted=found.outcome != "evidence")
    _missing(found)
    typer.echo(f"\nroute: {way(found.route.name, found.route.reason)}")
    receipt = found.receipt
    about = "about " if receipt.estimated else ""
    typer.echo(
        f"model: {receipt.model} - {receipt.model_calls} calls, {about}{receipt.input_tokens} tokens in, "
        f"{receipt.output_tokens} out, {receipt.seconds:.2f} s"
    )
    if explain:
        explanation(found)


def way(route: str, reason: str) -> str:
    """How the passages are read, and why, in words; `--explain` shows the numbers."""
    why = COMPARISON.sub("", reason)
    return f"{ROUTES[route]}: {why}" if why else ROUTES[route]


def _missing(found: Answer) -> None:
    """What the answer lacks, and how much of the conversation was not read word for word."""
    for gap in found.gaps:
        typer.echo(f"gap: {gap.stage} {gap.item}: {gap.error}")
    if found.condensed:
        typer.echo(f"note: {found.condensed} earlier messages were condensed")


def _source(citation: Citation, *, quoted: bool) -> None:
    """A citation's number and document, and its quote where the answer is not made of quotes."""
    page = f"p. {citation.page}" if citation.page else ""
    place = ", ".join(part for part in (citation.source, page, citation.date or "") if part)
    mark = "" if citation.verified else "  (not found in the passage)"
    typer.echo(f"[{citation.n}] {citation.title or citation.document_id} - {place}")
    if quoted or mark:
        typer.echo(f'    "{" ".join(citation.quote.split())}"{mark}')


def clarification(asked: Clarification) -> None:
    """What the turn asks, with a number for each choice."""
    typer.echo(f"Which one is meant? ({asked.question})")
    for number, choice in enumerate(asked.choices, 1):
        typer.echo(f"  {number}. {choice.label}")
    typer.echo('Reply with a number, several (1, 3), a name, or "all"; or ask something else.')


def _judgement(statement: Statement) -> str:
    """What the cited passages say of a statement."""
    marks = "".join(f"[{n}]" for n in statement.citations)
    if statement.supported is None:
        return f"not checked against {marks}"
    if statement.supported:
        return f"supported by {marks}"
    return f"{'contradicted' if statement.contradicted else 'not supported'} by {marks}"


def explanation(found: Answer) -> None:
    """The stages of a turn and the numbers behind its route."""
    typer.echo(f"\nquestion as searched: {'; '.join(found.queries)}")
    for was, now in found.corrections:
        typer.echo(f"spelling: {was} -> {now}")
    for rung in found.expressions:
        note = f" ({rung.note})" if rung.note else ""
        typer.echo(f"expression in {rung.where}: {rung.expression}: {rung.hits:,} hits{note}")
    typer.echo(f"reason for the route: {found.route.reason}")
    typer.echo(_risk(found.route))
    for name, value in found.route.signals.items():
        typer.echo(f"signal {name}: {value:g}")
    _graph(found)
    for statement in found.statements:
        score = "" if statement.score is None else f" ({statement.score:.2f})"
        typer.echo(f"{_judgement(statement)}{score}: {statement.text}")
    for passage in found.pruned:
        typer.echo(
            f"pruned: passage {passage.rank}, answerability {passage.answerable:.2g}, {passage.tokens} tokens: "
            f"{passage.title or passage.document_id}"
        )
    if found.receipt.saved.why:
        saved = found.receipt.saved
        tokens = f"{saved.input_tokens:+d} input and {saved.output_tokens:+d} output tokens"
        typer.echo(f"the other route: {saved.calls:+d} calls, {tokens} ({saved.why})")
    typer.echo(f"{'stage':<18}{'calls':>6}{'in':>8}{'out':>8}{'seconds':>9}")
    for stage, row in found.receipt.by_stage.items():
        typer.echo(f"{stage:<18}{row.calls:>6}{row.input_tokens:>8}{row.output_tokens:>8}{row.seconds:>9.3f}")


def _risk(route: RouteDecision) -> str:
    """The risk of a lost key passage, and the agreement of the rankings."""
    if route.iou is None or route.risk is None:
        return "risk of a lost key passage: not estimated"
    iou = f"IoU of the top {route.top_n}: {route.iou:.2g}"
    if any(name.startswith("risk_") for name in route.signals):
        return f"risk of a lost key passage: {route.risk:.2g} (map/reduce from {route.threshold:.2g}); {iou}"
    return f"{iou} (plain above {route.threshold:g})"


def _graph(found: Answer) -> None:
    """What COrg made of the passages: each answer with what it is the answer to, and the relations by kind."""
    for group in found.groups:
        about = f"{group.entity} ({group.descriptor})" if group.descriptor else group.entity
        marks = "".join(f"[{n}]" for n in group.citations)
        typer.echo(f"answer for {about}: {' '.join(group.answer.split())} {marks}")
    kinds = Counter((one.kind, one.inferred, one.announced) for one in found.relations)
    for (kind, inferred, announced), count in sorted(kinds.items()):
        typer.echo(f"documents {kind}{' (inferred)' if inferred else ''}{', announced' if announced else ''}: {count}")


def search(found: SearchResult, titles: dict[str, tuple[str, str]]) -> None:
    """The passages that would go on with their places in all rankings, and what preflight makes of them."""
    rankings = [_places(ranking) for ranking in (found.fused, found.dense, found.lexical)]
    typer.echo(f"{'':>5} {'fused':>5} {'dense':>5} {'BM25':>5}  passage")
    for hit in found.selected:
        title, preview = titles[hit.passage_id]
        places = " ".join(f"{places.get(hit.passage_id, '-'):>5}" for places in rankings)
        typer.echo(f"{hit.rank:>5} {places}  {title or hit.document_id}: {preview}")
    for gap in found.gaps:
        typer.echo(f"gap: {gap.item}: {gap.error}")
    typer.echo(f"\npreflight: {way(found.preflight.route, found.preflight.reason)}")


def _places(ranking: Ranking) -> dict[str, str]:
    return {hit.passage_id: str(hit.rank) for hit in ranking}
