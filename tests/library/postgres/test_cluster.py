"""An ingest with Ray into PostgreSQL, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from preflight_rag.library import Library
from preflight_rag.library.search.query import SearchQuery

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="the extra ray is not installed")

FILES, RECORDS = 3, 8


def test_workers_store_what_a_plain_ingest_stores(url, opened, tmp_path, embedder):
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(FILES):
        texts = [f"Door {n} of house {number} was painted in {1500 + 40 * number + n}." for n in range(RECORDS)]
        lines = [json.dumps({"id": f"{number}-{n}", "text": text}) for n, text in enumerate(texts)]
        (documents / f"{number}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "preflight_rag", "ingest", str(documents), "--library", url, "--json"]
    reports = []
    for _ in range(2):
        done = subprocess.run([*command, "--engine", "ray", "--workers", "2"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        reports.append(json.loads(done.stdout))
    assert [(each["added"], each["updated"], each["skipped"]) for each in reports] == [
        (FILES * RECORDS, 0, 0),
        (0, 0, FILES * RECORDS),
    ]
    with Library.open(tmp_path / "folder", embedder=embedder, create=True) as folder:
        folder.ingest(documents)
        library = opened()
        assert library.stats()["passages"] == folder.stats()["passages"]
        # Equal scores stand in the order in which workers came to them.
        hits, others = (
            each.search(SearchQuery("which door was painted in 1541?", k=FILES * RECORDS)) for each in (library, folder)
        )
        assert hits.fused[0].passage_id == others.fused[0].passage_id
        assert {hit.passage_id for hit in hits.fused} == {hit.passage_id for hit in others.fused}
        scores = {hit.passage_id: round(hit.score, 5) for hit in hits.dense}
        assert scores == {hit.passage_id: round(hit.score, 5) for hit in others.dense}
