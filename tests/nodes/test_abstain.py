"""The node `abstain`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.library import Library
from preflight_rag.nodes.abstain import abstain
from preflight_rag.state.context import Context
from preflight_rag.state.values import Document
from preflight_rag.text.headers import NOT_ANSWERED, NOT_IN_DOCUMENTS, NOTHING_FOUND, UNRESOLVED


@pytest.mark.parametrize(("passages", "text"), [([], NOTHING_FOUND), ([{"id": "a", "title": ""}], NOT_ANSWERED)])
async def test_it_says_whether_nothing_was_found_or_nothing_answers(passages, text):
    update = await abstain({"passage_refs": passages, "extracts": []}, Runtime(context=Context()))
    assert (update["answer"], update["abstained"], update["messages"][0].content) == (text, True, text)


@pytest.mark.parametrize(
    ("message", "text"), [("Which one did they choose?", UNRESOLVED), ("Where is the lift?", NOT_ANSWERED)]
)
async def test_a_follow_up_that_nothing_explains_is_not_denied(message, text):
    asked = f"Who made the designs for the new cases? {message}"
    passages = [{"id": "a", "title": ""}]
    state = {"question": message, "standalone_question": asked, "passage_refs": passages, "extracts": []}
    assert (await abstain(state, Runtime(context=Context())))["answer"] == text


async def test_it_names_parts_that_could_not_be_read():
    update = await abstain(
        {"passage_refs": [{"id": "a", "title": ""}], "extracts": [{"failed": True}]}, Runtime(context=Context())
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
    update = await abstain({"passage_refs": passages, "extracts": []}, Runtime(context=Context()))
    assert update["answer"] == NOT_ANSWERED + (f" The nearest document is “{named}”." if named else "")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What is the total of the repair order?", "No answer to this question was found in the documents."),
        ("What is the grand prize?", "No answer to this question was found in the documents."),
        ("What is the capital of Mongolia?", "This is not in the documents, as far as the search shows."),
    ],
)
async def test_form_with_the_questions_words_is_not_called_absent(tmp_path, embedder, question, says):
    text = "Repair order RO-1 | Parts | Cost: 2,100 | GRAND TOTAL | Cost: 5,738 | VIN 1C4RJ | Odometer 9,800"
    with Library.open(tmp_path, embedder=embedder, create=True) as library:
        library.add([Document(id="form", text=text, source="form")])
        (passage,) = library.passages(library.all_passage_ids())
        ref = {"id": passage.id, "document_id": "form", "title": "", "rank": 1, "cosine": 0.2}
        state = {"standalone_question": question, "passage_refs": [ref], "extracts": []}
        update = await abstain(state, Runtime(context=Context(None, library)))
    assert update["answer"].startswith(says)


NEAREST = "The nearest document is “Lift contract”."


@pytest.mark.parametrize(
    ("question", "says"),
    [
        # Its document is named, or somebody: the answer may stand there in other words.
        (
            "How fast must someone stuck in the lift be rescued?",
            f"{NOT_ANSWERED} The nearest document is “Lift contract”.",
        ),
        ("How much of the money did Ada Lund get back?", NOT_ANSWERED),
        ("Which firm pays the client?", NOT_ANSWERED),
        ("Which firm pays the mayor?", NOT_IN_DOCUMENTS),
        ("How tall is the tower at Pisa?", NOT_IN_DOCUMENTS),
        ("How tall is the tower in Vester?", NOT_IN_DOCUMENTS),
    ],
)
async def test_a_document_that_may_answer_in_other_words_is_not_called_silent(tmp_path, embedder, question, says):
    text = "The engineer is on site within 45 minutes of the call. The client in Vester is represented by Ada Lund."
    with Library.open(tmp_path, embedder=embedder, create=True) as library:
        library.add([Document(id="lift", text=text, title="Lift contract", source="lift")])
        (passage,) = library.passages(library.all_passage_ids())
        ref = {"id": passage.id, "document_id": "lift", "title": "Lift contract", "rank": 1, "cosine": 0.2}
        state = {"standalone_question": question, "passage_refs": [ref], "extracts": []}
        update = await abstain(state, Runtime(context=Context(None, library)))
    assert update["answer"] == says
