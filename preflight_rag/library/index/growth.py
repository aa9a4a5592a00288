"""A new index generation made from the previous one and the passages added since, without reading the rest again.

An index of a million passages takes a quarter of an hour to build, and a thousand new ones are mostly just added. If
no passage of the previous index was changed or deleted, the new one is a copy of its files with the new passages
appended, and finds the same as a full build. Otherwise, or once it has grown by `MOST_GROWTH` since its last full
build, it is built anew: a deleted text must not remain anywhere in the files, and the codes of a compressed index
are fitted to the vectors with which it was built.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.library.index.dense import DenseKind, grow_dense
from preflight_rag.library.index.generations import DENSE, LEXICAL, Index
from preflight_rag.library.index.lexical import grow_lexical
from preflight_rag.library.index.places import FOLDER as PLACES
from preflight_rag.library.index.places import grow_places
from preflight_rag.library.index.terms import FOLDER as TERMS
from preflight_rag.library.index.terms import grow_terms
from preflight_rag.library.index.vocabulary import WORDS, grow_vocabulary, texts_by_document

if TYPE_CHECKING:
    from preflight_rag.library.index.dense import IndexKind
    from preflight_rag.library.storage.store import Store
    from preflight_rag.library.storage.vectors import StoredVectors

MOST_GROWTH = 1.25
"""Most passages, as a multiple of those at the last full build, to which an index grows; a guess."""


def can_grow(previous: Index, store: Store, vectors: StoredVectors, *, kind: IndexKind, flat_limit: int) -> bool:
    """Return whether a new index can be made by appending new passages to the previous one.

    It cannot if a passage in the index was changed or deleted, if the index is of another kind or an older version, or
    if it grew too much since it was built whole. An index of up to `flat_limit` passages is not extended either:
    building it anew takes seconds.
    """
    manifest, count = previous.manifest, len(previous.rows)
    has_parts = previous.terms is not None and previous.places is not None and previous.vocabulary is not None
    # A note says that there were too few vectors for the requested kind; by now there may be enough.
    is_same_kind = manifest.kind == kind and not manifest.note
    if not (is_same_kind and previous.lexical.is_current and has_parts):
        return False
    if not flat_limit < count < len(vectors) <= MOST_GROWTH * manifest.built:
        return False
    # A database that has lost writes may have given their rows to other passages since.
    may_reuse_rows = manifest.generation < store.lost_until()
    if may_reuse_rows or not (vectors.rows[:count] == previous.rows).all():
        return False
    # Titles are in the index, too, and a new title changes the document but none of its rows.
    return not store.has_changes_since(manifest.generation, int(previous.rows[-1]))


def grow(
    previous: Index,
    previous_folder: Path,
    folder: Path,
    store: Store,
    vectors: StoredVectors,
    step: Callable[[str], None],
) -> tuple[DenseKind, int]:
    """Write a new index: the content of an index for which `can_grow` is true, and the passages added since.

    Args:
        previous: The index to extend.
        previous_folder: Its folder.
        folder: The new folder; its subfolders exist and are empty.
        store: The database with the passages.
        vectors: The vectors of all passages.
        step: Callback for progress, as `build_index` takes it.

    Returns:
        The kind of the dense index, and the number of passages at its last complete build.
    """
    count, last = len(previous.rows), int(previous.rows[-1])
    grow_dense(previous_folder / DENSE, folder / DENSE, vectors, count)
    step(LEXICAL)
    grow_lexical(previous_folder / LEXICAL, folder / LEXICAL, store.texts(last))
    step(WORDS)
    grow_vocabulary(previous_folder / WORDS, folder / WORDS, texts_by_document(store, last))
    step(TERMS)
    if previous.terms is not None:
        grow_terms(previous.terms, folder / TERMS, store.texts(last))
    grow_places(previous_folder / PLACES, folder / PLACES, store.passage_places(last))
    return DenseKind(previous.manifest.dense, previous.manifest.settings), previous.manifest.built
