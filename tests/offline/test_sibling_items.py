"""Items below one line, of which the reader takes one and a question may want all."""

import pytest

from preflight_rag import Preflight
from preflight_rag.offline.sibling_items import with_siblings
from preflight_rag.state.reading import Draft, Source

LINE = "The plan does not cover"
TEXT = f"# Plan\n\n{LINE}:\n- {LINE}: theft of bicycles\n- {LINE}: damage by pets\n\nThe rent is due in May."
ONE = Draft(f"theft of bicycles [1]\n\n{LINE}: theft of bicycles [1]", ((1, f"{LINE}: theft of bicycles"),))


def claim(short="theft of bicycles", quotes=ONE.quotes):
    return Draft(ONE.text, quotes, short=short, confidence=0.8)


def source(text=TEXT):
    return Source(1, "a", "Household plan", text)


def test_a_question_for_the_line_gets_all_its_items():
    draft = with_siblings(claim(), "What does the household plan not cover?", [source()])
    assert draft.short == "theft of bicycles; damage by pets"
    assert draft.quotes == ((1, f"{LINE}: theft of bicycles"), (1, f"{LINE}: damage by pets"))
    assert draft.text == f"{LINE}:\n\n- theft of bicycles [1]\n- damage by pets [1]"
    assert draft.confidence == 0.8


@pytest.mark.parametrize(
    ("given", "question", "text"),
    [
        (claim(), "Which theft does the plan not cover?", TEXT),
        (claim(short="bicycles"), "What does the plan not cover?", TEXT),
        (claim(), "What does the plan not cover?", f"{LINE}: theft of bicycles"),
        (claim("840", ((1, "The rent is 840"),)), "What is the rent?", "The rent is 840"),
        (claim("3", ((1, "Hut: Fir | Beds: 3"),)), "How many beds?", "Hut: Fir | Beds: 3\nHut: Fir | Beds: 5"),
        (claim(), "What does the plan not cover?", "\n".join(f"{LINE}: {n}" for n in range(40))),
    ],
)
def test_any_other_claim_stays_as_it_is(given, question, text):
    assert with_siblings(given, question, [source(text)]) == given


def test_all_items_of_a_file_are_answered(tmp_path):
    (tmp_path / "plan.md").write_text(f"# Household plan\n\n{LINE}:\n- theft of bicycles\n- damage by pets\n")
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / "plan.md"])
        answer = app.ask("What does the plan not cover?")
    assert answer.short_answer == "theft of bicycles; damage by pets"
    assert [citation.verified for citation in answer.citations] == [True]
