"""MeSH from NLM's descriptor file (such as `desc2025.xml`, also `.gz`): synonyms and subtrees.

The file is read once, into a small database in the user's cache. Synonyms are a descriptor's entry terms; a subtree is
a descriptor with all those below its tree numbers, such as all of Neoplasms (CPQA, section III.A).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from preflight_rag.cache import cache_dir
from preflight_rag.state.errors import UnreadableDocument, UsageError
from preflight_rag.text.boolean import SearchTerm

if TYPE_CHECKING:
    from lxml.etree import _Element

MESH_TAG = "MeSH Terms"
MOST_SYNONYMS = 8
"""Most synonyms of a term in an expression."""
LONGEST_TERM = 8
"""Words of the longest term that is looked for in a text."""
FORMAT = 1
"""Version of the database in the cache; a database of another version is built anew."""
_ENDS = 1 << 20
_CHUNK = 500
_WORD = re.compile(r"[^\W_]+")
_TREE = re.compile(r"[A-Z]\d{2}(?:\.\d{3})*", re.IGNORECASE)
_HELP = "It should be NLM's desc20xx.xml or desc20xx.gz, from the MeSH downloads."
_TABLES = """
PRAGMA journal_mode = OFF;
CREATE TABLE descriptors (ui TEXT PRIMARY KEY, name TEXT NOT NULL, terms TEXT NOT NULL, trees TEXT NOT NULL);
CREATE TABLE terms (key TEXT NOT NULL, ui TEXT NOT NULL, heading INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE trees (number TEXT NOT NULL, ui TEXT NOT NULL);
"""
_INDICES = "CREATE INDEX by_key ON terms (key); CREATE INDEX by_number ON trees (number);"


@dataclass(frozen=True)
class Descriptor:
    """A heading of MeSH.

    Attributes:
        ui: Its unique id, such as D009369.
        name: The heading.
        terms: Its entry terms, those of the preferred concept first, without the heading.
        trees: Its tree numbers.
    """

    ui: str
    name: str
    terms: tuple[str, ...]
    trees: tuple[str, ...]


class Mesh:
    """An open MeSH file; get one with `Mesh.open`. Safe to use from several threads."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._subtrees: dict[str, frozenset[str]] = {}

    @classmethod
    def open(cls, path: str | Path, *, cache: Path | None = None) -> Mesh:
        """Open NLM's descriptor file; the first time, the whole file is read.

        Args:
            path: `desc20xx.xml`, plain or with gzip.
            cache: Folder of the database; None for the user's cache folder.

        Raises:
            UsageError: There is no such file, or it holds no descriptor.
            UnreadableDocument: It is not well-formed XML.
        """
        path = Path(path).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no MeSH file {str(path)!r}", help=_HELP)
        stat = path.stat()
        folder = cache or cache_dir() / "mesh"
        database = folder / f"{_fingerprint(path, stat.st_size, stat.st_mtime_ns)}.db"
        if not database.is_file():
            _build(path, database)
        return cls(database)

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM descriptors")[0][0])

    def descriptor(self, term: str) -> Descriptor | None:
        """Return the descriptor of a heading, entry term or unique id, in any case, singular or plural.

        A heading takes precedence over an entry term; None if there is neither.
        """
        rows = self._rows("SELECT ui FROM terms WHERE key = ? ORDER BY heading DESC, ui LIMIT 1", [_key(term)])
        return self._get(rows[0][0] if rows else term.strip().upper())

    def synonyms(self, term: str) -> tuple[str, ...]:
        """Return a term's synonyms: heading and entry terms in natural order; empty for an unknown term."""
        found = self.descriptor(term)
        if found is None:
            return ()
        names = [name for name in (found.name, *found.terms) if ", " not in name]
        distinct = {name.casefold(): name for name in reversed(names) if name.casefold() != term.strip().casefold()}
        return tuple(distinct.values())[::-1]

    def alternatives(self, term: str) -> list[SearchTerm]:
        """Return the alternatives that `ladder.expand` joins by OR: synonyms, and the heading with its field tag."""
        found = self.descriptor(term)
        if found is None:
            return []
        names = [SearchTerm(name, phrase=True) for name in self.synonyms(term)[:MOST_SYNONYMS]]
        return [*names, SearchTerm(found.name, phrase=True, tag=MESH_TAG)]

    def under(self, subtree: str) -> frozenset[str]:
        """Return the headings of a subtree, including its root.

        Args:
            subtree: A heading or entry term, or a tree number such as C04.

        Raises:
            UsageError: Unknown; the message names similar headings.
        """
        numbers = [subtree.strip().upper()]
        if not _TREE.fullmatch(numbers[0]):
            root = self.descriptor(subtree)
            numbers = list(root.trees) if root else []
            if root and not numbers:
                return frozenset({root.name})
        names: set[str] = set()
        for number in numbers:
            rows = self._rows(
                "SELECT d.name FROM trees t JOIN descriptors d ON d.ui = t.ui"
                " WHERE t.number = ? OR (t.number > ? AND t.number < ?)",
                [number, f"{number}.", f"{number}/"],
            )
            names.update(row[0] for row in rows)
        if not names:
            raise UsageError(f"MeSH has no heading or tree number {subtree!r}", help=self._alike(subtree))
        return frozenset(names)

    def mentions(self, text: str) -> list[Descriptor]:
        """Return the descriptors whose terms occur in a text, by their first mention, longer terms before parts.

        A term in capital letters, such as AIDS, must be in capitals in the text, too.
        """
        uis = dict.fromkeys(ui for ui, _ in self._found(text))
        return [descriptor for ui in uis if (descriptor := self._get(ui))]

    def stretches(self, text: str) -> list[str]:
        """Return the parts of a text that are terms, as written, in order, longer terms before their parts."""
        return list(dict.fromkeys(written for _, written in self._found(text)))

    def _found(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield `(ui, as written)` of each term in a text; of nested terms only the longest."""
        tokens = [(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
        singulars = [_singular(token.casefold()) for token, _, _ in tokens]
        spans = {
            (start, end): " ".join(singulars[start:end])
            for start in range(len(tokens))
            for end in range(start + 1, min(start + LONGEST_TERM, len(tokens)) + 1)
        }
        known = self._known(sorted(set(spans.values())))
        at = 0
        while at < len(tokens):
            for end in range(min(at + LONGEST_TERM, len(tokens)), at, -1):
                written = text[tokens[at][1] : tokens[end - 1][2]]
                ui = next((ui for ui, term in known.get(spans[at, end], []) if _fits(term, written)), None)
                if ui:
                    yield ui, written
                    at = end - 1
                    break
            at += 1

    def about(self, text: str, subtree: str) -> bool:
        """Return whether a text mentions a descriptor of a subtree (see `under`), to select questions and documents."""
        headings = self._subtrees.get(subtree)
        if headings is None:
            headings = self._subtrees[subtree] = self.under(subtree)
        return any(descriptor.name in headings for descriptor in self.mentions(text))

    def _get(self, ui: str) -> Descriptor | None:
        """Return the descriptor with this unique id."""
        rows = self._rows("SELECT ui, name, terms, trees FROM descriptors WHERE ui = ?", [ui])
        return (
            Descriptor(rows[0][0], rows[0][1], *(tuple(json.loads(value)) for value in rows[0][2:])) if rows else None
        )

    def _known(self, keys: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """Return `(ui, term)` for those keys that are terms, headings first."""
        found: dict[str, list[tuple[str, str]]] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            sql = f"SELECT key, ui, text FROM terms WHERE key IN ({marks}) ORDER BY heading DESC, ui"  # noqa: S608
            for key, ui, text in self._rows(sql, chunk):
                found.setdefault(key, []).append((ui, text))
        return found

    def _alike(self, term: str) -> str:
        """Return the end of an error message with similar headings."""
        from difflib import get_close_matches

        names = {name.casefold(): name for (name,) in self._rows("SELECT name FROM descriptors")}
        near = get_close_matches(term.casefold(), names, n=3)
        return f"Did you mean {' or '.join(repr(names[name]) for name in near)}?" if near else "Name a MeSH heading."

    def _rows(self, sql: str, parameters: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query to the database of descriptors."""
        uri = f"{self._database.absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as database:
                return database.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise UnreadableDocument(
                f"{self._database} cannot be read: {error}", help="Delete it and try again"
            ) from error


def read_descriptors(path: Path) -> Iterator[Descriptor]:
    """Yield the descriptors of NLM's XML one by one, without holding the file in memory.

    Raises:
        UnreadableDocument: It is not well-formed XML, or begins like gzip without being gzip.
    """
    from lxml import etree

    try:
        with _opened(path) as file:
            events = etree.iterparse(
                file,
                events=("end",),
                tag="DescriptorRecord",
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                huge_tree=True,
            )
            for _, record in events:
                if (descriptor := _descriptor(record)) is not None:
                    yield descriptor
                record.clear()
                while record.getprevious() is not None:
                    del record.getparent()[0]
    except (etree.XMLSyntaxError, OSError, EOFError) as error:
        raise UnreadableDocument(f"the MeSH file {path} cannot be read: {error}", help=_HELP) from error


def _descriptor(record: _Element) -> Descriptor | None:
    """Return the descriptor of an XML record; None if it has no id or name."""
    ui, name = record.findtext("DescriptorUI"), record.findtext("DescriptorName/String")
    if not ui or not name:
        return None
    concepts = record.findall("ConceptList/Concept")
    concepts.sort(key=lambda concept: concept.get("PreferredConceptYN") != "Y")
    terms: dict[str, None] = {}
    for concept in concepts:
        for term in concept.findall("TermList/Term"):
            text = term.findtext("String")
            if text and text.strip() != name.strip():
                terms[text.strip()] = None
    trees = [each.text.strip() for each in record.iterfind("TreeNumberList/TreeNumber") if each.text]
    return Descriptor(ui.strip(), name.strip(), tuple(terms), tuple(trees))


def _build(path: Path, database: Path) -> None:
    """Read a descriptor file into a new database, which gets its name when it is complete."""
    database.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=database.parent, suffix=".tmp")
    os.close(handle)
    scratch = Path(name)
    try:
        with closing(sqlite3.connect(scratch)) as target:
            target.executescript(_TABLES)
            for found in read_descriptors(path):
                row = (found.ui, found.name, json.dumps(found.terms), json.dumps(found.trees))
                target.execute("INSERT OR REPLACE INTO descriptors VALUES (?, ?, ?, ?)", row)
                names = [(found.name, 1), *((term, 0) for term in found.terms)]
                target.executemany(
                    "INSERT INTO terms VALUES (?, ?, ?, ?)", [(_key(text), found.ui, own, text) for text, own in names]
                )
                target.executemany("INSERT INTO trees VALUES (?, ?)", [(number, found.ui) for number in found.trees])
            target.executescript(_INDICES)
            target.commit()
        if not len(Mesh(scratch)):
            raise UsageError(f"the MeSH file {str(path)!r} holds no descriptor", help=_HELP)
        os.replace(scratch, database)
    finally:
        scratch.unlink(missing_ok=True)


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file, compressed with gzip or not."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if compressed else path.open("rb")


@lru_cache(maxsize=8)
def _fingerprint(path: Path, size: int, modified: int) -> str:
    """Return a value that changes with the file: from its size, its time, and a hash of its beginning and end."""
    with path.open("rb") as file:
        head = file.read(_ENDS)
        file.seek(max(size - _ENDS, 0))
        content = hashlib.sha256(head + file.read(_ENDS)).hexdigest()
    return hashlib.sha256(f"{FORMAT} {size} {modified} {content}".encode()).hexdigest()[:24]


def _key(term: str) -> str:
    """Return a term in the form for comparison: its words in lower case and singular."""
    return " ".join(_singular(word.casefold()) for word in _WORD.findall(term))


def _singular(word: str) -> str:
    """Return a word without a plural s."""
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


def _fits(term: str, written: str) -> bool:
    """Return whether words of a text can be this term: an abbreviation must be in capitals."""
    return not (term.isupper() and len(term) > 1) or term in written
