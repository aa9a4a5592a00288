"""The documents: their examples run as they stand, their links lead somewhere, and together they stay short."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from mesh_sample import xml
from ncbi_server import NcbiServer

import preflight_rag.langchain
from evaluation.datasets import TRAINING, adapter_of
from preflight_rag.testing import Reply

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


ROOT = DOCS.parent
PAGES = [*sorted(DOCS.glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING"))]
MOST_BYTES, MOST_WORDS = 230_000, 1_000
"""Of all pages together, which grew to 484,000 once, and of README without its picture."""
BLOCKS = blocks("langchain.md")
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "path", ["langchain.md", "reader.md", "testing.md", *(f"examples/{path.name}" for path in EXAMPLES)]
)
def test_docs_import_from_the_places_that_stay(path):
    imported = re.findall(r"^(?:from|import) (preflight_rag[\w.]*)", (DOCS / path).read_text(encoding="utf-8"), re.M)
    assert set(imported) <= {"preflight_rag", "preflight_rag.langchain", "preflight_rag.testing"}


@pytest.mark.parametrize("name", preflight_rag.langchain.__all__)
def test_every_piece_is_there_and_in_the_docs(name):
    assert getattr(preflight_rag.langchain, name).__name__
    assert name in (DOCS / "langchain.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_block_runs(own_folder, tmp_path, monkeypatch, capsys):
    own_folder.rename(tmp_path / "my-library")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desc2026.xml").write_text(xml(), encoding="utf-8")
    scope: dict[str, object] = {"CACHE": tmp_path / "cache"}
    with NcbiServer() as server:
        try:
            for code in BLOCKS:
                code = code.replace("EntrezClient(email=", f'EntrezClient(url="{server.url}", email=')
                exec(code.replace('Mesh.open("desc2026.xml")', 'Mesh.open("desc2026.xml", cache=CACHE)'), scope)
        finally:
            for name in ("client", "app"):
                scope[name].close()
    assert len(BLOCKS) > 15
    assert scope["spelled"].text == "what lowers fever?"
    assert scope["stored"].passages
    assert 0 < len(scope["diverse"]) <= 8
    assert sorted(map(id, scope["ordered"])) == sorted(map(id, scope["kept"]))
    assert 0 <= scope["decision"].risk <= 1
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_readers_example_runs(capsys):
    (code,) = blocks("reader.md")
    scope: dict[str, object] = {}
    exec(code, scope)
    assert capsys.readouterr().out.startswith(scope["reading"].best.text)


@pytest.mark.slow
def test_the_block_on_testing_runs(capsys):
    (block,) = blocks("testing.md")
    exec(block, {})
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")


def test_every_way_to_fail_is_a_field_that_there_is():
    page = (DOCS / "testing.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(\w+)=", page.partition("| what happens")[2].partition("As a process")[0]))
    assert named == {each.name for each in fields(Reply)} - {"text"}


def test_the_readers_card_names_every_data_set():
    card = (DOCS / "reader.md").read_text(encoding="utf-8")
    for name, module in TRAINING.items():
        adapter = adapter_of(module)
        assert f"| {name} | {adapter.SOURCE} | {adapter.LICENCE} |" in card


def test_every_fault_that_is_said_to_be_survived_has_its_test():
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`", (DOCS / "RELIABILITY.md").read_text(encoding="utf-8"))
    assert named
    for path, name in named:
        source = DOCS.parent / path
        assert source.exists(), path
        assert not name or f"def {name}(" in source.read_text(encoding="utf-8"), f"{path}::{name}"


def test_all_documents_together_stay_short():
    assert sum(page.stat().st_size for page in PAGES) <= MOST_BYTES


def test_readme_is_one_page():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.sub(r"```mermaid.*?```", "", text, flags=re.DOTALL).split()) <= MOST_WORDS


def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "SECURITY.md", ROOT / "training" / "README.md"], ids=lambda page: page.name
)
def test_every_link_leads_to_a_file_and_a_heading(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target
