"""Which files are loaded, and what is refused before a parser sees it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import SUFFIXES, find_files, load
from preflight_rag.ingest.loaders.files import SkippedFile
from preflight_rag.state.errors import (
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    UnreadableDocument,
    UnsupportedDocument,
)
from preflight_rag.state.values import Document


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.md", "a/.hidden.txt", ".git/x.txt", "notes.xyz", "c.JSONL.GZ"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [str(path.relative_to(tmp_path)) for path in find_files([tmp_path]) if isinstance(path, Path)]
    assert found == ["b.txt", "c.JSONL.GZ", os.path.join("a", "z.md")]


def test_library_folder_is_passed_over(tmp_path: Path) -> None:
    library = tmp_path / "library"
    (library / "index").mkdir(parents=True)
    (library / "library.db").touch()
    (library / "index" / "manifest.txt").write_text("x")
    (tmp_path / "a.txt").write_text("x")
    assert list(find_files([tmp_path])) == [tmp_path / "a.txt", SkippedFile(library, "a library of Preflight RAG's")]


def test_what_is_passed_over_is_said_with_its_reason(tmp_path: Path) -> None:
    names = ("a.txt", "b.doc", "c.JPG", "d.xyz", "noending", ".hidden.txt", "~$a.docx", "e.tar.gz", ".git/x.txt")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = {each.path.name: each.reason for each in find_files([tmp_path]) if isinstance(each, SkippedFile)}
    assert set(found) == {"b.doc", "c.JPG", "d.xyz", "noending", ".hidden.txt", "~$a.docx", "e.tar.gz", ".git"}
    assert "save it as .docx" in found["b.doc"]
    assert "a picture" in found["c.JPG"]
    assert "unpack it" in found["e.tar.gz"]
    assert found["d.xyz"] == "no loader reads this kind of file"


def test_a_kind_whose_library_is_missing_is_passed_over_with_the_extra(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a.xlsx").write_text("x")
    monkeypatch.setattr("preflight_rag.ingest.loaders.files.find_spec", lambda name: None)
    (passed,) = find_files([tmp_path])
    assert isinstance(passed, SkippedFile)
    assert "pip install 'preflight-rag[office]'" in passed.reason
    with pytest.raises(UnsupportedDocument, match=r"preflight-rag\[office\]"):
        list(load(tmp_path / "a.xlsx"))


def test_each_file_comes_once(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    assert list(find_files([file, tmp_path, file])) == [file]


@pytest.mark.parametrize(("name", "kind"), [("missing.txt", UnreadableDocument), ("slides.key", UnsupportedDocument)])
def test_named_paths_that_cannot_be_loaded_are_reported(tmp_path: Path, name: str, kind: type[DocumentError]) -> None:
    (tmp_path / "slides.key").write_text("x")
    (error,) = find_files([tmp_path / name])
    assert isinstance(error, kind)
    assert name in str(error)


def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not theirs", encoding="utf-8")
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "own.txt").write_text("ours", encoding="utf-8")
    (folder / "notes.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "own.txt").symlink_to(folder / "inside" / "own.txt")
    (folder / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    found = list(find_files([folder]))
    passed = {each.path.name: each.reason for each in found if isinstance(each, SkippedFile)}
    assert passed == {
        "notes.txt": "a link that leads out of the folder, or to what is hidden",
        "elsewhere": "a link to a folder",
    }
    assert [path.name for path in found if isinstance(path, Path)] == ["own.txt", "own.txt"]


def test_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    found = list(find_files([tmp_path]))
    assert found == [SkippedFile(tmp_path / "loop", "a link to a folder"), tmp_path / "self.txt"]
    with pytest.raises(UnreadableDocument):
        list(load(tmp_path / "self.txt"))


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("empty.txt", b"", EmptyDocument),
        ("blank.md", b" \n\n\t", EmptyDocument),
        ("big.txt", b"x" * 2000, DocumentTooLarge),
        ("binary.txt", bytes(range(256)) * 3, UnreadableDocument),
        ("program.txt", b"\x7fELF" + b"\x00\x01\x02" * 100, UnreadableDocument),
        ("broken.pdf", b"%PDF-1.4 nothing", UnreadableDocument),
        ("broken.docx", b"PK\x03\x04 nothing", UnreadableDocument),
        ("broken.xml", b"<a><b></a>", UnreadableDocument),
        ("broken.nxml", b"<article><b></article>", UnreadableDocument),
        ("other.xml", b"<rss></rss>", EmptyDocument),
        ("truncated.jsonl.gz", gzip.compress(b'{"id": 1, "text": "a"}\n' * 40)[:-9], UnreadableDocument),
        ("not-gzip.jsonl.gz", b'{"id": 1, "text": "a"}', UnreadableDocument),
        ("broken.epub", b"x", UnreadableDocument),
        ("broken.xlsx", b"PK\x03\x04 nothing", UnreadableDocument),
        ("broken.pptx", b"PK\x03\x04 nothing", UnreadableDocument),
        ("broken.odt", b"PK\x03\x04 nothing", UnreadableDocument),
        ("broken.rtf", b"no rich text", UnreadableDocument),
        ("broken.eml", b"no mail at all", UnreadableDocument),
        ("broken.json", b"{", UnreadableDocument),
        ("image.cbz", b"x", UnsupportedDocument),
        ("noending", b"x", UnsupportedDocument),
    ],
)
def test_bad_files_raise_with_their_name(tmp_path: Path, name: str, content: bytes, kind: type[DocumentError]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(kind, match=name):
        list(load(path, max_bytes=1000))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_refuses_nonsense(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"nonsense{suffix}"
    path.write_bytes(b"\x00\xff\xfe\x01" * 64)
    with pytest.raises(DocumentError):
        assert not any(not isinstance(item, DocumentError) for item in load(path))


def test_too_large_says_both_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x" * 1234)
    with pytest.raises(DocumentTooLarge, match=r"1,234 bytes.*1,000 bytes"):
        list(load(path, max_bytes=1000))


@pytest.mark.parametrize("name", ["bomb.jsonl.gz", "bomb.xml.gz"])
def test_gzip_bomb_stops_at_the_limit(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"<PubmedArticleSet>" + b" " * 5_000_000))
    with pytest.raises(DocumentTooLarge, match="unpacks"):
        list(load(path, max_bytes=100_000))


def test_folder_given_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.txt"
    folder.mkdir()
    with pytest.raises(UnreadableDocument, match="is a folder"):
        list(load(folder))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(UnreadableDocument, match="Permission"):
        list(load(path))


def test_real_files_load_or_say_why(data_dir: Path) -> None:
    folder = data_dir / "ingest_docs"
    documents, errors = [], []
    for path in (each for each in find_files([folder]) if isinstance(each, Path)):
        try:
            documents.extend(load(path))
        except DocumentError as error:
            errors.append(str(error))
    assert len(documents) > 100
    assert all(isinstance(item, Document) and item.text and item.title for item in documents)
    assert all("ingest_docs" in error for error in errors)
