"""Small files of every kind with bytes changed: documents or one line, never long, never much memory, never a crash.

They are read in one child process, in its own memory limit, without a process for each: thousands a minute. What an
archive holds is changed inside of it, too, and packed again, so that what is behind the checksums meets it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from fault_counts import times

pytestmark = pytest.mark.slow

SECONDS = 20
"""For one small file on a busy machine; they take a hundredth of a second."""
MEMORY = 3 << 30
"""Address space of the reading process, libraries with their arenas among it."""
ZIPPED = (".docx", ".xlsx", ".pptx", ".epub", ".odt", ".ods", ".odp")
RECORDS = [{"id": f"r{n}", "title": f"Record {n}", "text": "Venus is hot. " * 4, "year": 2020 + n} for n in range(3)]
TEXTS = {
    "a.txt": "A title\n\nVenus is hot. It has 465 degrees.\n\nThe planet ro-\ntates slowly, and the line\nis broken.\n",
    "a.md": "---\ntitle: Venus\ndate: 2021-03-12\nauthors: [A, B]\n---\n# Venus\n\n![a](b.png) [c](d) <!-- e -->\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n\n## Heat ##\n\nIt is hot.\n",
    "a.html": "<!doctype html><html><head><meta charset='utf-8'><title>Venus</title><script type='application/ld+json'>"
    '{"datePublished": "2021-03-12"}</script></head><body><h1>Venus</h1><p>It is &eacute; hot.<br>Very.</p><table><tr>'
    "<th colspan='2'>a</th></tr><tr><td rowspan='3'>1</td><td>2</td></tr></table><ul><li>x</ul></body></html>",
    "a.csv": "name,heat,year\nVenus,465,2021\n\"Mer\"\"cury\",430,2020\n",
    "a.tsv": "name\theat\nVenus\t465\n",
    "a.json": json.dumps(RECORDS),
    "a.jsonl": "\n".join(map(json.dumps, RECORDS)),
    "a.nxml": "<?xml version='1.0'?><article article-type='research-article'><front><article-meta>"
    "<article-id pub-id-type='pmc'>1</article-id><title-group><article-title>Venus</article-title></title-group>"
    "<contrib-group><contrib><name>"
    "<surname>A</surname><given-names>B</given-names></name></contrib></contrib-group><pub-date pub-type='epub'><day>1"
    "</day><month>3</month><year>2021</year></pub-date><abstract><p>It is hot.</p></abstract></article-meta></front>"
    "<body><sec><title>Heat</title><p>It has 465 <italic>degrees</italic> [<xref>1</xref>].</p><table-wrap><label>T1"
    "</label><table><tr><td colspan='2'>a</td></tr><tr><td>1</td><td>2</td></tr></table></table-wrap>"
    "</sec></body></article>",
    "b.xml": "<?xml version='1.0'?><PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>12345678</PMID><Article>"
    "<ArticleTitle>Venus</ArticleTitle><Abstract><AbstractText Label='AIM'>It is hot.</AbstractText></Abstract>"
    "<Journal><JournalIssue><PubDate><Year>2021</Year><Month>Mar</Month></PubDate></JournalIssue></Journal></Article>"
    "</MedlineCitation></PubmedArticle></PubmedArticleSet>",
}  # fmt: skip
BLOWS = (b"\0", b"<", b">", b"&#x0;", b"\xff\xfe", b"[" * 400, b"(" * 400, b"<a>" * 200, b"9" * 400, b"-1", b"\n" * 300,
         b"%s%n", b"]]>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>&b;", b"65535", b"4294967296", b'"', b"{" * 300)  # fmt: skip


def write_seeds(folder: Path) -> None:
    """A valid file of every ending."""
    import docx
    import office_files
    from fpdf import FPDF

    office_files.write_all(folder)
    (folder / "scan.pdf").unlink()  # text recognition takes seconds
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("a.jsonl", "b.xml"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), mtime=0))
    pdf = FPDF()
    pdf.set_compression(False)
    for _ in range(2):
        pdf.add_page()
        pdf.set_font("Helvetica", size=12)
        pdf.multi_cell(0, 8, "Venus is hot. It has 465 degrees.\nName   Heat   Year\nVenus   465   2021\n")
    pdf.output(str(folder / "a.pdf"))
    document = docx.Document()
    document.add_heading("Venus", 1)
    document.add_paragraph("It is hot.")
    document.add_table(2, 2).cell(0, 0).text = "465"
    document.save(str(folder / "a.docx"))


def mutated(data: bytes, other: bytes, drawn: random.Random) -> bytes:
    """Bytes flipped, cut out, put in, repeated, or taken from another file; one to four such changes."""
    changed = bytearray(data)
    for _ in range(drawn.randint(1, 4)):
        at = drawn.randrange(len(changed) + 1)
        end = min(len(changed), at + drawn.choice((1, 2, 8, 64, 1024)))
        match drawn.randrange(6):
            case 0 if at < len(changed):
                changed[at] ^= 1 << drawn.randrange(8)
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = drawn.choice(BLOWS)
            case 3:
                changed[at:at] = changed[at:end] * drawn.choice((1, 3, 50))
            case 4:
                start = drawn.randrange(len(other) + 1)
                changed[at:end] = other[start : start + drawn.choice((4, 64, 1024))]
            case _:
                changed[at:end] = drawn.randbytes(end - at)
    return bytes(changed[: drawn.randrange(len(changed) + 1)] if drawn.random() < 0.1 else changed)


def mutated_file(name: str, data: bytes, other: bytes, drawn: random.Random) -> bytes:
    """A changed file; of archives often a changed part of a whole archive."""
    if drawn.random() < 0.25:
        return mutated(data, other, drawn)
    if name.endswith(".gz"):
        return gzip.compress(mutated(gzip.decompress(data), other, drawn), 1, mtime=0)
    if not name.endswith(ZIPPED):
        return mutated(data, other, drawn)
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        chosen = drawn.choice([part for part in old.namelist() if part.endswith(("xml", "html", "opf", "ncx", "rels"))])
        for part in old.namelist():
            new.writestr(part, mutated(old.read(part), other, drawn) if part == chosen else old.read(part))
    return out.getvalue()


def read_all(folder: Path, begin: int, count: int) -> None:
    """In the child: read so many changed files, and say what is wrong with each; the seed before each, for a crash."""
    import resource
    import signal

    def say(what: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    class TooLong(BaseException):
        pass

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seeds = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    names, totals = list(seeds), Counter[str]()
    (folder / "changed").mkdir(exist_ok=True)
    for seed in range(begin, begin + count):
        drawn = random.Random(seed)
        name = names[seed % len(names)]
        path = folder / "changed" / name
        path.write_bytes(mutated_file(name, seeds[name], seeds[drawn.choice(names)], drawn))
        say({"seed": seed, "name": name})
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            found = read_one(path)
        except TooLong:
            found = [f"took more than {SECONDS} s"]
        except BaseException as error:
            found = [f"{type(error).__name__}: {error}"]
        signal.setitimer(signal.ITIMER_REAL, 0)
        totals.update(found)
        if wrong := set(found) - {"read", "refused"}:
            say({"seed": seed, "name": name, "wrong": sorted(wrong)[0][:400]})
    say({"read": totals["read"], "refused": totals["refused"]})


def read_one(path: Path) -> list[str]:
    """For each document "read", for each error "refused", or what is wrong with it."""
    from preflight_rag.ingest.loaders import load
    from preflight_rag.state.errors import DocumentError
    from preflight_rag.state.values import Document

    found = []
    try:
        for item in load(path, max_bytes=10_000_000):
            if isinstance(item, Document):
                item.model_dump_json()
            found.append("read" if isinstance(item, Document) else wrong_with(item))
    except DocumentError as error:
        found.append(wrong_with(error))
    return found


def wrong_with(error: Exception) -> str:
    message = str(getattr(error, "message", error))
    return "refused" if message.strip() and len(message.splitlines()) == 1 else f"not one line: {message!r}"


@pytest.mark.parametrize("part", range(times(1, 5)))
def test_changed_files_are_read_or_refused_in_one_line(part: int, tmp_path: Path) -> None:
    count = times(400, 2_000)
    write_seeds(tmp_path)
    here = os.pathsep.join((str(Path(__file__).parent), *filter(None, sys.path)))
    code = "import sys, test_mutated_files as t; t.read_all(t.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))"
    child = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(part * count), str(count)],
        capture_output=True,
        text=True,
        timeout=SECONDS * 30,
        env={**os.environ, "PYTHONPATH": here},
        check=False,
    )
    lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
    assert child.returncode == 0, (lines[-1:], child.stderr[-2_000:])
    assert [line for line in lines if "wrong" in line] == []
    assert lines[-1]["read"] > count // 20, "too few changed files can still be read to try what is behind the parsers"
    assert lines[-1]["refused"] > count // 20
