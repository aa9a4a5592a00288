"""Terms of passages as an index holds them: those of the texts, read again only where a text is new."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from preflight_rag.library.index import arrays, terms
from preflight_rag.library.index.generations import MANIFEST, ROWS, open_index
from preflight_rag.library.index.terms import open_terms, write_terms
from preflight_rag.library.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.models.reranking.feature_reranker import features
from preflight_rag.routing.decision import lexical_order
from preflight_rag.routing.risk_features import risk_features
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryCorrupt
from preflight_rag.state.values import Document
from preflight_rag.text.words import passage_terms, words, words_by_token

PASSAGES = [
    (3, "Factor XIa", "Milvexian inhibits factor XIa; naïve café, TNF-α and IL-6."),
    (5, "", "東京都 has many trains."),
    (9, "Empty", ""),
    (12, "Aspirin", "Aspirin lowers fever."),
    (14, "", "THE WHO SAYS: IT IS FOR ALL OF US"),
]
QUESTION = "Which factor does milvexian inhibit in Tokyo?"


def written(folder, passages=PASSAGES, before=None):
    folder.mkdir()
    write_terms(folder, passages, before)
    return open_terms(folder)


def read(index, position):
    """Terms of the text, of the title, and as BM25 takes them, at a position."""
    known, found = list(index.terms()), index.of(position)
    return tuple([known[number] for number in numbers] for numbers in (found.text, found.title, found.words))


def expected(title, text):
    return passage_terms(title, text), words_by_token(title), words(f"{title} {text}")


def test_they_are_those_of_the_texts(tmp_path):
    index = written(tmp_path / "terms")
    assert len(index) == len(PASSAGES)
    for position, (_, title, text) in enumerate(PASSAGES):
        assert read(index, position) == expected(title, text)


def test_terms_by_number(tmp_path):
    index = written(tmp_path / "terms")
    known = list(index.terms())
    assert index.numbers(known) == list(range(len(known)))
    assert index.numbers(["", "zzz", "fev", "\ud800"]) == [-1] * 4


def test_mapped_files_say_the_same(tmp_path, monkeypatch):
    index = written(tmp_path / "terms")
    monkeypatch.setattr(arrays, "MAPPED_FROM", 0)
    monkeypatch.setattr(terms, "NUMBERS_AT_ONCE", 3)
    mapped = written(tmp_path / "again")
    assert [read(mapped, place) for place in range(len(index))] == [read(index, place) for place in range(len(index))]


def test_an_empty_index(tmp_path):
    index = written(tmp_path / "terms", [(1, "", "the")])
    assert read(index, 0) == ([], [], [])
    assert index.numbers(["the"]) == [-1]


def test_what_did_not_change_is_not_split_again(tmp_path, monkeypatch):
    before = (np.array([row for row, *_ in PASSAGES]), written(tmp_path / "before"))
    changed = [*PASSAGES[1:3], (12, "Other title", PASSAGES[3][2]), *PASSAGES[4:], (15, "", "Zinc.")]
    split = []
    monkeypatch.setattr(terms, "passage_terms", lambda *given: split.append(given) or passage_terms(*given))
    index = written(tmp_path / "after", changed, before)
    assert split == [("Other title", "Aspirin lowers fever."), ("", "Zinc.")]
    for position, (_, title, text) in enumerate(changed):
        assert read(index, position) == expected(title, text)


def test_words_of_deleted_passages_are_gone(tmp_path):
    before = (np.array([row for row, *_ in PASSAGES]), written(tmp_path / "before"))
    written(tmp_path / "after", PASSAGES[1:], before)
    assert b"milvexian" in (tmp_path / "before" / "vocabulary.npy").read_bytes()
    assert b"milvexian" not in (tmp_path / "after" / "vocabulary.npy").read_bytes()


def test_another_analysers_terms_are_left_alone(tmp_path):
    written(tmp_path / "terms")
    (tmp_path / "terms" / "analyser.json").write_text(json.dumps(["other"]))
    assert open_terms(tmp_path / "terms") is None


@pytest.mark.parametrize("name", ["text.npy", "title-starts.npy", "vocabulary.npy", "analyser.json"])
def test_a_damaged_file_is_named(tmp_path, name):
    written(tmp_path / "terms")
    (tmp_path / "terms" / name).write_bytes(b"\xff")
    with pytest.raises(LibraryCorrupt, match=name):
        open_terms(tmp_path / "terms")


@pytest.fixture
def library(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as opened:
        opened.add([Document(id=str(row), title=title, text=text or "-", source="s") for row, title, text in PASSAGES])
        yield opened


def test_features_are_the_same_as_from_the_texts(library):
    """And a library of before, whose index has no terms, is searched as it was."""
    candidates = library.candidates(QUESTION)
    assert all(candidate.terms is not None for candidate in candidates)
    root = library.path / "index"
    manifest = json.loads((root / MANIFEST).read_text())
    shutil.rmtree(root / manifest["folder"] / "terms")
    manifest["files"] = {name: entry for name, entry in manifest["files"].items() if not name.startswith("terms/")}
    (root / MANIFEST).write_text(json.dumps(manifest))
    older = library.candidates(QUESTION)
    assert [candidate.terms for candidate in older] == [None] * len(candidates)
    assert older == candidates
    assert features(QUESTION, older) == pytest.approx(features(QUESTION, candidates), abs=1e-12)


def test_order_by_words_and_risk_are_the_same_as_from_the_texts(library):
    found = retrieve_passages(library, [QUESTION], Settings())
    refs, sources = found.references(), found.sources()
    terms = library.indexed_terms([ref["id"] for ref in refs])
    assert lexical_order(QUESTION, sources, terms) == lexical_order(QUESTION, sources) != []
    assert risk_features(QUESTION, refs, sources, terms) == risk_features(QUESTION, refs, sources)


def test_a_passage_that_the_index_lacks_has_none(library):
    library.intern([Document(id="new", text="Zinc.", source="s")], deadline=60.0, index=False)
    (new,) = library.document_passages("new")
    (old,) = library.document_passages("3")
    assert library.indexed_terms([old.id, new.id]) is None
    assert len(library.indexed_terms([old.id])) == 1


def test_the_manifest_knows_them(library):
    index = open_index(library.path / "index")
    names = {name for name in index.manifest.files if name.startswith("terms/")}
    assert "terms/text.npy" in names
    assert ROWS in index.manifest.files
    assert len(index.terms) == len(index.rows)
    assert index.positions_of_all(index.rows.tolist()).tolist() == list(range(len(index.rows)))
    assert index.positions_of_all([int(index.rows[-1]) + 1]) is None
