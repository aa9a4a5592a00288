"""Replies to small talk without a language model: fixed sentences, or the conversation's own words."""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.conversation.history import UNANSWERED
from preflight_rag.conversation.intents import recognise_talk
from preflight_rag.state.reading import Draft, Earlier, Message, Source, Talk
from preflight_rag.state.schema import EarlierState
from preflight_rag.state.values import Citation, Group, file_name
from preflight_rag.text.citations import MARK, MARKS, labelled, without_marks
from preflight_rag.text.condense import beginning
from preflight_rag.text.page_names import page_name
from preflight_rag.text.sentences import sentence_spans

QUOTED = ("source", "sources", "asked", "questions", "repeat")
"""Kinds of talk that are replied to with the conversation's own words, whatever the reader."""
NO_ANSWER = "Nothing has been answered yet in this conversation. Ask a question about the documents."
NO_QUESTION = "Nothing has been asked yet in this conversation."
NO_SOURCES = "The last answer cites no source."
SMALL_TALK = {
    "greeting": "Hello! Ask me anything about the documents in this library.",
    "thanks": "You're welcome.",
    "goodbye": "Goodbye. The conversation is kept, so you can go on with it at any time.",
    "wellbeing": "I'm ready. Ask me anything about the documents in this library.",
    "assent": "Good. Ask on whenever you like.",
    "identity": "I am Preflight RAG: I answer questions from the documents of this library and show where it says so.",
    "abilities": (
        "Ask a question and I answer it from the documents of this library, with the sources. You can ask on "
        '("and in children?"), look at a source ("show me the second source"), or have the conversation summed up.'
    ),
    "other": "That asks nothing of the documents. Ask me a question about them.",
}
_NO_MODEL = "Without a language model I can only repeat it:\n\n"
QUESTION_CHARACTERS, ANSWER_CHARACTERS, GROUP_ANSWER_CHARACTERS = 300, 240, 120
"""Characters of the beginning of a question, an answer and one of several answers in a list; guesses."""
LEAST_GROUP_CHARACTERS = 40
"""Characters of the beginning of one of several answers by which its line is found; a guess."""


def talk_reply(talk: Talk, history: Sequence[Message], earlier: Earlier) -> Draft:
    """Return the reply to small talk; its marks `[n]` are the numbers of the last answer's sources.

    Args:
        talk: The intent of the message.
        history: The conversation before it, oldest first.
        earlier: The last answer from the documents.
    """
    if talk.kind in SMALL_TALK:
        return Draft(SMALL_TALK[talk.kind])
    if talk.kind in ("asked", "questions"):
        return Draft(_show_questions(talk, history))
    if talk.kind == "summary":
        return Draft(_summarise(history))
    if not earlier.answer:
        return Draft(NO_ANSWER)
    quotes = tuple((source.n, source.text) for source in earlier.sources)
    if talk.kind in ("source", "sources"):
        return Draft(_show_sources(talk.numbers, earlier.sources), quotes)
    if talk.kind == "shorter":
        return Draft(_shorten(earlier), quotes)
    return Draft(f"{_NO_MODEL if talk.kind == 'restyle' else ''}{earlier.answer}", quotes)


def _show_sources(numbers: Sequence[int], sources: Sequence[Source]) -> str:
    """Return the sources with some numbers, or all without numbers, each as a line with its quote.

    The number -1 stands for the last source. A last line names the numbers of which there is no source.
    """
    if not sources:
        return NO_SOURCES
    by_number = {source.n: source for source in sources}
    requested = [sources[-1].n if n == -1 else n for n in numbers] or list(by_number)
    lines = [_show_source(by_number[n]) for n in dict.fromkeys(requested) if n in by_number]
    missing = [str(n) for n in requested if n not in by_number]
    if missing:
        count = f"{len(sources)} source{'' if len(sources) == 1 else 's'}"
        lines.append(f"There is no source {' or '.join(missing)}: the last answer cites {count}.")
    return "\n\n".join(lines)


