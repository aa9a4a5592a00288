"""`QueryRewriter`: prepares a question for search, with or without a language model (CPQA, section III.B)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable, RunnableConfig

from preflight_rag.conversation.follow_ups import people_in_last_answer, standalone
from preflight_rag.conversation.history import PastMessage, sources_note, summary_and_rest
from preflight_rag.conversation.intents import recognise_talk, without_courtesy
from preflight_rag.conversation.named_files import resolve_file
from preflight_rag.conversation.named_places import names_by_place, resolve_places
from preflight_rag.conversation.relative_years import year_of_last_answer
from preflight_rag.conversation.small_talk import earlier_answer
from preflight_rag.library.collection import BooleanSearch
from preflight_rag.library.search.spelling import Speller
from preflight_rag.state.errors import LibraryError, UsageError
from preflight_rag.state.reading import Message, Reply, Rewrite
from preflight_rag.text.boolean import expand, parse, quoted_phrases
from preflight_rag.text.concepts import Frequency, expressions, relaxed, rewrite_by_rules, subquestions
from preflight_rag.text.headers import UNRESOLVED
from preflight_rag.text.languages import UNKNOWN, language_of

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.index.vocabulary import Vocabulary
    from preflight_rag.models.protocol import Reader
    from preflight_rag.pubmed.mesh import Mesh
    from preflight_rag.state.context import RewriteMode, Settings
    from preflight_rag.state.schema import CondensedState, EarlierState

UNREADABLE = "a search expression of the model could not be read and was left out"


class QueryRewriter(Runnable[str, Rewrite]):
    """Turns a message and the conversation before it into a question, its parts, concepts and search expressions.

    Args:
        library: Whose words spelling is corrected by; without them nothing is corrected.
        reader: What may be asked to rewrite; None for rules alone.
        mode: "off" leaves the message as it is, "rules" and "model" say who rewrites, and "auto" asks the model where
            there is a conversation, an unknown word, more than one part, or PubMed to be searched.
        mesh: A MeSH file, open or as a path, whose synonyms and headings join the expressions' terms.
        pubmed: Whether the expressions are for PubMed too.
    """

    def __init__(
        self,
        library: Collection | None = None,
        *,
        reader: Reader | None = None,
        mode: RewriteMode = "auto",
        mesh: Mesh | str | None = None,
        pubmed: bool = False,
    ) -> None:
        if mode not in {"off", "rules", "model", "auto"}:
            raise UsageError(f"rewrite mode {mode!r} is unknown", help="Choose auto, model, rules or off.")
        self.library = library
        self.reader = None if reader is None or reader.by_rule else reader
        self.mode = mode
        self.mesh = mesh
        self.pubmed = pubmed

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> Rewrite:
        """Return the rewrite of a message that has no conversation before it."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, self.rewritten(input)).result().value

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> Rewrite:
        """Return the rewrite as `invoke` does, asynchronously."""
        return (await self.rewritten(input)).value

    async def rewritten(
        self,
        message: str,
        history: Sequence[Message] = (),
        questions: Sequence[str] | None = None,
        people: Sequence[str] = (),
        year: str = "",
    ) -> Reply[Rewrite]:
        """Return the rewrite of a message, with its cost and the assumptions made.

        Args:
            message: The user's message.
            history: The conversation before it, for a model.
            questions: The questions before it, for the rules; None for those of the history.
            people: The people named in the last answer, for the rules.
            year: The year of which the last answer speaks, for the rules.

        Raises:
            UsageError: There is no MeSH file at the path.
            ModelError: The model cannot be reached.
        """
        if self.mode == "off":
            return Reply(Rewrite(message))
        if self.reader is not None and await asyncio.to_thread(self._asks_the_model, message, bool(history)):
            reply = await self.reader.rewrite(message=message, history=history)
            if reply.value.by == "rules" and reply.value.question == message:
                reply = replace(reply, value=await asyncio.to_thread(self._by_rules, message, []))
        else:
            earlier = [turn.text for turn in history if turn.role == "user"] if questions is None else questions
            reply = Reply(await asyncio.to_thread(self._by_rules, message, earlier, people, year))
        return await asyncio.to_thread(self._searchable, reply)

    def _asks_the_model(self, message: str, follows: bool) -> bool:
        """Return whether the model rewrites the message, rather than the rules."""
        if self.mode != "auto":
            return self.mode == "model"
        if follows or self.pubmed or subquestions(message):
            return True
        speller = self._speller()
        return speller is not None and bool(speller.suspects(message))

    def _by_rules(self, message: str, earlier: Sequence[str], people: Sequence[str] = (), year: str = "") -> Rewrite:
        # The speller's words are English ones: it would make "warren" of "waren".
        """Return the rewrite of a message by rules, without a model."""
        speller = self._speller() if language_of(message) in ("en", UNKNOWN) else None
        spelled = speller.correct(message) if speller else None
        question = standalone(spelled.text if spelled else message, earlier, people, year)
        known = self._known_terms(question)
        made = rewrite_by_rules(
            question,
            corrections=spelled.corrections if spelled else (),
            terms=known,
            frequency=self._frequency(),
        )
        return replace(made, terms=tuple(known))

    def _speller(self) -> Speller | None:
        """Return the spelling correction by the library's words; None if the library does not know them."""
        vocabulary: Vocabulary | None = None
        with suppress(LibraryError):
            vocabulary = self.library.vocabulary if self.library is not None else None
        return Speller(vocabulary) if vocabulary is not None else None

    def _searchable(self, reply: Reply[Rewrite]) -> Reply[Rewrite]:
        """Return the rewrite with valid search expressions: MeSH's terms added, an OR of the core concepts last."""
        made = reply.value
        readable = [text for text in made.expressions if _reads(text)]
        notes = reply.notes if len(readable) == len(made.expressions) else (*reply.notes, UNREADABLE)
        phrases = list(chain.from_iterable(map(quoted_phrases, readable)))
        terms = [*made.terms, *phrases, *self._known_terms("; ".join(made.concepts))]
        ladder = relaxed(readable, made.concepts, terms) if readable else expressions(made.concepts, terms=terms)
        if self._open_mesh is not None:
            ladder = tuple(expand(text, self._open_mesh.alternatives) for text in ladder)
        return replace(reply, value=replace(made, expressions=ladder), notes=notes)

    @cached_property
    def _open_mesh(self) -> Mesh | None:
        """Return MeSH, opened if it was given by name; None if it is not used."""
        if self.mesh is None:
            return None
        from preflight_rag.pubmed.mesh import Mesh

        return self.mesh if isinstance(self.mesh, Mesh) else Mesh.open(self.mesh)

    def _known_terms(self, text: str) -> list[str]:
        """Return the parts of a text that MeSH lists as one term; none where MeSH is not loaded."""
        return [] if self._open_mesh is None else self._open_mesh.stretches(text)

    def _frequency(self) -> Frequency | None:
        """Return the function from an expression to the number of matching passages.

        None where the library cannot count.
        """
        library = self.library
        if not isinstance(library, BooleanSearch):
            return None

        def count(expression: str) -> int:
            """Return the number of passages that match an expression."""
            with suppress(LibraryError, UsageError):
                return library.match(expression, 1)[1]
            return 0

        return count


