"""Two servers over one library in a database: what one takes in, the other finds, lists and deletes."""

from __future__ import annotations

import pytest
from serving import running
from six_documents import documents

from preflight_rag import Preflight
from preflight_rag.library.opening import open_library

pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")


def test_what_one_server_takes_in_the_other_finds(vector_postgres, embedder, client_of, tmp_path, monkeypatch):
    url = vector_postgres.database()
    with open_library(url, embedder=embedder, create=True) as library:
        library.add(documents())
    apps = []
    for machine in ("one", "other"):
        monkeypatch.setenv("PREFLIGHT_HOME", str(tmp_path / machine))
        apps.append(Preflight.open(url, "offline", embedder=embedder))
    with apps[0] as first, apps[1] as second, running(first) as one, running(second) as other:
        here, there = client_of(one), client_of(other)
        form = {"files": ("mate.txt", b"Mate contains caffeine.", "text/plain")}
        assert here.post("/api/documents", files=form).json()["added"] == 1
        found = there.post("/api/search", json={"query": "mate"}).json()
        (name,) = {hit["document_id"] for hit in found["lexical"]}
        listed = there.get("/api/documents", params={"query": "mate"}).json()
        assert [(row["name"], row["file"]) for row in listed["documents"]] == [("mate.txt", True)]
        assert there.patch("/api/documents", params={"id": name}, json={"tags": ["hot"]}).json()["tags"] == ["hot"]
        assert here.get("/api/sources").json()["tags"] == [{"name": "hot", "documents": 1}]
        assert there.delete("/api/documents", params={"id": name}).status_code < 300
        shown = here.get("/health").json()["library"]
        assert (shown["name"], shown["documents"]) == (url.rpartition("/")[2], 6)
