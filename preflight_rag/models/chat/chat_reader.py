"""`ChatReader`: a chat model behind the `Reader` protocol, with each stage's prompt and the parsing of its reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from preflight_rag.models.chat.context_window import ContextWindow
from preflight_rag.models.chat.model_calls import ModelCalls, ReceivedReply
from preflight_rag.models.chat.runnables import AnyModel, name_of
from preflight_rag.models.protocol import PROMPT_TOKENS, TAG_TOKENS
from preflight_rag.prompts import (
    answer_group,
    answer_json,
    answer_plain,
    condense,
    converse,
    map_context,
    reduce_context,
    relate_contexts,
    rewrite,
    summarize,
)
from preflight_rag.prompts.leaks import NOTHING_ELSE, without_leaks
from preflight_rag.prompts.replies import LINE_TOKENS, choices_line, match_option, without_cut_end
from preflight_rag.state.context import ReplyForm
from preflight_rag.state.errors import ContextOverflow, ModelError, ReadsTooSlowly
from preflight_rag.state.reading import (
    ContextNote,
    Draft,
    Earlier,
    Extract,
    Message,
    RelationReply,
    Reply,
    Rewrite,
    Source,
    Talk,
)
from preflight_rag.state.values import Speed, Usage
from preflight_rag.text.citations import MARK
from preflight_rag.text.concepts import expressions, rewrite_by_rules
from preflight_rag.text.condense import condense as condense_by_rule
from preflight_rag.text.inert import inert
from preflight_rag.text.plural import plural_question
from preflight_rag.text.survival import corrections, lost, strays

if TYPE_CHECKING:
    from preflight_rag.models.budget import Budget
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader

G = TypeVar("G", Source, Extract)
V = TypeVar("V")
DEFAULT_FORM: ReplyForm = "schema"
"""Default format of extracts and relations, and of answers of a model that cites nothing in an answer as text. It was
better with small models (docs/RESULTS.md); larger ones cite, and format as requested."""


class ChatReader:
    """Any LangChain chat model, or Runnable from messages to a message, as a reader.

    Function calling is not needed.

    Args:
        chat_model: The model, possibly wrapped by `with_retry`, `with_fallbacks`, `bind` and the like.
        name: The model's name in receipts.
        deadline: Timeout of one call in seconds, retries and streaming included.
        context_window: Tokens that the model reads and writes in one call; None: as its server says.
        form: The format in which extracts and relations are requested (setting `reply_form`).
    """

    by_rule = False
    extractive: ExtractiveReader | None = None

    def __init__(
        self,
        chat_model: AnyModel,
        *,
        name: str | None = None,
        deadline: float = 120.0,
        context_window: int | None = None,
        form: ReplyForm = "auto",
    ) -> None:
        self.name = name or name_of(chat_model)
        self.window = ContextWindow(chat_model, context_window)
        self._calls = ModelCalls(chat_model, name=self.name, deadline=deadline)
        self._instructions = ""
        self._form = form

    @property
    def chat_model(self) -> AnyModel:
        """The LangChain chat model that is called."""
        return self._calls.chat_model

    async def aclose(self) -> None:
        """Close the connections that were opened on the running event loop."""
        await self._calls.aclose()

    def limited(self, budget: Budget) -> ChatReader:
        """Return the same reader with its calls counted against, and ended by, a budget."""
        return self._with_calls(self._calls.limited(budget))

    def takes_option(self, name: str) -> bool:
        """Return whether a sampling option reaches the model."""
        return self._calls.takes_option(name)

    def sampled(self, options: Mapping[str, Any]) -> ChatReader:
        """Return the same reader with those sampling options set that its model accepts, such as `temperature`."""
        return self._with_calls(self._calls.sampled(options))

    def instructed(self, instructions: str) -> ChatReader:
        """Return the same reader with these instructions on how to write in its answering prompts."""
        reader = copy(self)
        reader._instructions = instructions
        return reader

    async def complete(self, messages: Sequence[BaseMessage], *, limit: int | None = None) -> tuple[str, Usage]:
        """Return the model's unparsed reply, of at most `limit` tokens, to a caller's own messages, and its cost.

        Raises:
            ModelError: There is no complete reply.
        """
        return await self._call([*messages], limit, guarded=False)

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """Return the message rewritten by the model as a question for search; missing parts are filled in by rule.

        An unreadable reply is requested once more. The message is rewritten by rule alone, with a note, if the second
        reply is unreadable, too, or if the model lost a number, a code or a negation, added links or markup (as a
        document may have told it to), or changed the meaning of a message without history.
        """
        prompt = rewrite.render(message=message, history=history)
        received = await self._calls.ask(prompt, limit=rewrite.reply_tokens(message), whole=False)
        text, usage = received.text, received.usage
        rewritten = rewrite.parse(without_cut_end(text) if received.cut else text)
        if rewritten is None:
            repair = self._repair(prompt, text, rewrite.REPAIR, rewrite.repair_tokens(message))
            text, repair_usage = await _add_usage_to_error(usage, repair)
            usage, rewritten = usage + repair_usage, rewrite.parse(text)
        problem = _rewrite_problem(rewritten, message, history)
        if rewritten is None or problem:
            note = f"the model's rewrite {problem}; the message was searched as it is"
            return Reply(rewrite_by_rules(message), usage, (note,))
        return Reply(_complete_by_rules(rewritten, message), usage)

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return the model's answer from all sources, or from the first ones if all are too long for the model."""

        async def ask(selected: Sequence[Source]) -> Reply[Draft]:
            """Ask the model for an answer from the selected sources."""
            schema = answer_json.schema(selected) if self._answers_by_schema() and not options else None
            as_json, instructions = schema is not None, self._instructions
            prompt = answer_plain.render(
                question=question, sources=selected, options=options, instructions=instructions, as_json=as_json
            )
            limit, divisible = answer_plain.reply_tokens(len(selected)), len(selected) > 1
            return await self._draft(prompt, options, limit, divisible=divisible, schema=schema, counted=not options)

        return await self._ask_within_limits(sources, ask)

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """Return the evidence in one partition of the sources, and the answer from this partition alone."""

        async def ask(selected: Sequence[Source]) -> Reply[Extract]:
            """Ask the model for the evidence in the selected sources."""
            schema = map_context.schema([source.n for source in selected]) if self._extracts_by_schema() else None
            as_json = schema is not None
            prompt = map_context.render(question=question, sources=selected, options=options, as_json=as_json)
            limit = map_context.reply_tokens(len(selected))
            divisible = len(selected) > 1
            received = await self._calls.ask(prompt, limit=limit, whole=False, schema=schema, divisible=divisible)
            text = _without_cut_part(received)
            return Reply(map_context.parse(text, options), received.usage, received.notes)

        return await self._ask_within_limits(sources, ask)

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return one answer from the partitions' extracts; if the model quotes nothing, with the extracts' quotes."""

        async def ask(selected: Sequence[Extract]) -> Reply[Draft]:
            """Ask the model for an answer from the selected extracts."""
            prompt = reduce_context.render(
                question=question, extracts=selected, options=options, instructions=self._instructions
            )
            return await self._draft(prompt, options, reduce_context.reply_tokens(), divisible=len(selected) > 1)

        reply = await self._ask_within_limits(extracts, ask)
        draft = reduce_context.extract_dispute(reply.value)
        quotes = draft.quotes or tuple(chain.from_iterable(extract.quotes for extract in extracts))
        return Reply(replace(draft, quotes=quotes), reply.usage, reply.notes)

    async def relate(
        self, *, question: str, pivot: Source, others: Sequence[Source], printed: bool = False
    ) -> Reply[RelationReply]:
        """Return how the pivot relates to each other context, and notes on the contexts, by the sources' numbers.

        Relations that the reply leaves out are requested once more, together; those still missing are left out. Notes
        that repeat the prompt are dropped. With `printed`, the prompt is that of COrg's Figure 9.
        """
        contexts = [pivot, *others]
        schema = relate_contexts.schema(len(contexts)) if self._extracts_by_schema() and not printed else None
        as_json = schema is not None
        prompt = relate_contexts.render(question=question, contexts=contexts, printed=printed, as_json=as_json)
        # A model may copy the example's lines; only its notes are shown to users, and these are checked below.
        limit = relate_contexts.reply_tokens(len(contexts))
        received = await self._calls.ask(prompt, limit=limit, guarded=False, whole=False, schema=schema, divisible=True)
        text, usage = received.text, received.usage
        reply = relate_contexts.parse(_without_cut_part(received), len(contexts))
        missing = [n for n in range(2, len(contexts) + 1) if n not in reply.kinds]
        if missing and not received.cut:  # a model that did not stop would not stop the second time either
            limit = relate_contexts.repair_tokens(missing)
            try:
                instruction = relate_contexts.repair(missing, printed=printed)
                text, repair_usage = await self._repair(prompt, text, instruction, limit)
            except ModelError as error:
                repair_usage = Usage.of_failed(error.spent)
            else:
                repaired = relate_contexts.parse(text, len(contexts))
                reply = RelationReply(repaired.kinds | reply.kinds, repaired.notes | reply.notes)
            usage = usage + repair_usage
        # The prompt numbers the contexts from 1; the caller knows them by their sources' numbers.
        source_number = {n: source.n for n, source in enumerate(contexts, 1)}
        kinds = {source_number[n]: kind for n, kind in reply.kinds.items()}
        notes = {
            source_number[n]: replace(note, rank=source_number[n])
            for n, note in reply.notes.items()
            if not _repeats_prompt(note, prompt)
        }
        return Reply(RelationReply(kinds, notes), usage, received.notes)

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """Return one answer for each entity of the group's contexts.

        With `plural` and more than one context, the question in the prompt is in the plural.
        """
        plural_usage = Usage()
        if plural and len(sources) > 1:
            question, plural_usage = await self.plural(question)

        async def ask(selected: Sequence[Source]) -> Reply[Draft]:
            """Ask the model for an answer from the selected contexts."""
            schema = answer_json.schema(selected) if self._answers_by_schema() else None
            prompt = answer_group.render(
                question=question, sources=selected, instructions=self._instructions, as_json=schema is not None
            )
            limit = answer_group.reply_tokens(len(selected))
            received = await self._calls.ask(prompt, limit=limit, divisible=len(selected) > 1, schema=schema)
            return Reply(answer_group.parse(received.text), received.usage, received.notes)

        reply = await _add_usage_to_error(plural_usage, self._ask_within_limits(sources, ask))
        return Reply(reply.value, plural_usage + reply.usage, reply.notes)

    async def plural(self, question: str, *, by_rule: bool = True) -> tuple[str, Usage]:
        """Return the question in the plural, made by a rule (unless told otherwise), else by the model, and the cost.

        The question itself is returned if the call fails, or the model lost a number, a code or a negation.
        """
        if by_rule and (plural_by_rule := plural_question(question)):
            return plural_by_rule, Usage()
        try:
            prompt = answer_group.render_plural(question=question)
            text, usage = await self._call(prompt, answer_group.plural_tokens(question))
        except ModelError as error:
            return question, Usage.of_failed(error.spent)
        plural_by_model = answer_group.parse_plural(text)
        if not plural_by_model or lost(question, plural_by_model):
            return question, usage
        return plural_by_model, usage

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """Return one summary of a document's sentences, or of its parts' summaries, with their quotes."""
        prompt = summarize.render(title=title, sections=sections, parts=parts, instructions=self._instructions)
        received = await self._calls.ask(prompt, limit=summarize.reply_tokens(sections, parts))
        draft = summarize.parse(received.text)
        quotes = draft.quotes or tuple(chain.from_iterable(part.quotes for part in parts))
        return Reply(replace(draft, quotes=quotes), received.usage, received.notes)

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """Return the model's reply to a message not about the documents; it may cite the last answer's sources."""
        prompt = converse.render(
            message=message, history=history, sources=earlier.sources, instructions=self._instructions
        )
        received = await self._calls.ask(prompt, limit=converse.reply_tokens())
        return Reply(converse.parse(received.text or NOTHING_ELSE), received.usage, received.notes)

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Return the model's summary of a conversation; if it is too long, one made by rule, with a note."""
        text, usage = await self._call(condense.render(summary=summary, messages=messages), condense.REPLY_TOKENS)
        condensed = condense.parse(text)
        if condensed is None:
            note = "the model's summary was too long; it was made by rule"
            return Reply(condense_by_rule(summary, messages), usage, (note,))
        return Reply(condensed, usage)

    def context_window(self) -> int | None:
        """Return the tokens that the model reads and writes in one call, or None if unknown."""
        return self.window.tokens()

    def speed(self) -> Speed | None:
        """Return how fast the model reads and writes on this machine, if that was measured."""
        return self._calls.speed()

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text, estimated (about four characters each)."""
        return count_tokens_approximately([HumanMessage(text)])

    async def _draft(
        self,
        prompt: list[BaseMessage],
        options: Sequence[str],
        limit: int,
        *,
        divisible: bool,
        schema: Mapping[str, Any] | None = None,
        counted: bool = False,
    ) -> Reply[Draft]:
        """Return the model's answer with its quotes and its choice among the options.

        If the answer names no option, the model is asked for one once more; if that fails, a note says so. With
        `counted`, it is recorded whether an answer as text cites passages.
        """
        received = await self._calls.ask(prompt, limit=limit, divisible=divisible, schema=schema)
        draft = answer_plain.parse(received.text, options)
        if counted and schema is None and draft.found:
            self._calls.answered(cited=bool(draft.quotes or MARK.search(draft.text)))
        if not options or draft.choice or not draft.found:
            return Reply(draft, received.usage, received.notes)
        instruction = f"Which option is it? Reply with one letter of {choices_line(options)} and nothing else."
        try:
            text, repair_usage = await self._repair(prompt, received.text, instruction, LINE_TOKENS)
        except ModelError as error:  # the answer is kept without a choice
            text, repair_usage = "", Usage.of_failed(error.spent)
        choice = match_option(text, options)
        notes = received.notes if choice else (*received.notes, "the reply names none of the options")
        return Reply(Draft(draft.text, draft.quotes, True, choice), received.usage + repair_usage, notes)

    def _extracts_by_schema(self) -> bool:
        """Return whether extracts and relations are requested as JSON by a schema."""
        form = DEFAULT_FORM if self._form == "auto" else self._form
        return form == "schema" and self._calls.wants_schema()

    def _answers_by_schema(self) -> bool:
        """Return whether answers and their quotes are requested as JSON by a schema.

        Unless the setting says it, only of a model that has cited nothing in its answers as text.
        """
        default = "text" if self._calls.cites else DEFAULT_FORM
        form = default if self._form == "auto" else self._form
        return form == "schema" and self._calls.wants_schema()

    async def _repair(self, prompt: list[BaseMessage], reply: str, instruction: str, limit: int) -> tuple[str, Usage]:
        """Ask the model to repair its reply to a prompt, as the instruction says; return the new text and its cost."""
        return await self._call([*prompt, AIMessage(reply), HumanMessage(instruction)], limit)

    async def _call(
        self, prompt: list[BaseMessage], limit: int | None = None, *, guarded: bool = True
    ) -> tuple[str, Usage]:
        """Call the model and return the text of its complete reply, and the cost; see `ModelCalls.ask`."""
        received = await self._calls.ask(prompt, limit=limit, guarded=guarded)
        return received.text, received.usage

    async def _ask_within_limits(
        self, items: Sequence[G], ask: Callable[[Sequence[G]], Awaitable[Reply[V]]]
    ) -> Reply[V]:
        """Return the model's reply on the items; if all are too long for one prompt, on the first of them, with a note.

        If their prompt is longer than the context window, only the first half is sent in a second call; if the model
        turns out to read too slowly, as many as it has time for.
        """
        # Passages are ranked by their numbers; extracts stay in the given order.
        ranked = sorted(items, key=lambda item: item.n if isinstance(item, Source) else 0)
        selected, failed_usage, reason, is_halved = ranked, Usage(), "", False
        while True:
            try:
                reply: Reply[V] = await _add_usage_to_error(
                    failed_usage, ask([item for item in items if item in selected])
                )
                break
            except ContextOverflow as error:
                if len(selected) < 2 or is_halved:
                    raise
                count, failed_usage, is_halved = (len(selected) + 1) // 2, Usage.of_failed(error.spent), True
                reason = f"the prompt was too long for {self.name}"
            except ReadsTooSlowly as error:
                if len(selected) < 2:
                    raise
                count, failed_usage = self._count_within(error.room, selected), Usage.of_failed(error.spent)
                reason = f"{self.name} reads slowly here"
            selected = ranked[:count]
        if not reason:
            return reply
        kind = "passages" if isinstance(selected[0], Source) else "parts of the passages"
        note = f"{reason}: it read the first {len(selected)} of {len(items)} {kind}"
        return Reply(reply.value, failed_usage + reply.usage, (note, *reply.notes))

    def _count_within(self, prompt_tokens: int, ranked: Sequence[G]) -> int:
        """Return how many of the ranked items fit into a prompt of that many tokens; at least one, and never all."""
        remaining = prompt_tokens - PROMPT_TOKENS
        for count, item in enumerate(ranked[:-1]):
            remaining -= self.count_tokens(item.text) + TAG_TOKENS
            if remaining < 0:
                return max(count, 1)
        return max(len(ranked) - 1, 1)

    def _with_calls(self, calls: ModelCalls) -> ChatReader:
        """Return a copy of the reader that makes its calls through `calls`."""
        reader = copy(self)
        reader._calls = calls
        return reader


def _without_cut_part(received: ReceivedReply) -> str:
    """Return a reply's text; if the reply was cut off, without its last, incomplete part.

    JSON is returned whole, since its parser itself uses the complete part.
    """
    is_json = received.text.lstrip().startswith("{")
    return without_cut_end(received.text) if received.cut and not is_json else received.text


def _repeats_prompt(note: ContextNote, prompt: Sequence[BaseMessage]) -> bool:
    """Return whether the note on a context repeats the prompt's instructions."""
    text = " ".join(filter(None, (note.entity, note.descriptor, note.answer)))
    return without_leaks(text, prompt) != text


