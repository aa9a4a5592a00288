"""Documents over HTTP: uploads of all kinds, also hostile ones, lists, passages, files, deletion."""

import gzip
import unicodedata

import pytest
from serving import events, running

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions
from preflight_rag.server.uploads import safe_name

pytestmark = pytest.mark.slow

MOSS = ("files", ("moss.md", b"# Moss\n\nMoss has no roots."))


@pytest.fixture
def served(offline_app, client_of):
    with running(offline_app) as url:
        yield client_of(url)


def upload(client, *files):
    return client.post("/api/documents", files=list(files))


def kept(app):
    return sorted(path.name for path in (app.folder / "uploads").rglob("*") if path.is_file())


def test_an_upload_tells_its_progress_and_can_be_asked_about(served):
    with served.stream("POST", "/api/documents", files=[MOSS], headers={"accept": "text/event-stream"}) as response:
        received = list(events(response.iter_lines()))
    assert received[0] == ("progress", {"name": "moss.md", "stage": "received", "done": 1, "total": 1})
    assert received[-1] == ("report", {"added": 1, "updated": 0, "skipped": 0, "failed": [], "notes": []})
    assert {data["stage"] for name, data in received if name == "progress"} == {
        *("received", "reading", "splitting", "embedding", "documents", "index")
    }
    assert "no roots" in served.ask("What does moss lack?").json()["answer"]


def test_bad_files_are_listed_and_stop_nothing(served, offline_app):
    found = upload(
        served,
        MOSS,
        ("files", ("empty.txt", b"")),
        ("files", ("blank.txt", b"  \n ")),
        ("files", ("program.exe", b"MZ")),
        ("files", ("noending", b"x")),
        ("files", ("broken.pdf", b"%PDF-1.4 nothing")),
        ("files", ("../../etc/passwd", b"root")),
        ("files", ("bomb.jsonl.gz", gzip.compress(b"{}")[:-6])),
    ).json()
    assert found["added"] == 1
    reasons = {each["name"]: each["reason"] for each in found["failed"]}
    assert set(reasons) == {
        "empty.txt",
        "blank.txt",
        "program.exe",
        "noending",
        "broken.pdf",
        "passwd",
        "bomb.jsonl.gz",
    }
    assert reasons["empty.txt"] == "the file is empty"
    assert "files that end in .exe cannot be read" in reasons["program.exe"]
    assert not any(str(offline_app.folder) in reason for reason in reasons.values())
    assert kept(offline_app) == ["moss.md"]


@pytest.mark.parametrize(
    ("given", "kept_as"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("..\\..\\boot.txt", "boot.txt"),
        ("con.txt", "_con.txt"),
        ("LPT1.md", "_LPT1.md"),
        (".txt", "txt"),
        ("...", "document"),
        ("a\x00b\n\u202e.md", "ab.md"),
        ('a<b>"c:d|e?.md', "a_b__c_d_e_.md"),
        ("😀 café.md", "😀 café.md"),
        ("x" * 300 + ".jsonl.gz", "x" * 111 + ".jsonl.gz"),
        ("é" * 300 + ".txt", "é" * 58 + ".txt"),
        (unicodedata.normalize("NFD", "é.md"), "é.md"),
    ],
)
def test_names_are_made_safe(given, kept_as):
    assert safe_name(given) == kept_as
    assert len(safe_name(given).encode()) <= 120


def test_hostile_names_stay_below_the_librarys_folder(served, offline_app):
    names = ["../../evil.txt", "con.txt", "😀.txt", "y" * 300 + ".txt", "/etc/cron.txt", "a\\..\\b.txt"]
    found = upload(served, *[("files", (name, f"Text number {n} of moss.".encode())) for n, name in enumerate(names)])
    assert found.json()["added"] == len(names)
    assert kept(offline_app) == sorted(safe_name(name) for name in names)
    assert not (offline_app.folder.parent / "evil.txt").exists()


def test_files_of_one_name_do_not_replace_each_other(served, offline_app):
    for text in (b"Moss has no roots.", b"Ferns have no seeds."):
        assert upload(served, ("files", ("notes.txt", text))).json()["added"] == 1
    assert upload(served, ("files", ("notes.txt", b"Moss has no roots."))).json()["skipped"] == 1
    assert kept(offline_app) == ["notes.txt", "notes.txt"]


