"""A first visit from an empty library to a deleted conversation, as a new user would take it."""

import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fpdf import FPDF
from playwright.sync_api import expect
from serving import running

from preflight_rag import Preflight
from preflight_rag.cli.demo import DOCUMENTS
from preflight_rag.server import ServerOptions

HTML = """<!doctype html><html><head><title>The Harrow lighthouse</title></head><body><main>
<h1>The Harrow lighthouse</h1><p>The Harrow lighthouse stands on Gull Rock, two miles off the coast. It was lit for the
first time in 1867. Its lamp burned whale oil until 1911, when electricity was laid under the sea. The last keeper, Ada
Thorne, left the tower in 1984, and since then it has been run from the harbour office.</p></main></body></html>"""


MOSSES = "# Mosses of the north\n\nThe moss garden of Kyoto was opened in 1928. Mosses grow slowly there."


def make_pdf(path):
    """Two pages; the fact that is asked for stands on the second."""
    document = FPDF()
    document.set_font("Helvetica", size=12)
    pages = (
        "The Harrow suspension bridge. The first plans for a crossing were drawn after the flood, when the ferry sank.",
        "The Harrow suspension bridge was opened on 4 May 1931 by the engineer Ruth Calder. It is 412 metres long and "
        "carries two lanes of traffic and a footpath across the river.",
    )
    for text in pages:
        document.add_page()
        document.multi_cell(0, 8, text)
    document.output(str(path))
    return path


@pytest.fixture
def three_files(tmp_path):
    """A PDF, a page of HTML and, for a question with two answers, two notes in Markdown."""
    page = tmp_path / "lighthouse.html"
    page.write_text(HTML, encoding="utf-8")
    notes = [DOCUMENTS / f"broken-bow-{state}.md" for state in ("nebraska", "oklahoma")]
    return [make_pdf(tmp_path / "bridge.pdf"), page, *notes]


def test_a_first_visit(visit, empty_url, three_files, ask):
    page = visit(empty_url)
    expect(page.get_by_role("heading", name="Add documents to begin")).to_be_visible()

    page.locator("#first-files").set_input_files(three_files)
    expect(page.get_by_text("4 added.")).to_be_visible(timeout=60_000)
    expect(page.locator(".documents > li")).to_have_count(4)
    expect(page.locator("#where")).to_have_text(re.compile("4 documents"))
    page.get_by_role("button", name="Ask about it").click()

    ask(page, "When was the Harrow suspension bridge opened?")
    expect(page.locator(".answer")).to_contain_text("1931")
    page.locator(".answer .cite").first.click()
    expect(page.locator("mark")).to_contain_text("opened on 4 May 1931")
    expect(page.locator("mark")).to_be_in_viewport()
    expect(page.locator(".source .meta").first).to_have_text(re.compile(r"bridge\.pdf · page 2"))
    page.get_by_role("button", name="Open the PDF at page 2").click()
    expect(page.locator(".textLayer mark").first).to_contain_text("The Harrow suspension bridge was opened")
    own = page.get_by_role("link", name="In a tab of its own")
    assert own.get_attribute("href").endswith("#page=2")
    opened = page.request.get(own.evaluate("link => link.href"))
    assert opened.headers["content-type"] == "application/pdf"
    page.keyboard.press("Escape")

    ask(page, "How many people live in Broken Bow?")
    expect(page.locator(".turn:last-child .card")).to_have_count(2)
    page.locator(".turn:last-child").get_by_role("button", name="Evidence").click()
    page.get_by_role("tab", name="Relations").click()
    expect(page.get_by_role("img", name=re.compile("2 documents in 2 groups"))).to_be_visible()

    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    page.goto(empty_url)
    page.get_by_label("Search conversations").fill("suspension")
    listed = page.locator("#thread-list a")
    expect(listed).to_have_count(1)
    listed.click()
    expect(page.locator(".turn")).to_have_count(2)

    page.locator("#thread-list li").hover()
    page.get_by_role("button", name=re.compile("^Delete: ")).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("#no-threads")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(0)
    assert page.request.get(f"{empty_url}/api/threads").json() == {"threads": []}


