"""`ask`, `chat` and `search`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from preflight_rag.cli import show
from preflight_rag.cli.main import (
    DEFAULT_LIBRARY,
    EmbedderOption,
    JsonOption,
    LibraryOption,
    ModelOption,
    ThreadsOption,
    app,
    command,
    nothing_left_behind,
)
from preflight_rag.cli.options import SEARCH, TURN, with_settings
from preflight_rag.state.errors import PreflightError, ReplyNeeded

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.library.opening import LibraryPlace


ExplainOption = Annotated[
    bool,
    typer.Option("--explain", help="Show how the passages were read, the stages and the numbers behind the route."),
]
CHAT_HELP = """Ask in plain words, also about the answer before ("And in 2021?", "Where does it say that?").
  /help   this text
  /quit   end the conversation; so does an empty line, or Ctrl-D
Ctrl-C stops an answer. preflight chat --explain shows how each one was found."""


class OneText(TyperCommand):
    """A command with one text in plain words, which says so where the shell split a text without quotation marks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what `TyperCommand` returns; exit with one line where several words were given.

        Raises:
            typer.Exit: Several words were given without quotation marks.
        """
        ctx.allow_extra_args = True
        rest: list[str] = super().parse_args(ctx, args)
        if not ctx.args or ctx.resilient_parsing:  # while the shell completes a line, nothing is printed
            return rest
        name = self.params[0].name or ""
        given = [str(ctx.params[name]), *ctx.args]
        if any(" " in word for word in given):
            # One of them had its quotation marks: the others are no words of it.
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(ctx.args)})")
        text = " ".join(given)
        quoted = shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
        typer.echo(f"preflight: Put the {name} in quotation marks: {ctx.command_path} {quoted}", err=True)
        raise typer.Exit(2)


@app.command(cls=OneText, epilog='Example: preflight ask "What is the boiling point of water?" --library my-library')
@command
@with_settings(*TURN)
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    thread: Annotated[str | None, typer.Option("--thread", "-t", help="Continue this conversation.")] = None,
    model: ModelOption = None,
    json: JsonOption = False,
    explain: ExplainOption = False,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="One option of a multiple-choice question; repeat.")
    ] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Discard an earlier turn of the thread that was cut off.")
    ] = False,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Answer a question from the library, with citations."""
    from preflight_rag.threads.locks import new_thread_id

    thread_id = new_thread_id("ask") if thread is None else thread
    with _opened(library, model, embedder, settings, threads) as preflight:
        show.model_line(preflight.reader.name)
        try:
            answer = preflight.ask(question, thread_id=thread_id, options=option or (), discard=discard)
        except PreflightError as error:
            raise _with_way_out(error) from None
        _notes(preflight)
    if json:
        show.as_json(answer.model_dump(mode="json"))
    else:
        show.answer(answer, explain=explain)


@contextmanager
def _opened(
    library: LibraryPlace, model: str | None, embedder: str | None, settings: dict[str, Any], threads: str | None = None
) -> Iterator[Preflight]:
    """Open the library; with PubMed, the library need not exist, and is created if a search finds something."""
    if embedder is None and "extractive_reader" not in settings and library.is_there():
        # Before anything else is imported; of a library with another embedder they are loaded in vain.
        from preflight_rag.models.ahead import load_models_ahead

        load_models_ahead()
    from preflight_rag.app import Preflight

    create = bool(settings.get("pubmed"))
    with nothing_left_behind(library):
        if create and not library.is_there():
            typer.echo(f"preflight: there is no library at {library}; what PubMed gives makes one", err=True)
        with Preflight.open(library, model, embedder=embedder, create=create, threads=threads, **settings) as preflight:
            yield preflight


def _with_way_out(error: PreflightError) -> PreflightError:
    """Return the error; if the model failed, with the advice to answer without a language model."""
    from preflight_rag.graph.model_use import is_lost

    if is_lost(error):
        error.help = f"{error.help} Or ask with --model offline, which shows what the documents say.".strip()
    return error


def _notes(preflight: Preflight) -> None:
    """Print the library's notes on standard error."""
    for note in preflight.notes:
        typer.echo(f"note: {note}", err=True)