def _rewrite_problem(rewritten: Rewrite | None, message: str, history: Sequence[Message]) -> str:
    """Return why a model's rewrite cannot replace the message, as the end of a sentence; "" if it can.

    For example "lost 2019", if the message has the number 2019 and the rewritten question does not.
    """
    if rewritten is None:
        return "could not be read"
    if missing := lost(message, rewritten.question):
        return f"lost {', '.join(missing)}"
    texts = (rewritten.question, *rewritten.subquestions, *rewritten.concepts, *rewritten.expressions)
    if message == inert(message) and any(text != inert(text) for text in texts):
        return "held a link or markup"
    # With a history, other words than the message's may come from it.
    return "is about something else" if not history and strays(message, rewritten.question) else ""


def _complete_by_rules(rewritten: Rewrite, message: str) -> Rewrite:
    """Return a model's rewrite with its missing parts filled in by rule, and the corrections of spelling in it."""
    by_rules = rewrite_by_rules(rewritten.question)
    concepts = rewritten.concepts or by_rules.concepts
    return replace(
        rewritten,
        subquestions=rewritten.subquestions or by_rules.subquestions,
        concepts=concepts,
        expressions=rewritten.expressions or expressions(concepts, terms=rewritten.terms),
        corrections=corrections(message, rewritten.question),
    )


async def _add_usage_to_error(previous: Usage, call: Awaitable[V]) -> V:
    """Return the result of a call; if the call fails, add the cost of the previous calls to its error."""
    try:
        return await call
    except ModelError as error:
        error.spent = (previous + Usage.of_failed(error.spent)).model_dump()
        raise
