"""Citations: the `[n]` marks of an answer, the statements before them, and the passages' own words behind them.

A citation is verified if the reader's quote for it, or else the statement before it, is found in the passage; it then
contains the passage's own words with their offsets. What cannot be verified stays in the answer and is marked as such.

Models write marks in other ways too, `[1, 4]` or `[2-4]`; `separate_marks` converts these to the one form that all
other code reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from preflight_rag.state.reading import Draft
from preflight_rag.state.values import Citation, Group, Passage
from preflight_rag.text.letter_lines import UNKNOWN_WRITER, writer_and_words
from preflight_rag.text.links import link_of
from preflight_rag.text.quotes import locate, strongest, support, trim_quote
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

MARK = re.compile(r"\[(\d{1,6})\]")
MARKS = re.compile(r"(?<!\s)\s*\[\d{1,6}\](?:\s*+\[\d{1,6}\])*|\[\d{1,6}\](?:\s*+\[\d{1,6}\])*")
"""Marks in a row, with the space before each."""
JOINT_MARK = re.compile(r"\[(\s*\d{1,6}(?:\s*[,;]\s*\d{1,6}|\s*[-–]\s*\d{1,6})*\s*)\]")
"""A mark with one or several numbers, as models write them."""
MOST_IN_RANGE = 100
"""Most numbers that `[2-4]` may stand for; in a longer range, such as `[1990-2020]`, only the ends are marks."""
MIN_CLAUSE_WORDS = 4
"""A clause of fewer words between two marks is joined with the statement before it; a guess."""
_MAX_MARKS_CHARS = 400
"""Longest run of marks with the end of the sentence before them, in characters; a guess."""
_MARKUP = re.compile(r"^[\s>#*•-]+|^\d+[.)]\s+|\*\*|__|`")


def cited_numbers(text: str) -> list[int]:
    """Return the numbers that a text cites, each once, in order of first use."""
    return list(dict.fromkeys(int(n) for n in MARK.findall(text)))


def without_marks(text: str) -> str:
    """Return a text without its citation marks and the space before them."""
    return MARKS.sub("", text)


def separate_marks(text: str) -> str:
    """Return a text with `[1, 4]` and `[2-4]` written as `[1][4]` and `[2][3][4]`."""

    def with_single_numbers(match: re.Match[str]) -> str:
        """Return a matched mark with one pair of brackets for each number."""
        numbers: list[int] = []
        for part in re.split(r"[,;]", match[1]):
            ends = [int(number) for number in re.findall(r"\d+", part)]
            numbers += range(ends[0], ends[-1] + 1) if 0 <= ends[-1] - ends[0] < MOST_IN_RANGE else ends
        return "".join(f"[{number}]" for number in numbers)

    return JOINT_MARK.sub(with_single_numbers, text)


@dataclass(frozen=True)
class Claim:
    """A statement with the numbers that it cites."""

    text: str
    citations: tuple[int, ...]


def claims(text: str) -> list[Claim]:
    """Return an answer's statements: for each run of citation marks, the sentence or clause before it.

    Marks without words before them are added to the statement before; what no mark follows is left out.
    """
    statements: list[Claim] = []
    last_end = 0
    for run in MARKS.finditer(text):
        before, numbers = text[last_end : run.start()], tuple(cited_numbers(run[0]))
        sentences = [before[start:end] for start, end in sentence_spans(before)]
        # To the splitter, a bracket or a dash alone is a sentence; it is no statement.
        sentences = [sentence for sentence in sentences if any(map(str.isalnum, sentence))]
        if sentences:
            statement = _MARKUP.sub("", sentences[-1]).strip(" .;,\n")
            is_short = len(statement.split()) < MIN_CLAUSE_WORDS
            text_before = text[max(0, last_end - _MAX_MARKS_CHARS) : last_end]
            if statements and is_short and _continues_sentence(text_before, before):
                statement = f"{statements[-1].text} {statement}"
            statements.append(Claim(statement, numbers))
        elif statements:
            last = statements[-1]
            statements[-1] = replace(last, citations=tuple(dict.fromkeys((*last.citations, *numbers))))
        last_end = run.end()
    return statements


def _continues_sentence(before: str, clause: str) -> bool:
    """Return whether a clause after citation marks goes on with the sentence in which they are.

    Args:
        before: The text before the clause, up to the end of the marks.
        clause: The text behind the marks.
    """
    is_ended = without_marks(before).rstrip().endswith((".", "!", "?", ":"))
    return not is_ended and "\n" not in clause and clause.lstrip()[:1] not in ".!?;"


def claims_of_answer(text: str, groups: Sequence[Group]) -> list[Claim]:
    """Return the statements of an answer's groups with citations, each introduced by its entity, else of its text.

    "Springfield (Illinois): It has 114,000 inhabitants" is the statement of a group.
    """
    statements = []
    for group in groups:
        if group.citations:
            entity = f"{group.entity} ({group.descriptor})" if group.descriptor else group.entity
            statements.append(Claim(f"{entity}: {group.answer}" if entity else group.answer, group.citations))
    return statements or claims(text)


def renumbered(text: str) -> tuple[str, dict[int, int]]:
    """Return the text with citation marks numbered in order of first use, and the new number of each old one."""
    numbers = {mark: n for n, mark in enumerate(cited_numbers(text), 1)}
    return MARK.sub(lambda mark: f"[{numbers[int(mark[1])]}]", text), numbers


def cited_ranks(text: str, quotes: Sequence[tuple[int, str]]) -> list[int]:
    """Return the distinct ranks that a text cites; if it cites none, those of its quotes."""
    return cited_numbers(text) or list(dict.fromkeys(n for n, _ in quotes))


def is_verifiable(draft: Draft, texts: Mapping[int, str]) -> bool:
    """Return whether at least one citation of a draft is found in its passage.

    For a draft without marks, return whether any passage contains its text.
    """
    ranks = cited_ranks(draft.text, ())
    if ranks:
        return any(_supporting_spans(rank, draft.text, draft.quotes, texts[rank]) for rank in ranks if rank in texts)
    bodies = list(texts.values())
    sentences = [draft.text[start:end] for start, end in sentence_spans(draft.text)]
    return any(strongest(sentence, bodies) is not None for sentence in sentences)


def attributed(text: str, passages: Mapping[int, Passage]) -> tuple[str, list[str]]:
    """Return a text with citations; if it cites nothing, each sentence gets the mark of a passage that supports it.

    Returns:
        The text, and a list with the note that its citations are not the reader's own; the unchanged text and [] if
        it has citations, or there are no passages.
    """
    if MARK.search(text) or not passages:
        return text, []
    ranks = list(passages)
    bodies = [passages[rank].text for rank in ranks]
    marked_text, last_end, is_matched = "", 0, False
    for start, end in sentence_spans(text):
        sentence = text[start:end].rstrip()
        best = strongest(sentence, bodies)
        mark = "" if best is None else f" [{ranks[best]}]"
        is_matched = is_matched or bool(mark)
        mark_offset = start + len(sentence.rstrip(".!?"))  # a mark stands before the full stop
        marked_text += text[last_end:mark_offset] + mark + text[mark_offset:end]
        last_end = end
    how = "its citations were matched by their words" if is_matched else "no passage matches it"
    return marked_text + text[last_end:], [f"the reply cites nothing; {how}"]


def find_citation(
    n: int, rank: int, text: str, quotes: Sequence[tuple[int, str]], passages: Mapping[int, Passage]
) -> Citation:
    """Return the citation of one passage, with the passage's own words that support the answer.

    These are the first of the passage's quotes that is found in it, else the first such statement. If nothing is found,
    the citation is marked as not verified and contains the first quote, or statement, as it was given.

    Args:
        n: The citation's number in the finished answer.
        rank: The passage's number in the text.
        text: The answer, with ranks as citation marks.
        quotes: `(rank, words)` from the reader.
        passages: The passages that the reader was given, by rank.
    """
    passage = passages.get(rank)
    quotes_of_passage = [quote for number, quote in quotes if number == rank]
    unverified = (quotes_of_passage or statements_citing(text, rank) or [""])[0]
    if passage is None:
        return unknown_citation(n, unverified)
    span = next(iter(_supporting_spans(rank, text, quotes, passage.text)), None)
    statement_terms = words(" ".join(statements_citing(text, rank)) or unverified)
    start, end = trim_quote(passage.text, *span, statement_terms) if span else (0, 0)
    return Citation(
        n=n,
        passage_id=passage.id,
        document_id=passage.document_id,
        title=passage.title,
        source=passage.source,
        quote=passage.text[start:end] if span else unverified,
        start=start,
        end=end,
        verified=span is not None,
        page=passage.page_at(start),
        date=passage.date,
        url=link_of(passage.source, passage.metadata),
        file_saved=None if passage.date else passage.metadata.get("file_saved"),
    )


def _supporting_spans(rank: int, text: str, quotes: Sequence[tuple[int, str]], passage: str) -> list[tuple[int, int]]:
    """Return the spans of a passage that support the text citing it by its rank: of quotes first, then of statements.

    Quotes and statements that are not found in the passage are left out.
    """
    spans = [locate(quote, passage) for number, quote in quotes if number == rank]
    spans += [support(statement, passage) for statement in statements_citing(text, rank)]
    return [span for span in spans if span]


def unknown_citation(n: int, quote: str = "") -> Citation:
    """Return the citation of a passage that the reader was not given."""
    return Citation(
        n=n, passage_id="", document_id="", title="", source="", quote=quote, start=0, end=0, verified=False
    )


def statements_citing(text: str, rank: int) -> list[str]:
    """Return the statements that cite a passage, without citation marks."""
    return [claim.text for claim in claims(text) if rank in claim.citations]


_EMPHASIZED = re.compile(r"(?<![\w*/.\\])\*{1,3}(?=[^\s*])([^*\n]{1,500}+)(?<=[^\s*])\*{1,3}(?![\w*/.])")
_EMPHASIS_START, _EMPHASIS_END = re.compile(r"(?<!\\)\*(?=\S)"), re.compile(r"(?<=[^\s\\])\*")
"""Asterisks that Markdown may take for the beginning and the end of emphasis."""
_DUNDER = re.compile(r"(?<![\w\\])__(?=\w)|(?<=\w)__(?!\w)")
"""The underscores of "__init__", which Markdown would take for emphasis."""


def plain(text: str) -> str:
    """Return a text on one line without citation marks and emphasis, for use in a line of Markdown.

    Other asterisks stay, all with a backslash if Markdown would take two of them for emphasis.
    """
    without_emphasis = _EMPHASIZED.sub(r"\1", MARK.sub("", text))
    line = _DUNDER.sub(r"\\_\\_", " ".join(without_emphasis.split()))
    start = _EMPHASIS_START.search(line)
    return line.replace("*", "\\*") if start and _EMPHASIS_END.search(line, start.end()) else line


EARLIER_MAIL = "From an earlier message, quoted there"
"""Shown before words that a mail quotes from another one without naming its writer."""
_TO_SINGLE_QUOTES = str.maketrans("“”", "‘’")


def quoted(n: int, quote: str) -> str:
    """Return a quote as a paragraph with its citation mark, “…” [n]; quotation marks inside it become single ones.

    If the words are what a mail quotes from another one, their writer is named before them: "Ana wrote: “…” [n]".
    """
    speaker, spoken = speaker_and_words(plain(quote))
    marked = f"“{spoken.translate(_TO_SINGLE_QUOTES)}” [{n}]"
    return f"{speaker}: {marked}" if speaker else marked


def speaker_and_words(quote: str) -> tuple[str, str]:
    """Return who wrote the words that a mail quotes from another one, and these words alone.

    "Ana Roth wrote: The kiln is hot." gives ("Ana Roth wrote", "The kiln is hot."); another quote gives "" and itself.
    """
    writer, quoted_words = writer_and_words(quote)
    if writer == UNKNOWN_WRITER:
        return EARLIER_MAIL, quoted_words
    return f"{writer} wrote" if writer else "", quoted_words


def labelled(entity: str, descriptor: str | None) -> str:
    """Return a name with its disambiguating descriptor in brackets, unless the name contains it."""
    entity, descriptor = plain(entity), plain(descriptor or "")
    return f"{entity} ({descriptor})" if descriptor and descriptor.casefold() not in entity.casefold() else entity
