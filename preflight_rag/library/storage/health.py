"""What a library is made of and whether it is sound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.index.generations import index_problems, read_manifest

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store


def stats(store: Store, root: Path) -> dict[str, Any]:
    """Counts, sizes in bytes, and what the library was made with; `root` is its index folder."""
    manifest = read_manifest(root)
    index = None
    if manifest:
        index = {
            "passages": manifest.passages,
            "kind": manifest.kind,
            "dense": manifest.dense,
            **manifest.settings,
            "note": manifest.note,
            "generation": manifest.generation,
            "bytes": sum(entry["size"] for entry in manifest.files.values()),
            "waiting_documents": store.pending(manifest.generation),
        }
    return {
        "path": str(store.path.parent),
        **store.counts(),
        "generation": store.generation(),
        "database_bytes": store.path.stat().st_size,
        "embedder": store.meta("embedder"),
        "splitter": store.meta("splitter"),
        "index": index,
    }


def problems(store: Store, root: Path) -> list[str]:
    """What is wrong with the database and the index files in `root`, one line each; reads all of them."""
    found = store.problems(store.meta("embedder")["dimension"])
    if damage := index_problems(root):
        return found + damage
    manifest, passages = read_manifest(root), store.count_passages()
    if manifest is None:
        return [*found, "the library has no index yet"] if passages else found
    if waiting := store.pending(manifest.generation):
        found.append(f"documents that the index does not know: {waiting}")
    elif manifest.passages != passages:
        found.append(f"the index holds {manifest.passages} passages, the database {passages}")
    return found
