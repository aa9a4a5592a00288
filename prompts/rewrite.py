"""Prompt of the node `rewrite`: a message as a standalone question, prepared for search.

The reply is line-based, and a reply with only the first line is valid: the standalone question.

    QUESTION: Do statins cause muscle pain in people over 75?
    PART: …                                                    (only if the question has several parts)
    CONCEPTS: statins; muscle pain; people over 75
    SEARCH: statins AND "muscle pain" AND (elderly OR aged)
    SEARCH: statins AND "muscle pain"
    KIND: question
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from preflight_rag.prompts import fences
from preflight_rag.prompts.replies import clean, tokens_of
from preflight_rag.state.reading import Message, Rewrite

SYSTEM = """\
You rewrite the last message of a conversation as one question that can be understood without the conversation, and
prepare the search for its answer.
- Put in what "it", "they", "there" or "and in children?" stand for, and correct spelling and grammar.
- Keep names, codes, numbers, negations and the language as they are. Add no facts and do not answer.
- When the message can already be understood alone and is well written, repeat it.
Reply with these lines and nothing else:
QUESTION: the standalone question, on one line
PART: one line for each part that can be answered on its own, as a full question; leave out when there is only one
CONCEPTS: the key concepts, most important first, separated by ; in "quotation marks" only what is one fixed term
SEARCH: three or four lines with search expressions of AND, OR, "phrases" and parentheses, the most specific first, then
without what narrows the question down, and last the key concepts joined by OR
KIND: question, or conversation when the message is only small talk or only about this conversation, so that nothing has
to be looked up"""

USER = """\
<conversation>
{history}
</conversation>
<message>
{message}
</message>
The message as one standalone question:"""

REPAIR = "Reply with one line: QUESTION: and the standalone question, nothing else."
LONGEST_REPLY = 1_000
"""Maximum number of characters of a standalone question; a guess: a longer one is an answer or a copy of the
conversation."""
MOST_PARTS, MOST_CONCEPTS, MOST_EXPRESSIONS = 4, 8, 8
"""Maximum number of items read from a reply; guesses, above what the prompt asks for, against models that repeat
themselves."""
MAX_LINES = MOST_PARTS + 6
"""Number of lines whose length depends on the message: the question, its parts, concepts, four searches."""
CONVERSATION_CHARS = 300
"""Characters that each line of a rewrite may add to the message from the conversation; a guess."""
_LABEL = re.compile(
    r"^[\s*_#>-]*(?:\d+[.)]\s*)?(?P<label>(?:standalone |rewritten )?(?:question|message)|(?:sub-?question|part)s?"
    r"|(?:key )?concepts?|search(?:es| expressions?)?|kind)[\s*_]*+\d*+[\s*_]*+:[\s*_]*+",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_CONVERSATION_KIND = re.compile(r"[\W_]*(?:conversation|small[- ]?talk|chat)", re.IGNORECASE)
_NONE_VALUE = re.compile(r"(?:none|n/?a|-++|no parts?|only one)\W*", re.IGNORECASE)


def render(*, message: str, history: Sequence[Message]) -> list[BaseMessage]:
    """Return the prompt for the message as a standalone question; `history` is oldest first."""
    values = {"history": fences.conversation(history), "message": fences.fenced(message)}
    return [SystemMessage(SYSTEM), HumanMessage(USER.format(**values))]


def reply_tokens(message: str) -> int:
    """Return the token limit of a rewrite with all its lines."""
    return MAX_LINES * tokens_of(message + " " * CONVERSATION_CHARS)


def repair_tokens(message: str) -> int:
    """Return the token limit of a repaired rewrite, which has the question line alone."""
    return tokens_of(message + " " * CONVERSATION_CHARS)


def parse(reply: str) -> Rewrite | None:
    """Parse a reply into the rewritten message; None if it has no single question of a sensible length.

    A reply without labels may be the question alone. What else is missing is empty in the result.
    """
    unlabelled, sections = _split_by_label(clean(reply))
    is_conversation = any(_CONVERSATION_KIND.match(text) for text in sections.pop("kind"))
    questions = sections["question"] or ([] if any(sections.values()) else unlabelled)
    question = _strip_quotes(questions[0]) if len(questions) == 1 else ""
    if not 0 < len(question) <= LONGEST_REPLY:
        return None
    parts = [_strip_quotes(text) for text in sections["part"]]
    concept_texts = []
    for line in sections["concept"]:
        # not at a comma in parentheses, as in "diabetes (type 1, type 2)"
        for text in re.split(r"[;|]|,(?![^(]{0,200}\))", line):
            concept_texts.append(text.strip())
    concepts = [_strip_quotes(text) for text in concept_texts]
    searches = [text.strip(" `*") for text in sections["search"]]
    return Rewrite(
        question=question,
        subquestions=tuple(parts)[:MOST_PARTS] if len(parts) > 1 else (),
        concepts=tuple(dict.fromkeys(text for text in concepts if text))[:MOST_CONCEPTS],
        expressions=tuple(dict.fromkeys(text for text in searches if text))[:MOST_EXPRESSIONS],
        by="model",
        kind="conversation" if is_conversation else "",
        terms=tuple(_strip_quotes(text) for text in concept_texts if re.fullmatch(r"[\"“][^\"“”]+[\"”]", text)),
    )


def _split_by_label(reply: str) -> tuple[list[str], dict[str, list[str]]]:
    """Split a reply into the lines before the first label, and the texts by field: after its label, or below it.

    Values such as "none" are left out, and so are lines below the question, which is a single line.
    """
    unlabelled: list[str] = []
    sections: dict[str, list[str]] = {"question": [], "part": [], "concept": [], "search": [], "kind": []}
    current: list[str] | None = None
    for line in (line.strip() for line in reply.splitlines()):
        if not line:
            continue
        match = _LABEL.match(line)
        if match:
            current = sections[_field_of_label(match["label"].lower())]
            line = line[match.end() :]
        target = unlabelled if current is None else current
        text = line if match or current is None else _BULLET.sub("", line)
        if text and not _NONE_VALUE.fullmatch(text):
            target.append(text)
            if target is sections["question"]:
                current = []  # a list that nothing reads
    return unlabelled, sections


def _field_of_label(label: str) -> str:
    """Return the field that a label in lower case names: "part" for "sub-question", and "question" for any other."""
    if label.startswith(("sub", "part")):
        return "part"
    return next((kind for kind in ("concept", "search", "kind") if kind in label), "question")


def _strip_quotes(text: str) -> str:
    """Return a text without quotation marks and markup around it."""
    return text.strip().strip("\"'“”*` ").strip()
