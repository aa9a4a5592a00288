"""Summary without a query: the sentences that best represent a document.

"Diversity Enhances an LLM's Performance in RAG and Long-context Task" (arXiv 2502.09017) summarises with MMR too: as
there is no question, the mean of the sentences' vectors is the query. Candidates are sentences that can be read on
their own; headings, captions, table rows, reference lists and fragments are left out, and a sentence that depends on
the previous one ("However, this ...") is taken together with it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from preflight_rag.library.search.diversity import mmr
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document, Passage
from preflight_rag.text.sentences import sentence_spans

if TYPE_CHECKING:
    import numpy as np

SUMMARY_ALPHA = 0.7
"""Weight of closeness to the mean against redundancy; it and the window were set on the development halves of the data
sets of `evaluation/experiments/summaries.py`."""
SUMMARY_WINDOW = 3
"""Number of last picks that count for redundancy."""
LONGEST = 120
"""Most tokens of one sentence; longer ones are lists and tables without their line breaks."""

_LEAST_WORDS = 5
"""Least number of words of a statement; this number and the next two are guesses."""
_LEAST_LETTERS = 0.6
"""Least share of letters among a statement's characters: with fewer it is a table or a formula."""
_LEAST_SHARE = 0.25
"""Least share of whole statements in a document; below it, every sentence with words counts as a statement."""
_FAR_CHARACTERS = 1_500
"""Distance in characters from which two statements no longer belong together; a guess."""

