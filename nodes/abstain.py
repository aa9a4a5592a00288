"""Stage `abstain`: say that the documents do not hold the answer."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from preflight_rag.conversation.follow_ups import is_unresolved
from preflight_rag.conversation.lookups import pointed_lookup
from preflight_rag.corg.choices import left_out_note
from preflight_rag.routing.decision import is_off_topic, unmentioned, unread_note
from preflight_rag.state.context import Context
from preflight_rag.state.reading import Source
from preflight_rag.state.schema import State
from preflight_rag.state.views import Unanswered
from preflight_rag.text.citations import plain
from preflight_rag.text.exact import exact_strings
from preflight_rag.text.headers import NOT_ANSWERED, NOT_IN_DOCUMENTS, NOTHING_FOUND, UNRESOLVED, why_unclaimed
from preflight_rag.text.names import position, surface_names, tokens
from preflight_rag.text.other_things import NO_SUBJECT, subject_words
from preflight_rag.text.words import words

FLOOR = 0.42
"""Least cosine of a passage with the question at which its document is called the nearest one. Set on the questions
that `NEAR` of `offline/answers.py` was set on, of which one in ten about the articles lies below it; for the default
embedder, others give higher ones."""
MOST_BESIDE_TOPIC = 3
"""Words of a question for each of its topics, at most, with which it is about them; a guess."""
_PREPOSITIONS = frozenset(["in", "at", "of", "from", "to", "on", "near", "for", "between", "outside"])
NO_MENTION = "No document that was searched mentions {named}."


async def abstain(state: Unanswered, runtime: Runtime[Context]) -> State:
    """Say that the documents do not answer, and name the partitions that could not be read."""
    question = state.get("standalone_question", "")
    likeness = [ref["cosine"] for ref in state["passage_refs"] if ref.get("cosine")]
    # Below the floor a document is near in nothing but a word or two; where no likeness is known, there is none.
    far = bool(likeness) and max(likeness) < FLOOR
    far = far or is_off_topic(state.get("decision") or {})
    far = far and (state.get("draft") or {}).get("unclaimed") != why_unclaimed("other_words")
    read = far or bool(state["passage_refs"] and exact_strings(question))
    sources = await runtime.context.sources(state["passage_refs"]) if read else []
    strings = unmentioned(question, sources) if sources and exact_strings(question) else ()
    named = " or ".join(f"“{plain(string)}”" for string in strings)
    title = next((ref["title"] for ref in state["passage_refs"] if ref["title"]), "")
    nearest = f" The nearest document is “{plain(title)}”." if title else ""
    text = f"{NOT_ANSWERED}{nearest}" if state["passage_refs"] else NOTHING_FOUND
    if named:
        text = f"{NOT_ANSWERED} {NO_MENTION.format(named=named)}"
    elif far and not _share_words(question, sources) and not _is_titled(question, sources):
        is_mentioned = _mention_name(question, sources) or _mention_topics(question, sources)
        text = NOT_ANSWERED if is_mentioned else NOT_IN_DOCUMENTS
    pointed = pointed_lookup(question)
    if is_unresolved(state.get("question", question), question) or (pointed and not pointed.author):
        text = UNRESOLVED
    text += unread_note(state["extracts"])
    text += left_out_note(state.get("left_out") or [])
    return {
        "answer": text,
        "abstained": True,
        "citations": [],
        "groups": [],
        "options": [],
        "messages": [AIMessage(text)],
    }


def _share_words(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage contains half of the question's words.

    A form or table may be relevant without being similar to a sentence.
    """
    asked = set(words(question))
    return any(2 * len(asked & set(words(f"{source.title} {source.text}"))) >= len(asked) for source in sources)


def _is_titled(question: str, sources: Sequence[Source]) -> bool:
    """Return whether the first passage's document has a word of the question in its title.

    It may answer in other words, so that nothing of this being in the documents would be a guess.
    """
    first = min(sources, key=lambda source: source.n, default=None)
    return first is not None and bool(subject_words(question) & frozenset(words(first.title)))


def _mention_name(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage mentions a name of the question, of which other words may say what is asked.

    A name behind a preposition says where something is, and many things are in Canada.
    """
    asked = tokens(question)
    places = [(name, position(name, asked)) for name in surface_names(question) if name]
    named = [name for name, at in places if at < 1 or asked[at - 1] not in _PREPOSITIONS]
    texts = [tokens(source.text) for source in sources] if named else []
    return any(position(name, text) >= 0 for name in named for text in texts)


def _mention_topics(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage mentions all topics of a question without names: other words may say what is asked.

    "Which firm is mending the roof?" is answered by "the roof: resolved to engage Haldane & Sons".
    """
    # Also a search, which drafts nothing, imports this stage.
    from preflight_rag.offline.confidence import topics_of

    topics = frozenset(words(" ".join(topics_of(question)))) - NO_SUBJECT
    # A topic among many words, "children" of "Which drug treats malaria in children?", is not what is asked about.
    is_most = bool(topics) and MOST_BESIDE_TOPIC * len(topics) >= len(subject_words(question))
    return (
        is_most and not surface_names(question) and any(topics <= frozenset(words(source.text)) for source in sources)
    )
