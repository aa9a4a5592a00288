"""Reading ahead: in order, apart, bounded, and nothing is left behind."""

from __future__ import annotations

import json
import threading
import time

import pytest

from preflight_rag.ingest import reading
from preflight_rag.ingest.reading import ReadAhead
from preflight_rag.state.errors import DocumentError, EmptyDocument
from preflight_rag.state.values import Document


def go_on():
    """Nobody asks to stop."""


def texts(ahead, path):
    return [item.text for item in ahead.items(path, go_on) if isinstance(item, Document)]


@pytest.fixture
def ahead():
    made = ReadAhead(processes=2)
    yield made
    made.close()


def begun(ahead, tmp_path, **contents):
    paths = []
    for name, content in contents.items():
        path = tmp_path / name.replace("_", ".")
        path.write_text(content, encoding="utf-8")
        ahead.begin(path, max_bytes=1_000_000, folder=None)
        paths.append(path)
    return paths


def records(count, length=20):
    return "\n".join(json.dumps({"id": f"r{n}", "text": f"{n} {'x' * length}"}) for n in range(count))


def test_documents_come_in_the_order_of_the_files(ahead, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WAITED_SECONDS", 0)
    paths = begun(ahead, tmp_path, a_jsonl=records(40), b_txt="Tea is hot.", c_txt="Ice is cold.", d_txt="Snow falls.")
    first, *rest = [texts(ahead, path) for path in paths]
    assert [text.split()[0] for text in first] == [str(n) for n in range(40)]
    assert rest == [["Tea is hot."], ["Ice is cold."], ["Snow falls."]]
    assert ahead.processes == 2


def test_one_process_is_enough_where_nobody_waits(ahead, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WAITED_SECONDS", 1000)
    paths = begun(ahead, tmp_path, a_txt="Tea is hot.", b_txt="Ice is cold.")
    assert [texts(ahead, path) for path in paths] == [["Tea is hot."], ["Ice is cold."]]
    assert ahead.processes == 1


def test_the_next_files_are_read_before_they_are_asked_for(ahead, tmp_path):
    paths = begun(ahead, tmp_path, a_txt="Tea is hot.", b_txt="Ice is cold.")
    deadline = time.monotonic() + 60
    while not ahead._known[paths[1]].is_ended:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for path in paths:
        path.unlink()
    assert [texts(ahead, path) for path in paths] == [["Tea is hot."], ["Ice is cold."]]


def test_an_error_stays_with_its_file(ahead, tmp_path):
    empty, good = begun(ahead, tmp_path, a_txt="", b_jsonl='{"id": "1", "text": "Tea."}\nno json')
    with pytest.raises(EmptyDocument, match="is empty"):
        texts(ahead, empty)
    assert [type(item) for item in ahead.items(good, go_on)] != []
    assert not any(isinstance(item, DocumentError) for item in texts(ahead, begun(ahead, tmp_path, c_txt="Ice.")[0]))


def test_what_waits_is_bounded_and_nothing_waits_for_ever(ahead, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "AHEAD_CHARACTERS", 500)
    monkeypatch.setattr(reading, "AHEAD_DOCUMENTS", 5)
    monkeypatch.setattr(reading, "WAITED_SECONDS", 0)
    paths = begun(ahead, tmp_path, a_jsonl=records(60, 100), b_jsonl=records(60, 100), c_txt="Tea is hot.")
    most, counts = 0, []
    for path in paths:
        count = 0
        for _ in ahead.items(path, go_on):
            count += 1
            most = max(most, ahead._characters)
        counts.append(count)
    assert counts == [60, 60, 1]
    assert most <= 2 * (500 + 110)


def test_a_file_may_be_read_before_those_that_wait_to_be_taken(ahead, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "AHEAD_CHARACTERS", 100)
    begun(ahead, tmp_path, a_jsonl=records(60, 100), b_jsonl=records(60, 100))
    path = tmp_path / "now.txt"
    path.write_text("Tea is hot.", encoding="utf-8")
    ahead.begin(path, max_bytes=1_000_000, folder=None, now=True)
    assert texts(ahead, path) == ["Tea is hot."]


def test_who_waits_may_stop(ahead, tmp_path):
    (path,) = begun(ahead, tmp_path, a_html="<div>" * 20_000 + "text")

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(ahead.items(path, stop))
    began = time.process_time()
    ahead.close()
    assert time.process_time() - began < 5
    assert not any(thread.is_alive() for thread, _ in ahead._readers)


@pytest.mark.parametrize(("free", "most"), [(1 << 30, 1), (5 << 30, 2), (None, 8), (1 << 40, 8)])
def test_as_many_processes_as_there_is_memory_for(free, most, monkeypatch):
    monkeypatch.setattr(reading, "available_bytes", lambda: free)
    monkeypatch.setattr(reading.os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert reading.most_processes() == most


@pytest.mark.parametrize("seconds", [0, 0.1, 0.3])
def test_closing_does_not_wait_for_a_process_that_has_just_been_started(tmp_path, seconds):
    """Its thread waits for a first line, which a process that is killed never says."""
    made = ReadAhead(processes=1)
    begun(made, tmp_path, a_txt="Tea is hot.")
    time.sleep(seconds)
    closing = threading.Thread(target=made.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
