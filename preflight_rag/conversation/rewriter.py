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
from preflight_rag.conversation.named_places import names_by_place, replace_places
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
        library: The library by whose words spelling is corrected; None corrects nothing.
        reader: The model that may rewrite; None for rules alone.
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
        """Return the rewrite of a message without a conversation before it; a thread of its own runs the event loop."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, self.rewritten(input)).result().value

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> Rewrite:
        """Return the rewrite of a message without a conversation before it."""
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
        if self.reader is not None and await asyncio.to_thread(self._is_for_the_model, message, bool(history)):
            reply = await self.reader.rewrite(message=message, history=history)
            if reply.value.by == "rules" and reply.value.question == message:
                reply = replace(reply, value=await asyncio.to_thread(self._rewrite_by_rules, message, []))
        else:
            earlier = [turn.text for turn in history if turn.role == "user"] if questions is None else questions
            reply = Reply(await asyncio.to_thread(self._rewrite_by_rules, message, earlier, people, year))
        return await asyncio.to_thread(self._with_search_expressions, reply)

    def _is_for_the_model(self, message: str, has_history: bool) -> bool:
        """Return whether the model rewrites a message, rather than the rules."""
        if self.mode != "auto":
            return self.mode == "model"
        if has_history or self.pubmed or subquestions(message):
            return True
        speller = self._speller()
        return speller is not None and bool(speller.suspects(message))

    def _rewrite_by_rules(
        self, message: str, earlier: Sequence[str], people: Sequence[str] = (), year: str = ""
    ) -> Rewrite:
        """Return the rewrite of a message by rules: spelling corrected, standalone, with its search terms.

        The arguments are those of `standalone`.
        """
        # The speller's words are English ones: it would make "warren" of "waren".
        speller = self._speller() if language_of(message) in ("en", UNKNOWN) else None
        spelling = speller.correct(message) if speller else None
        question = standalone(spelling.text if spelling else message, earlier, people, year)
        terms = self._known_terms(question)
        corrections = spelling.corrections if spelling else ()
        rewrite = rewrite_by_rules(question, corrections=corrections, terms=terms, frequency=self._passage_counter())
        return replace(rewrite, terms=tuple(terms))

    def _speller(self) -> Speller | None:
        """Return the spelling correction by the library's words; None if the library does not know them."""
        vocabulary: Vocabulary | None = None
        with suppress(LibraryError):
            vocabulary = self.library.vocabulary if self.library is not None else None
        return Speller(vocabulary) if vocabulary is not None else None

    def _with_search_expressions(self, reply: Reply[Rewrite]) -> Reply[Rewrite]:
        """Return a reply whose rewrite has valid search expressions only, the most specific first.

        Expressions of the model that cannot be parsed are dropped with a note; without any other, the concepts make
        them. The last one is an OR of the core concepts, and MeSH adds its synonyms to each.
        """
        rewrite = reply.value
        readable = [text for text in rewrite.expressions if _can_be_parsed(text)]
        notes = reply.notes if len(readable) == len(rewrite.expressions) else (*reply.notes, UNREADABLE)
        phrases = list(chain.from_iterable(map(quoted_phrases, readable)))
        terms = [*rewrite.terms, *phrases, *self._known_terms("; ".join(rewrite.concepts))]
        if readable:
            specific_first = relaxed(readable, rewrite.concepts, terms)
        else:
            specific_first = expressions(rewrite.concepts, terms=terms)
        if self._open_mesh is not None:
            specific_first = tuple(expand(text, self._open_mesh.alternatives) for text in specific_first)
        return replace(reply, value=replace(rewrite, expressions=specific_first), notes=notes)

    @cached_property
    def _open_mesh(self) -> Mesh | None:
        """Return MeSH, which is opened if `mesh` is a path; None if MeSH is not used."""
        if self.mesh is None:
            return None
        from preflight_rag.pubmed.mesh import Mesh

        return self.mesh if isinstance(self.mesh, Mesh) else Mesh.open(self.mesh)

    def _known_terms(self, text: str) -> list[str]:
        """Return the parts of a text that MeSH lists as one term; [] if MeSH is not used."""
        return [] if self._open_mesh is None else self._open_mesh.stretches(text)

    def _passage_counter(self) -> Frequency | None:
        """Return a function that counts the passages that match a search expression; None if the library cannot.

        The function returns 0 for an expression that cannot be searched for.
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


def _can_be_parsed(expression: str) -> bool:
    """Return whether a search expression can be parsed."""
    try:
        parse(expression)
    except UsageError:
        return False
    return True


def _understood_questions(messages: Sequence[Message], last_answer: EarlierState | None) -> list[str]:
    """Return the questions of a conversation to which a message may refer, oldest first.

    Left out are small talk, references such as "the second source", and questions that were not understood, since they
    would be built into the next one. In place of the last question stands the standalone question that was answered, if
    it is a single one: what its pronouns meant is known by then.
    """
    questions: list[str] = []
    last_reply = ""
    for index, message in enumerate(messages):
        if message.role != "user" or recognise_talk(message.text) is not None:
            continue
        following = messages[index + 1] if index + 1 < len(messages) else None
        reply = following.text if following is not None and following.role == "assistant" else ""
        if not reply.startswith(UNRESOLVED):
            questions.append(message.text)
            last_reply = reply
    if last_answer and questions:
        is_single = last_answer["question"] != "" and "? " not in last_answer["question"]
        # "And the second source?" means nothing without the answer before it, whose question stands for it.
        if names_by_place(questions[-1]) or (is_single and last_answer["answer"] == last_reply):
            questions[-1] = last_answer["question"]
    return [question for question in questions if not names_by_place(question)]


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
    """Return the rewrite of a message as a standalone question, and the ids of the documents that the message names.

    A message names documents by file, or as sources of the last answer: "the second source".

    Args:
        question: The message.
        history: The conversation before it, oldest first.
        condensed: The summary of its older part.
        known: The last answer from the documents, to which the message may refer.
        library: The library; spelling is corrected by its words.
        reader: The model that may rewrite the message.
        settings: `rewrite`, `mesh` and `pubmed` are used.
    """
    earlier, (summary, recent) = earlier_answer(known), summary_and_rest(history, condensed)
    message, source_numbers, file_ids = question, tuple[int, ...](), list[str]()
    if settings.rewrite != "off":
        message, source_numbers = replace_places(without_courtesy(question), earlier)
        message, file_ids = await asyncio.to_thread(resolve_file, message, library)
    context = [*([Message("summary", summary)] if summary else []), *(past.message for past in recent)]
    rewriter = QueryRewriter(library, reader=reader, mode=settings.rewrite, mesh=settings.mesh, pubmed=settings.pubmed)
    reply = await rewriter.rewritten(
        message,
        [*context, *(sources_note(earlier) if context else [])],
        _understood_questions([past.message for past in history], known),
        people_in_last_answer(earlier),
        year_of_last_answer(earlier),
    )
    documents = {citation["n"]: citation["document_id"] for citation in known["citations"]} if known else {}
    source_ids = [documents[number] for number in source_numbers if documents.get(number)]
    return reply, file_ids or source_ids
