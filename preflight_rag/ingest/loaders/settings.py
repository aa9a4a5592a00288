"""Settings files: YAML, TOML and INI as rows and lines that say what each value belongs to.

A line such as `port: 8443` says nothing without the section that it stands in, and an entry of a list of records is
read as one row, as JSON's are. Comments stay beside the value that they explain. A file that its parser does not take,
as templates and nginx's, is plain text.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.fields import clean, file_document
from preflight_rag.ingest.loaders.files import read_bytes, suffix_of
from preflight_rag.ingest.loaders.rows import json_lines
from preflight_rag.ingest.loaders.text import load_text
from preflight_rag.state.values import Document
from preflight_rag.text.words import unicode_text

_COMMENT = re.compile(r"\s*[#;]+\s?(.*)")
_KEY = re.compile(
    r"\s*(?:- +)*[\"']?([^\s\"'#;=:\[\]{}][^\"'#=:\[\]{}]{0,80}?)[\"']?\s*(?:=|:(?=\s|$))"  # port: 8443, rate=5
    r"|\s*\[+([^\[\]]+)\]+"  # [server]
)
_BEHIND_VALUE = re.compile(r"(?:^|\s)#\s?([^\"'#]+)$")
_MOST_VALUES = 200_000
"""Values of a YAML file with its repetitions written out; a file of more is no settings file. A guess."""
_LARGEST = 4_000_000
"""Characters of a YAML file that is parsed, which takes seconds for each million; a guess."""
_DEEPEST = 50
"""Values inside each other that are followed; a guess at what no settings file has."""
_NO_SECTION = "\x00"
_TAKEN_OVER = "<<"
"""The name under which YAML takes over the values of another part."""


def load_settings(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a settings file as one document: records as rows, other values as lines `section, name: value`."""
    text = decode(read_bytes(path, max_bytes), path)
    parsed = _parse(text, suffix_of(path))
    lines = []
    if isinstance(parsed, dict | list) and parsed:
        lines = list(json_lines(_merged(_Comments(text).beside(parsed))))
    if not any(char.isalnum() for line in lines for char in line):
        yield from load_text(path, max_bytes)
        return
    above = [match[1] for line in _first_lines(text) if (match := _COMMENT.match(line)) and match[1].strip()]
    yield file_document(path, clean("\n".join([*above, *([""] if above else []), *lines])))


def _parse(text: str, suffix: str) -> Any:
    """Return the parsed file, with values as written if the parser allows it; None if it cannot be parsed."""
    try:
        if suffix in (".yaml", ".yml"):
            return _yaml(text)
        if suffix == ".toml":
            return tomllib.loads(text, parse_float=str)
        return _ini(_without_escapes(text) if suffix == ".properties" else text)
    except (ValueError, RecursionError, configparser.Error):
        return None


def _without_escapes(text: str) -> str:
    """Return Java's properties with their letters, of which others than Latin ones are numbers, and lines in one."""
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    return unicode_text(re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text))


def _yaml(text: str) -> Any:
    """Return the value of a YAML file; None if it cannot be parsed or is too large."""
    import yaml

    if len(text) > _LARGEST:
        return None
    # All values stay text; the loader in C is five times as fast.
    FastBaseLoader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=FastBaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                return None
        roots = [root for root in yaml.compose_all(text, Loader=FastBaseLoader) if root is not None]
        if sum(_count(root, {}, set()) for root in roots) > _MOST_VALUES:
            return None
        documents = list(yaml.load_all(text, Loader=FastBaseLoader))
    except yaml.YAMLError:
        return None
    documents = [_named(document, {}) for document in documents if isinstance(document, dict | list)]
    return documents[0] if len(documents) == 1 else documents


def _count(node: Any, known: dict[int, int], around: set[int]) -> int:
    """Return how many values a YAML node contains, repeated ones counted again; very many for a cyclic node."""
    if id(node) in around:
        return _MOST_VALUES + 1
    if id(node) not in known:
        around.add(id(node))
        parts = node.value if isinstance(node.value, list) else []
        inner = [part for each in parts for part in (each if isinstance(each, tuple) else (each,))]
        known[id(node)] = 1 + sum(_count(part, known, around) for part in inner)
        around.discard(id(node))
    return known[id(node)]