def test_a_file_that_is_too_long_is_refused_and_removed(offline_app, client_of):
    big = ("files", ("big.txt", b"moss " * 100_000))
    with running(offline_app, ServerOptions(upload_bytes=100_000)) as url:
        refused = upload(client_of(url), big)

        def pieces():
            yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="big.txt"\r\n\r\n'
            for _ in range(40):
                yield b"moss " * 1000

        kind = {"content-type": "multipart/form-data; boundary=b"}
        streamed = client_of(url).post("/api/documents", content=pieces(), headers=kind)
    assert refused.status_code == streamed.status_code == 413
    assert kept(offline_app) == []


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"not a form"),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n'),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; filename="a.txt"\r\n\r\nx'),
        ("multipart/form-data; boundary=" + "b" * 400, b"x"),
    ],
)
def test_what_is_no_form_of_files(served, offline_app, kind, content):
    response = served.post("/api/documents", content=content, headers={"content-type": kind})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_request"
    assert kept(offline_app) == []


def test_a_form_that_is_cut_off_leaves_no_file_even_of_those_that_came_whole(served, offline_app):
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\nMoss has no roots.'
    content = part % b"a.txt" + b"\r\n" + part % b"b.txt"
    response = served.post(
        "/api/documents", content=content, headers={"content-type": "multipart/form-data; boundary=b"}
    )
    assert (response.status_code, response.json()["error"]["message"]) == (400, "the form ends too early")
    assert kept(offline_app) == []


def test_too_many_files_are_named_and_fields_take_no_memory(served, offline_app):
    many = upload(served, *[("files", (f"{n}.txt", b"x")) for n in range(1001)])
    assert (many.status_code, many.json()["error"]["message"]) == (400, "more than 1000 files at once")
    long = served.post("/api/documents", files=[MOSS], data={"note": "x" * 20_000})
    assert (long.status_code, long.json()["error"]["message"]) == (400, "the form cannot be read")
    assert kept(offline_app) == []


def test_documents_are_listed_searched_opened_and_deleted(served, offline_app):
    upload(served, MOSS, ("files", ("page.html", b"<html><script>alert(1)</script><p>Ferns have no seeds.</p></html>")))
    everything = served.get("/api/documents").json()
    assert everything["total"] == 6
    assert served.get("/api/documents", params={"limit": 2, "offset": 4}).json()["total"] == 6
    (moss,) = served.get("/api/documents", params={"query": "MOSS"}).json()["documents"]
    assert (moss["name"], moss["kind"], moss["file"], moss["passages"]) == ("moss.md", "md", True, 1)
    assert served.get("/api/documents", params={"query": "%"}).json()["total"] == 0
    (page,) = served.get("/api/documents", params={"query": "page.html"}).json()["documents"]
    file = served.get("/api/documents/file", params={"id": page["id"]})
    assert file.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in file.headers["content-security-policy"]
    assert served.delete("/api/documents", params={"id": moss["id"]}).status_code == 204
    assert served.delete("/api/documents", params={"id": moss["id"]}).status_code == 404
    assert kept(offline_app) == ["page.html"]


def test_deleting_a_document_leaves_files_from_elsewhere(served, offline_app):
    (basalt,) = served.get("/api/documents", params={"query": "basalt"}).json()["documents"]
    assert served.delete("/api/documents", params={"id": basalt["id"]}).status_code == 204
    assert (offline_app.folder.parent / "basalt.txt").exists()


def test_a_table_that_is_one_document_is_opened(served):
    upload(served, ("files", ("staff.csv", b"Name,Post\nAnn Ode,cook\nBo Lind,porter\n")))
    (row,) = served.get("/api/documents", params={"query": "staff"}).json()["documents"]
    file = served.get("/api/documents/file", params={"id": row["id"]})
    assert (row["file"], file.status_code, file.content[:9]) == (True, 200, b"Name,Post")


def test_a_file_of_records_goes_with_its_last_record(served, offline_app):
    lines = b'{"id": "r1", "text": "Moss has no roots."}\n{"id": "r2", "text": "Ferns have no seeds."}\n'
    assert upload(served, ("files", ("both.jsonl", lines))).json()["added"] == 2
    assert served.get("/api/documents/file", params={"id": "r1"}).status_code == 404
    served.delete("/api/documents", params={"id": "r1"})
    assert kept(offline_app) == ["both.jsonl"]
    served.delete("/api/documents", params={"id": "r2"})
    assert kept(offline_app) == []