@pytest.mark.slow
def test_real_files_are_taken_in_and_cited(visit, empty_url, data_dir, ask):
    folder = data_dir / "ingest_docs" / "markitdown"
    files = [folder / name for name in ("movie-theater-booking-2024.pdf", "test_blog.html", "expected__test.md")]
    page = visit(empty_url, path="/#/library")
    page.locator("#files").set_input_files(files)
    expect(page.get_by_text("3 added.")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Ask about it").click()
    ask(page, "By how much can the baseline accuracy of untuned gpt-4 be improved?")
    expect(page.locator(".answer")).to_contain_text("20%")
    page.locator(".answer .cite").first.click()
    expect(page.locator("mark")).to_contain_text("20%")


@pytest.mark.slow
def test_what_cannot_be_read_is_named_and_stops_nothing(visit, empty_url, tmp_path):
    good, bad, empty = (tmp_path / name for name in ("notes.md", "program.exe", "empty.txt"))
    good.write_text("# Notes\n\nBasalt is a rock that is hard.", encoding="utf-8")
    bad.write_bytes(b"MZ")
    empty.write_bytes(b"")
    page = visit(empty_url, path="/#/library")
    page.locator("#files").set_input_files([good, bad, empty])
    expect(page.get_by_text("1 added, 2 not read.")).to_be_visible(timeout=60_000)
    expect(page.locator(".upload.bad")).to_have_count(2)
    expect(page.locator(".upload.bad").first).to_contain_text(".exe")
    expect(page.locator(".upload.bad").last).to_contain_text("empty")
    expect(page.locator(".documents > li")).to_have_count(1)


@pytest.mark.slow
def test_a_document_is_searched_and_deleted(visit, empty_url, three_files):
    page = visit(empty_url, path="/#/library")
    page.locator("#files").set_input_files(three_files)
    expect(page.locator(".documents > li")).to_have_count(4, timeout=60_000)
    page.get_by_label("Search documents").fill("lighthouse")
    expect(page.locator(".documents > li")).to_have_count(1)
    page.get_by_role("button", name="Delete: The Harrow lighthouse").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".documents > li")).to_have_count(1)
    page.get_by_role("button", name="Delete: The Harrow lighthouse").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".documents > li")).to_have_count(0)
    page.get_by_label("Search documents").fill("")
    expect(page.locator(".documents > li")).to_have_count(3)


@pytest.mark.slow
def test_files_may_be_dropped_anywhere(visit, empty_url):
    page = visit(empty_url)
    expect(page.locator(".welcome")).to_be_visible()
    carried = page.evaluate_handle(
        """() => {
            const carried = new DataTransfer();
            carried.items.add(new File(["# Granite\\n\\nGranite is a rock that is grey."], "granite.md"));
            return carried;
        }"""
    )
    page.dispatch_event("body", "dragover", {"dataTransfer": carried})
    page.dispatch_event("body", "drop", {"dataTransfer": carried})
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)


@pytest.mark.slow
def test_an_upload_is_found_again_after_a_reload(visit, empty_url, tmp_path):
    files = [make_pdf(tmp_path / "bridge.pdf"), *(tmp_path / f"note-{n}.md" for n in range(30))]
    for n, path in enumerate(files[1:]):
        path.write_text(f"# Note {n}\n\n" + f"Stone number {n} is a rock that is hard. " * 40, encoding="utf-8")
    page = visit(empty_url, path="/#/library")
    stages = set()
    page.expose_function("noted", lambda stage: stages.add(stage))
    page.evaluate(
        """() => new MutationObserver(() => {
            for (const note of document.querySelectorAll(".upload .meta")) noted(note.textContent);
        }).observe(document.querySelector(".uploads"), { subtree: true, childList: true })"""
    )
    with page.expect_response(lambda response: response.status == 202):
        page.locator("#files").set_input_files(files)
    expect(page.locator(".upload")).to_have_count(31)
    page.reload()
    expect(page.locator(".upload")).to_have_count(31)
    expect(page.get_by_text("31 added.")).to_be_visible(timeout=60_000)
    expect(page.locator(".upload.ok")).to_have_count(31)
    expect(page.locator(".documents > li")).to_have_count(31)
    assert any("waiting for its turn" in stage for stage in stages), stages
    page.get_by_role("button", name="Hide").click()
    expect(page.locator(".upload")).to_have_count(0)
    page.reload()
    expect(page.locator(".documents > li")).to_have_count(31)
    expect(page.locator(".upload")).to_have_count(0)


