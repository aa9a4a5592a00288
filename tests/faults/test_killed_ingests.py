"""Ingests of the command line that are killed at random points: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_counts import FULL, report, times

import preflight_rag
from preflight_rag.library import Library

DEMO = Path(preflight_rag.__file__).parent / "demo"
DOCUMENTS = times(16, 40)
TEXTS = times(1, 4)
"""Of the demo, in each document: the full run embeds more than one batch."""
PARTS = times(1, 5)
LATE = 0.75
"""Where the last quarter of an ingest begins, in which some more are killed: the index is built and swapped there."""
QUERIES = ["How hot is Venus?", "why is the sky blue", "first aid for a wound", "moons of Saturn", "what is mercury"]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")]


def text_of(number: int) -> str:
    """A document of some of the demo's texts, no two with the same beginning."""
    texts = sorted(DEMO.glob("*.md"))
    chosen = [texts[(number + 13 * place) % len(texts)].read_text(encoding="utf-8") for place in range(TEXTS)]
    return f"# Collection {number}\n\n" + "\n\n".join(chosen)


def preflight(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "preflight_rag", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def done(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


def ingest(folder: Path, documents: Path) -> subprocess.Popen[str]:
    return preflight("ingest", documents, "--prune", "--library", folder)


def found(library: Library) -> list[Any]:
    """Ids and scores of the rankings of a few searches."""
    rankings = [library.search(query) for query in QUERIES]
    return [
        [(hit.passage_id, round(hit.score, 5)) for hit in ranking]
        for each in rankings
        for ranking in (each.fused, each.dense, each.lexical)
    ]


def stored(folder: Path) -> tuple[list[Any], np.ndarray]:
    """All passages with their documents, and their vectors, in the order of ids."""
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        rows = connection.execute(
            """select p.id, p.document_id, p.position, p.text, d.title, d.content_hash, p.retired, d.retired, v.vector
            from passages p join documents d on d.id = p.document_id join vectors v on v.row = p.row order by p.id"""
        ).fetchall()
    return [row[:-1] for row in rows], np.stack([np.frombuffer(row[-1], "<f4") for row in rows])


def phase(folder: Path, before: str) -> str:
    """How far a killed ingest had come, read from its files."""
    index = folder / "index"
    if (index / "manifest.json").read_text() != before:
        return "swapped in"
    if len([path for path in index.iterdir() if path.is_dir()]) > 1:
        return "index"
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        (waiting,) = connection.execute("select count(*) from passages where retired is not null").fetchone()
    return "storing" if waiting else "reading and embedding"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, embedder) -> tuple[Path, Path]:
    """A library, and the folder that is to be ingested: some documents are changed, some gone, some new."""
    folder = tmp_path_factory.mktemp("killed")
    documents, library = folder / "documents", folder / "library"
    documents.mkdir()
    half = DOCUMENTS // 2
    for number in range(half):
        (documents / f"{number:03d}.md").write_text(text_of(number), encoding="utf-8")
    with Library.open(library, embedder=embedder, create=True) as opened:
        opened.ingest([documents])
    for number in range(half, DOCUMENTS):
        (documents / f"{number:03d}.md").write_text(text_of(number), encoding="utf-8")
    for number in range(0, half, 2):
        (documents / f"{number:03d}.md").write_text(f"{text_of(number)}\n\nChanged since.", encoding="utf-8")
    for number in (1, 3):
        (documents / f"{number:03d}.md").unlink()
    return library, documents


@pytest.mark.parametrize("part", range(PARTS))
def test_a_killed_ingest_leaves_the_index_of_before_and_the_next_one_completes_it(
    part: int, prepared: tuple[Path, Path], tmp_path: Path, embedder
) -> None:
    base, documents = prepared
    before = (base / "index" / "manifest.json").read_text()
    with Library.open(base, embedder=embedder) as library:
        old = found(library)
    whole = Path(shutil.copytree(base, tmp_path / "whole"))
    began = time.monotonic()
    done(ingest(whole, documents))
    seconds = time.monotonic() - began
    passages, vectors = stored(whole)
    with Library.open(whole, embedder=embedder) as library:
        new = found(library)
    assert old != new

    draw, phases, late = random.Random(f"ingest {part}"), dict[str, int](), 0
    uniform, last = times(2, 10), times(1, 3)
    killed = 0
    while killed < uniform + last:
        folder = Path(shutil.copytree(base, tmp_path / f"{killed}-{late}"))
        process = ingest(folder, documents)
        time.sleep(draw.uniform(LATE * seconds if killed >= uniform else 0, seconds))
        process.kill()
        process.communicate()
        if process.returncode != -signal.SIGKILL:  # it was quicker than the measured one
            late += 1
            assert late < times(20, 60), "it ends before it is killed again and again"
            continue
        killed += 1
        reached = phase(folder, before)
        phases[reached] = phases.get(reached, 0) + 1

        with Library.open(folder, embedder=embedder) as library:
            assert found(library) == (new if reached == "swapped in" else old), reached
        done(ingest(folder, documents))
        rows, others = stored(folder)
        assert rows == passages, reached
        assert len({row[0] for row in rows}) == len({row[1:3] for row in rows}) == len(rows)
        assert {row[-2:] for row in rows} == {(None, None)}
        np.testing.assert_allclose(others, vectors, atol=1e-5)
        with Library.open(folder, embedder=embedder) as library:
            assert (library.verify(), library.notes) == ([], [])
            assert found(library) == new
        assert sorted(os.listdir(folder)) == sorted(os.listdir(whole))
        assert len(os.listdir(folder / "index")) == 2  # the manifest and one generation
        if FULL or killed == 1:
            assert done(preflight("library", "verify", "--library", folder)) == "the library is whole\n"
        shutil.rmtree(folder)
    report(f"{killed} kills within {seconds:.1f} s, {late} came too late: {phases}")
