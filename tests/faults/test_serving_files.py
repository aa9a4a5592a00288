"""What the server shows of files: those of the library, from where they were read, and as nothing that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import hostile_files
import pytest
from fault_counts import times
from serving import Client, running

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions

pytestmark = pytest.mark.slow

SECRET = "the secret of another folder"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Documents, and beside their folder what is nobody's business."""
    made = tmp_path / "documents"
    (made / "inside").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "zinc.txt").write_text(SECRET, encoding="utf-8")
    (made / "inside" / "zinc.txt").write_text("Zinc shortens colds. " * 20, encoding="utf-8")
    (made / "page.html").write_text("<p>Zinc shortens colds.</p><script>alert(1)</script>", encoding="utf-8")
    (made / "picture.epub").write_bytes(hostile_files.epub(["<p>Zinc shortens colds.</p>"]))
    return made


@pytest.fixture
def served(folder, tmp_path, embedder):
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder, create=True, route="plain") as app:
        app.library.ingest(folder)
        with running(app, ServerOptions(rate=0)) as url, Client(base_url=url, timeout=60) as client:
            yield client


def file(client: Client, id: str | Path, **how):
    return client.get("/api/documents/file", params={"id": str(id)}, **how)


def test_nothing_but_documents_is_served_whatever_the_id_says(served, folder, tmp_path):
    own = folder / "inside" / "zinc.txt"
    secret = tmp_path / "elsewhere" / "zinc.txt"
    ids = [
        str(secret), f"{own.parent}/../../elsewhere/zinc.txt", f"{own.parent}/../inside/zinc.txt",
        "../elsewhere/zinc.txt",
        "/etc/passwd", "file:///etc/passwd", "//host/share/x.txt", "\\\\host\\share\\x.txt",
        "C:\\Windows\\win.ini", "~root/x",
        "\0", f"{own}\0", f"{own}\0.pdf", "..", "/", "", "%2e%2e%2f", "x" * 20_000, "\u202e", "*", "%",
        "_", "' OR 1=1 --",
        "/proc/self/environ", "/dev/zero", str(tmp_path / "library" / "library.db"), "library.db", "keys.db",
    ]  # fmt: skip
    for id in ids:
        reply = file(served, id)
        assert reply.status_code in (400, 404), (id[:80], reply.status_code)
        assert SECRET not in reply.text
        assert len(reply.text) < 2000
        for path in ("/api/documents", "/api/passages/" + id.replace("\0", "%00")[:5000]):
            assert served.get(path, params={"id": id}).status_code in (200, 400, 404, 414), (path[:80], id[:80])
    for raw in ("..%2f..%2felsewhere%2fzinc.txt", "%2e%2e/%2e%2e/etc/passwd", "..%5c..%5cx", "%00", "%252e%252e%252f"):
        for route in ("/static/", "/api/documents/", "/api/passages/", "/"):
            reply = served.get(f"{route}{raw}", follow_redirects=True)
            assert (reply.status_code, reply.url.host) in ((400, "127.0.0.1"), (404, "127.0.0.1")), (route, raw)
            assert SECRET not in reply.text
            assert "root:" not in reply.text
    assert file(served, own).status_code == 200


def test_a_document_is_shown_as_nothing_that_runs(served, folder):
    page = file(served, folder / "page.html")
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    book = file(served, folder / "picture.epub")
    assert book.headers["content-type"] == "application/octet-stream"
    assert book.headers["content-disposition"].startswith("attachment")
    for reply in (page, book):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in reply.headers["content-security-policy"]
        assert "default-src 'none'" in reply.headers["content-security-policy"]


@pytest.mark.parametrize("sort", ["file", "folder"])
def test_what_a_link_puts_in_the_place_of_a_document_is_not_served(served, folder, tmp_path, sort):
    own, secret = folder / "inside" / "zinc.txt", tmp_path / "elsewhere" / "zinc.txt"
    if sort == "file":
        own.unlink()
        own.symlink_to(secret)
    else:
        own.parent.rename(tmp_path / "away")
        own.parent.symlink_to(secret.parent)
    reply = file(served, own)
    assert (reply.status_code, SECRET in reply.text) == (404, False)
    (row,) = served.get("/api/documents", params={"id": str(own)}).json()["documents"]
    assert row["file"] is False


