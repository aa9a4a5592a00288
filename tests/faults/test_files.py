"""Files that are made to bring their reader down: the program and the files beside them do not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders.isolated import IsolatedLoader
from preflight_rag.library.library import Library
from preflight_rag.state.errors import UnreadableDocument

pytestmark = pytest.mark.slow

MEGABYTE = 1 << 20


def pdf_that_unpacks_to(megabytes: int, operator: bytes = b"    ") -> bytes:
    """A PDF of few kilobytes whose one page's content is so many megabytes of an operator, compressed twice."""
    once = zlib.compressobj(9)
    block = operator * (MEGABYTE // len(operator))
    content = b"".join(once.compress(block) for _ in range(megabytes)) + once.flush()
    packed = zlib.compress(content, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R>>",
        b"<</Filter[/FlateDecode/FlateDecode]/Length %d>>stream\n%s\nendstream" % (len(packed), packed),
    ]
    data, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)
    return data + b"xref\n0 5\n0000000000 65535 f \n" + table + end


def endless_pdf() -> bytes:
    """A PDF of few kilobytes in which a colour is set a hundred million times, before any word."""
    return pdf_that_unpacks_to(400, b"0 g\n")


def test_a_reader_that_needs_too_much_memory_is_ended_and_the_next_file_goes_on(tmp_path: Path) -> None:
    bomb, good = tmp_path / "bomb.pdf", tmp_path / "good.txt"
    bomb.write_bytes(pdf_that_unpacks_to(600))
    good.write_text("Zinc shortens colds.", encoding="utf-8")
    with IsolatedLoader(memory_bytes=500 * MEGABYTE) as loader:
        with pytest.raises(UnreadableDocument, match="memory"):
            list(loader.load(bomb))
        assert [each.text for each in loader.load(good)] == ["Zinc shortens colds."]


def test_a_reader_that_does_not_end_is_ended_and_the_next_file_goes_on(tmp_path: Path) -> None:
    endless, good = tmp_path / "endless.pdf", tmp_path / "good.txt"
    endless.write_bytes(endless_pdf())
    good.write_text("Zinc shortens colds.", encoding="utf-8")
    with IsolatedLoader(silent_seconds=3) as loader:
        with pytest.raises(UnreadableDocument, match=r"found nothing for \d+ s"):
            list(loader.load(endless))
        assert [each.text for each in loader.load(good)] == ["Zinc shortens colds."]


def test_an_ingest_takes_in_what_lies_beside_such_a_file(tmp_path: Path, embedder) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a bomb.pdf").write_bytes(pdf_that_unpacks_to(2_500))
    (folder / "good.txt").write_text("Zinc shortens colds.", encoding="utf-8")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        report = library.ingest(folder)
        assert report.added == 1
        assert [Path(source).name for source, _ in report.failed] == ["a bomb.pdf"]
        assert library.search("zinc").fused[0].document_id.endswith("good.txt")


def test_a_worker_has_no_keys_and_dies_with_its_program(tmp_path: Path) -> None:
    endless = tmp_path / "endless.pdf"
    endless.write_bytes(endless_pdf())
    program = f"""
from pathlib import Path
from preflight_rag.ingest.loaders.isolated import IsolatedLoader
loader = IsolatedLoader()
loading = loader.load(Path({str(endless)!r}), on_page=None)
import threading
threading.Timer(1, lambda: print(loader._worker._process.pid, flush=True)).start()
list(loading)
"""
    environment = os.environ | {"OPENAI_API_KEY": "sk-secret"}
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    worker = int(running.stdout.readline())
    assert "sk-secret" not in Path(f"/proc/{worker}/environ").read_text(encoding="utf-8", errors="replace")
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}").exists() and "State:\tZ" not in Path(f"/proc/{worker}/status").read_text("utf-8"):
        assert time.monotonic() < deadline, "the worker outlived its program"
        time.sleep(0.05)


def test_what_is_loaded_apart_is_what_the_loader_gives(tmp_path: Path) -> None:
    """Dates, pages, tuples and characters outside of Unicode's planes go through the pipe unchanged."""
    from preflight_rag.ingest.loaders import load

    records = tmp_path / "records.jsonl"
    records.write_text(
        '{"id": "1", "text": "A \\ud800 b", "title": "T\\u2028", "date": "2020-01-02", "authors": ["X", "Y"], "n": 1}\n'
        "not json\n"
        '{"id": "2", "text": "Second."}\n',
        encoding="utf-8",
    )
    with IsolatedLoader() as loader:
        apart, direct = list(loader.load(records)), list(load(records))
    assert [str(each) for each in apart] == [str(each) for each in direct]
    assert [type(each) for each in apart] == [type(each) for each in direct]


def test_tidying_a_long_run_of_spaces_takes_linear_time(tmp_path: Path) -> None:
    from preflight_rag.ingest.loaders.fields import tidy

    began = time.process_time()
    assert tidy("begin" + " \t" * 200_000 + "end").startswith("begin")
    assert time.process_time() - began < 0.5


def test_a_file_name_does_not_drive_the_terminal(tmp_path: Path, embedder) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a\x1b[2Jb\n.pdf").write_bytes(b"no pdf")
    (folder / "c\x1b]0;x\x07.xyz").write_bytes(b"x")
    (folder / "d\x1b.txt").write_text("Zinc shortens colds.", encoding="utf-8")
    names = []
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        report = library.ingest(folder, progress=lambda event: names.append(event.name))
    printed = "".join([*names, *(f"{a}{b}" for a, b in [*report.failed, *report.passed_over])])
    assert "\\x1b[2Jb\\x0a.pdf" in printed
    assert not [character for character in printed if ord(character) < 32]
