"""What is shown for questions that name a document, or whose words stand in a heading, over a small library."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from preflight_rag import Preflight
from preflight_rag.offline.answers import add_sentence_of_likeliest_answer
from preflight_rag.offline.evidence import sentences_of
from preflight_rag.state.reading import Source

DOCUMENTS = {
    "plan-2021.txt": (
        "Harbour Safety Plan\n\nPort of Aber. Edition of April 2021. Approved by the board on 20 April 2021.\n\n"
        "Who is responsible\n\nThe Harbour Safety Officer is Idris Vaughan. He may be reached at the lock.\n\n"
        "Reporting\n\nAccidents are entered in the red book within 48 hours.\n"
    ),
    "plan-2024.txt": (
        "Harbour Safety Plan\n\nPort of Aber. Edition of June 2024. Approved by the board on 11 June 2024; it replaces "
        "the edition of April 2021.\n\nWho is responsible\n\nThe Harbour Safety Officer is Nerys Bowen. She may be "
        "reached at the lock.\n\nReporting\n\nAccidents are reported with the online form within 24 hours.\n"
    ),
    "risks.csv": (
        'No.,Risk,Measure,Owner\n1,Storm,"Harbour Safety Plan, moorings",Nerys Bowen\n2,Fire,Extinguishers,Alun Rees\n'
    ),
    "letter.txt": (
        "Port of Aber\n\nNews for September 2024\n\nThe crane was painted in July, and the cost was shared by "
        "the two yards.\n\nHarvest supper\n\nSaturday 5 October at the Swan, 7 pm. Two courses are "
        "£18, or £15 without the pudding.\n\nMoorings\n\nThe rent of a mooring is unchanged.\n"
    ),
}


@pytest.mark.parametrize(
    ("question", "shown", "hidden"),
    [
        ("How soon must accidents be reported under the current Harbour Safety Plan?", "24 hours", "48 hours"),
        ("According to the 2021 Harbour Safety Plan, how soon are accidents entered?", "48 hours", "24 hours"),
    ],
)
def test_only_the_named_document_is_quoted(app: Preflight, question: str, shown: str, hidden: str) -> None:
    quotes = [citation.quote for citation in app.ask(question).citations]
    assert shown in quotes[0]
    assert not any(hidden in quote or "Storm" in quote for quote in quotes)


def test_the_price_below_the_heading_that_names_the_thing_comes_first(app: Preflight) -> None:
    assert "£18" in app.ask("How much is the harvest supper?").citations[0].quote


def test_what_the_named_document_does_not_say_is_not_found(app: Preflight) -> None:
    assert app.ask("What colour is the front door under the current Harbour Safety Plan?").outcome == "not_found"


def test_the_newest_edition_stands_before_the_one_it_replaces(app: Preflight) -> None:
    answer = app.ask("Who is the Harbour Safety Officer?")
    assert -1 < answer.answer.index("Nerys Bowen") < answer.answer.index("Idris Vaughan")
    assert "Nerys Bowen" in answer.groups[0].answer  # the page shows the groups


def test_the_year_that_is_asked_for_shows_the_edition_of_that_year(app: Preflight) -> None:
    answer = app.ask("Who was the Harbour Safety Officer in 2021?").answer
    assert "Idris Vaughan" in answer
    assert "Nerys Bowen" not in answer


def test_a_line_of_the_letterhead_is_no_quote() -> None:
    text = "County of Aber\nEnvironmental Health\nReport of a kitchen inspection\nDate of visit: 18 June 2024\n\n"
    source = Source(1, "a", "County of Aber", f"{text}The kitchen is rated 4.\nReport of a kitchen inspection")
    assert "Environmental Health" not in {sentence.text for sentence in sentences_of([source], "Who inspected it?")}
    notice = Source(3, "c", "Baths", "Mill Lane baths\nNo diving\nPlease shower first.\n")
    assert "No diving" in {sentence.text for sentence in sentences_of([notice], "Is diving allowed?")}
    listed = Source(2, "b", "Shopping", "Oat milk in bags\nBrown rye flour\nSix green apples", start=0)
    assert len(sentences_of([listed], "What is bought?")) == 3


@pytest.mark.parametrize(
    ("quotes", "likeliest", "shown"),
    [
        ([(1, "The fair had 148 stalls.")], (2, "The course of the fair: 550 metres."), [2, 1]),  # a word more
        ([(1, "The fair had 148 stalls.")], (2, "It took 550 metres of the fair."), [1, 2]),
        ([(1, "The fair had 148 stalls.")], (2, "550 metres"), [1]),  # no word of the question
        ([(1, "The fair had 550 metres of stalls.")], (2, "The course of the fair: 550 metres."), [1]),
        ([], (2, "The course of the fair: 550 metres."), []),
        ([(n, "A fair.") for n in (1, 2, 3, 4)], (5, "The course of the fair: 550 metres."), [1, 2, 3, 4]),
    ],
)
def test_the_sentence_of_the_likeliest_answer_is_shown_first_if_it_has_most_words(quotes, likeliest, shown) -> None:
    group = SimpleNamespace(text="550 metres", quotes=lambda: [likeliest])
    assert [
        n for n, _ in add_sentence_of_likeliest_answer("How long is the course of the fair?", quotes, group)
    ] == shown
