"""The node `abstain`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.nodes.abstain import abstain
from preflight_rag.state.context import Context
from preflight_rag.text.headers import NOT_ANSWERED, NOTHING_FOUND


@pytest.mark.parametrize(("passages", "text"), [([], NOTHING_FOUND), ([{"id": "a", "title": ""}], NOT_ANSWERED)])
async def test_it_says_whether_nothing_was_found_or_nothing_answers(passages, text):
    update = await abstain({"passages": passages, "extracts": []}, Runtime(context=Context()))
    assert (update["answer"], update["abstained"], update["messages"][0].content) == (text, True, text)


async def test_it_names_parts_that_could_not_be_read():
    update = await abstain(
        {"passages": [{"id": "a", "title": ""}], "extracts": [{"failed": True}]}, Runtime(context=Context())
    )
    assert "1 of 1 parts" in update["answer"]


@pytest.mark.parametrize(
    ("titles", "named"),
    [
        (["", "The moons of *Saturn*", "Tides"], "The moons of Saturn"),
        (["", ""], None),
    ],
)
async def test_it_names_the_nearest_document_that_has_a_title(titles, named):
    passages = [{"id": str(n), "title": title} for n, title in enumerate(titles)]
    update = await abstain({"passages": passages, "extracts": []}, Runtime(context=Context()))
    assert update["answer"] == NOT_ANSWERED + (f" The nearest document is “{named}”." if named else "")