def _reads(expression: str) -> bool:
    """Return whether a search expression can be parsed."""
    try:
        parse(expression)
    except UsageError:
        return False
    return True


def _understood_questions(messages: Sequence[Message], known: EarlierState | None) -> list[str]:
    """Return the questions of a conversation to which a message may refer, oldest first, without small talk.

    A question that was not understood is left out, since the next one would be made of it. The last one is the
    question that was answered, where this is a single one: what its pronouns meant is known by then.
    """
    asked: list[str] = []
    last = ""
    for at, message in enumerate(messages):
        if message.role != "user" or recognise_talk(message.text) is not None:
            continue
        after = messages[at + 1] if at + 1 < len(messages) else None
        reply = after.text if after is not None and after.role == "assistant" else ""
        if not reply.startswith(UNRESOLVED):
            asked.append(message.text)
            last = reply
    # "And the second source?" means nothing without the answer before it, whose question stands for it.
    if known and asked:
        is_single = known["answer"] == last and known["question"] != "" and "? " not in known["question"]
        if names_by_place(asked[-1]) or is_single:
            asked[-1] = known["question"]
    return [text for text in asked if not names_by_place(text)]


async def standalone_question(
    question: str,
    history: Sequence[PastMessage],
    condensed: CondensedState,
    known: EarlierState | None,
    *,
    library: Collection | None,
    reader: Reader | None,
    settings: Settings,
) -> tuple[Reply[Rewrite], list[str]]:
    """Return a message as a standalone question, and the ids of the documents that the message names.

    A message names documents by file, or as sources of the last answer.

    Args:
        question: The message.
        history: The conversation before it, oldest first.
        condensed: The summary of its older part.
        known: The last answer from the documents, to which the message may refer.
        library: The library; spelling is corrected by its words.
        reader: The model that may rewrite the message.
        settings: `rewrite`, `mesh` and `pubmed` are used.
    """
    earlier, (summary, rest) = earlier_answer(known), summary_and_rest(history, condensed)
    message, named = (
        resolve_places(without_courtesy(question), earlier) if settings.rewrite != "off" else (question, ())
    )
    message, files = await asyncio.to_thread(resolve_file, message, library if settings.rewrite != "off" else None)
    read = [*([Message("summary", summary)] if summary else []), *(past.message for past in rest)]
    rewriter = QueryRewriter(library, reader=reader, mode=settings.rewrite, mesh=settings.mesh, pubmed=settings.pubmed)
    questions = _understood_questions([past.message for past in history], known)
    reply = await rewriter.rewritten(
        message,
        [*read, *(sources_note(earlier) if read else [])],
        questions,
        people_in_last_answer(earlier),
        year_of_last_answer(earlier),
    )
    documents = {citation["n"]: citation["document_id"] for citation in known["citations"]} if known else {}
    return reply, files or [documents[n] for n in named if documents.get(n)]
