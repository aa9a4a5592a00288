"""Index generations: swapped whole, checked, and rebuilt when they are damaged."""

from __future__ import annotations

import json
import os
import random
import shutil

import pytest

from preflight_rag.library.index import generations
from preflight_rag.library.index.dense import compressed_factory
from preflight_rag.library.index.generations import (
    DENSE,
    LEXICAL,
    MANIFEST,
    ROWS,
    index_problems,
    open_index,
)
from preflight_rag.library.index.vocabulary import WORDS
from preflight_rag.library.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import LibraryCorrupt, LibraryError
from preflight_rag.state.values import Document

DOCUMENTS = [
    Document(id=str(n), text=f"Drug {name} lowers {what}.", source="s")
    for n, (name, what) in enumerate([("aspirin", "fever"), ("insulin", "blood sugar"), ("statins", "cholesterol")])
]


@pytest.fixture
def library(tmp_path, embedder):
    with Library.open(tmp_path, embedder=embedder, create=True) as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest.fixture
def root(library):
    return library.path / "index"


def current(root):
    return root / json.loads((root / MANIFEST).read_text(encoding="utf-8"))["folder"]


def best(library, query):
    return library.search(query).fused[0].document_id


def test_the_manifest_describes_every_file(root):
    manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    assert (manifest["passages"], manifest["dense"], manifest["generation"]) == (3, "Flat", 1)  # one write of all three
    assert {DENSE, ROWS, WORDS} < set(manifest["files"])
    assert all(len(entry["sha256"]) == 64 for entry in manifest["files"].values())


def test_one_generation_stays(library, root):
    before = current(root)
    library.add([Document(id="new", text="Zinc shortens colds.", source="s")])
    assert [path.name for path in root.iterdir() if path.is_dir()] == [current(root).name]
    assert current(root) != before


def test_an_open_index_outlives_the_swap(library, root):
    index = open_index(root)
    library.add([Document(id="new", text="Zinc shortens colds.", source="s")])
    assert len(index.search_lexical("fever cholesterol", 5)) == 2
    assert len(index.search_dense(library.embedder.encode_query("fever"), 5)) == 3


def test_a_reader_sees_what_another_process_swapped_in(library, embedder):
    assert best(library, "what shortens a cold?") != "new"
    with Library.open(library.path, embedder=embedder) as other:
        other.add([Document(id="new", text="Zinc shortens colds.", source="s")])
    assert best(library, "what shortens a cold?") == "new"


@pytest.mark.parametrize("name", [DENSE, ROWS, f"{LEXICAL}/meta.json"])
def test_verify_finds_one_changed_byte(library, root, name):
    path = current(root) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert library.verify() == [f"index file {name} fails its checksum"]
    library.rebuild()
    assert library.verify() == []


def cut_dense(root):
    path = current(root) / DENSE
    path.write_bytes(path.read_bytes()[:-10])


def cut_lexical(root):
    (current(root) / LEXICAL / "meta.json").write_text("{", encoding="utf-8")


def scribble_dense(root):
    path = current(root) / DENSE
    path.write_bytes(b"?" * path.stat().st_size)


@pytest.mark.parametrize(
    "damage",
    [
        cut_dense,
        cut_lexical,
        scribble_dense,
        lambda root: (current(root) / ROWS).unlink(),
        lambda root: shutil.rmtree(current(root)),
        lambda root: (root / MANIFEST).write_text("[]", encoding="utf-8"),
        lambda root: (root / MANIFEST).unlink(),
        shutil.rmtree,
    ],
)
def test_a_query_rebuilds_a_damaged_index(library, root, damage, embedder):
    damage(root)
    with Library.open(library.path, embedder=embedder) as again:
        assert best(again, "what lowers cholesterol?") == "2"
        assert "rebuilt from the database" in again.notes[0]
        assert again.verify() == []


def test_opening_a_damaged_index_names_the_file(root):
    cut_dense(root)
    assert any(DENSE in problem for problem in index_problems(root))
    with pytest.raises(LibraryCorrupt, match=DENSE):
        open_index(root)


def test_passages_deleted_behind_the_index_are_noticed(library):
    library._store._connection.execute("DELETE FROM passages WHERE document_id = '0'")
    assert library.verify() == ["the index holds 3 passages, the database 2"]
    assert {hit.document_id for hit in library.search("what lowers fever?").fused} == {"1", "2"}


def test_a_large_library_is_compressed(tmp_path, embedder):
    words = [f"Compound {n} acts on receptor {n * 7 % 50} in the liver." for n in range(60)]
    documents = [Document(id=str(n), text=text, source="s") for n, text in enumerate(words)]
    with Library.open(tmp_path / "large", embedder=embedder, create=True, flat_limit=50) as library:
        library.add(documents)
        found = library.search(SearchQuery("compound 41", k=5))
    assert (
        library.path.joinpath("index", MANIFEST)
        .read_text(encoding="utf-8")
        .count(compressed_factory(embedder.dimension))
        == 1
    )
    assert "41" in {hit.document_id for hit in found.fused}


def test_rebuilding_gives_the_same_rankings(library):
    before = library.search("what lowers blood sugar?")
    library.rebuild()
    assert library.search("what lowers blood sugar?") == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user who may not write everywhere")
def test_a_read_only_library_answers(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(DOCUMENTS)
    paths = [tmp_path / "library", *(tmp_path / "library").rglob("*")]
    for path in paths:
        path.chmod(0o500)
    try:
        with Library.open(tmp_path / "library", embedder=embedder) as library:
            assert best(library, "what lowers cholesterol?") == "2"
            with pytest.raises(LibraryError, match="cannot be written"):
                library.rebuild()
    finally:
        for path in paths:
            path.chmod(0o700)


def truncated(data, draw):
    return data[: draw.randrange(len(data))]


def one_bit_flipped(data, draw):
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def overwritten(data, draw):
    at = draw.randrange(len(data))
    return (data[:at] + draw.randbytes(64) + data[at + 64 :])[: len(data)]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncated, one_bit_flipped, overwritten])
def test_damaged_files_never_answer(library, root, embedder, damage):
    """A hundred times each: whatever the damage hits, searches find what they found before, from a rebuilt index."""
    draw = random.Random(7)
    expected = {query: library.search(query).fused for query in ("fever", "blood sugar", "aspirin cholesterol")}
    for _ in range(100):
        files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
        path = draw.choice([path for path in files if path.suffix != ".lock"])
        before = path.read_bytes()
        path.write_bytes(damage(before, draw))
        if path.read_bytes() == before:
            continue
        with Library.open(library.path, embedder=embedder) as opened:
            assert {query: opened.search(query).fused for query in expected} == expected
            assert "rebuilt" in opened.notes[0], path


def test_a_large_index_is_read_whole_once_and_again_when_a_file_changed(library, root, monkeypatch):
    monkeypatch.setattr(generations, "ALWAYS_CHECKED_BYTES", 0)
    open_index(root)
    noted = (root / generations.CHECK_RECORD).read_text(encoding="utf-8")
    read = []
    checksum = generations.file_entry
    monkeypatch.setattr(generations, "file_entry", lambda path: (read.append(path.name), checksum(path))[1])
    open_index(root)
    assert not read
    rows = current(root) / ROWS
    data = bytearray(rows.read_bytes())
    data[-1] ^= 1
    rows.write_bytes(data)
    with pytest.raises(LibraryCorrupt, match="fails its checksum"):
        open_index(root)
    assert read
    assert (root / generations.CHECK_RECORD).read_text(encoding="utf-8") == noted