def test_a_passage_comes_with_what_stands_around_it(served):
    sentences = [
        f"Sentence number {n} tells of moss and of stone, at some length, so that passages end." for n in range(90)
    ]
    upload(served, ("files", ("long.txt", " ".join(sentences).encode())))
    found = served.post("/api/search", json={"query": "sentence number 45 of moss", "k": 8}).json()
    texts = {id: each["text"] for id, each in found["passages"].items()}
    middle = next(id for id, text in texts.items() if "number 45 " in text)
    received = served.get(f"/api/passages/{middle}").json()
    whole = received["before"] + " " + received["passage"]["text"] + " " + received["after"]
    assert received["before"]
    assert received["after"]
    assert received["file"]
    assert [n for n in range(90) if whole.count(f"number {n} ") > 1] == []
    assert set(hit["passage_id"] for hit in found["selected"]) <= set(texts)


def test_an_empty_library_lets_people_upload(tmp_path, embedder, client_of):
    with Preflight.open(tmp_path / "new", "offline", embedder=embedder, create=True) as app, running(app) as url:
        client = client_of(url)
        assert client.get("/health").json()["index"] == "empty"
        empty = client.ask("What does moss lack?")
        upload(client, MOSS)
        full = client.ask("What does moss lack?")
        stats = client.get("/api/stats").json()
    assert empty.status_code == 409
    assert empty.json()["error"]["code"] == "library_empty"
    assert "no roots" in full.json()["answer"]
    assert (stats["documents"], stats["path"], stats["kinds"]) == (1, "new", {"md": 1})


def test_a_document_says_where_it_can_be_read_in_the_open_web(served):
    record = (
        b'{"id": "r1", "title": "Moss", "text": "Moss has no roots.", "pmid": 23193287, "doi": "10.1093/nar/gks1195"}'
    )
    bad = b'{"id": "r2", "title": "Fern", "text": "Ferns have no seeds.", "url": "javascript:alert(1)"}'
    upload(served, ("files", ("both.jsonl", record + b"\n" + bad)))
    rows = {row["id"]: row["url"] for row in served.get("/api/documents").json()["documents"]}
    assert (rows["r1"], rows["r2"]) == ("https://doi.org/10.1093/nar/gks1195", None)
    answer = served.ask("What does moss lack?").json()
    cited = next(each for each in answer["citations"] if each["document_id"] == "r1")
    assert cited["url"] == "https://doi.org/10.1093/nar/gks1195"
    received = served.get(f"/api/passages/{cited['passage_id']}").json()
    assert (received["document"]["url"], received["file"]) == (cited["url"], False)


def test_a_file_that_is_gone_says_so_to_programs_and_on_a_page_to_people(served, offline_app):
    (row,) = served.get("/api/documents", params={"query": "basalt"}).json()["documents"]
    (offline_app.folder.parent / "basalt.txt").unlink()
    (after,) = served.get("/api/documents", params={"query": "basalt"}).json()["documents"]
    assert (row["file"], row["gone"], after["file"], after["gone"]) == (True, False, False, True)
    refused = served.get("/api/documents/file", params={"id": row["id"]})
    assert refused.json()["error"]["message"] == "the file 'basalt.txt' is no longer where it was read from"
    page = served.get("/api/documents/file", params={"id": "<b>"}, headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no document &#x27;&lt;b&gt;&#x27;." in page.text
    assert 'href="/#/library"' in page.text


def test_a_link_that_leads_out_of_its_folder_is_not_served(served, offline_app, tmp_path_factory):
    folder = offline_app.folder.parent
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    secret.write_text("a secret", encoding="utf-8")
    for name, target in (("basalt.txt", secret), ("slate.txt", folder / "marble.txt")):
        (folder / name).unlink()
        (folder / name).symlink_to(target)
    rows = {row["name"]: row for row in served.get("/api/documents").json()["documents"]}
    refused = served.get("/api/documents/file", params={"id": rows["basalt.txt"]["id"]})
    assert (refused.status_code, rows["basalt.txt"]["file"]) == (404, False)
    assert "secret" not in refused.text
    # A link to another file of the folder is opened once it was read: what is shown is what was read.
    slate = {"id": rows["slate.txt"]["id"]}
    assert served.get("/api/documents/file", params=slate).status_code == 404
    offline_app.library.ingest([folder])
    assert served.get("/api/documents/file", params=slate).status_code == 200
