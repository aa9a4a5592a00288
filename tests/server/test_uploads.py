"""Uploads that go on by themselves: each file's stage, what became of it, and asking again."""

import threading
import time

import pytest
from serving import running

from preflight_rag.server import ServerOptions
from preflight_rag.server.access import KeyRing
from preflight_rag.server.upload_state import KeptFiles

pytestmark = pytest.mark.slow

ASYNC = {"Prefer": "respond-async"}


@pytest.fixture
def served(offline_app, client_of):
    with running(offline_app, ServerOptions(rate=0)) as url:
        yield client_of(url)


def files(*names):
    return [("files", (name, f"The moss of {name} has no roots.".encode())) for name in names]


def ended(client, seconds=30.0):
    """The uploads, once none is going on."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        uploads = client.get("/api/uploads").json()["uploads"]
        if all(upload["over"] for upload in uploads):
            return uploads
        time.sleep(0.05)
    raise AssertionError(uploads)


def test_an_upload_goes_on_by_itself_and_can_be_asked_for(served):
    sent = served.post("/api/documents", files=[*files("a.txt", "b.txt", "c.exe"), *files("a.txt")], headers=ASYNC)
    assert sent.status_code == 202
    assert [file["name"] for file in sent.json()["files"]] == ["a.txt", "b.txt", "c.exe", "a.txt"]
    (upload,) = ended(served)
    assert upload["id"] == sent.json()["id"]
    assert [file["stage"] for file in upload["files"]] == ["ready", "ready", "failed", "ready"]
    assert ".exe" in upload["files"][2]["note"]
    assert upload["report"]["added"] == 2
    assert served.delete(f"/api/uploads/{upload['id']}").status_code == 204
    assert served.get("/api/uploads").json() == {"uploads": []}
    assert served.get("/api/documents").json()["total"] == 6


def test_the_first_files_are_ready_while_the_last_are_read(served):
    names = [f"{n}.txt" for n in range(40)]
    served.post("/api/documents", files=files(*names), headers=ASYNC)
    seen = set()
    while not (upload := served.get("/api/uploads").json()["uploads"][0])["over"]:
        ready = [file["name"] for file in upload["files"] if file["stage"] == "ready"]
        seen.add(len(ready))
        time.sleep(0.1)  # each look is a search, which takes the processor from what is looked at
        if 0 < len(ready) < 40:
            found = served.post("/api/search", json={"query": f"moss of {ready[-1]}", "where": [f"id = {ready[-1]}"]})
            assert found.json()["fused"]
    assert any(0 < count < 40 for count in seen)
    assert {file["stage"] for file in upload["files"]} == {"ready"}


def test_what_was_there_before_is_known(served):
    served.post("/api/documents", files=files("a.txt"))
    served.post("/api/documents", files=files("a.txt"), headers=ASYNC)
    assert [upload["files"][0]["known"] for upload in ended(served)] == [False, True]


def test_an_upload_is_stopped_after_what_is_in_hand(served, offline_app):
    names = [f"{n}.txt" for n in range(200)]
    sent = served.post("/api/documents", files=files(*names), headers=ASYNC).json()
    assert served.delete(f"/api/uploads/{sent['id']}").status_code == 204
    (upload,) = ended(served)
    stages = [file["stage"] for file in upload["files"]]
    assert set(stages) <= {"ready", "stopped"}
    assert "stopped" in stages
    kept = [path for path in (offline_app.folder / "uploads").rglob("*.txt")]
    assert len(kept) == stages.count("ready")


def test_nobody_sees_another_users_uploads(small_folder, offline_app, client_of):
    ring = KeyRing(small_folder)
    anna, bob, reader = ring.add("anna", write=True), ring.add("bob", write=True), ring.add("reader")
    with running(offline_app) as url:
        sent = client_of(url, anna).post("/api/documents", files=files("a.txt"), headers=ASYNC).json()
        assert client_of(url, bob).get("/api/uploads").json() == {"uploads": []}
        assert client_of(url, bob).delete(f"/api/uploads/{sent['id']}").status_code == 404
        assert client_of(url, reader).get("/api/uploads").status_code == 403
        assert len(ended(client_of(url, anna))) == 1
    ring.close()


def test_the_room_is_measured_while_folders_come_and_go(tmp_path):
    """Walking it with `Path.rglob` raised, and an upload that met another one's deletion was answered with 500."""
    kept, ended = KeptFiles(tmp_path), threading.Event()
    (tmp_path / "stays").mkdir()
    (tmp_path / "stays" / "a.txt").write_bytes(b"12345")

    def come_and_go():
        while not ended.is_set():
            for place in tmp_path / "x", tmp_path / "y", tmp_path / "z":
                place.mkdir()
            for place in tmp_path / "x", tmp_path / "y", tmp_path / "z":
                place.rmdir()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        sizes = {kept.size() for _ in range(3000)}
    finally:
        ended.set()
        other.join()
    assert sizes == {5}


def test_a_file_that_two_people_sent_is_not_taken_from_the_second(tmp_path):
    """The first one's document is deleted, or came to nothing, while the second one's upload waits for its turn."""
    kept, place = KeptFiles(tmp_path / "uploads"), tmp_path / "uploads" / "hash" / "a.txt"

    def received():
        path = tmp_path / "received"
        path.write_text("Moss has no roots.", encoding="utf-8")
        return kept.keep(path, place)

    kept.folder.mkdir()
    assert received() == received() == place
    kept.release(place)
    kept.remove_unused(place, lambda _: False)
    assert place.read_text(encoding="utf-8") == "Moss has no roots."
    kept.release(place)
    kept.remove_unused(place, lambda _: True)
    assert place.exists()
    kept.remove_unused(place, lambda _: False)
    assert not place.parent.exists()


def test_the_same_file_is_uploaded_and_deleted_by_many_at_once(served):
    """Every upload ends with its document in the library, or with one that somebody else has deleted since."""
    failures = []

    def person():
        for _ in range(6):
            reply = served.post("/api/documents", files=files("a.txt"))
            if reply.status_code != 200 or reply.json()["failed"]:
                failures.append((reply.status_code, reply.text))
            for document in served.get("/api/documents", params={"query": "a.txt"}).json()["documents"]:
                if served.delete("/api/documents", params={"id": document["id"]}).status_code not in (204, 404):
                    failures.append(document)

    people = [threading.Thread(target=person) for _ in range(4)]
    for each in people:
        each.start()
    for each in people:
        each.join()
    assert failures == []
