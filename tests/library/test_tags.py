"""Tags, folders and several conditions of which one must hold: what a question can be narrowed to."""

import pytest

from preflight_rag.library import Library
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import UsageError


@pytest.fixture
def library(tmp_path, embedder):
    papers = tmp_path / "papers"
    for folder, name in (("2021", "basalt"), ("2022", "basalt"), ("2022", "slate")):
        (papers / folder).mkdir(parents=True, exist_ok=True)
        (papers / folder / f"{name}.txt").write_text(f"{name} of {folder} is a rock.", encoding="utf-8")
    with Library.open(tmp_path / "stones", embedder=embedder, create=True) as library:
        library.ingest(papers)
        yield library


def found(library, *where):
    hits = library.search(SearchQuery("rock", where=Filter.parse(where))).fused
    return sorted(hit.document_id.split("papers/")[1] for hit in hits)


def document(library, name):
    return next(id for id in library.catalogue.ids() if id.endswith(name))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("folder = 2022", ["2022/basalt.txt", "2022/slate.txt"]),
        ("folder = papers/2021", ["2021/basalt.txt"]),
        ("folder = 202", []),
        ("folder != 2022", ["2021/basalt.txt"]),
        ("folder in (2021, 2022)", ["2021/basalt.txt", "2022/basalt.txt", "2022/slate.txt"]),
        ("id = slate.txt", ["2022/slate.txt"]),
        ('id in ("2021/basalt.txt", "slate.txt")', ["2021/basalt.txt", "2022/slate.txt"]),
        ("id = basalt.txt", ["2021/basalt.txt", "2022/basalt.txt"]),
        ("folder = 2021 || id = slate.txt", ["2021/basalt.txt", "2022/slate.txt"]),
        ("id = slate.txt || folder != 2022", ["2021/basalt.txt", "2022/slate.txt"]),
    ],
)
def test_documents_are_found_by_folder_and_by_name(library, where, expected):
    assert found(library, where) == expected


def test_tags_are_filters_at_once_and_stay_when_the_file_is_read_again(library, tmp_path):
    slate, basalt = document(library, "slate.txt"), document(library, "2021/basalt.txt")
    assert library.set_tags(slate, [" Roof  stones ", "flat", "FLAT"])
    assert found(library, "tags = roof stones") == ["2022/slate.txt"]
    library.set_tags(basalt, ["flat"])
    assert found(library, "tags in (flat)") == ["2021/basalt.txt", "2022/slate.txt"]
    assert library.catalogue.tags() == {"FLAT": 1, "flat": 1, "Roof stones": 1}
    (tmp_path / "papers" / "2022" / "slate.txt").write_text("slate is still a rock.", encoding="utf-8")
    assert library.ingest(tmp_path / "papers").updated == 1
    assert found(library, "tags = roof stones") == ["2022/slate.txt"]
    library.set_tags(slate, [])
    assert found(library, "tags = flat") == ["2021/basalt.txt"]
    assert not library.set_tags("no such document", ["a"])


def test_a_tag_that_a_filter_could_not_name_is_refused(library):
    for tags in (["a, b"], ["x" * 61], [f"t{i}" for i in range(31)], ['say "so"']):
        with pytest.raises(UsageError):
            library.set_tags(document(library, "slate.txt"), tags)


def test_folders_are_named_from_what_they_have_in_common(library):
    assert library.catalogue.folders() == {"papers": 3, "papers/2021": 1, "papers/2022": 2}


def test_documents_in_memory_are_narrowed_in_the_same_way():
    slate = {"id": "/data/papers/2022/slate.txt", "source": "/data/papers/2022/slate.txt", "tags": ["flat"]}
    for where in ("id = slate.txt", "folder = papers/2022", "tags = flat", "title = x || tags in (flat, round)"):
        assert Filter.parse([where]).fits(slate), where
    for where in ("id = late.txt", "folder = 2021", "tags = round", "title = x || tags = round"):
        assert not Filter.parse([where]).fits(slate), where
