"""The examples of docs/langchain.md run as they stand, one after the other; so does that of docs/reader.md."""

from __future__ import annotations

import re
from pathlib import Path

from mesh_sample import xml
from ncbi_server import NcbiServer

from preflight_rag.evaluation.reader_data import SETS

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


BLOCKS = blocks("langchain.md")


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
    assert scope["interned"].passages
    assert 0 < len(scope["diverse"]) <= 8
    assert sorted(map(id, scope["ordered"])) == sorted(map(id, scope["kept"]))
    assert 0 <= scope["decision"].risk <= 1
    assert capsys.readouterr().out


def test_the_readers_example_runs(capsys):
    (code,) = blocks("reader.md")
    scope: dict[str, object] = {}
    exec(code, scope)
    assert capsys.readouterr().out.startswith(scope["reading"].best.text)


def test_the_readers_card_names_every_data_set():
    card = (DOCS / "reader.md").read_text(encoding="utf-8")
    for name, found in SETS.items():
        assert f"| {name} | {found.source} | {found.licence} |" in card