@app.command(epilog="Example: preflight chat --library my-library --thread trip")
@command
@with_settings(*TURN)
def chat(
    library: LibraryOption = DEFAULT_LIBRARY,
    thread: Annotated[
        str | None, typer.Option("--thread", "-t", help="The conversation to continue, or the name of a new one.")
    ] = None,
    model: ModelOption = None,
    explain: ExplainOption = False,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Hold a conversation in the terminal; /quit, an empty line or Ctrl-D ends it, /help says what can be typed.

    Without --thread it is a new one, which --thread goes on with later; `preflight threads list` names all.

    With --clarify, a question about a name that many things share is answered with a numbered list; reply with a
    number, several numbers, a name, or "all".
    """
    from preflight_rag.threads.locks import new_thread_id

    with _opened(library, model, embedder, settings, threads) as preflight:
        show.model_line(preflight.reader.name)
        _notes(preflight)
        thread_id = new_thread_id("terminal") if thread is None else thread
        _pick_up(preflight, thread_id)
        while question := _next_line():
            if question.startswith("/"):
                if question.lower() in ("/quit", "/exit", "/q"):
                    break
                typer.echo(CHAT_HELP if question.lower() in ("/help", "/?") else _unknown(question), err=True)
                continue
            try:
                _turn(preflight, question, thread_id, explain=explain)
            except ReplyNeeded as asked:
                show.clarification(asked.clarification)
            except PreflightError as error:
                typer.echo(f"preflight: {_with_way_out(error)}", err=True)
        kept = preflight.keeps_threads and bool(preflight.ledger.turns(thread_id))
    if kept:
        again = shlex.join(["preflight", "chat", "--library", library.option, "--thread", thread_id])
        typer.echo(f"preflight: the conversation is kept; go on with: {again}", err=True)


def _unknown(command: str) -> str:
    """Return the message for an unknown command of the chat."""
    return f"There is no {command.split()[0]!r}: /help and /quit are all."


def _next_line() -> str:
    """Return the next line that the user types; "" at the end of the input."""
    try:
        return input("\n> ").strip()
    except EOFError:
        return ""


def _pick_up(preflight: Preflight, thread: str) -> None:
    """Print the thread's state; a turn that was interrupted is finished first."""
    from preflight_rag.state.values import Clarification

    turns = preflight.ledger.turns(thread)
    if turns:
        last = f"{len(turns)} turn{'s' if len(turns) > 1 else ''}, the last question was: {turns[-1].question}"
        typer.echo(f"preflight: going on with thread {thread!r}: {last} (a new one begins without --thread)", err=True)
    else:
        typer.echo(f"preflight: a new conversation, thread {thread!r} (--thread goes on with another)", err=True)
    if turns and turns[-1].status == "asking":
        show.clarification(Clarification.model_validate(turns[-1].clarification))
    if preflight.ledger.unfinished(thread):
        typer.echo("the last turn was cut off; finishing it", err=True)
        show.answer(preflight.resume(thread))


def _turn(preflight: Preflight, question: str, thread: str, *, explain: bool = False) -> None:
    """Run one turn; a terminal renders the answer's Markdown as it arrives, a file or pipe gets it unchanged."""
    from preflight_rag.graph.events import StageEvent, TokenEvent

    with show.streamed_answer() as stream:

        def on_event(event: Any) -> None:
            """Show an event of the turn as it arrives."""
            if isinstance(event, TokenEvent):
                stream.add(event.text)
            elif not explain:
                return
            elif isinstance(event, StageEvent) and event.stage == "preflight":
                decision = event.update["decision"]
                stream.note(f"[{show.way(decision['name'], decision['reason'])}]")
            elif isinstance(event, StageEvent) and event.update.get("escalations"):
                stream.note(f"[{event.update['escalations'][-1]['reason']}]")

        answer = preflight.ask(question, thread_id=thread, on_event=on_event)
        stream.end(answer.answer)
    show.answer(answer, explain=explain, with_text=False)


@app.command(cls=OneText, epilog='Example: preflight search "boiling point" --library my-library --json')
@command
@with_settings(*SEARCH)
def search(
    query: Annotated[str, typer.Argument(help="What to search for.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    json: JsonOption = False,
    embedder: EmbedderOption = None,
    compare_answers: Annotated[
        bool,
        typer.Option(
            "--compare-answers",
            help="Also read the passages, as a turn does, so that the route says whether they answer differently.",
        ),
    ] = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Retrieve only: dense, lexical and fused rankings, and what preflight would do."""
    with _opened(library, "offline", embedder, settings) as preflight:
        found = preflight.search(query, compare_answers=compare_answers)
        passages = preflight.library.passages([hit.passage_id for hit in found.selected])
        _notes(preflight)
    if json:
        show.as_json(found.model_dump(mode="json"))
    else:
        show.search(found, {passage.id: (passage.title, " ".join(passage.text[:70].split())) for passage in passages})
