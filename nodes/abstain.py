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
"""Maximum number of a question's words, for each of its topics, with which it is about these topics; a guess."""
_PREPOSITIONS = frozenset(["in", "at", "of", "from", "to", "on", "near", "for", "between", "outside"])
NO_MENTION = "No document that was searched mentions {named}."


async def abstain(state: Unanswered, runtime: Runtime[Context]) -> State:
    """Say that the documents do not answer, as far as is known why, and name the partitions that could not be read."""
    question, refs = state.get("standalone_question", ""), state["passage_refs"]
    is_far = _is_far(state)
    has_exact_strings = bool(exact_strings(question))
    sources = await runtime.context.sources(refs) if is_far or (refs and has_exact_strings) else []
    strings = unmentioned(question, sources) if sources and has_exact_strings else ()
    quoted_strings = " or ".join(f"“{plain(string)}”" for string in strings)
    title = next((ref["title"] for ref in refs if ref["title"]), "")
    nearest = f" The nearest document is “{plain(title)}”." if title else ""
    text = f"{NOT_ANSWERED}{nearest}" if refs else NOTHING_FOUND
    if quoted_strings:
        text = f"{NOT_ANSWERED} {NO_MENTION.format(named=quoted_strings)}"
    elif is_far and not _share_words(question, sources) and not _is_word_in_title(question, sources):
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


def _is_far(state: Unanswered) -> bool:
    """Return whether no passage found is near to the question: by their cosines, or by the decision on the route.

    False if the draft says that a passage may answer in other words.
    """
    if (state.get("draft") or {}).get("unclaimed") == why_unclaimed("other_words"):
        return False
    # A passage without a cosine, such as one cited before, says nothing of this.
    cosines = [ref["cosine"] for ref in state["passage_refs"] if ref.get("cosine")]
    is_below_floor = bool(cosines) and max(cosines) < FLOOR
    return is_below_floor or is_off_topic(state.get("decision") or {})


def _share_words(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage contains at least half of the question's words.

    A form or table may be relevant without being similar to a sentence.
    """
    question_words = set(words(question))
    for source in sources:
        shared = question_words & set(words(f"{source.title} {source.text}"))
        if 2 * len(shared) >= len(question_words):
            return True
    return False


def _is_word_in_title(question: str, sources: Sequence[Source]) -> bool:
    """Return whether the title of the first passage's document has a word of the question's subject.

    That document may answer in other words, so it would be a guess to say that nothing is in the documents.
    """
    first = min(sources, key=lambda source: source.n, default=None)
    return first is not None and bool(subject_words(question) & frozenset(words(first.title)))


def _mention_name(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage mentions a name of the question, so that it may answer in other words.

    Names behind a preposition do not count: they say where something is, and many things are "in Canada".
    """
    question_tokens = tokens(question)
    names = []
    for name in surface_names(question):
        index = position(name, question_tokens) if name else -1
        is_behind_preposition = index >= 1 and question_tokens[index - 1] in _PREPOSITIONS
        if name and not is_behind_preposition:
            names.append(name)
    texts = [tokens(source.text) for source in sources] if names else []
    return any(position(name, text) >= 0 for name in names for text in texts)


def _mention_topics(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a passage mentions all topics of a question without names, so that it may answer in other words.

    "Which firm is mending the roof?" is answered by "the roof: resolved to engage Haldane & Sons".
    """
    # Also a search, which drafts nothing, imports this stage.
    from preflight_rag.offline.confidence import topics_of

    topics = frozenset(words(" ".join(topics_of(question)))) - NO_SUBJECT
    # A topic among many words, "children" of "Which drug treats malaria in children?", is not what is asked about.
    are_subject = bool(topics) and MOST_BESIDE_TOPIC * len(topics) >= len(subject_words(question))
    if not are_subject or surface_names(question):
        return False
    return any(topics <= frozenset(words(source.text)) for source in sources)
