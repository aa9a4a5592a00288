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
from preflight_rag.library.storage.copies import BYTES_OF_MARK, WHOLE_COPY_SHARE
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

LEAST_SHARE = WHOLE_COPY_SHARE
"""Least share of the shorter document's words that the other one must contain. Among 19 papers as XML and as text it is
0.74 to 1.0; one of the formats leaves out figures, tables and references."""
LEAST_MARK_SHARE = 0.4
"""Least share of equal marks for two documents to be compared; among those papers it is 0.71 to 0.97."""
LEAST_PASSAGE_WORDS = 12
"""Passages of fewer words are always searched: such a short text may be the same by chance."""
LEAST_VERBATIM_SHARE = 0.8
"""Least share of a passage's words that must stand in the other document in unbroken runs; the rest may be section
names and the like."""
LEAST_QUOTING_RATIO = 1.3
"""Least ratio of lengths at which a document is taken to quote another one: the text around the quote is its own."""
SHORT_DOCUMENT_WORDS = 60
"""Up to this many words, two documents must also have the same title: the title of a row or card says what it is about.
"""
MOST_COMPARED = 8
"""Most documents with which one is compared, those with the most marks in common first; a guess."""
# A form letter shares its marks with thousands of documents, so not all pairs can be compared.
NEIGHBOURS = 3
"""A document is compared with the first and this many preceding documents that share a mark; a guess."""
GROUP_SIZE = 64
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

    def forget_changed_documents(self) -> None:
        """Delete the fingerprints and copies of changed or removed documents; their former copies are compared anew."""

    def documents_without_fingerprint(self) -> Iterable[list[tuple[str, int]]]:
        """Yield batches of `(id, version number)` of documents without a fingerprint, for the caller to add."""

    def add_fingerprints(self, found: Sequence[tuple[str, int, int, bytes]]) -> None:
        """Store `(document id, version number, number of words, fingerprint)` of documents to be compared."""

    def has_uncompared(self) -> bool:
        """Return whether a document waits to be compared with the others."""

    def fingerprints(self) -> Iterable[DocumentMarks]:
        """Yield the fingerprints of all documents, the earliest added first."""

    def write_copies(
        self, compared: Sequence[str], documents: Sequence[DocumentCopy], passages: Mapping[int, Sequence[int]]
    ) -> None:
        """Store the copies found for the `compared` documents, and record that these have been compared."""


def with_copies(library: object, citations: Sequence[Citation]) -> list[Citation]:
    """Return the citations, each with the other documents that contain its quote but are left out of searches.

    They are returned unchanged if none is verified, or if the library does not know its copies.
    """
    quotes = {citation.passage_id: citation.quote for citation in citations if citation.verified}
    if not quotes or not isinstance(library, KnowsCopies):
        return list(citations)
    copies = library.also_in(quotes)
    return [
        citation.model_copy(update={"also_in": tuple(copies.get(citation.passage_id, ()))}) for citation in citations
    ]


@dataclass
class _ComparedDocument:
    """A document prepared for comparison.

    Attributes:
        document: The document's row in the database.
        rows: The rows of its passages, in order.
        passage_words: The words of each passage.
        metadata: The document's metadata.
        first_text: The text of its first passage.
    """

    document: Mapping[str, Any]
    rows: list[int]
    passage_words: list[list[str]]
    metadata: Mapping[str, Any]
    first_text: str

    @cached_property
    def words(self) -> list[str]:
        """All words of the document."""
        return list(chain.from_iterable(self.passage_words))

    @cached_property
    def starts(self) -> list[int]:
        """The index of the first word of each passage, followed by the total number of words."""
        return [0, *accumulate(map(len, self.passage_words))]

    @cached_property
    def sort_key(self) -> tuple[int, int, int, str]:
        """The unique key by which copies are sorted; of two copies, the one with the smaller key is searched.

        More known metadata come first, then the shorter text, then the document that was added earlier.
        """
        known = [self.document["authors"] not in ("", "[]"), self.metadata.get("date_from") == "metadata"]
        known += [bool(self.metadata.get(name)) for name in ("journal", "doi", "pmid", "pmcid")]
        return -known.count(True), len(self.words), min(self.rows), self.document["id"]

    def as_source(self) -> Source:
        """Return the document as `are_versions` takes it, with the names of the documents that it replaces."""
        replaced: list[str] = []
        for field_name in ("replaces", "supersedes"):
            if value := self.metadata.get(field_name):
                replaced += map(str, value if isinstance(value, list) else [value])
        return Source(
            n=0,
            passage_id="",
            title=self.document["title"],
            text=self.first_text,
            source=self.document["source"],
            document_id=self.document["id"],
            replaces=tuple(replaced),
        )


