"""Documents by name: the shortest end of a path that is one document's alone."""

import pytest

from preflight_rag.library import Library
from preflight_rag.library.names import is_path, names_of
from preflight_rag.state.errors import UsageError


@pytest.fixture
def papers(tmp_path, embedder):
    """Two papers of one file name, a third, and a record."""
    for name, text in (
        ("2020/paper.txt", "Lead is a metal."),
        ("2021/paper.txt", "Tin is a metal."),
        ("a.md", "Zinc."),
    ):
        file = tmp_path / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (tmp_path / "in/r.jsonl").write_text('{"id": "a.md", "title": "A", "text": "Iron is a metal."}', encoding="utf-8")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest([tmp_path / "in"])
        yield library


def test_names_are_as_short_as_one_documents_can_be_and_lead_back(papers):
    names = names_of(papers)
    ids = [row["id"] for row in papers.documents()]
    shown = {id: names.name(id) for id in ids}
    assert sorted(shown.values()) == ["2020/paper.txt", "2021/paper.txt", "a.md", "in/a.md"]
    assert {name: names.document_id(name) for name in shown.values()} == {name: id for id, name in shown.items()}
    assert all(names.document_id(id) == id for id in ids)


def test_a_name_of_several_is_refused_with_theirs_and_an_unknown_one_is_left(papers):
    names = names_of(papers)
    with pytest.raises(UsageError, match=r"2 documents are called 'paper\.txt'.*2020/paper\.txt, 2021/paper\.txt"):
        names.document_id("paper.txt")
    assert names.document_id("other.txt") == "other.txt"
    assert names.document_id("/") == "/"


def test_a_name_grows_when_a_document_of_the_same_name_comes(papers, tmp_path):
    names, file = names_of(papers), tmp_path / "in/zinc.txt"
    file.write_text("Zinc is a metal.", encoding="utf-8")
    papers.ingest([file])
    assert names.name(str(file)) == "zinc.txt"
    (tmp_path / "more").mkdir()
    (tmp_path / "more/zinc.txt").write_text("Zinc melts.", encoding="utf-8")
    papers.ingest([tmp_path / "more"])
    assert names.name(str(file)) == "in/zinc.txt"


def test_only_ids_and_sources_are_changed(papers):
    names = names_of(papers)
    path = next(row["id"] for row in papers.documents() if row["id"].endswith("2020/paper.txt"))
    value = {
        "document_id": path,
        "documents": [path, "x"],
        "answer": f"see {path}",
        "citations": ({"source": path, "title": path}, {"source": "https://example.org/a"}, {"source": "/gone/b.pdf"}),
    }
    assert names.shown(value) == {
        "document_id": "2020/paper.txt",
        "documents": ["2020/paper.txt", "x"],
        "answer": f"see {path}",
        "citations": [
            {"source": "2020/paper.txt", "title": path},
            {"source": "https://example.org/a"},
            {"source": "b.pdf"},
        ],
    }


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a/b.txt", True),
        ("C:\\a\\b.txt", True),
        ("a.txt", False),
        ("12345678", False),
        ("doi:10/x", False),
        ("/", False),
    ],
)
def test_paths_are_told_from_other_ids(text, path):
    assert is_path(text) is path
