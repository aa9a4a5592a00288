"""Reading a question's passages ahead of its turn."""

import subprocess
import sys
from collections import Counter

import pytest

from preflight_rag import Preflight, Settings
from preflight_rag.library.search.ahead import may_be_found_ahead, read_ahead
from preflight_rag.models.reading.bundled_reader import BundledReader

QUESTION = "How hot is the planet Venus?"
IN_A_NEW_PROCESS = """
import sys
import numpy, faiss, tantivy, tokenizers
from preflight_rag.app import Preflight
from preflight_rag.library.search.ahead import import_ahead, read_ahead
from preflight_rag.models.onnx import quiet_onnxruntime
quiet_onnxruntime()
import_ahead()
with Preflight.open(sys.argv[1], "offline") as app:
    before = set(sys.modules)
    app._warming.load()
    read_ahead(app.library, sys.argv[2], app.settings, app.reader.extractive, lambda: True)
    print("read", *sorted(name for name in set(sys.modules) - before if not name.startswith("encodings.")))
"""


class Recorder:
    """An extractive reader that notes what it is given."""

    name, threshold = "recorder", 0.5

    def __init__(self):
        self.pairs = []

    def read(self, pairs):
        self.pairs += pairs
        return []


def test_what_a_search_finds_is_read_best_first(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        found = app.library.passages([hit.passage_id for hit in app.search(QUESTION).selected])
        read_ahead(app.library, QUESTION, app.settings, reader := Recorder(), lambda: True)
    assert reader.pairs == [(QUESTION, passage.title, passage.text) for passage in found]


def test_it_ends_once_it_is_not_wanted_any_more(own_folder):
    wanted = iter([True, True, False])
    with Preflight.open(own_folder, "offline") as app:
        read_ahead(app.library, QUESTION, app.settings, reader := Recorder(), lambda: next(wanted))
    assert len(reader.pairs) == 2


def test_no_passage_is_read_twice_for_a_question(own_folder, monkeypatch):
    pairs = Counter()
    decoded = BundledReader.decoded

    def counted(self, given):
        pairs.update(given)
        return decoded(self, given)

    monkeypatch.setattr(BundledReader, "decoded", counted)
    with Preflight.open(own_folder, "offline") as app:
        app.ask(QUESTION)
    assert len(pairs) > 10
    assert set(pairs.values()) == {1}


def test_its_thread_imports_nothing_as_the_main_one_imports_much_meanwhile(own_folder):
    command = [sys.executable, "-c", IN_A_NEW_PROCESS, str(own_folder), QUESTION]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["read"], done.stderr


@pytest.mark.parametrize(
    ("settings", "may"), [({}, True), ({"reranker": "reader"}, False), ({"pubmed": True}, False), ({"k": 4}, True)]
)
def test_only_what_costs_little_and_asks_nobody_is_searched_for_twice(own_folder, settings, may):
    with Preflight.open(own_folder, "offline") as app:
        assert may_be_found_ahead(app.library, Settings(**settings)) is may