def link_copies(store: CopyStore) -> list[DocumentCopy]:
    """Find and store the copies among documents that were added or changed since the last call.

    Returns:
        The copies among these documents, and among those that were copies of a document that is gone.
    """
    store.make_copy_tables()
    # Before new marks are stored: a changed document is recognised by the generation of its old ones.
    store.forget_changed_documents()
    for group in store.documents_without_fingerprint():
        store.add_fingerprints(list(_fingerprint_rows(store, group)))
    # Candidates are found over the fingerprints of all documents, which an ingest of nothing new need not read.
    if not store.has_uncompared():
        return []
    candidates = _find_candidates(store)
    uncompared = [document.document_id for document in store.fingerprints() if not document.compared]
    copies: list[DocumentCopy] = []
    compared_pairs: set[frozenset[str]] = set()
    # In a folder each group is a transaction of its own, so a killed run has at most one to do again.
    for start in range(0, len(uncompared), GROUP_SIZE):
        copies += _compare_group(store, uncompared[start : start + GROUP_SIZE], candidates, compared_pairs)
    return copies


def _fingerprint_rows(store: CopyStore, documents: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield `(document id, version number, number of words, fingerprint)` for `(document id, version number)`."""
    texts = store.passage_texts([document_id for document_id, _ in documents])
    for document_id, version in documents:
        words = list(chain.from_iterable(compared_words(text) for _, text in texts.get(document_id, [])))
        yield document_id, version, len(words), fingerprint(words).astype("<u4").tobytes()


def _find_candidates(store: CopyStore) -> dict[str, list[str]]:
    """Return, for each document not yet compared, the documents that share enough marks with it, most similar first.

    There are at most `MOST_COMPARED` for each; a document without a similar one is left out.
    """
    import numpy as np

    documents = [document for document in store.fingerprints() if document.marks]
    if len(documents) < 2:
        return {}
    ids = [document.document_id for document in documents]
    is_new = np.array([not document.compared for document in documents])
    mark_counts = np.array([len(document.marks) // BYTES_OF_MARK for document in documents])
    marks = np.frombuffer(b"".join(document.marks for document in documents), "<u4")
    earlier, later, shared = _count_shared_marks(marks, np.repeat(np.arange(len(ids)), mark_counts), is_new)
    fewer = np.minimum(mark_counts[earlier], mark_counts[later])
    # One mark in common may be chance, unless the shorter document has no other.
    is_similar = (shared >= LEAST_MARK_SHARE * fewer) & ((shared > 1) | (fewer == 1))
    similar: dict[str, list[tuple[int, str]]] = {}
    pairs = zip(earlier[is_similar].tolist(), later[is_similar].tolist(), shared[is_similar].tolist(), strict=True)
    for first, second, count in pairs:
        for one, other in ((first, second), (second, first)):
            if is_new[one]:
                similar.setdefault(ids[one], []).append((-count, ids[other]))
    candidates = {}
    for document_id, others in similar.items():
        candidates[document_id] = [other for _, other in sorted(others)[:MOST_COMPARED]]
    return candidates


def _count_shared_marks(
    marks: np.ndarray, owners: np.ndarray, is_new: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count the marks that pairs of documents have in common; pairs without a new document are left out.

    Args:
        marks: The marks of all documents, one document after the other, (m,).
        owners: The number of the document that has each mark, (m,).
        is_new: Whether each document has not been compared yet, (n,).

    Returns:
        Of each pair, the number of the document added earlier, of the one added later, and of their common marks.
    """
    import numpy as np

    # Pairs of old documents were compared before. Without marks that no new document has, there is little left to sort.
    if not is_new.all():
        is_relevant = np.isin(marks, marks[is_new[owners]])
        marks, owners = marks[is_relevant], owners[is_relevant]
    order = np.argsort(marks, kind="stable")  # the documents of one mark stay in the order in which they were added
    marks, owners = marks[order], owners[order]
    # Equal marks are one group now; `group_starts` says for each mark where its group begins.
    begins = np.flatnonzero(np.r_[True, marks[1:] != marks[:-1]])
    group_starts = np.repeat(begins, np.diff(np.r_[begins, len(marks)]))
    indices = np.arange(len(marks))
    keys = []
    # Not all pairs of a group, whose number grows with its square; None stands for the group's first document.
    for distance in (*range(1, NEIGHBOURS + 1), None):
        partners = group_starts if distance is None else indices - distance
        is_pair = (indices - group_starts > NEIGHBOURS) if distance is None else (partners >= group_starts)
        earlier, later = owners[partners[is_pair]], owners[indices[is_pair]]
        has_new = is_new[earlier] | is_new[later]
        # A pair as one number: how often it occurs is the number of marks in common.
        keys.append(earlier[has_new] * len(is_new) + later[has_new])
    pairs, shared = np.unique(np.concatenate(keys), return_counts=True)
    earlier, later = np.divmod(pairs, len(is_new))
    return earlier, later, shared


def _compare_group(
    store: CopyStore,
    group: Sequence[str],
    candidates: Mapping[str, Sequence[str]],
    compared_pairs: set[frozenset[str]],
) -> list[DocumentCopy]:
    """Compare a group of documents with their candidates, and return the copies found, which are stored.

    Args:
        store: The tables of copies.
        group: The ids of the documents.
        candidates: For each document, the ids of those with which it is compared.
        compared_pairs: Pairs of ids that are not compared again; the pairs of this group are added.
    """
    pairs_of_group = set()
    for document_id in group:
        for other_id in candidates.get(document_id, ()):
            pairs_of_group.add(frozenset((document_id, other_id)))
    # Both documents of a pair may be new and in different groups.
    new_pairs = pairs_of_group - compared_pairs
    compared_pairs |= new_pairs
    documents = _read_documents(store, sorted(set(chain.from_iterable(new_pairs))))
    document_copies: list[DocumentCopy] = []
    passage_copies: dict[int, list[int]] = {}
    known = store.passage_copies()
    whole_copies: set[str] = set()
    for searched, copy in _sort_pairs(new_pairs, documents):
        covered = [row for row in copy.rows if row in passage_copies or row in known]
        if copy.document["id"] in whole_copies or len(covered) == len(copy.rows):
            continue
        overlap = compare(copy.words, searched.words, title=compared_words(searched.document["title"]))
        if not _are_copies(copy, searched, overlap):
            continue
        document_copies.append(DocumentCopy(copy.document["id"], searched.document["id"], round(overlap.share, 3)))
        if overlap.share >= LEAST_SHARE:
            whole_copies.add(copy.document["id"])
        for row, covering_rows in _covered_passages(copy, searched, overlap):
            # A passage that an earlier pair has covered stays with the better document.
            if row not in known:
                passage_copies.setdefault(row, covering_rows)
    store.write_copies(group, document_copies, passage_copies)
    return document_copies


def _sort_pairs(
    pairs: Iterable[frozenset[str]], documents: Mapping[str, _ComparedDocument]
) -> list[tuple[_ComparedDocument, _ComparedDocument]]:
    """Return pairs of ids as pairs of documents: the one to search, then its possible copy.

    Pairs are sorted so that of all documents which a copy may have, the best comes first: text that it covers needs no
    other document. Pairs are left out if one of their documents is not in `documents`.
    """
    sorted_pairs = []
    for pair in pairs:
        if pair <= documents.keys():
            searched, copy = sorted((documents[id] for id in pair), key=lambda document: document.sort_key)
            sorted_pairs.append((searched, copy))
    return sorted(sorted_pairs, key=lambda pair: (pair[1].sort_key, pair[0].sort_key))


def _read_documents(store: CopyStore, document_ids: Sequence[str]) -> dict[str, _ComparedDocument]:
    """Return documents prepared for comparison, by id; those that are gone or have no passages are left out."""
    document_rows, texts = store.document_rows(document_ids), store.passage_texts(document_ids)
    documents = {}
    for document_id in document_ids:
        passages = texts.get(document_id, [])
        if document_id in document_rows and passages:
            document = document_rows[document_id]
            documents[document_id] = _ComparedDocument(
                document=document,
                rows=[row for row, _ in passages],
                passage_words=[compared_words(text) for _, text in passages],
                metadata=json.loads(document["metadata"]),
                first_text=passages[0][1],
            )
    return documents


def _are_copies(first: _ComparedDocument, second: _ComparedDocument, overlap: Overlap) -> bool:
    """Return whether one document contains the other one's text, and they are not two versions of one document.

    Args:
        first: A document.
        second: Another document.
        overlap: The comparison of their texts.
    """
    if overlap.differs or max(overlap.share, overlap.other_share) < LEAST_SHARE:
        return False
    if are_versions(first.as_source(), second.as_source()):
        return False
    shorter, longer = sorted((len(first.words), len(second.words)))
    # Around a quote the longer document goes on with its own text, so differences at the ends say nothing.
    if longer >= LEAST_QUOTING_RATIO * shorter and shorter >= SHORT_DOCUMENT_WORDS:
        return True
    has_other_title = compared_words(first.document["title"]) != compared_words(second.document["title"])
    if overlap.differs_at_ends or (shorter <= SHORT_DOCUMENT_WORDS and has_other_title):
        return False
    return not _have_different_dates(first, second)


def _have_different_dates(first: _ComparedDocument, second: _ComparedDocument) -> bool:
    """Return whether two documents of one kind of file state different dates, such as reports of two years."""
    # A paper's XML and its PDF may be dated by different fields, so their dates may differ.
    kinds = {PurePath(each.document["origin"]).suffix.casefold() for each in (first, second)}
    are_dated = all(each.metadata.get("date_from") == "metadata" for each in (first, second))
    return len(kinds) == 1 and are_dated and first.document["date"] != second.document["date"]


def _covered_passages(
    copy: _ComparedDocument, searched: _ComparedDocument, overlap: Overlap
) -> Iterator[tuple[int, list[int]]]:
    """Yield the row of each passage of `copy` whose text `searched` has, with the rows of `searched`'s passages.

    Passages of fewer than `LEAST_PASSAGE_WORDS` words are left out.
    """
    # `start` and `end`: the range of a passage's words among all words of the copy.
    for row, start, end in zip(copy.rows, copy.starts, copy.starts[1:], strict=False):
        if end - start < LEAST_PASSAGE_WORDS or not overlap.explained[start:end].all():
            continue
        covering_rows: dict[int, None] = {}
        verbatim_count = 0
        for run in overlap.runs:
            # The part of the run that lies in this passage, and where its words are in the searched document.
            run_start, run_end = max(run.start, start), min(run.start + run.length, end)
            if run_start < run_end:
                verbatim_count += run_end - run_start
                shift = run.other - run.start
                first_passage = bisect_right(searched.starts, run_start + shift) - 1
                last_passage = bisect_right(searched.starts, run_end + shift - 1) - 1
                covering_rows.update(dict.fromkeys(searched.rows[first_passage : last_passage + 1]))
        if verbatim_count >= LEAST_VERBATIM_SHARE * (end - start):
            yield row, list(covering_rows)


@dataclass
class Copies:
    """The passages that are left out of searches because other passages have their text.

    Attributes:
        originals: For each copied passage's row, the rows of the passages that together have its text.
        is_searched: Function that says for each row of an array whether it is in the index and passes the filter.
    """

    originals: Mapping[int, tuple[int, ...]]
    is_searched: Callable[[np.ndarray], np.ndarray]
    _is_left_out: dict[int, bool] = field(default_factory=dict)

    def are_left_out(self, rows: Sequence[int]) -> list[bool]:
        """Return, for each row of the index, whether searches leave its passage out because others have its text."""
        import numpy as np

        new = [row for row in rows if row not in self._is_left_out]
        pending = [row for row in new if row in self.originals]
        copied = set(pending)
        # Copies of copies, to any depth: all rows that may stand for these are looked up in the index at once.
        while pending:
            rows_behind = chain.from_iterable(self.originals[row] for row in pending)
            pending = [row for row in rows_behind if row in self.originals and row not in copied]
            copied.update(pending)
        all_originals = np.array(sorted(set(chain.from_iterable(self.originals[row] for row in copied))), np.int64)
        searched = set(all_originals[self.is_searched(all_originals)].tolist()) if len(all_originals) else set()

        def has_searched_text(row: int, behind: frozenset[int] = frozenset()) -> bool:
            """Return whether a search can find a passage's text: in the passage itself or in all of its originals."""
            if row in searched:
                return True
            originals = self.originals.get(row, ())
            # Stored copies may form a circle, whose passages do not stand for each other.
            if not originals or row in behind:
                return False
            return all(has_searched_text(original, behind | {row}) for original in originals)

        for row in new:
            self._is_left_out[row] = row in self.originals and all(map(has_searched_text, self.originals[row]))
        return [self._is_left_out[row] for row in rows]

    def search(self, rank: Callable[[int], ScoredRanking], depth: int) -> ScoredRanking:
        """Return the first `depth` entries of a ranking, without passages that are left out.

        `rank(n)` returns the first `n` entries of the ranking, copies included.
        """
        import numpy as np

        requested = depth
        while True:
            ranking = rank(requested)
            if not self.originals:
                return ranking
            is_kept = ~np.array(self.are_left_out(ranking.keys.tolist()), bool)
            if is_kept.sum() >= depth or len(ranking) < requested:
                return ScoredRanking(ranking.keys[is_kept], ranking.scores[is_kept]).best(depth)
            # How many entries are copies is seen only when they are read.
            requested *= 2


def also_in(store: FoundCopyStore, quotes: Mapping[str, str]) -> dict[str, list[CopyPlace]]:
    """Return, for each passage, the other documents with its text that contain its quote word for word.

    Passages without such a document are left out.

    Args:
        store: The library's database.
        quotes: The quote of each passage, by passage id.
    """
    document_by_passage = store.documents_of(list(quotes))
    copies = store.document_copies()
    related = {
        document_id: _connected_documents(document_id, copies) for document_id in set(document_by_passage.values())
    }
    others = sorted(set(chain.from_iterable(related.values())))
    if not others:
        return {}
    words_of: dict[str, list[str]] = {}
    for document_id, passages in store.passage_texts(others).items():
        words_of[document_id] = list(chain.from_iterable(compared_words(text) for _, text in passages))
    rows = store.document_rows(others)
    places = {}
    for passage_id, document_id in document_by_passage.items():
        quote = compared_words(quotes[passage_id])
        holders = [other for other in related[document_id] if holds_words(quote, words_of.get(other, ()))]
        if holders:
            places[passage_id] = [
                CopyPlace(document_id=other, title=rows[other]["title"], source=rows[other]["source"])
                for other in holders
            ]
    return places


def _connected_documents(document_id: str, copies: Sequence[DocumentCopy]) -> list[str]:
    """Return the ids of all documents connected with one by copies, directly or through others; sorted."""
    connected, pending = {document_id}, [document_id]
    while pending:
        current = pending.pop()
        adjacent = {copy.of_document for copy in copies if copy.document_id == current}
        adjacent |= {copy.document_id for copy in copies if copy.of_document == current}
        pending += adjacent - connected
        connected |= adjacent
    return sorted(connected - {document_id})
