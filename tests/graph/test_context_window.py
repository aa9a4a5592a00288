"""Turns of a model that reads little at once: what is sent fits, and what is left out is named."""

import pytest
from broken_bow import QUESTION

from preflight_rag.testing.scripted_server import ScriptedServer

LONG = 30


@pytest.mark.parametrize(("window", "fewer"), [(1024, True), (None, False)])
def test_no_passage_is_cut_in_silence(opened, window, fewer):
    facts = ["A1"] * LONG
    with ScriptedServer(default="1,001 people live in Broken Bow [1].") as server:
        with opened(server, facts, route="plain", k=LONG) as app:
            app.reader.window = type(app.reader.window)(app.reader.chat_model, window)
            found = app.ask(QUESTION)
        sent = server.requests[-1].prompt.count("<passage n=")
    assert (sent < LONG) is fewer
    assert [gap.item for gap in found.gaps] == (["k"] if fewer else [])
    assert all(f"{sent} of {LONG} passages" in gap.error for gap in found.gaps)
