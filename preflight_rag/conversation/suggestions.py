"""What could be asked next: of headings that stand beside what an answer cites, and of the things that it tells apart.

Nothing is suggested that the documents may not answer: a search for the question has to find the passages under the
heading first. A model's suggestions are held to the passages as well: what they name and count must stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from preflight_rag.state.values import Answer, Passage

MOST = 3
TRIED = 8  # candidates for which is searched, a few tens of milliseconds each: a guess
LONGEST_HEADING, LONGEST_QUESTION, LONGEST_TITLE = 70, 200, 90  # characters that a person reads at a glance: guesses
Search = Callable[[str], Sequence[str]]
"""Ids of the passages that a search for a question finds first."""

_NUMBERING = re.compile(r"^(?:(?:\d+|[IVX]+|[A-Z])(?:\.\d+)*[.)]?\s+|[§•*-]\s*)")
_WORD = re.compile(r"[^\W\d_]{2,}")
# Headings that say where one is, not what is said there.
_PLAIN = frozenset(
    [
        "abstract",
        "acknowledgement",
        "acknowledgements",
        "acknowledgment",
        "acknowledgments",
        "affiliations",
        "appendix",
        "appendices",
        "authors",
        "background",
        "bibliography",
        "chapter",
        "conclusion",
        "conclusions",
        "contents",
        "copyright",
        "declarations",
        "disclosure",
        "discussion",
        "figures",
        "foreword",
        "funding",
        "glossary",
        "index",
        "introduction",
        "keywords",
        "literature",
        "main",
        "method",
        "methods",
        "notes",
        "overview",
        "part",
        "preface",
        "reference",
        "references",
        "result",
        "results",
        "section",
        "sources",
        "summary",
        "supplement",
        "tables",
        "text",
        "title",
    ]
)
_NAMED = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w-]+|\d[\d.,]*")


def suggested_questions(
    answer: Answer, sections: Mapping[str, Sequence[tuple[str, str]]], titles: Mapping[str, str], search: Search
) -> list[str]:
    """Questions that the documents answer, made without a model; none where nothing is sure.

    Args:
        answer: What was answered.
        sections: For each cited document, `(passage id, heading above it)` in the order of its text.
        titles: The cited documents' titles, by id.
        search: Says whether a question is answered.
    """
    cited = {citation.passage_id for citation in answer.citations}
    found: list[str] = []
    for question, passages in [*_of_groups(answer), *_of_headings(answer, sections, titles, cited)][:TRIED]:
        if len(found) < MOST and passages & set(search(question)):
            found.append(question)
    return found


def _of_groups(answer: Answer) -> Iterator[tuple[str, set[str]]]:
    """The question anew, of one of the things that go by a name in it: as the document is called that tells of it."""
    if len(answer.groups) < 2:
        return
    for group in answer.groups:
        cited = [citation for citation in answer.citations if citation.n in group.citations]
        titles = {citation.title.strip() for citation in cited}
        if len(titles) != 1 or answer.question.count(group.entity) != 1:
            continue
        title = titles.pop()
        longer = title.startswith(group.entity) and group.entity != title and title not in answer.question
        if longer and len(title) <= LONGEST_HEADING:
            yield answer.question.replace(group.entity, title), {citation.passage_id for citation in cited}


def _of_headings(
    answer: Answer,
    sections: Mapping[str, Sequence[tuple[str, str]]],
    titles: Mapping[str, str],
    cited: set[str],
) -> Iterator[tuple[str, set[str]]]:
    """For each heading of a cited document under which nothing was cited, a question and the passages under it."""
    asked = _words(answer.question) | _words(answer.standalone_question)
    for document in dict.fromkeys(citation.document_id for citation in answer.citations):
        title = " ".join(titles.get(document, "").split()).rstrip(".")
        if not title or len(title) > LONGEST_TITLE:
            continue
        under: dict[str, set[str]] = {}
        for passage, heading in sections.get(document, ()):
            under.setdefault(heading, set()).add(passage)
        for heading, passages in under.items():
            words = _words(heading)
            known = words <= asked or words <= _words(title)
            if not passages & cited and not known and (topic := topic_of(heading)):
                yield f"What does “{title}” say about {topic}?", passages


def topic_of(heading: str) -> str | None:
    """A heading as the subject of a question, or None where it says nothing of one."""
    text = _NUMBERING.sub("", " ".join(heading.split())).strip().rstrip(".:")
    words = _words(text)
    if not words or words <= _PLAIN or len(text) > LONGEST_HEADING or text.endswith(("?", "!")):
        return None
    if text.isupper() and len(text) > 5:
        text = text.lower()
    first = text.split()[0]
    plain = first[1:].islower() and not any(mark in first for mark in "-/")
    names = sum(word[:1].isupper() for word in text.split()) > 1
    return text[0].lower() + text[1:] if plain and not names else text


def is_held(question: str, passages: Sequence[Passage], asked: str) -> bool:
    """Whether all that a question names or counts stands in passages, or was asked before."""
    if len(question) > LONGEST_QUESTION or question.casefold() == asked.casefold():
        return False
    known = " ".join([asked, *(f"{passage.title} {passage.text}" for passage in passages)]).casefold()
    return all(name.rstrip(".,").casefold() in known for name in _NAMED.findall(question))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