_LIST_MARKS = re.compile(r"(?:(?:[>*+|•·‣◦▪●■–—-]+|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+)+")
_SENTENCE_END = re.compile(r"[.!…。！।][\"'”’»)\]]*(?:\s?\[\d[\d\s,–-]*\])*$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CAPTION = re.compile(
    r"(?:supplementa(?:ry|l)\s+|extended data\s+)?"
    r"(?:fig(?:ure|s)?|tab(?:le|s)?|box|chart|scheme|exhibit|appendix|eq(?:uation|s)?)\b\.?\s*[A-Z]?[\dIVX]",
    re.IGNORECASE,
)
_LABEL = re.compile(_CAPTION.pattern + r"[\w.]*[.:|]?$", re.IGNORECASE)
_REFERENCE = re.compile(
    r"\bdoi\b|https?://|\bwww\.|\bpp\.\s?\d|\b(?:19|20)\d\d[a-z]?;\s?\d|\bet al\.?,? \(?(?:19|20)\d\d\)?\.?$|\bISBN\b"
    r"|\bISSN\b|\barXiv:|\bPMID\b|\bavailable (?:at|from|online)\b|^\W*(?:[A-Z][\w'’-]+,? (?:[A-Z]\.?){1,3},? ?){2,}",
)
_NOTICE = re.compile(
    r"©|\(c\) ?(?:19|20)\d\d|all rights reserved|creative commons|e-?mail:|terms of (?:use|service)|click here",
    re.IGNORECASE,
)
_TABLE_SIGNS = re.compile(r"\|[^|]*\||\.{4,}|\t|(?:(?<!\s)\s{3,}+\S++){3}")
_BACK_MATTER = re.compile(
    r"[#\d.\s]*(?:references?(?: cited)?|bibliography|(?:literature|works) cited|acknowledge?ments?|funding"
    r"|(?:conflicts?|competing|declarations?)(?: of)?(?: competing)? interests?|author contributions?"
    r"|abbreviations|(?:table of )?contents|index|see also|further reading|external links)\W*$",
    re.IGNORECASE,
)
_HEADING_CHARACTERS = 100
"""Most characters of a heading; a guess."""
_DEPENDS_ON_PREVIOUS = re.compile(
    r"(?:however|therefore|thus|hence|moreover|furthermore|additionally|in addition|also|but|and|or|so|then|yet"
    r"|instead|otherwise|consequently|as a result|nevertheless|nonetheless|similarly|likewise|meanwhile|conversely"
    r"|in contrast|by contrast|on the other hand|for (?:example|instance)|in particular|that is|this|these|those|that"
    r"|such|it|they|he|she|its|their|his|her|both|another|the (?:former|latter|same|other))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, or a few in a row, as the document has it.

    Attributes:
        body: The text that contains it: a stored passage's, or a whole document's if that is in no library.
        passage_id: Id of the stored passage; empty for a document that is in no library.
        start: Offset of its first character in `body`.
        end: Offset after its last character.
        place: Offset of its first character in the document.
        page: The page, if the document has pages.
        section: The last heading before it, if the loader knows it.
        tokens: Its length, by the given counter.
    """

    body: str = field(repr=False)
    passage_id: str
    start: int
    end: int
    place: int
    page: int | None
    section: str
    tokens: int

    @property
    def text(self) -> str:
        """The text of the sentences, verbatim."""
        return self.body[self.start : self.end]


def of_document(document: Document, count_tokens: Callable[[str], int]) -> list[Statement]:
    """Return the statements of a document in memory, in order."""
    page_starts = [start for _, start in document.pages]
    sections = sorted((int(offset), str(heading)) for offset, heading in document.metadata.get("sections", ()))
    section_starts = [offset for offset, _ in sections]

    def statement(start: int, end: int) -> Statement:
        """Return a part of the document's text as a statement."""
        # The index of the last page, and of the last section, that begins at or before `start`; -1 if none does.
        page, section = bisect_right(page_starts, start) - 1, bisect_right(section_starts, start) - 1
        return Statement(
            body=document.text,
            passage_id="",
            start=start,
            end=end,
            place=start,
            page=document.pages[page][0] if page >= 0 else None,
            section=sections[section][1] if section >= 0 else "",
            tokens=count_tokens(document.text[start:end]),
        )

    return _select_statements([statement(*span) for span in _sentence_spans(document.text)])


def of_passages(passages: Sequence[Passage], count_tokens: Callable[[str], int]) -> list[Statement]:
    """Return the statements of a document's stored passages, given in order; text in two passages counts once."""
    sentences, covered_until = [], 0
    for passage in passages:
        for start, end in _sentence_spans(passage.text):
            place = passage.start + start
            # Passages may overlap: the sentence was in the previous one, too.
            if place < covered_until:
                continue
            covered_until = passage.start + end
            section, tokens = str(passage.metadata.get("section", "")), count_tokens(passage.text[start:end])
            sentences.append(Statement(passage.text, passage.id, start, end, place, passage.page, section, tokens))
    return _select_statements(sentences)


def select(
    statements: Sequence[Statement],
    vectors: np.ndarray,
    *,
    budget: int,
    alpha: float = SUMMARY_ALPHA,
    window: int | None = SUMMARY_WINDOW,
) -> list[int]:
    """Return the indices of the statements that summarise all, in the document's order.

    Args:
        statements: The statements of one document.
        vectors: The statements' vectors, shape (n, d).
        budget: Most tokens of the selection.
        alpha: Weight of closeness to the mean vector against redundancy (MMR), in [0, 1].
        window: Number of last picks that count for redundancy; None: all.

    Raises:
        UsageError: `alpha` or `window` is out of range, or the budget is smaller than every statement.
    """
    import numpy as np

    if not statements:
        return []
    shortest = min(statement.tokens for statement in statements)
    if budget < shortest:
        raise UsageError(
            f"a budget of {budget} tokens is smaller than the shortest sentence, which has {shortest}",
            help="Give more tokens (--tokens)",
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = (vectors / np.where(lengths > 0, lengths, 1)).mean(axis=0)
    tokens = [statement.tokens for statement in statements]
    return sorted(mmr(vectors, mean, alpha=alpha, window=window, tokens=tokens, budget=budget))


def sections(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return the statements in groups that belong together: on one page, in one section, and near one another."""
    groups: list[list[Statement]] = []
    for statement in statements:
        previous = groups[-1][-1] if groups else None
        is_near = previous is not None and statement.place - previous.place < _FAR_CHARACTERS
        if (
            is_near
            and previous is not None
            and (previous.page, previous.section) == (statement.page, statement.section)
        ):
            groups[-1].append(statement)
        else:
            groups.append([statement])
    return groups


def can_stand(text: str) -> bool:
    """Return whether a sentence is a whole statement of running text, not a caption, reference, notice or table row."""
    letters = sum(character.isalpha() for character in text)
    return (
        _SENTENCE_END.search(text) is not None
        and not text[:1].islower()
        and (len(_WORD.findall(text)) >= _LEAST_WORDS or not text.isascii())
        and letters >= _LEAST_LETTERS * len("".join(text.split()))
        and not any(pattern.search(text) for pattern in (_REFERENCE, _NOTICE, _TABLE_SIGNS))
        and not _CAPTION.match(text)
    )


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end offsets of the sentences, without list marks before them; empty ones are left out."""
    for start, end in sentence_spans(text):
        marks = _LIST_MARKS.match(text, start, end)
        begin = marks.end() if marks else start
        if begin < end:
            yield begin, end


def _select_statements(sentences: Sequence[Statement]) -> list[Statement]:
    """Return the statements from which a summary may choose, each once.

    If whole statements are less than `_LEAST_SHARE` of the document, as in a table, return all sentences of three words
    or more instead; if there are none of these either, all sentences.
    """
    statements = _without_repetitions(_join_dependent(sentences, _mark_usable(sentences)))
    total = sum(sentence.tokens for sentence in sentences)
    if sum(statement.tokens for statement in statements) >= _LEAST_SHARE * total:
        return statements
    return [sentence for sentence in sentences if len(_WORD.findall(sentence.text)) > 2] or list(sentences)


def _without_repetitions(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements without those that repeat an earlier one; case and white space are ignored."""
    first: dict[str, Statement] = {}
    for statement in statements:
        first.setdefault(" ".join(statement.text.casefold().split()), statement)
    return list(first.values())


def _mark_usable(sentences: Iterable[Statement]) -> list[bool]:
    """Return for each sentence whether it may be part of a summary.

    Left out are captions, the back matter (references, acknowledgements), long sentences, and all that `can_stand`
    refuses.
    """
    usable, is_back_matter, label = [], False, None
    for sentence in sentences:
        text = sentence.text
        if _LABEL.match(text):
            label = sentence
        # What follows a label on its line is the caption; a new line, or a new passage, ends it.
        elif label and (label.body is not sentence.body or "\n" in sentence.body[label.end : sentence.start]):
            label = None
        begins_as_heading = text[0].isupper() or text[0] == "#"
        is_heading = len(text) <= _HEADING_CHARACTERS and not _SENTENCE_END.search(text) and begins_as_heading
        if _BACK_MATTER.match(text):
            is_back_matter = True
        elif is_heading:
            is_back_matter = False
        is_in_back = is_back_matter or _BACK_MATTER.match(sentence.section) is not None
        usable.append(not is_in_back and label is None and sentence.tokens <= LONGEST and can_stand(text))
    return usable


def _join_dependent(sentences: Sequence[Statement], usable: Sequence[bool]) -> list[Statement]:
    """Return the usable sentences as statements; one that depends on the previous sentence is joined to that.

    A dependent sentence, such as "However, this ...", is left out if it cannot be joined.
    """
    statements: list[Statement] = []
    for index, sentence in enumerate(sentences):
        if not usable[index]:
            continue
        if not _DEPENDS_ON_PREVIOUS.match(sentence.text):
            statements.append(sentence)
        elif index and usable[index - 1] and statements:
            extended = _extend(statements[-1], sentences[index - 1], sentence)
            statements[-1] = extended or statements[-1]
    return statements


def _extend(statement: Statement, previous: Statement, sentence: Statement) -> Statement | None:
    """Return a statement with the next sentence added.

    None if the statement does not end with the sentence's `previous` one, if they are in different passages, or if the
    result would be too long.
    """
    tokens = statement.tokens + sentence.tokens
    if statement.end != previous.end or statement.passage_id != sentence.passage_id or tokens > LONGEST:
        return None
    return replace(statement, end=sentence.end, tokens=tokens)
