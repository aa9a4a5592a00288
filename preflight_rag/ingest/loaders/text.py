"""Plain text and Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.contents_lists import contents_lines
from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.fields import (
    TITLE_CHARACTERS,
    clean,
    file_document,
    iso_date,
    json_values,
    link_lines,
    people,
    tidy,
)
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.html import readable_text
from preflight_rag.ingest.loaders.layout import is_hard_wrapped, paragraphs, vocabulary, with_whole_words
from preflight_rag.ingest.loaders.nested_lists import with_parents
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.text_tables import heading_at, with_rows
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import with_typed_boxes
from preflight_rag.text.legends import raised_behind
from preflight_rag.text.log_lines import is_code, is_log_line, is_setting
from preflight_rag.text.tables import is_row

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
LABELLED_CHARACTERS = 300
"""A title that is called one may be as long as those of papers are; a guess."""
MOST_CAUSES = 3
"""Exceptions of one stack trace that stand behind its line; a guess."""
_FRAME = re.compile(r"\s+at \S+\(|\s+File \"|\s+from \S+:\d+:in |\s+at \S+ in \S+:line \d|Traceback \(most recent")
"""A line of a stack trace in Java, Python, Ruby or C#."""
_RAISED = re.compile(r"(?:Caused by: )?[\w.$]{0,100}(?:Error|Exception|Exit|Interrupt|Fault|Failure)\b[^\n]{0,300}")
"""What was raised: "java.sql.SQLException: deadlock", "TimeoutError: no answer"."""
_TITLE = re.compile(r"title:\s*", re.IGNORECASE)
_SUPERSCRIPT = re.compile(r"([^\s`\\]{1,4})\\? ?:sup:`([^`\n]{1,40})`")
"""What stands above the line in reStructuredText: "10\\ :sup:`8`"."""
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]*)\n?", re.IGNORECASE | re.MULTILINE)
_ORG_HEADING = re.compile(r"^(\*{1,6}) (?=\S)", re.MULTILINE)
_ORG_RULE = re.compile(r"^[ \t]*\|-[-+]*\|?[ \t]*$", re.MULTILINE)
_ORG_LINK = re.compile(r"\[\[([^\[\]\n]{1,500})\](?:\[([^\[\]\n]{1,200})\])?\]")
_ORG_BLOCK = re.compile(r"^[ \t]*#\+(?:begin|end)_(?:src|example)[^\n]*$", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_IMAGE = re.compile(r"!\[((?>(?:(?!!\[)[^\]\n])*))\]\([^()\n]*+(?>(?:\([^()\n]*+\)[^()\n]*+)*)\)")
_LINK = re.compile(r"\[([^\[\]\n]++)\]\([^()\n]*+(?>(?:\([^()\n]*+\)[^()\n]*+)*)\)")
_DEFINITION = re.compile(r"^(?![#>|*+\s-]|\d+[.)])(\S[^\n:|]{0,80}?)[ \t]*\n\n?:[ \t]{1,4}(?=\S)", re.MULTILINE)
"""A term above its definition, as pandoc has it: "Bollard", and ": A post to tie ships to." below it."""
_TARGET = re.compile(r"(?<!!)\[([^\[\]\n]++)\]\(<?([^()\s<>]++)")
"""A link with where it leads, in Markdown: "[the form](https://x.example/form)"."""
_HEADING = re.compile(
    r"^#{1,6}[ \t]++(.+?)(?>(?:(?<![ \t])[ \t]++#*+|(?<![ \t#])#++)?)$|^(\S[^\n]*+)\n(?:=+|-{3,})[ \t]*$", re.MULTILINE
)

_KEYED = re.compile(r"[^\s•*-]\S{0,19}\t|(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?)\s")
"""The beginning of an entry of a calendar or a list: a date, or a word with a tab behind it."""


def load_text(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a plain text as one document, with its tables as rows.

    Lines wrapped at a fixed width are joined to paragraphs, and a table of contents is left out.
    """
    text = tidy(decode(read_bytes(path, max_bytes), path))
    if path.suffix.lower() == ".org":
        yield markdown_document(path, _from_org(text))
        return
    first = text.split("\n", 3)
    is_framed = len(first) > 2 and first[0] == first[2]  # reStructuredText, with a line above its title
    marked = heading_at(first, 1 if is_framed else 0)
    title = marked if len(marked) <= TITLE_CHARACTERS else ""
    title = title or _title_line([line.strip() for line in text.split("\n")])
    printed = text.split("\n")
    report = ReadReport()
    if contents := contents_lines([printed]):
        report.count("contents_lines", len(contents))
        printed = [line for at, line in enumerate(printed) if (0, at) not in contents]
    lines = with_whole_words(with_rows(_with_causes([_with_boxes(line) for line in printed])))
    if path.suffix.lower() == ".rst":
        lines = [line if is_row(line) else _SUPERSCRIPT.sub(_raised, line) for line in lines]
    lines = tidy("\n".join(lines)).split("\n")
    stripped = [line.strip() for line in lines]
    is_wrapped = is_hard_wrapped(stripped)
    if is_wrapped:
        known = vocabulary(stripped)
        blocks = [block.split("\n") for block in "\n".join(lines).split("\n\n")]
        lines = "\n\n".join("\n".join(_with_joined_lines(block, known)) for block in blocks).split("\n")
    # Behind what an item belongs to, its first line would be longer than those below it.
    lines = with_parents(lines)
    text = tidy("\n".join(line.strip() for line in lines) if is_wrapped else "\n".join(lines))
    yield file_document(path, text, title=title, report=report, find_headings=path.suffix.lower() != ".log")


def _from_org(text: str) -> str:
    """Return a text of Emacs's Org mode as Markdown: its title, headings, tables and links."""
    title = _ORG_TITLE.search(text)
    text = _ORG_HEADING.sub(lambda match: "#" * len(match[1]) + " ", _ORG_TITLE.sub("", text))
    text = _ORG_RULE.sub(lambda match: match[0].replace("+", "|"), text)
    text = _ORG_LINK.sub(lambda match: f"[{match[2] or match[1]}]({match[1]})", text)
    text = _ORG_BLOCK.sub("```", text)
    return f"# {title[1]}\n\n{text.strip()}" if title else text


def _raised(match: re.Match[str]) -> str:
    return match[1] + raised_behind(match[1], match[2])


def _with_boxes(line: str) -> str:
    """Return a line of a plain text with its check boxes in words; brackets in programs and logs are unchanged."""
    return line if is_code(line) or is_log_line(line) else with_typed_boxes(line)


def _with_causes(lines: list[str]) -> list[str]:
    """Return the lines of a log with each exception appended to the message above its stack trace.

    "invoice 77120 was not booked" does not say why: the exception follows several lines below, and each line is read
    alone.
    """
    found = list(lines)
    places = [number for number, line in enumerate(lines) if is_log_line(line)]
    for place, following in pairwise([*places, len(lines)]):
        trace = lines[place + 1 : following]
        if any(_FRAME.match(line) for line in trace):
            raised = [line.strip() for line in trace if _RAISED.fullmatch(line.strip())]
            found[place] = "; ".join([lines[place], *raised[:MOST_CAUSES]])
    return found


def _with_joined_lines(block: Sequence[str], known: Counter[str]) -> Sequence[str]:
    """Return the lines of a block, joined to paragraphs unless most of them are lines of their own."""
    return block if _is_of_lines([line.strip() for line in block]) else paragraphs(block, known)


def _is_of_lines(block: Sequence[str]) -> bool:
    """Return whether most lines of a block are settings, program code or dated entries, which must not be joined."""
    return sum(is_setting(line) or is_code(line) or _KEYED.match(line) is not None for line in block) * 2 > len(block)


def _title_line(lines: list[str]) -> str:
    """Return the title that the first line announces, on the same line or the next.

    Without an announcement, return the first line if it stands alone like a title.
    """
    first, *rest = [*lines, ""]
    if labelled := _TITLE.match(first):
        title = first[labelled.end() :] or next(filter(None, rest), "")
        return title if len(title) <= LABELLED_CHARACTERS else ""
    is_title = 0 < len(first) <= TITLE_CHARACTERS and not rest[0] and not first.endswith((".", "!", "?", ",", ";"))
    is_title = is_title and 2 * sum(map(str.isalnum, first)) >= len(first)  # "----*-indented-text-*----" is a rule
    return first if is_title and len(lines) > 1 else ""


def load_markdown(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a Markdown file as one document: front matter as metadata, links as their text, no comments."""
    yield markdown_document(path, clean(decode(read_bytes(path, max_bytes), path)))


def markdown_document(path: Path, raw: str, report: ReadReport | None = None) -> Document:
    """Return a text in Markdown as the document of a file."""
    properties, body = _front_matter(raw)
    parts = _fenced_parts(body)
    links = [(match[1], match[2]) for part in parts[::2] for match in _TARGET.finditer(_without_comments(part))]
    text = tidy("".join(part if index % 2 else _with_tables(_prose(part)) for index, part in enumerate(parts)))
    text = "\n".join([text, *([""] if links else []), *link_lines(links)]).rstrip()
    sections = [[match.start(), match[1] or match[2]] for match in _headings(text)]
    return file_document(
        path,
        text,
        title=str(properties.pop("title", "") or (sections[0][1] if sections else "")),
        date=iso_date(properties.get("date")),
        authors=people(properties.pop("authors", None) or properties.pop("author", None)),
        metadata={**properties, **({"sections": sections} if sections else {})},
        report=report,
    )


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the YAML properties at the top and the rest; the whole text if they are not valid."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(match[1], Loader=yaml.SafeLoader)):
            return {}, text
        properties = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    if not isinstance(properties, dict):
        return {}, text
    try:
        return json_values({str(key).lower(): value for key, value in properties.items()}), text[match.end() :]
    except UnreadableDocument:  # of too many levels
        return {}, text


def _fenced_parts(text: str) -> list[str]:
    """Return the text divided at code fences; every second part is code."""
    cuts = [match.start() for match in _FENCE.finditer(text)]
    bounds = [0, *cuts, len(text)]
    return [text[left:right] for left, right in pairwise(bounds)]


def _prose(part: str) -> str:
    """Markdown outside code without link targets, images and comments, its check boxes in words, HTML's tables read."""
    part = _DEFINITION.sub(r"\1: ", part)
    return with_typed_boxes(_LINK.sub(r"\1", _IMAGE.sub(r"\1", _with_html_tables(_without_comments(part)))))


def _with_html_tables(text: str) -> str:
    """Markdown with the rows of its tables that are written in HTML."""
    kept, at = [], 0
    lowered = text.lower()
    while (start := lowered.find("<table", at)) >= 0 and (end := lowered.find("</table>", start)) >= 0:
        end += len("</table>")
        kept += [text[at:start], f"\n\n{readable_text(text[start:end])}\n\n"]
        at = end
    return "".join(kept) + text[at:]


def _with_tables(part: str) -> str:
    """Return Markdown with its tables as rows, and nested list items with the items around them."""
    return "\n".join(with_parents(with_rows(part.split("\n"), spaced=False)))


def _without_comments(text: str) -> str:
    """Return Markdown without its HTML comments, in linear time even if many are not closed."""
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join(kept) + text[at:]


def _headings(text: str) -> Iterator[re.Match[str]]:
    """Yield the headings of a Markdown text outside code."""
    offset = 0
    for index, part in enumerate(_fenced_parts(text)):
        if index % 2 == 0:
            yield from _HEADING.finditer(text, offset, offset + len(part))
        offset += len(part)
