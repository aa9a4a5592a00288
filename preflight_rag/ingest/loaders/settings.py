"""Settings files: YAML, TOML and INI as rows and lines that name the section of each value.

A line such as `port: 8443` says nothing without its section. An entry of a list of records is one row, as in JSON.
Comments stay beside the value that they explain. A file that its parser rejects, such as a template, is plain text.
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
_COMMENT_BEHIND = re.compile(r"(?:^|\s)#\s?([^\"'#]+)$")
_MOST_VALUES = 200_000
"""Maximum number of values of a YAML file, those behind an alias counted for each use; a guess."""
_LARGEST = 4_000_000
"""Maximum number of characters of a YAML file that is parsed, which takes seconds for each million; a guess."""
_DEEPEST = 50
"""Maximum depth of nested values; a guess at what no settings file has."""
_NO_SECTION = "\x00"
"""The section of an INI file's values above the first section."""
_MERGE_KEY = "<<"
"""The key with which a YAML mapping includes the values of another one."""


def load_settings(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a settings file as one document: records as rows, other values as lines `section, name: value`.

    A file that cannot be parsed, or has no values, is loaded as plain text.
    """
    text = decode(read_bytes(path, max_bytes), path)
    parsed = _parse(text, suffix_of(path))
    lines = []
    if isinstance(parsed, dict | list) and parsed:
        lines = list(json_lines(_with_merge_keys_resolved(_Comments(text).insert(parsed))))
    if not any(char.isalnum() for line in lines for char in line):
        yield from load_text(path, max_bytes)
        return
    comments = [match[1] for line in _top_comment(text) if (match := _COMMENT.match(line)) and match[1].strip()]
    yield file_document(path, clean("\n".join([*comments, *([""] if comments else []), *lines])))


def _parse(text: str, suffix: str) -> Any:
    """Return the parsed file, with values as written if the parser allows it; None if it cannot be parsed."""
    try:
        if suffix in (".yaml", ".yml"):
            return _parse_yaml(text)
        if suffix == ".toml":
            return tomllib.loads(text, parse_float=str)
        return _parse_ini(_without_escapes(text) if suffix == ".properties" else text)
    except (ValueError, RecursionError, configparser.Error):
        return None


def _without_escapes(text: str) -> str:
    r"""Return Java's properties with characters for their escapes (`\u00e9`), and continued lines joined."""
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    return unicode_text(re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text))


def _parse_yaml(text: str) -> Any:
    """Return the value of a YAML file, all scalars as text; of several documents, a list of those that are no scalars.

    Return None if it cannot be parsed, or is too large or too deeply nested.
    """
    import yaml

    if len(text) > _LARGEST:
        return None
    # The base loader keeps all scalars as text; the one written in C is five times as fast.
    FastBaseLoader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=FastBaseLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                return None
        roots = [root for root in yaml.compose_all(text, Loader=FastBaseLoader) if root is not None]
        if sum(_count_values(root, {}, set()) for root in roots) > _MOST_VALUES:
            return None
        documents = list(yaml.load_all(text, Loader=FastBaseLoader))
    except yaml.YAMLError:
        return None
    documents = [_with_text_keys(document, {}) for document in documents if isinstance(document, dict | list)]
    return documents[0] if len(documents) == 1 else documents


def _count_values(node: Any, counts: dict[int, int], parents: set[int]) -> int:
    """Return how many values a YAML node contains, those behind an alias counted each time; very many if it is cyclic.

    Args:
        node: The node.
        counts: The counts so far, by the identity of nodes; further ones are added.
        parents: The identities of the nodes around it.
    """
    if id(node) in parents:
        return _MOST_VALUES + 1
    if id(node) not in counts:
        parents.add(id(node))
        total = 1
        for item in node.value if isinstance(node.value, list) else ():
            for part in item if isinstance(item, tuple) else (item,):  # key and value of a mapping, or one of a list
                total += _count_values(part, counts, parents)
        counts[id(node)] = total
        parents.discard(id(node))
    return counts[id(node)]


def _with_text_keys(value: Any, converted: dict[int, Any]) -> Any:
    """Return a YAML value with all keys as text; a part that several aliases refer to stays one object.

    Args:
        value: The value.
        converted: The results so far, by the identity of the parts; further ones are added.
    """
    if not isinstance(value, dict | list):
        return value
    if id(value) not in converted:
        if isinstance(value, dict):
            converted[id(value)] = {str(key): _with_text_keys(part, converted) for key, part in value.items()}
        else:
            converted[id(value)] = [_with_text_keys(part, converted) for part in value]
    return converted[id(value)]


