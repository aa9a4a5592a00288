"""What the extractive reader reads in a turn: each passage once, and little beside them, however many documents answer.

The reader is the one that is shipped; what it is given is noted on its way.
"""

from __future__ import annotations

import json

import pytest

from preflight_rag import Preflight
from preflight_rag.models.reading.bundled_reader import TOKENIZER, BundledReader
from preflight_rag.models.reading.extractive_reader import load_tokenizer, windows
from preflight_rag.offline.answers import MAX_REREAD

QUESTION = "How many berths does the harbour of Halden have?"
VERDICT = "Does the harbour of Halden have berths?"
YEARS = range(1931, 1943)
"""Of as many documents: each gives another number, among other numbers."""


@pytest.fixture
def harbours(tmp_path):
    """A library in which every document answers, and differently."""
    records = tmp_path / "harbours.jsonl"
    with records.open("w", encoding="utf-8") as lines:
        for i, year in enumerate(YEARS):
            text = (
                f"The harbour of Halden was dredged in {year}. The harbour of Halden has {40 + 7 * i} berths, of which "
                f"{11 + i} are kept for the pilots and {5 + i} for visitors who stay overnight. A crane of {3 + i} "
                f"tons stands at the quay. In {year + 1} the ice broke {2 + i} piers, and {20 + i} boats sank."
            )
            lines.write(json.dumps({"id": f"d{year}", "title": f"Harbours of {year}", "text": text}) + "\n")
    with Preflight.open(tmp_path / "library", "offline", create=True) as app:
        app.ingest([records])
    return tmp_path / "library"


@pytest.fixture
def read(monkeypatch):
    """The pairs that the reader itself was given."""
    found, decoded = [], BundledReader.decoded

    def noted(reader, pairs):
        found.extend(pairs)
        return decoded(reader, pairs)

    monkeypatch.setattr(BundledReader, "decoded", noted)
    return found


def pieces(pairs):
    """Word pieces of all windows: what the network's time goes by."""
    return sum(len(window.ids) for window in windows(pairs, load_tokenizer(TOKENIZER)))


@pytest.mark.slow
@pytest.mark.parametrize("question", [QUESTION, VERDICT])
def test_a_turn_over_many_documents_reads_no_more_than_one_that_reads_them_as_one(harbours, read, question):
    """Each of them is a context of its own to COrg, which is judged by itself."""
    taken = {}
    for route in ("plain", "map-reduce", "corg"):
        with Preflight.open(harbours, "offline") as app:
            read.clear()
            assert app.ask(question, route=route).citations
        pairs = [pair for pair in read if pair[0].startswith(question)]
        passages = [pair for pair in pairs if "dredged" in pair[2] and "boats sank" in pair[2]]
        assert len(passages) == len(YEARS)
        assert len([pair for pair in pairs if pair[1]]) <= len(YEARS) + MAX_REREAD
        assert len(set(pairs)) == len(pairs)
        taken[route] = pieces(pairs)
    assert taken["map-reduce"] == taken["plain"]
    assert taken["corg"] <= 1.1 * taken["plain"]