def _show_source(source: Source) -> str:
    """Return one source as a line: its number, title, file, date and quote."""
    details = ", ".join(part for part in (source.source, source.date) if part)
    in_parentheses = f" ({details})" if details else ""
    quote = without_marks(" ".join(source.text.split()))
    return f'**Source {source.n}: {source.title or source.passage_id}**{in_parentheses}: "{quote}" [{source.n}]'


def _show_questions(talk: Talk, history: Sequence[Message]) -> str:
    """Return the reply to "what did I ask?": the question with the number asked for, the last one, or a list of all.

    Small talk does not count as a question.
    """
    questions = [turn.text for turn in history if turn.role == "user" and recognise_talk(turn.text) is None]
    if not questions:
        return NO_QUESTION
    if talk.kind == "questions":
        return "\n".join(
            ["You asked:", *(f"{n}. {beginning(text, QUESTION_CHARACTERS)}" for n, text in enumerate(questions, 1))]
        )
    number = talk.numbers[0] if talk.numbers else -1  # -1 stands for the last question
    if number > len(questions):
        return f"You have asked {len(questions)} questions so far, so there is no question {number}."
    which = "last" if number == -1 else {1: "first"}.get(number, f"as question {number}")
    question = questions[number - 1] if number > 0 else questions[-1]
    return f'You asked {which}: "{without_marks(question)}"'


def _summarise(history: Sequence[Message]) -> str:
    """Return a numbered list of the questions, each with the beginning of its answer; small talk is left out."""
    lines: list[str] = []
    follows_question = False
    for turn in history:
        if turn.role == "user":
            follows_question = recognise_talk(turn.text) is None
            if follows_question:
                lines.append(f"{len(lines) + 1}. {beginning(turn.text, QUESTION_CHARACTERS)}")
        elif turn.role == "assistant" and follows_question and turn.text != UNANSWERED:
            lines[-1] += f" - {beginning(turn.text, ANSWER_CHARACTERS)}"
    return "\n".join(["So far:", *lines]) if lines else NO_QUESTION


def _shorten(earlier: Earlier) -> str:
    """Return the first sentence of the last answer with its marks; of several answers, one line each."""
    if earlier.groups:
        return "\n".join(_shorten_group(entity, answer, earlier.answer) for entity, answer in earlier.groups)
    text = earlier.answer.strip()
    spans = sentence_spans(text)
    if len(spans) < 2:
        return text
    _, end = spans[0]
    marks = MARKS.match(text, end)
    return text[: marks.end() if marks else end]


def _shorten_group(entity: str, answer: str, whole_answer: str) -> str:
    """Return the beginning of one of several answers behind its entity, with its marks: "Mercury: A planet. [1]".

    The marks are those of the first line of the whole answer in which that answer begins.
    """
    start = beginning(answer, LEAST_GROUP_CHARACTERS).rstrip(". ")
    lines = [line for line in whole_answer.splitlines() if start in line and MARK.search(line)]
    marks = "".join(f"[{n}]" for n in MARK.findall(lines[0])) if lines else ""
    return f"{entity}: {beginning(answer, GROUP_ANSWER_CHARACTERS)} {marks}".strip()


def earlier_answer(known: EarlierState | None) -> Earlier:
    """Return the stored last answer in the form that readers receive; an empty one if there is none."""
    if not known:
        return Earlier()
    citations = [Citation.model_validate(citation) for citation in known["citations"]]
    groups = [Group.model_validate(group) for group in known["groups"]]
    return Earlier(
        question=known["question"],
        answer=known["answer"],
        sources=tuple(Source(c.n, c.passage_id, c.title, c.quote, _source_and_page(c), c.date) for c in citations),
        groups=tuple((labelled(g.entity, g.descriptor), g.answer) for g in groups),
    )


def _source_and_page(citation: Citation) -> str:
    """Return the source of a citation with its page, "report.pdf, page 3"."""
    source = short_source(citation.source)
    return ", ".join(filter(None, [source, page_name(citation.source, citation.page)]))


def short_source(source: str) -> str:
    """Return the file name of a source that is a path; any other source unchanged, on one line."""
    return " ".join(file_name(source).split())