def test_pasted_text_is_a_document_that_can_be_asked(visit, empty_url, ask):
    page = visit(empty_url)
    page.get_by_role("button", name="Paste text").click()
    page.get_by_label("Text", exact=True).fill("Basalt is a rock that is hard.")
    page.get_by_label("What it is called").fill("Notes on: basalt")
    page.get_by_role("button", name="Add to the library").click()
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
    expect(page.locator(".documents > li")).to_contain_text("Notes on basalt")
    page.get_by_role("link", name="Ask").click()
    ask(page, "How is basalt?")
    expect(page.locator(".answer")).to_contain_text("hard")


def test_what_was_not_read_stands_first_and_questions_that_are_answered_are_suggested(visit, empty_url, tmp_path):
    paths = [tmp_path / "scan_0017.txt", tmp_path / "moss.md", tmp_path / "broken.pdf"]
    for path, text in zip(paths, ("Basalt is hard.", MOSSES, "no pdf"), strict=True):
        path.write_text(text, encoding="utf-8")
    page = visit(empty_url)
    page.locator("#first-files").set_input_files(paths)
    expect(page.get_by_text("2 added, 1 not read.")).to_be_visible(timeout=60_000)
    expect(page.locator(".upload .upload-name").first).to_have_text("broken.pdf")
    page.get_by_role("link", name="Ask").click()
    suggested = page.locator(".welcome .suggestions button")
    expect(suggested).to_have_text(["When was the moss garden of Kyoto opened?"], timeout=60_000)
    suggested.click()
    page.locator(".turn:last-child .turn-actions").wait_for(timeout=60_000)
    expect(page.locator(".answer")).to_contain_text("1928")


@pytest.mark.parametrize("narrow", [False, True])
def test_after_an_upload_a_document_says_what_it_is_and_what_it_answers(visit, empty_url, tmp_path, narrow):
    claim = tmp_path / "claim_form_0231.txt"
    claim.write_text(
        "Insured name: Marta Kovac\nPolicy number: HX-20931\nDate of loss: 14 March 2022\n", encoding="utf-8"
    )
    page = visit(empty_url, path="/#/library", narrow=narrow)
    page.locator("#files").set_input_files([claim])
    overview = page.locator(".documents > li .overview-body")
    expect(overview).to_contain_text("Claim form · for Marta Kovac", timeout=60_000)
    expect(page.locator(".documents h2")).to_have_text("claim_form_0231")
    overview.get_by_role("button", name="What is the policy number?").click(timeout=60_000)
    expect(page.locator("#sources-summary")).to_have_text("1 document")
    page.locator(".turn:last-child .turn-actions").wait_for(timeout=60_000)
    expect(page.locator(".answer")).to_contain_text("HX-20931")


def test_one_file_has_one_progress_and_every_kind_of_file_is_counted(visit, empty_url, tmp_path):
    page = visit(empty_url, path="/#/library")
    heads = []
    page.expose_function("noted", lambda text: heads.append(text))
    page.evaluate(
        """() => new MutationObserver(() => noted(document.querySelector(".uploads-head").textContent))
            .observe(document.querySelector(".uploads"), { subtree: true, childList: true })"""
    )
    paths = [tmp_path / f"note.{ending}" for ending in ("txt", "md", "html", "csv", "json", "log")]
    for n, path in enumerate(paths):
        path.write_text(
            f'[{{"stone": "granite {n}"}}]' if path.suffix == ".json" else f"stone,kind\ngranite {n},hard\n"
        )
    page.locator("#files").set_input_files(paths[:1])
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
    assert heads
    assert not [text for text in heads if " of 1 file" in text]
    page.locator("#files").set_input_files(paths[1:])
    expect(page.get_by_text("5 added.")).to_be_visible(timeout=60_000)
    for kind in ("TXT", "MD", "HTML", "CSV", "JSON", "LOG"):
        expect(page.locator(".figures")).to_contain_text(kind)


