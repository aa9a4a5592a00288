"""How often the page finds the words of a PDF again: `python benchmarks/pdf_quotes.py FOLDER [FOLDER...]`.

Of each PDF up to 25 sentences are drawn as the loader reads them (pypdfium2, lines joined, tables as rows), and looked
for on their page in what pdf.js reads there, by the code that marks quotes. Prints for each file how many were found
whole, in part, and not. Needs the test extra and Debian's Chromium.
"""

from __future__ import annotations

import argparse
import base64
import random
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Page, sync_playwright

from preflight_rag import Preflight
from preflight_rag.ingest.loaders.files import DEFAULT_MAX_BYTES
from preflight_rag.ingest.loaders.pdf import load_pdf
from preflight_rag.server import create_app
from preflight_rag.state.errors import DocumentError
from preflight_rag.text.sentences import sentence_spans

CHROMIUM = "/usr/bin/chromium"
SENTENCES, SHORTEST, AROUND = 25, 40, 80
FIND = """async ([file, quotes]) => {
    const folder = document.querySelector("script[type=module]").src.replace("app.js", "");
    const { findQuote } = await import(folder + "quote.js");
    const pdfjs = await import(folder + "pdfjs/pdf.min.mjs");
    pdfjs.GlobalWorkerOptions.workerSrc = folder + "pdfjs/pdf.worker.min.mjs";
    const data = Uint8Array.from(atob(file), (one) => one.charCodeAt(0));
    const options = { verbosity: 0, isEvalSupported: false, useWorkerFetch: false };
    const pdf = await pdfjs.getDocument({ data, ...options }).promise;
    const pages = new Map();
    for (const [number] of quotes)
        if (!pages.has(number)) {
            const { items } = await (await pdf.getPage(number)).getTextContent();
            pages.set(number, items.filter((item) => item.str !== undefined).map((item) => item.str));
        }
    return quotes.map(([number, quote, before, after]) => findQuote(quote, pages.get(number), { before, after }).share);
}"""


def quotes_of(path: Path, rng: random.Random) -> list[tuple[int, str, str, str]]:
    """Return sentences of a PDF: page, words, and what stands before and after them."""
    (document,) = load_pdf(path, DEFAULT_MAX_BYTES)
    text = document.text
    spans = [span for span in sentence_spans(text) if span[1] - span[0] >= SHORTEST]
    found = []
    for start, end in rng.sample(spans, min(SENTENCES, len(spans))):
        page = max((number for number, at in document.pages if at <= start), default=1)
        found.append((page, text[start:end], text[max(0, start - AROUND) : start], text[end : end + AROUND]))
    return found


def kind_of(share: float) -> str:
    """Return how the page calls a quote of which this share was found in the PDF."""
    return "whole" if share > 0.95 else "in part" if share >= 0.6 else "not found"


@contextmanager
def opened_page() -> Iterator[Page]:
    """Give the page of a server over an empty library, opened in Chromium."""
    with tempfile.TemporaryDirectory() as scratch, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        with Preflight.open(Path(scratch) / "library", "offline", create=True) as preflight:
            server = uvicorn.Server(uvicorn.Config(create_app(preflight), log_config=None))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            try:
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                    page = browser.new_page()
                    page.goto(f"http://127.0.0.1:{listening.getsockname()[1]}")
                    yield page
                    browser.close()
            finally:
                server.should_exit = True
                thread.join()


def main() -> None:
    """Print a line for each file, and the sum."""
    parser = argparse.ArgumentParser(description="How often the page finds the words of a PDF again.")
    parser.add_argument("folders", type=Path, nargs="+")
    files = [path for folder in parser.parse_args().folders for path in sorted(folder.rglob("*.pdf"))]
    rng, total = random.Random(1), Counter[str]()
    with opened_page() as page:
        for path in files:
            try:
                quotes = quotes_of(path, rng)
            except DocumentError as error:
                print(f"{path.name}: {type(error).__name__}")
                continue
            given: list[Any] = [base64.b64encode(path.read_bytes()).decode(), quotes]
            counts = Counter(kind_of(share) for share in page.evaluate(FIND, given))
            total += counts
            print(f"{path.name}: {dict(counts)}")
    print(f"all of {total.total()}: {dict(total)}")


if __name__ == "__main__":
    main()
