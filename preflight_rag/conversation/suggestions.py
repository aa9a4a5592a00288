"""Suggested next questions: about headings near the cited passages, and about entities that share a name.

Nothing is suggested that the documents may not answer: a search for the question has to find the passages under the
heading first. A model's suggestions are held to the passages as well: what they name and count must stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from preflight_rag.state.values import Answer, Passage
from preflight_rag.text.inert import inert_line

MOST_SUGGESTIONS = 3
MOST_TRIED = 8  # candidates that are searched for, in a few tens of milliseconds each: a guess
LONGEST_HEADING, LONGEST_QUESTION, LONGEST_TITLE = 70, 200, 90  # characters that a person reads at a glance: guesses
LEAST_SECTION_CHARACTERS = 40  # characters from which the text under a heading says something: half a sentence, a guess
LONGEST_ACRONYM = 5  # characters up to which a heading in capitals stays in capitals: a guess
Search = Callable[[str], Sequence[str]]
"""Returns the ids of the passages that a search for a question finds first."""

_NUMBERING = re.compile(r"^(?:(?:\d+|[IVX]+|[A-Z])(?:\.\d+)*[.)]?\s+|[§•*-]\s*)")
_HEADING = re.compile(r"^#{1,6} +(\S[^\n]*)$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_STANDARD_HEADING_WORDS = frozenset({
    "abstract", "acknowledgement", "acknowledgements", "acknowledgment", "acknowledgments", "affiliations",
    "appendix", "appendices", "authors", "background", "bibliography", "chapter", "conclusion", "conclusions",
    "contents", "copyright", "declarations", "disclosure", "discussion", "figures", "foreword", "funding", "glossary",
    "highlights", "index", "introduction", "key", "keywords", "literature", "main", "method", "methods", "notes",
    "overview", "part", "points", "preface", "reference", "references", "result", "results", "section", "sources",
    "summary", "supplement", "tables", "text", "title",
})  # fmt: skip
"""Words of headings that name a part of a document, and no topic."""
_NAME_OR_NUMBER = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-Þ][\w-]+|\d[\d.,]*")


def suggested_questions(
    answer: Answer, passages: Mapping[str, Sequence[Passage]], titles: Mapping[str, str], search: Search
) -> list[str]:
    """Return questions that the documents answer, made without a model, at most `MOST_SUGGESTIONS`.

    A question is left out if a search for it does not find the passages that it was made of.

    Args:
        answer: The answer that the suggestions follow.
        passages: The passages of each cited document, in text order, by the document's id.
        titles: The cited documents' titles, by id.
        search: Returns the ids of the passages that a search for a question finds first.
    """
    suggestions: list[str] = []
    candidates = [*_questions_about_groups(answer), *_questions_about_headings(answer, passages, titles)]
    for question, passage_ids in candidates[:MOST_TRIED]:
        # Titles and headings are a document's words, which may contain markup.
        has_no_markup = question == inert_line(question)
        is_wanted = has_no_markup and len(suggestions) < MOST_SUGGESTIONS and question not in suggestions
        if is_wanted and passage_ids & set(search(question)):
            suggestions.append(question)
    return suggestions


def _questions_about_groups(answer: Answer) -> Iterator[tuple[str, set[str]]]:
    """Yield the question with each entity's full title instead of the ambiguous name, and the entity's passage ids.

    "Who led Mercury Records?" for "Who led Mercury?". Entities without a single title that begins with the name are
    left out.
    """
    if len(answer.groups) < 2:
        return
    for group in answer.groups:
        cited = [citation for citation in answer.citations if citation.n in group.citations]
        titles = {citation.title.strip() for citation in cited}
        if len(titles) != 1 or answer.question.count(group.entity) != 1:
            continue
        title = titles.pop()
        extends_name = title.startswith(group.entity) and group.entity != title
        if extends_name and title not in answer.question and len(title) <= LONGEST_HEADING:
            yield answer.question.replace(group.entity, title), {citation.passage_id for citation in cited}


def _questions_about_headings(
    answer: Answer, passages: Mapping[str, Sequence[Passage]], titles: Mapping[str, str]
) -> Iterator[tuple[str, set[str]]]:
    """Yield a question for each heading of a cited document under which nothing is cited, and its section's passages.

    Headings that the question or the title already names, or that name no topic, are left out.
    """
    question_words = _words(answer.question) | _words(answer.standalone_question)
    for document in dict.fromkeys(citation.document_id for citation in answer.citations):
        title = " ".join(titles.get(document, "").split()).rstrip(".")
        if not title or len(title) > LONGEST_TITLE:
            continue
        passages_by_heading: dict[str, set[str]] = {}
        cited_headings: set[str] = set()
        for passage in passages.get(document, ()):
            quote_starts = [citation.start for citation in answer.citations if citation.passage_id == passage.id]
            for heading, start, end in sections_of(passage):
                passages_by_heading.setdefault(heading, set()).add(passage.id)
                if any(start <= quote_start < end for quote_start in quote_starts):
                    cited_headings.add(heading)
        for heading, passage_ids in passages_by_heading.items():
            words = _words(heading)
            is_known = heading in cited_headings or words <= question_words or words <= _words(title)
            if not is_known and (topic := topic_of(heading)):
                yield f"What does “{title}” say about {topic}?", passage_ids


def sections_of(passage: Passage) -> Iterator[tuple[str, int, int]]:
    """Yield `(heading, start, end)` of each section in a passage that has a heading and more than a few words.

    The first section may have its heading in an earlier passage.
    """
    headings = [(0, 0, str(passage.metadata.get("section") or ""))]
    headings += [(match.start(), match.end(), match[1]) for match in _HEADING.finditer(passage.text)]
    section_ends = [start for start, _, _ in headings[1:]] + [len(passage.text)]
    for (start, text_start, heading), end in zip(headings, section_ends, strict=True):
        if heading and len(passage.text[text_start:end].strip()) >= LEAST_SECTION_CHARACTERS:
            yield heading, start, end


def topic_of(heading: str) -> str | None:
    """Return a heading as the topic of a question, "side effects" for "3.1 Side effects"; None if it names no topic."""
    text = _NUMBERING.sub("", " ".join(heading.split())).strip().rstrip(".:")
    words = _words(text)
    if not words or words <= _STANDARD_HEADING_WORDS or len(text) > LONGEST_HEADING or text.endswith(("?", "!")):
        return None
    is_acronym = len(text) <= LONGEST_ACRONYM
    if text.isupper() and not is_acronym:
        text = text.lower()
    first_word = text.split()[0]
    is_common_word = first_word[1:].islower() and not any(mark in first_word for mark in "-/")
    is_name = sum(word[:1].isupper() for word in text.split()) > 1
    return text[0].lower() + text[1:] if is_common_word and not is_name else text


def names_nothing_new(question: str, passages: Sequence[Passage], asked: str) -> bool:
    """Return whether all names and numbers of a question occur in the passages or in the question asked before.

    False as well for a question that is too long, or the same as the one asked before.
    """
    if len(question) > LONGEST_QUESTION or question.casefold() == asked.casefold():
        return False
    known = " ".join([asked, *(f"{passage.title} {passage.text}" for passage in passages)]).casefold()
    return all(name.rstrip(".,").casefold() in known for name in _NAME_OR_NUMBER.findall(question))


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case."""
    return {word.casefold() for word in _WORD.findall(text)}