def _named(value: Any, known: dict[int, Any]) -> Any:
    """Return the value with names that are text, YAML allows others; what an alias repeats stays one object."""
    if not isinstance(value, dict | list):
        return value
    if id(value) not in known:
        known[id(value)] = (
            {str(name): _named(each, known) for name, each in value.items()}
            if isinstance(value, dict)
            else [_named(each, known) for each in value]
        )
    return known[id(value)]


def _merged(value: Any) -> Any:
    """Return the value with what `<<` takes over from another part of the file in its place; own values go first."""
    if isinstance(value, list):
        return [_merged(each) for each in value]
    if not isinstance(value, dict):
        return value
    taken = value.get(_TAKEN_OVER)
    parts = taken if isinstance(taken, list) else [taken]
    if taken is None or not all(isinstance(each, dict) for each in parts):
        return {name: _merged(each) for name, each in value.items()}
    found: dict[str, Any] = {}
    for part in reversed(parts):
        found |= _merged(part)
    return found | {name: _merged(each) for name, each in value.items() if name != _TAKEN_OVER}


def _ini(text: str) -> dict[str, Any]:
    """Return sections and their values.

    Raises:
        configparser.Error: It is no INI file, or it has a name twice, of which the parser would keep one.
    """
    parser = configparser.RawConfigParser(strict=True, delimiters=("=", ":"), default_section=_NO_SECTION)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    has_section = any(line.lstrip().startswith("[") for line in _stated(text)[:1])
    parser.read_string(text if has_section else f"[{_NO_SECTION}]\n{text}")
    sections = {name: dict(parser.items(name)) for name in parser.sections()}
    own = parser.defaults()
    for values in sections.values():
        for name in own:
            values.pop(name, None)
    return {**own, **sections}


def _stated(text: str) -> list[str]:
    """Return the lines that are not comments."""
    return [line for line in text.splitlines() if line.strip() and not _COMMENT.match(line)]


def _first_lines(text: str) -> list[str]:
    """Return the comment at the top of the file, if a blank line follows it."""
    head: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            return head
        if not _COMMENT.match(line):
            return []
        head.append(line)
    return head


class _Comments:
    """The comments of a file by the name that they precede or follow, in the file's order.

    Parsers drop comments; a name's occurrences come in the same order in the file and in what was parsed.

    Args:
        text: The file.
    """

    def __init__(self, text: str) -> None:
        self._by_name: dict[str, list[str]] = {}
        waiting: list[str] = []
        lines = text.splitlines()[len(_first_lines(text)) :]
        for line in lines:
            if alone := _COMMENT.match(line):
                waiting += [alone[1].strip()] if alone[1].strip() else []
            elif key := _KEY.match(line):
                behind = _BEHIND_VALUE.search(line)
                comment = " ".join([*waiting, *([behind[1].strip()] if behind else [])])
                self._by_name.setdefault((key[1] or key[2]).strip(), []).append(comment)
                waiting = []
        self._last = " ".join(waiting)
        self._known: dict[int, Any] = {}
        """Parts with their comments, by identity: what an alias repeats stands in the file once."""

    def beside(self, value: Any) -> Any:
        """Return a parsed value with each comment inserted beside the value that it explains."""
        found = self._beside(value)
        left = [comment for names in self._by_name.values() for comment in names if comment]
        rest = " ".join([*left, *([self._last] if self._last else [])])
        if rest and isinstance(found, dict):
            return {**found, "comment": rest}
        return [*found, {"comment": rest}] if rest and isinstance(found, list) else found

    def _beside(self, value: Any) -> Any:
        """Return a part of the parsed value with its comments."""
        if not isinstance(value, dict | list):
            return value
        if id(value) not in self._known:
            found = self._beside_values(value) if isinstance(value, dict) else [self._beside(each) for each in value]
            self._known[id(value)] = found
        return self._known[id(value)]

    def _beside_values(self, value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, inner in value.items():
            comment = self._take(name)
            if comment and isinstance(inner, dict):
                found[name] = {"comment": comment, **self._beside(inner)}
            elif comment and not isinstance(inner, list):
                found[name] = f"{inner} ({comment})".strip()
            else:
                found[name] = self._beside(inner)
                if comment:
                    found[f"{name}, comment"] = comment
        return found

    def _take(self, name: str) -> str:
        """Return the next unused comment on a name; "" without one."""
        waiting = self._by_name.get(name)
        return waiting.pop(0) if waiting else ""