def _with_merge_keys_resolved(value: Any) -> Any:
    """Return a value in which each mapping has the values that its key `<<` includes; own values take precedence."""
    if isinstance(value, list):
        return [_with_merge_keys_resolved(part) for part in value]
    if not isinstance(value, dict):
        return value
    included = value.get(_MERGE_KEY)
    mappings = included if isinstance(included, list) else [included]
    has_merge_key = included is not None and all(isinstance(mapping, dict) for mapping in mappings)
    result: dict[str, Any] = {}
    for mapping in reversed(mappings) if has_merge_key else ():
        result |= _with_merge_keys_resolved(mapping)
    for name, part in value.items():
        if name != _MERGE_KEY or not has_merge_key:
            result[name] = _with_merge_keys_resolved(part)
    return result


def _parse_ini(text: str) -> dict[str, Any]:
    """Return the values above the first section, and the values of each section by its name.

    Raises:
        configparser.Error: It is no INI file, or it has a name twice, of which the parser would keep only one.
    """
    parser = configparser.RawConfigParser(strict=True, delimiters=("=", ":"), default_section=_NO_SECTION)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    statements = (line for line in text.splitlines() if line.strip() and not _COMMENT.match(line))
    has_section = next(statements, "").lstrip().startswith("[")
    parser.read_string(text if has_section else f"[{_NO_SECTION}]\n{text}")
    sections = {name: dict(parser.items(name)) for name in parser.sections()}
    values_above = parser.defaults()
    for values in sections.values():
        for name in values_above:  # the parser repeats them in each section
            values.pop(name, None)
    return {**values_above, **sections}


def _top_comment(text: str) -> list[str]:
    """Return the lines of the comment at the top of a file; [] if there is none, or a value follows it directly."""
    comment: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            return comment
        if not _COMMENT.match(line):
            return []
        comment.append(line)
    return comment


class _Comments:
    """The comments of a file by the name of the value that they precede or follow, which parsers drop.

    The occurrences of a name have the same order in the file and in the parsed value, so that the first comment on a
    name belongs to its first occurrence.

    Args:
        text: The file.
    """

    def __init__(self, text: str) -> None:
        self._by_name: dict[str, list[str]] = {}
        lines_before: list[str] = []
        lines = text.splitlines()[len(_top_comment(text)) :]
        for line in lines:
            if comment_line := _COMMENT.match(line):
                lines_before += filter(None, [comment_line[1].strip()])
            elif key := _KEY.match(line):
                behind = _COMMENT_BEHIND.search(line)
                comment = " ".join([*lines_before, *([behind[1].strip()] if behind else [])])
                self._by_name.setdefault((key[1] or key[2]).strip(), []).append(comment)
                lines_before = []
        self._at_end = " ".join(lines_before)
        self._commented: dict[int, Any] = {}
        """Parts with their comments, by identity: a part that aliases repeat is in the file only once."""

    def insert(self, value: Any) -> Any:
        """Return a parsed value with each comment beside the value that it explains; all others are at its end."""
        result = self._insert(value)
        unused = [comment for comments in self._by_name.values() for comment in comments if comment]
        text = " ".join(filter(None, [*unused, self._at_end]))
        if text and isinstance(result, dict):
            return {**result, "comment": text}
        return [*result, {"comment": text}] if text and isinstance(result, list) else result

    def _insert(self, value: Any) -> Any:
        """Return a part of the parsed value with its comments."""
        if not isinstance(value, dict | list):
            return value
        if id(value) not in self._commented:
            with_comments = (
                self._insert_in_mapping(value) if isinstance(value, dict) else list(map(self._insert, value))
            )
            self._commented[id(value)] = with_comments
        return self._commented[id(value)]

    def _insert_in_mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a mapping with the comments on its names: inside a mapping, behind a scalar, beside a list."""
        result: dict[str, Any] = {}
        for name, inner in value.items():
            comment = self._take_comment(name)
            if comment and isinstance(inner, dict):
                result[name] = {"comment": comment, **self._insert(inner)}
            elif comment and not isinstance(inner, list):
                result[name] = f"{inner} ({comment})".strip()
            else:
                result[name] = self._insert(inner)
                if comment:
                    result[f"{name}, comment"] = comment
        return result

    def _take_comment(self, name: str) -> str:
        """Return the next unused comment on a name, and mark it as used; "" if there is none."""
        comments = self._by_name.get(name)
        return comments.pop(0) if comments else ""
