"""Documents with the same text: found when a library is written, searched once, cited with "also in".

Examples are a paper as XML and as text, a report in two folders, a letter that quotes another one. Of two such
documents one is searched: the one with more known metadata (authors, journal, date), else the shorter one, which the
longer one quotes, else the earlier one. A passage of the other document is left out of searches if all of its text
stands word for word in passages of the first (`text.overlap`); its other passages are searched as before. If two
documents differ in a number, a name or a "not", they are versions, and both are searched whole.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from preflight_rag.ingest.report import DocumentCopy
from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.library.storage.copies import WHOLE
from preflight_rag.state.reading import Source
from preflight_rag.state.values import CopyPlace
from preflight_rag.text.overlap import Overlap, compare, compared_words, fingerprint, holds_words
from preflight_rag.text.versions import are_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from preflight_rag.library.search.filters import Filter
    from preflight_rag.library.storage.copies import DocumentMarks
    from preflight_rag.state.values import Citation

LEAST_SHARE = WHOLE
"""Least share of the shorter document's words that the other one must contain. Among 19 papers as XML and as text it is
0.74 to 1.0; one of the formats leaves out figures, tables and references."""
LEAST_MARKS = 0.4
"""Least share of equal marks for two documents to be compared; among those papers it is 0.71 to 0.97."""
LEAST_PASSAGE = 12
"""Passages of fewer words are always searched: such a short text may be the same by chance."""
LEAST_VERBATIM = 0.8
"""Least share of a passage's words that must stand in the other document in unbroken runs; the rest may be section
names and the like."""
QUOTING = 1.3
"""Least ratio of lengths at which a document is taken to quote another one: the text around the quote is its own."""
SHORT_DOCUMENT = 60
"""Up to this many words, two documents must also have the same title: the title of a row or card says what it is about.
"""
MOST_COMPARED = 8
"""Most documents with which one is compared, those with the most marks in common first; a guess."""
# A form letter shares its marks with thousands of documents, so not all pairs can be compared.
NEIGHBOURS = 3
"""A document is compared with the first and this many preceding documents that share a mark; a guess."""
GROUP = 64
"""Documents whose copies are written at once; a guess."""


@runtime_checkable
class KnowsCopies(Protocol):
    """A collection that knows which of its passages have the same text."""

    def without_copies(self, ids: Sequence[str], where: Filter | None = None) -> list[str]:
        """Return the passages, except copies: those whose text another passage within the filter has."""
        ...

    def also_in(self, quotes: Mapping[str, str]) -> dict[str, list[CopyPlace]]:
        """Return, for each passage, the other documents with the same quote that are left out of searches."""
        ...


class FoundCopyStore(Protocol):
    """Read access to the tables of copies, in a folder's library or in PostgreSQL."""

    def document_copies(self) -> list[DocumentCopy]:
        """Return all documents that have the text of another one, by id."""

    def document_rows(self, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return title, source, date, authors, metadata and origin of documents, by document id."""

    def passage_texts(self, document_ids: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
        """Return `(row, text)` of the passages of each document in their order, by document id."""

    def documents_of(self, passage_ids: Sequence[str]) -> dict[str, str]:
        """Return the document id of each existing passage, by passage id."""


class CopyStore(FoundCopyStore, Protocol):
    """Read and write access to the tables of copies."""

    def passage_copies(self) -> Mapping[int, tuple[int, ...]]:
        """Return, for each copied passage's row, the rows of the passages with the same text."""

    def make_copy_tables(self) -> None:
        """Create the tables if they are missing."""

    def forget_changed(self) -> None:
        """Delete the fingerprints and copies of changed or removed documents; their former copies are compared anew."""

    def documents_without_marks(self) -> Iterable[list[tuple[str, int]]]:
        """Yield batches of `(id, version number)` of documents without a fingerprint, for the caller to add."""

    def add_marks(self, found: Sequence[tuple[str, int, int, bytes]]) -> None:
        """Store `(document id, version number, number of words, fingerprint)` of documents to be compared."""

    def has_uncompared(self) -> bool:
        """Return whether a document waits to be compared with the others."""

    def marked(self) -> Iterable[DocumentMarks]:
        """Yield the fingerprints of all documents, the earliest added first."""

    def write_copies(
        self, compared: Sequence[str], documents: Sequence[DocumentCopy], passages: Mapping[int, Sequence[int]]
    ) -> None:
        """Store the copies found for the `compared` documents, and record that these have been compared."""


def with_copies(library: object, citations: Sequence[Citation]) -> list[Citation]:
    """Return the citations, each with the other documents that contain its quote but are left out of searches."""
    quotes = {each.passage_id: each.quote for each in citations if each.verified}
    if not quotes or not isinstance(library, KnowsCopies):
        return list(citations)
    found = library.also_in(quotes)
    return [each.model_copy(update={"also_in": tuple(found.get(each.passage_id, ()))}) for each in citations]


@dataclass
class _Read:
    """A document prepared for comparison.

    Attributes:
        rows: The rows of its passages, in order.
        words: The words of each passage.
    """

    row: Mapping[str, Any]
    rows: list[int]
    words: list[list[str]]
    metadata: Mapping[str, Any]
    text: str

    @cached_property
    def tokens(self) -> list[str]:
        """All words of the document."""
        return list(chain.from_iterable(self.words))

    @cached_property
    def starts(self) -> list[int]:
        """The index of the first word of each passage, followed by the total number of words."""
        return [0, *accumulate(map(len, self.words))]

    @cached_property
    def rank(self) -> tuple[int, int, int, str]:
        """The unique sort key by which one of two documents is searched: the one with the smaller key."""
        known = [self.row["authors"] not in ("", "[]"), self.metadata.get("date_from") == "metadata"]
        known += [bool(self.metadata.get(name)) for name in ("journal", "doi", "pmid", "pmcid")]
        return -sum(known), len(self.tokens), min(self.rows), self.row["id"]

    def source(self) -> Source:
        """The document as `text.versions` needs it, without a date if its format has none."""
        metadata = self.metadata
        replaced = [value for name in ("replaces", "supersedes") if (value := metadata.get(name))]
        names = [str(each) for value in replaced for each in (value if isinstance(value, list) else [value])]
        row = self.row
        return Source(0, "", row["title"], self.text, row["source"], document_id=row["id"], replaces=tuple(names))


def link_copies(store: CopyStore) -> list[DocumentCopy]:
    """Find and store the copies among documents that were added or changed since the last call, within a transaction.

    Returns:
        The copies among these documents, and among those that were copies of a document that is gone.
    """
    store.make_copy_tables()
    # Before new marks are stored: a changed document is recognised by the generation of its old ones.
    store.forget_changed()
    for group in store.documents_without_marks():
        store.add_marks(list(_marks_of(store, group)))
    # Candidates are found over the fingerprints of all documents, which an ingest of nothing new need not read.
    if not store.has_uncompared():
        return []
    pairs = _candidates(store)
    waiting = [each.document_id for each in store.marked() if not each.compared]
    found: list[DocumentCopy] = []
    done: set[frozenset[str]] = set()
    # In a folder each group is a transaction of its own, so a killed run has at most one to do again.
    for start in range(0, len(waiting), GROUP):
        found += _compare_group(store, waiting[start : start + GROUP], pairs, done)
    return found


def _marks_of(store: CopyStore, documents: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield the fingerprints of documents, as `add_marks` takes them."""
    texts = store.passage_texts([name for name, _ in documents])
    for name, generation in documents:
        tokens = list(chain.from_iterable(compared_words(text) for _, text in texts.get(name, [])))
        yield name, generation, len(tokens), fingerprint(tokens).astype("<u4").tobytes()


def _candidates(store: CopyStore) -> dict[str, list[str]]:
    """Return, for each document not yet compared, those that share enough hashes with it, the most similar first."""
    import numpy as np

    names, lengths, new, blobs = [], [], [], []
    for each in store.marked():
        if each.marks:
            names.append(each.document_id)
            lengths.append(len(each.marks) // 4)
            new.append(not each.compared)
            blobs.append(each.marks)
    if len(names) < 2:
        return {}
    marks = np.frombuffer(b"".join(blobs), "<u4")
    owners = np.repeat(np.arange(len(names)), lengths)
    is_new, counts = np.array(new), np.array(lengths)
    # Pairs of old documents were compared before. Without marks that no new document has, there is little left to sort.
    if not is_new.all():
        wanted = np.isin(marks, marks[is_new[owners]])
        marks, owners = marks[wanted], owners[wanted]
    order = np.argsort(marks, kind="stable")  # the documents of one mark stay in the order in which they were added
    marks, owners = marks[order], owners[order]
    begins = np.flatnonzero(np.r_[True, marks[1:] != marks[:-1]])
    first = np.repeat(begins, np.diff(np.r_[begins, len(marks)]))
    places = np.arange(len(marks))
    keys = []
    # None stands for the first document that has the mark. All pairs of a mark would grow with its square.
    for back in (*range(1, NEIGHBOURS + 1), None):
        other = first if back is None else places - back
        is_pair = (places - first > NEIGHBOURS) if back is None else (other >= first)
        a, b = owners[other[is_pair]], owners[places[is_pair]]
        wanted = is_new[a] | is_new[b]
        # A pair as one number: how often it occurs is the number of marks in common.
        keys.append(a[wanted] * len(names) + b[wanted])
    pair, shared = np.unique(np.concatenate(keys), return_counts=True)
    a, b = np.divmod(pair, len(names))
    least = np.minimum(counts[a], counts[b])
    # One mark in common may be chance, unless the shorter document has no other.
    enough = (shared >= LEAST_MARKS * least) & ((shared > 1) | (least == 1))
    found: dict[str, list[tuple[int, str]]] = {}
    for left, right, count in zip(a[enough].tolist(), b[enough].tolist(), shared[enough].tolist(), strict=True):
        for one, other in ((left, right), (right, left)):
            if new[one]:
                found.setdefault(names[one], []).append((-count, names[other]))
    candidates = {}
    for name, others in found.items():
        candidates[name] = [other for _, other in sorted(others)[:MOST_COMPARED]]
    return candidates


def _compare_group(
    store: CopyStore, group: Sequence[str], candidates: Mapping[str, Sequence[str]], done: set[frozenset[str]]
) -> list[DocumentCopy]:
    """Compare some documents with their candidates, except for pairs in `done`, and store the copies found."""
    pairs_of_group = set()
    for one in group:
        for other in candidates.get(one, ()):
            pairs_of_group.add(frozenset((one, other)))
    # Both documents of a pair may be new and in different groups.
    pairs = pairs_of_group - done
    done |= pairs
    read = _read(store, sorted(set(chain.from_iterable(pairs))))
    # `_read` leaves out documents without passages.
    pairs = {pair for pair in pairs if pair <= read.keys()}
    # The best of the searched documents comes first: text that it covers needs no other document.
    by_rank = []
    for pair in pairs:
        by_rank.append(sorted((read[name] for name in pair), key=lambda each: each.rank))
    ordered = sorted(by_rank,
                     key=lambda pair: (pair[1].rank, pair[0].rank))  # fmt: skip
    documents: list[DocumentCopy] = []
    passages: dict[int, list[int]] = {}
    known = store.passage_copies()
    whole: set[str] = set()
    for kept, copy in ordered:
        covered = [row for row in copy.rows if row in passages or row in known]
        if copy.row["id"] in whole or len(covered) == len(copy.rows):
            continue
        overlap = compare(copy.tokens, kept.tokens, title=compared_words(kept.row["title"]))
        if not _are_copies(copy, kept, overlap):
            continue
        # A passage that an earlier pair has covered stays with the better document.
        found = {row: of for row, of in _covered(copy, kept, overlap) if row not in passages and row not in known}
        documents.append(DocumentCopy(copy.row["id"], kept.row["id"], round(overlap.share, 3)))
        if overlap.share >= LEAST_SHARE:
            whole.add(copy.row["id"])
        passages |= found
    store.write_copies(group, documents, passages)
    return documents


def _read(store: CopyStore, names: Sequence[str]) -> dict[str, _Read]:
    """Return documents prepared for comparison, by id."""
    rows, texts = store.document_rows(names), store.passage_texts(names)
    found = {}
    for name in names:
        passages = texts.get(name, [])
        if name in rows and passages:
            words = [compared_words(text) for _, text in passages]
            metadata = json.loads(rows[name]["metadata"])
            found[name] = _Read(rows[name], [row for row, _ in passages], words, metadata, passages[0][1])
    return found


def _are_copies(copy: _Read, kept: _Read, overlap: Overlap) -> bool:
    """Return whether `kept` contains the text of `copy`, and no different text in its place."""
    if overlap.differs or max(overlap.share, overlap.other_share) < LEAST_SHARE:
        return False
    longer, shorter = max(len(copy.tokens), len(kept.tokens)), min(len(copy.tokens), len(kept.tokens))
    # Around a quote the longer document goes on with its own text, so differences at the ends say nothing.
    if longer >= QUOTING * shorter and shorter >= SHORT_DOCUMENT:
        return not are_versions(copy.source(), kept.source())
    if overlap.differs_at_ends or are_versions(copy.source(), kept.source()):
        return False
    if shorter <= SHORT_DOCUMENT and compared_words(copy.row["title"]) != compared_words(kept.row["title"]):
        return False
    return not _dated_apart(copy, kept)


def _dated_apart(a: _Read, b: _Read) -> bool:
    """Return whether two files or records of one kind have different dates, so that one is a later repetition."""
    # A paper's XML and PDF may be dated by different fields; two reports of one kind are of two years.
    kinds = {PurePath(each.row["origin"]).suffix.casefold() for each in (a, b)}
    own = all(each.metadata.get("date_from") == "metadata" for each in (a, b))
    return len(kinds) == 1 and own and a.row["date"] != b.row["date"]


def _covered(copy: _Read, kept: _Read, overlap: Overlap) -> Iterator[tuple[int, list[int]]]:
    """Yield the row of each passage whose text the other document has, with the rows of that document's passages."""
    for row, start, end in zip(copy.rows, copy.starts, copy.starts[1:], strict=False):
        if end - start < LEAST_PASSAGE or not overlap.explained[start:end].all():
            continue
        of: dict[int, None] = {}
        verbatim = 0
        for run in overlap.runs:
            begin, stop = max(run.start, start), min(run.start + run.length, end)
            if begin < stop:
                verbatim += stop - begin
                first, last = run.other + begin - run.start, run.other + stop - run.start - 1
                places = range(bisect_right(kept.starts, first) - 1, bisect_right(kept.starts, last))
                of.update(dict.fromkeys(kept.rows[place] for place in places))
        if verbatim >= LEAST_VERBATIM * (end - start):
            yield row, list(of)


@dataclass
class Copies:
    """The passages that are left out of searches because other passages have their text.

    Attributes:
        of: For each copied passage's row, the rows of the passages with its text.
        searched: Function that selects, from given rows, those that are in the index and pass the filter, if any.
    """

    of: Mapping[int, tuple[int, ...]]
    searched: Callable[[np.ndarray], np.ndarray]
    _is_hidden: dict[int, bool] = field(default_factory=dict)

    def hidden(self, rows: Sequence[int]) -> list[bool]:
        """Return, for each row of the index, whether searches leave its passage out because others have its text."""
        import numpy as np

        new = [row for row in rows if row not in self._is_hidden]
        behind, left = {row for row in new if row in self.of}, [row for row in new if row in self.of]
        # Copies of copies, to any depth: all rows that may stand for these are looked up in the index at once.
        while left:
            originals = chain.from_iterable(self.of[row] for row in left)
            left = [row for row in originals if row in self.of and row not in behind]
            behind.update(left)
        wanted = np.array(sorted(set(chain.from_iterable(self.of[row] for row in behind))), np.int64)
        found = set(wanted[self.searched(wanted)].tolist()) if len(wanted) else set()

        def has(row: int, behind: frozenset[int] = frozenset()) -> bool:
            """Return whether a search finds a passage's text, in the passage itself or in its copies."""
            if row in found:
                return True
            others = self.of.get(row, ())
            # Stored copies may form a circle, whose passages do not stand for each other.
            return bool(others) and row not in behind and all(has(other, behind | {row}) for other in others)

        self._is_hidden.update({row: row in self.of and all(map(has, self.of[row])) for row in new})
        return [self._is_hidden[row] for row in rows]

    def search(self, ranked: Callable[[int], ScoredRanking], depth: int) -> ScoredRanking:
        """Return the first `depth` entries of a ranking, without passages that are left out.

        `ranked(n)` returns the first `n` entries of the ranking, copies included.
        """
        import numpy as np

        asked = depth
        while True:
            found = ranked(asked)
            if not self.of:
                return found
            kept = ~np.array(self.hidden(found.keys.tolist()), bool)
            if kept.sum() >= depth or len(found) < asked:
                return ScoredRanking(found.keys[kept], found.scores[kept]).best(depth)
            # How many entries are copies is seen only when they are read.
            asked *= 2


def also_in(store: FoundCopyStore, quotes: Mapping[str, str]) -> dict[str, list[CopyPlace]]:
    """Return, for each passage, the other documents with its text that contain its quote word for word.

    Args:
        store: The library's database.
        quotes: The quote of each passage, by passage id.
    """
    documents = store.documents_of(list(quotes))
    related = {name: _related(name, store.document_copies()) for name in set(documents.values())}
    others = sorted(set(chain.from_iterable(related.values())))
    if not others:
        return {}
    texts: dict[str, list[str]] = {}
    for name, passages in store.passage_texts(others).items():
        texts[name] = list(chain.from_iterable(compared_words(text) for _, text in passages))
    rows = store.document_rows(others)
    found = {}
    for id, name in documents.items():
        quote = compared_words(quotes[id])
        holding = [other for other in related[name] if holds_words(quote, texts.get(other, ()))]
        if holding:
            found[id] = [
                CopyPlace(document_id=other, title=rows[other]["title"], source=rows[other]["source"])
                for other in holding
            ]
    return found


def _related(name: str, copies: Sequence[DocumentCopy]) -> list[str]:
    """Return the ids of all documents connected with one by copies, directly or through others; sorted."""
    found, left = {name}, [name]
    while left:
        one = left.pop()
        near = {each.of_document for each in copies if each.document_id == one}
        near |= {each.document_id for each in copies if each.of_document == one}
        left += near - found
        found |= near
    return sorted(found - {name})
