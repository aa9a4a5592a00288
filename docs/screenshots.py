"""Take the pictures of the web page: `python docs/screenshots.py` writes those of the documentation to `docs/img`.

`--every FOLDER` writes each step of a visit, light and dark, wide and narrow, to look at them side by side. Needs the
test extra and Debian's Chromium; the library is the demo's, the answers are those of the reader that needs no model.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fpdf import FPDF
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from preflight_rag import Preflight
from preflight_rag.cli.demo import DOCUMENTS
from preflight_rag.server import create_app

CHROMIUM = "/usr/bin/chromium"
IMAGES = Path(__file__).parent / "img"
SIZES = {"wide": (1280, 800), "narrow": (360, 740)}
CHOSEN = {
    "answer-light-wide": "answer.png",
    "evidence-light-wide": "evidence.png",
    "evidence-dark-narrow": "evidence-dark-narrow.png",
    "not-found-light-wide": "not-found.png",
    "relations-light-wide": "relations.png",
    "contradiction-dark-wide": "contradiction-dark.png",
    "how-dark-wide": "how-dark.png",
    "library-light-wide": "library.png",
    "two-answers-light-narrow": "two-answers-narrow.png",
    "answer-dark-narrow": "answer-dark-narrow.png",
    "relations-dark-narrow": "relations-dark-narrow.png",
    "pdf-light-wide": "pdf.png",
    "pdf-dark-narrow": "pdf-dark-narrow.png",
}
DROPPED = ["penicillin.md", "venus.md", "lake-baikal.md"]


REPORT = (
    """The Harrow suspension bridge: a survey

The first plans for a crossing of the Harrow were drawn after the flood of 1911, when the ferry sank at its mooring.
Three designs were put before the council; two of them were for stone arches, which the bed of the river would not have
borne.""",
    """Opening and use

The Harrow suspension bridge was opened on 4 May 1931 by the engineer Ruth Calder. It is 412 metres long and carries two
lanes of traffic and a footpath across the river. In its first year 118,000 vehicles crossed it.

The cables were replaced in 1974, and the deck was made wider in 1992, when the toll was given up.""",
)


def report(folder: Path) -> Path:
    """A PDF of two pages, since the demo's documents have none."""
    document = FPDF()
    for text in REPORT:
        title, *paragraphs = text.split("\n\n")
        document.add_page()
        document.set_font("Times", style="B", size=18)
        document.multi_cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
        document.set_font("Times", size=13)
        for paragraph in paragraphs:
            document.multi_cell(0, 8, paragraph.replace("\n", " "), new_x="LMARGIN", new_y="NEXT")
            document.ln(4)
    path = folder / "harrow-bridge.pdf"
    document.output(str(path))
    return path


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server over a new library of the demo's documents."""
    with Preflight.open(folder / "demo", "offline", create=True) as preflight, socket.socket() as listening:
        preflight.ingest([DOCUMENTS, report(folder)])
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(preflight), log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def ask(page: Page, question: str) -> None:
    """Ask in the conversation that is shown, and wait for the answer."""
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.locator(".turn:last-child .turn-actions").wait_for(timeout=60_000)
    page.wait_for_timeout(400)


def evidence(page: Page, tab: str) -> None:
    """Open a tab of the last answer's evidence."""
    button = page.locator(".turn:last-child .turn-actions").get_by_role("button", name="Evidence")
    button.evaluate("button => button.click()")
    page.get_by_role("tab", name=tab).click()
    page.wait_for_timeout(400)


def steps(page: Page, url: str) -> Iterator[str]:
    """Walk through a visit; at each step that is yielded, the page is worth a picture."""
    page.goto(url)
    page.locator(".suggestions").wait_for()
    page.wait_for_timeout(300)
    yield "welcome"
    ask(page, "When was penicillin discovered?")
    page.locator(".answer .cite").first.click()
    page.locator("mark").wait_for()
    page.wait_for_timeout(300)
    yield "answer"
    page.keyboard.press("Escape")
    page.goto(f"{url}/#/")
    ask(page, "What is the dose of ibuprofen?")
    yield "evidence"
    page.goto(f"{url}/#/")
    ask(page, "Who wrote Hamlet?")
    yield "not-found"
    page.goto(f"{url}/#/")
    ask(page, "How many people live in Springfield?")
    yield "two-answers"
    evidence(page, "How this was answered")
    yield "how"
    page.keyboard.press("Escape")
    page.goto(f"{url}/#/")
    ask(page, "What is Mercury?")
    evidence(page, "Relations")
    yield "relations"
    page.keyboard.press("Escape")
    page.goto(f"{url}/#/")
    ask(page, "How tall is the Eiffel Tower?")
    page.locator(".answer .cite").first.click(trial=page.viewport_size["width"] < 1180)
    page.wait_for_timeout(400)
    yield "contradiction"
    page.goto(f"{url}/#/")
    ask(page, "When was the Harrow suspension bridge opened?")
    page.locator(".answer .cite").first.click()
    page.get_by_role("button", name="Open the PDF at page 2").click()
    page.locator(".viewer [data-drawn]").wait_for()
    page.wait_for_timeout(300)
    yield "pdf"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.click("#open-settings")
    yield "settings"
    page.keyboard.press("Escape")
    page.goto(f"{url}/#/library")
    page.reload()
    page.locator("#files").set_input_files([DOCUMENTS / name for name in DROPPED])
    page.locator(".uploads-head").get_by_role("button", name="Ask about it").wait_for(timeout=60_000)
    page.wait_for_timeout(400)
    yield "library"
    page.keyboard.press("Control+k")
    page.wait_for_timeout(400)
    yield "conversations"


def visits(browser: Browser, url: str, only: set[str] | None, folder: Path) -> None:
    """Make the visit in both colours and sizes, and write the pictures."""
    for theme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            if only and not any(name.endswith(f"{theme}-{size}") for name in only):
                continue
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
            )
            page = context.new_page()
            for step in steps(page, url):
                name = f"{step}-{theme}-{size}"
                if not only or name in only:
                    path = folder / (CHOSEN[name] if only else f"{name}.png")
                    page.screenshot(path=path)
                    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
            context.close()


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description="Take the pictures of the web page.")
    parser.add_argument("--every", type=Path, metavar="FOLDER", help="write each step there, in both colours and sizes")
    every = parser.parse_args().every
    folder = every or IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        visits(browser, url, None if every else set(CHOSEN), folder)
        browser.close()


if __name__ == "__main__":
    main()
