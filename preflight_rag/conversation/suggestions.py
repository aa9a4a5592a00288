"""Suggested next questions: about headings near the cited passages, and about entities that share a name.

Nothing is suggested that the documents may not answer: a search for the question has to find the passages under the
heading first. A model's suggestions are held to the passages as well: what they name and count must stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from preflight_rag.state.values import Answer, Passage
from preflight_rag.text.inert import inert_line

MOST = 3
TRIED = 8  # candidates for which is searched, a few tens of milliseconds each: a guess
LONGEST_HEADING, LONGEST_QUESTION, LONGEST_TITLE = 70, 200, 90  # characters that a person reads at a glance: guesses
LEAST_TEXT = 40  # characters under a heading that say something of it: a guess, half a sentence
Search = Callable[[str], Sequence[str]]
"""Ids of the passages that a search for a question finds first."""

_NUMBERING = re.compile(r"^(?:(?:\d+|[IVX]+|[A-Z])(?:\.\d+)*[.)]?\s+|[§•*-]\s*)")
_HEADING = re.compile(r"^#{1,6} +(\S[^\n]*)$", re.MULTILINE)
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
        "highlights",
        "index",
        "introduction",
        "key",
        "keywords",
        "literature",
        "main",
        "method",
        "methods",
        "notes",
        "overview",
        "part",
        "points",
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
    answer: Answer, passages: Mapping[str, Sequence[Passage]], titles: Mapping[str, str], search: Search
) -> list[str]:
    """Return questions that the documents answer, made without a model; none where no candidate is certain.

    Args:
        answer: The answer that the suggestions follow.
        passages: The passages of each cited document, in text order.
        titles: The cited documents' titles, by id.
        search: Function that returns the ids of the passages that answer a question.
    """
    found: list[str] = []
    for question, under in [*_of_groups(answer), *_of_headings(answer, passages, titles)][:TRIED]:
        is_plain = question == inert_line(question)  # titles and headings are a document's
        if is_plain and len(found) < MOST and question not in found and under & set(search(question)):
            found.append(question)
    return found


def _of_groups(answer: Answer) -> Iterator[tuple[str, set[str]]]:
    """Yield, with its passages, the question about each entity that shares an ambiguous name."""
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
    answer: Answer, passages: Mapping[str, Sequence[Passage]], titles: Mapping[str, str]
) -> Iterator[tuple[str, set[str]]]:
    """Yield, with its passages, a question for each heading of a cited document under which nothing is cited yet."""
    asked = _words(answer.question) | _words(answer.standalone_question)
    for document in dict.fromkeys(citation.document_id for citation in answer.citations):
        title = " ".join(titles.get(document, "").split()).rstrip(".")
        if not title or len(title) > LONGEST_TITLE:
            continue
        under: dict[str, set[str]] = {}
        cited: set[str] = set()
        for passage in passages.get(document, ()):
            starts = [each.start for each in answer.citations if each.passage_id == passage.id]
            for heading, start, end in parts(passage):
                under.setdefault(heading, set()).add(passage.id)
                if any(start <= place < end for place in starts):
                    cited.add(heading)
        for heading, found in under.items():
            words = _words(heading)
            known = heading in cited or words <= asked or words <= _words(title)
            if not known and (topic := topic_of(heading)):
                yield f"What does “{title}” say about {topic}?", found


def parts(passage: Passage) -> Iterator[tuple[str, int, int]]:
    """Yield `(heading, start, end)` of each part of a passage under a heading, if it is more than a few words."""
    marks = [(0, 0, str(passage.metadata.get("section") or ""))]
    marks += [(match.start(), match.end(), match[1]) for match in _HEADING.finditer(passage.text)]
    ends = [start for start, _, _ in marks[1:]] + [len(passage.text)]
    for (start, text, heading), end in zip(marks, ends, strict=True):
        if heading and len(passage.text[text:end].strip()) >= LEAST_TEXT:
            yield heading, start, end


def topic_of(heading: str) -> str | None:
    """Return a heading as the subject of a question; None where the heading names no subject."""
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


def names_nothing_new(question: str, passages: Sequence[Passage], asked: str) -> bool:
    """Return whether all names and numbers of a question occur in the passages or in an earlier question."""
    if len(question) > LONGEST_QUESTION or question.casefold() == asked.casefold():
        return False
    known = " ".join([asked, *(f"{passage.title} {passage.text}" for passage in passages)]).casefold()
    return all(name.rstrip(".,").casefold() in known for name in _NAMED.findall(question))


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case."""
    return {word.casefold() for word in _WORD.findall(text)}
