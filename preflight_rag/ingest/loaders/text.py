"""Loaders of plain text, logs, Org mode and Markdown."""

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
"""Maximum number of characters of a title behind "Title:", as long as those of papers; a guess."""
MOST_CAUSES = 3
"""Maximum number of exceptions of one stack trace that are appended to its message; a guess."""
_FRAME = re.compile(r"\s+at \S+\(|\s+File \"|\s+from \S+:\d+:in |\s+at \S+ in \S+:line \d|Traceback \(most recent")
"""A line of a stack trace in Java, Python, Ruby or C#."""
_RAISED = re.compile(r"(?:Caused by: )?[\w.$]{0,100}(?:Error|Exception|Exit|Interrupt|Fault|Failure)\b[^\n]{0,300}")
"""An exception with its message: "java.sql.SQLException: deadlock", "TimeoutError: no answer"."""
_TITLE = re.compile(r"title:\s*", re.IGNORECASE)
_SUPERSCRIPT = re.compile(r"([^\s`\\]{1,4})\\? ?:sup:`([^`\n]{1,40})`")
"""A superscript in reStructuredText, with the characters before it: "10\\ :sup:`8`"."""
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]*)\n?", re.IGNORECASE | re.MULTILINE)
_ORG_HEADING = re.compile(r"^(\*{1,6}) (?=\S)", re.MULTILINE)
_ORG_RULE = re.compile(r"^[ \t]*\|-[-+]*\|?[ \t]*$", re.MULTILINE)
_ORG_LINK = re.compile(r"\[\[([^\[\]\n]{1,500})\](?:\[([^\[\]\n]{1,200})\])?\]")
_ORG_BLOCK = re.compile(r"^[ \t]*#\+(?:begin|end)_(?:src|example)[^\n]*$", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_IMAGE = re.compile(r"!\[((?>(?:(?!!\[)[^\]\n])*))\]\([^()\n]*+(?>(?:\([^()\n]*+\)[^()\n]*+)*)\)")
_LINK = re.compile(r"\[([^\[\]\n]++)\]\([^()\n]*+(?>(?:\([^()\n]*+\)[^()\n]*+)*)\)")
_DEFINITION = re.compile(r"^(?![#>|*+\s-]|\d+[.)])(\S[^\n:|]{0,80}?)[ \t]*\n\n?:[ \t]{1,4}(?=\S)", re.MULTILINE)
"""A term above its definition in pandoc's Markdown: "Bollard", and ": A post to tie ships to." below it."""
_LINK_WITH_TARGET = re.compile(r"(?<!!)\[([^\[\]\n]++)\]\(<?([^()\s<>]++)")
"""A link in Markdown with its text and target: "[the form](https://x.example/form)"."""
_HEADING = re.compile(
    r"^#{1,6}[ \t]++(.+?)(?>(?:(?<![ \t])[ \t]++#*+|(?<![ \t#])#++)?)$|^(\S[^\n]*+)\n(?:=+|-{3,})[ \t]*$", re.MULTILINE
)

_KEYED = re.compile(r"[^\s•*-]\S{0,19}\t|(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?)\s")
"""The beginning of an entry of a calendar or a list: a date, or a word followed by a tab."""


def load_text(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a plain text as one document, with its tables as rows.

    Lines wrapped at a fixed width are joined to paragraphs, and a table of contents is left out.
    """
    text = tidy(decode(read_bytes(path, max_bytes), path))
    if path.suffix.lower() == ".org":
        yield markdown_document(path, _from_org(text))
        return
    first_lines = text.split("\n", 3)
    has_overline = len(first_lines) > 2 and first_lines[0] == first_lines[2]  # of a title in reStructuredText
    first_heading = heading_at(first_lines, 1 if has_overline else 0)
    title = first_heading if len(first_heading) <= TITLE_CHARACTERS else ""
    title = title or _title_line([line.strip() for line in text.split("\n")])
    printed = text.split("\n")
    report = ReadReport()
    if contents := contents_lines([printed]):
        report.count("contents_lines", len(contents))
        printed = [line for index, line in enumerate(printed) if (0, index) not in contents]
    lines = with_whole_words(with_rows(_with_causes([_with_boxes(line) for line in printed])))
    if path.suffix.lower() == ".rst":
        lines = [line if is_row(line) else _SUPERSCRIPT.sub(_raise_superscript, line) for line in lines]
    lines = tidy("\n".join(lines)).split("\n")
    stripped = [line.strip() for line in lines]
    is_wrapped = is_hard_wrapped(stripped)
    if is_wrapped:
        known_words = vocabulary(stripped)
        blocks = [block.split("\n") for block in "\n".join(lines).split("\n\n")]
        lines = "\n\n".join("\n".join(_join_wrapped_lines(block, known_words)) for block in blocks).split("\n")
    # After the lines were joined: with its parents, an item's first line would be longer than the others.
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


def _raise_superscript(match: re.Match[str]) -> str:
    """Return what `_SUPERSCRIPT` matches with raised characters: "10⁸"."""
    return match[1] + raised_behind(match[1], match[2])


def _with_boxes(line: str) -> str:
    """Return a line of a plain text with its check boxes in words; brackets in programs and logs are unchanged."""
    return line if is_code(line) or is_log_line(line) else with_typed_boxes(line)


def _with_causes(lines: list[str]) -> list[str]:
    """Return the lines of a log with each exception appended to the message above its stack trace.

    "invoice 77120 was not booked" does not say why: the exception follows several lines below, and each line is read
    alone.
    """
    result = list(lines)
    log_lines = [index for index, line in enumerate(lines) if is_log_line(line)]
    for index, next_index in pairwise([*log_lines, len(lines)]):
        trace = lines[index + 1 : next_index]
        if any(_FRAME.match(line) for line in trace):
            exceptions = [line.strip() for line in trace if _RAISED.fullmatch(line.strip())]
            result[index] = "; ".join([lines[index], *exceptions[:MOST_CAUSES]])
    return result


def _join_wrapped_lines(block: Sequence[str], known_words: Counter[str]) -> Sequence[str]:
    """Return the lines of a block joined to paragraphs; unchanged if most are settings, code or dated entries.

    Args:
        block: The lines between two blank ones.
        known_words: The words of the text, by which words divided at a line's end are recognised.
    """
    own_lines = 0
    for line in map(str.strip, block):
        own_lines += is_setting(line) or is_code(line) or _KEYED.match(line) is not None
    return block if own_lines * 2 > len(block) else paragraphs(block, known_words)


def _title_line(lines: list[str]) -> str:
    """Return the title behind "Title:" in the first line, or on the next line if nothing follows it there.

    Without that label, return the first line if it is short, no sentence, and followed by a blank line; else "".
    """
    first, *following = [*lines, ""]
    if label := _TITLE.match(first):
        title = first[label.end() :] or next(filter(None, following), "")
        return title if len(title) <= LABELLED_CHARACTERS else ""
    is_alone = 0 < len(first) <= TITLE_CHARACTERS and not following[0] and len(lines) > 1
    has_words = 2 * sum(map(str.isalnum, first)) >= len(first)  # "----*-indented-text-*----" has too few
    return first if is_alone and has_words and not first.endswith((".", "!", "?", ",", ";")) else ""


def load_markdown(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a Markdown file as one document: front matter as metadata, links as their text, no comments."""
    yield markdown_document(path, clean(decode(read_bytes(path, max_bytes), path)))


def markdown_document(path: Path, raw: str, report: ReadReport | None = None) -> Document:
    """Return a text in Markdown as the document of a file, followed by the targets of its links."""
    properties, body = _front_matter(raw)
    pieces: list[str] = []
    links: list[tuple[str, str]] = []
    for index, part in enumerate(_split_at_fences(body)):
        is_code_block = index % 2 == 1
        if is_code_block:
            pieces.append(part)
            continue
        links += [(link[1], link[2]) for link in _LINK_WITH_TARGET.finditer(_without_comments(part))]
        pieces.append(_with_tables_and_parents(_prose(part)))
    text = tidy("".join(pieces))
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
    """Return the YAML properties at the top of a text, in lower case, and the text below them.

    Return no properties and the whole text if there are none, or if they are invalid or use aliases.
    """
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
    except UnreadableDocument:  # the properties have too many levels
        return {}, text


def _split_at_fences(text: str) -> list[str]:
    """Return the text divided at code fences; every second part is code."""
    cuts = [match.start() for match in _FENCE.finditer(text)]
    bounds = [0, *cuts, len(text)]
    return [text[left:right] for left, right in pairwise(bounds)]


def _prose(part: str) -> str:
    """Return Markdown outside code without link targets, images and comments; check boxes and HTML tables are text."""
    part = _DEFINITION.sub(r"\1: ", part)
    return with_typed_boxes(_LINK.sub(r"\1", _IMAGE.sub(r"\1", _with_html_tables(_without_comments(part)))))


def _with_html_tables(text: str) -> str:
    """Return Markdown with tables that are written in HTML as rows."""
    pieces, position = [], 0
    lowered = text.lower()
    while (start := lowered.find("<table", position)) >= 0 and (end := lowered.find("</table>", start)) >= 0:
        end += len("</table>")
        pieces += [text[position:start], f"\n\n{readable_text(text[start:end])}\n\n"]
        position = end
    return "".join(pieces) + text[position:]


def _with_tables_and_parents(part: str) -> str:
    """Return Markdown with its tables as rows, and nested list items with their parent items."""
    return "\n".join(with_parents(with_rows(part.split("\n"), spaced=False)))


def _without_comments(text: str) -> str:
    """Return Markdown without its HTML comments, in linear time even if many are not closed."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start + len("<!--"))) >= 0:
        pieces.append(text[position:start])
        position = end + len("-->")
    return "".join(pieces) + text[position:]


def _headings(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of the headings of a Markdown text outside code."""
    offset = 0
    for index, part in enumerate(_split_at_fences(text)):
        if index % 2 == 0:
            yield from _HEADING.finditer(text, offset, offset + len(part))
        offset += len(part)