def test_a_link_that_comes_while_a_document_is_served_is_not_followed(served, folder, tmp_path):
    own, secret = folder / "inside" / "zinc.txt", tmp_path / "elsewhere" / "zinc.txt"
    aside, link, ends = own.with_name(".aside"), own.with_name(".link"), threading.Event()

    def swap() -> None:
        while not ends.is_set():
            os.link(own, aside)
            link.symlink_to(secret)
            link.replace(own)
            aside.replace(own)

    thread = threading.Thread(target=swap)
    thread.start()
    found = {200: 0, 404: 0}
    try:
        for _ in range(times(300, 3000)):
            reply = file(served, own)
            assert SECRET not in reply.text
            found[reply.status_code] += 1
    finally:
        ends.set()
        thread.join()
    assert min(found.values()) > 0, found


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says which files are open")
def test_ranges_of_every_kind_cost_little_and_leave_no_file_open(served, folder):
    own = folder / "inside" / "zinc.txt"
    whole = own.read_bytes()
    part = file(served, own, headers={"range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, whole[5:10])
    before = len(os.listdir("/proc/self/fd"))
    ranges = [
        "bytes=0-", "bytes=-1", "bytes=-99999999999999999999", "bytes=99999999999999999999-", "bytes=5-1",
        "bytes=a-b", "bytes=",
        "bytes", "lines=1-2", "bytes=0-0," * 3000 + "1-1", ",".join(f"bytes={n}-" for n in range(500)),
        "bytes=" + "0-," * 5000,
        "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 400, 2)), "bytes=0-0,-1",
        "bytes=1-\u0661".encode().decode("latin-1"),
    ]  # fmt: skip
    began = time.process_time()
    for value in ranges * times(2, 50):
        reply = file(served, own, headers={"range": value.encode("latin-1")})
        assert reply.status_code in (200, 206, 400, 416, 431), (value[:60], reply.status_code)
        assert len(reply.content) < 200_000
    assert time.process_time() - began < 0.3 * len(ranges) * times(2, 50)
    for _ in range(20):  # clients that leave in the middle
        with served.stream("GET", "/api/documents/file", params={"id": str(own)}) as reply:
            reply.close()
    deadline = time.monotonic() + 10
    while len(os.listdir("/proc/self/fd")) > before + 3:
        assert time.monotonic() < deadline, "files stay open"
        time.sleep(0.05)


# ------------------------------------------------------------------------------------------------ uploads


def upload(client: Client, *named: tuple[str, bytes], **how):
    return client.post("/api/documents", files=[("files", each) for each in named], **how)


def test_uploads_have_a_total_that_deleting_makes_room_in(tmp_path, embedder):
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder, create=True) as app:
        with running(app, ServerOptions(kept_bytes=60_000)) as url, Client(base_url=url, timeout=60) as client:
            text = b"Zinc shortens colds. " * 1000
            sent = [upload(client, (f"{n}.txt", text + b"%d" % n)) for n in range(4)]
            assert [reply.status_code for reply in sent] == [200, 200, 507, 507]
            refused = sent[-1].json()["error"]
            assert refused["code"] == "no_room"
            assert "--kept-mb" in refused["help"]
            id = client.get("/api/documents").json()["documents"][0]["id"]
            assert client.delete("/api/documents", params={"id": id}).status_code == 204
            assert upload(client, ("again.txt", text)).status_code == 200


def test_one_user_cannot_fill_the_queue(tmp_path, embedder, monkeypatch):
    monkeypatch.setattr("preflight_rag.server.upload_state.MOST_WAITING", 5)
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder, create=True) as app:
        with running(app) as url, Client(base_url=url, timeout=60) as client:
            slow = [(f"{n}.html", b"<div>" * 3000 + b"zinc %d" % n) for n in range(8)]
            first = upload(client, *slow, headers={"Prefer": "respond-async"})
            second = upload(client, ("more.txt", b"Zinc."))
            assert (first.status_code, second.status_code) == (202, 429)
            assert second.json()["error"]["message"].endswith("of your files wait to be read")
            assert client.delete(f"/api/uploads/{first.json()['id']}").status_code == 204


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(tmp_path, small_disk, embedder):
    """Where uploads are kept, and, sent without a length, where they are received."""
    library = tmp_path / "library"
    with Preflight.open(library, "offline", embedder=embedder, create=True) as app:
        uploads = library / "uploads"
        uploads.symlink_to(small_disk)
        with running(app, ServerOptions(rate=0)) as url, Client(base_url=url, timeout=60) as client:
            big = os.urandom(3_000_000).hex().encode()[:3_000_000]
            assert upload(client, ("small.txt", b"Zinc shortens colds.")).json()["added"] == 1

            def pieces():
                yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="big.txt"\r\n\r\n'
                yield big
                yield b"\r\n--b--\r\n"

            kind = {"content-type": "multipart/form-data; boundary=b"}
            for reply in (
                upload(client, ("big.txt", big)),
                client.post("/api/documents", content=pieces(), headers=kind),
            ):
                assert reply.status_code == 507
                assert reply.json()["error"]["message"] == "the server's disk is full"
            kept = [path.name for path in small_disk.rglob("*") if path.is_file()]
            assert kept == ["small.txt"]
            assert client.get("/health").status_code == 200
            assert upload(client, ("next.txt", b"Zinc is a metal.")).json()["added"] == 1


def test_a_quote_is_a_part_of_the_passage_that_is_shown(tmp_path, embedder):
    """Of texts in two normal forms, with marks of direction, half characters, zeros and lying encodings."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "forms.txt").write_bytes(
        "The café\u0301s of Zi\u0301nc: a cafe\u0301 sells zinc\u0301 at \u212b 5 in Å.".encode()
    )
    (folder / "turned.txt").write_bytes(
        "\u202eZinc \u202dshortens\u202c \u2066colds by a day\u2069 in \u200fadults.".encode()
    )
    (folder / "half.txt").write_bytes(b"Zinc lasts \xed\xa0\x80 for a year in a cold cellar\0.")
    (folder / "records.jsonl").write_bytes(b'{"id": "h", "text": "Zinc melts \\ud800 at 420 degrees\\u0000 in air."}\n')
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder, create=True, route="plain") as app:
        assert app.library.ingest(folder).added == 4
        asked = [
            "What does a cafe\u0301 sell?",
            "What does zinc shorten?",
            "How long does zinc last?",
            "At what does zinc melt?",
        ]
        quoted = 0
        for question in asked:
            answer = app.ask(question)
            passages = {each.id: each for each in app.library.passages([each.passage_id for each in answer.citations])}
            for citation in answer.citations:
                text = passages[citation.passage_id].text
                assert citation.verified
                assert text[citation.start : citation.end] == citation.quote
                quoted += 1
            json.dumps(answer.model_dump(mode="json"), ensure_ascii=False).encode("utf-8")
        assert quoted >= len(asked)
