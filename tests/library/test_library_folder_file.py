"""A library's folder that is a file."""

import pytest

from preflight_rag.library import Library
from preflight_rag.state.errors import LibraryMissing


@pytest.mark.parametrize("create", [False, True])
def test_a_file_is_no_librarys_folder(tmp_path, embedder, create):
    (tmp_path / "README.md").write_text("# Read me", encoding="utf-8")
    with pytest.raises(LibraryMissing, match=r"README\.md is a file, and a library is a folder\. Name a folder\."):
        Library.open(tmp_path / "README.md", embedder=embedder, create=create)