@pytest.mark.parametrize("narrow", [False, True])
def test_a_document_is_added_from_the_web_where_the_operator_allows_it(visit, embedder, tmp_path, narrow):
    (tmp_path / "site" / "docs").mkdir(parents=True)
    (tmp_path / "site" / "docs" / "lighthouse.html").write_text(HTML, encoding="utf-8")
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), QuietSite) as site,
        Preflight.open(tmp_path / "library", "offline", embedder=embedder, create=True) as app,
    ):
        site.folder = tmp_path / "site"
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{site.server_port}/docs/"
        with running(app, ServerOptions(fetch_from=(address,), fetch_private=True)) as url:
            page = visit(url, path="/#/library", narrow=narrow)
            page.watch.allowed = ["403"]
            page.get_by_role("button", name="Add from the web").click()
            page.get_by_label("Address").fill("https://example.org/a.html")
            page.get_by_role("button", name="Add to the library").click()
            expect(page.get_by_role("alert")).to_contain_text("is not allowed here")
            page.get_by_label("Address").fill(f"{address}lighthouse.html")
            page.get_by_role("button", name="Add to the library").click()
            expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
            expect(page.locator(".documents h2")).to_have_text("The Harrow lighthouse")
            page.goto("about:blank")  # it asks for the new document's questions, and the server ends
        with running(app) as url:
            page = visit(url, path="/#/library", narrow=narrow)
            page.get_by_role("button", name="Add from the web").click()
            expect(page.get_by_role("dialog")).to_contain_text("This server fetches nothing from the web.")
            page.goto("about:blank")
        site.shutdown()
        thread.join()


@pytest.mark.parametrize("narrow", [False, True])
def test_a_file_with_the_text_of_another_stands_with_it(visit, empty_url, tmp_path, narrow):
    text = "# The ferry\n\n" + " ".join(f"On day {n} the ferry carried {n * 7} people to Gull Rock." for n in range(60))
    for name in ("ferry.md", "ferry-copy.md"):
        (tmp_path / name).write_text(text + ("\n\nPrinted twice." if "copy" in name else ""), encoding="utf-8")
    page = visit(empty_url, path="/#/library", narrow=narrow)
    page.locator("#files").set_input_files([tmp_path / "ferry.md", tmp_path / "ferry-copy.md"])
    expect(page.get_by_text("2 added.")).to_be_visible(timeout=60_000)
    expect(page.locator(".uploads")).to_contain_text("shares text with")
    heights = [name.bounding_box()["height"] for name in page.locator(".upload-name").all()]
    assert max(heights) < 50, "a name is broken after every letter"
    expect(page.locator(".library-in > .documents > li")).to_have_count(1)
    copies = page.locator(".documents .copies")
    expect(copies.locator("summary").first).to_have_text(
        re.compile(r"Also in ferry(-copy)?\.md · the same text, searched once")
    )
    copies.locator("summary").first.click()
    expect(copies.get_by_role("button", name=re.compile("^Delete: "))).to_be_visible()
    with page.expect_response(re.compile("/api/documents[?]query=ferry")):
        page.locator("#document-search").fill("ferry")
    page.wait_for_timeout(300)
    expect(copies.get_by_role("button", name=re.compile("^Delete: "))).to_be_visible()  # open after it is drawn anew


class QuietSite(SimpleHTTPRequestHandler):
    """The files of a folder, over HTTP."""

    def translate_path(self, path):
        return str(self.server.folder / path.lstrip("/"))

    def log_message(self, *_):
        """Say nothing."""


def test_the_report_of_an_upload_is_of_what_was_added_last(visit, empty_url, tmp_path):
    page = visit(empty_url)
    for name, text in (
        ("tides", "The moon raises the tides."),
        ("basalt", "Basalt is a dark rock that flows as lava."),
    ):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        page.locator("input[type=file]").first.set_input_files(tmp_path / f"{name}.txt")
        expect(page.locator(".upload-name")).to_have_text([f"{name}.txt"], timeout=30_000)
        expect(page.locator(".uploads-head")).to_contain_text("1 added.", timeout=30_000)
