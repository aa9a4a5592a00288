"""A folder of tables, codes and logs: each row and line is found by what it says, and shown by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import row_files

from preflight_rag import Answer, Preflight

QUESTIONS = [
    # rows
    ("What is the price of VX-4490?", "61.20"),
    ("Who is the supplier of the check valve?", "Ostwald Armatures"),
    ("VX-5105", "Gate valve"),
    ("Why does the goods lift stop between floors?", "door sensor is wet"),
    ("How many B-72 are in stock?", "Bestand: 640"),
    ("What is the price of the Flügelmutter?", "Preis: 1,05"),
    ("Who is the warden of Birkenau?", "Jon Vesely"),
    ("What is the depth of berth Q-13?", "9.8"),
    ("M-503", "99.7"),
    ("Who is the assignee of the pump leaks request?", "Tomas Brandt"),
    ("Where is TK-302?", "cold store"),
    ("What is the badge of Rolf Ek?", "7105"),
    ("What is the pressure limit of PU-08?", "pressure_bar: 10"),
    ("Which machines are in Hall B?", "FN-02"),
    ("What is the ip of bison?", "10.20.0.9"),
    ("What is the price of the Workshop plan?", "39"),
    ("How many seats does the Factory plan have?", "120"),
    ("When is the departure to Lundholm?", "11:15"),
    ("What is the length of the Fibre cable?", "40 m"),
    ("What is the shelf life of Cobalt?", "24 months"),
    ("What is the flash point of Turpentine?", "35 C"),
    ("When was the Hornbeam planted?", "1954"),
    ("Who is the owner of the Mill well?", "Haugen farm"),
    ("How many litres does Tank 15 hold?", "8100"),
    ("How many seats does the room Tallinn have?", "12"),
    ("How much barley grew on Longmead?", "barley t: 8.5"),
    ("When does Mehlwerk open?", "06:15"),
    ("How strong was the gust at Nibe?", "27.25"),
    # exact strings
    ("E-1044", "guard door is open"),
    ("error E-1043", "oil is too warm"),
    ("What does E1045 mean?", "belt has slipped"),
    ("What changed in 2.4.1?", "umlauts"),
    ("Who reads keys@harbour.example.org?", "Piet Vos"),
    ("Where is parcel 7Q-88231-KX?", "held by the customs"),
    ("Where does 192.168.40.70 stand?", "in the hall"),
    ("SN00412290", "belongs to the archive"),
    ("When is ERR_BUS_PARITY raised?", "byte was damaged"),
    ("Who is the customer of invoice 2024-0171?", "Parish of Lund"),
    ("What happened to order 554210?", "cancelled by the buyer"),
    ("What is the remedy of AL30.2?", "Replace the fan"),
    ("What does 4f1c2a9e-77b0-4c1d-9a55-0d3e8f6b1c23 open?", "cellar"),
    # lines
    ("Which worker failed?", "worker-3 task 6871 failed"),
    ("What happened to task 6871?", "disk quota of volume lavender exceeded"),
    ("Which requests to checkout failed?", "marzipan"),
    ("What failed with saffron.css?", "saffron.css"),
    ("Which authentication error did sshd have?", "oskar"),
    ("Which error did the crane have?", "load of 31 t refused"),
    ("Which error did the importer have?", "catalogue of Vester"),
    ("Which certificate error was there?", "gullwing"),
    ("Which queue error was there?", "poplar overflowed"),
    ("What is the keepalive timeout of idle connections?", "75"),
    ("What are the soak minutes at the highest temperature of the kiln?", "35"),
    ("What is the lamp_colour?", "amber"),
]
"""A question, and what the first thing that is shown for it has to hold."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office")
    for write in row_files.FILES.values():
        write(folder)
    return folder


@pytest.fixture(scope="module")
def app(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preflight]:
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as app:
        report = app.ingest([folder])
        assert report.failed == []
        yield app


def first_shown(answer: Answer) -> str:
    """The claim, or else the first quote, with the line that it stands in."""
    citation = next((each for each in answer.citations if each.n == 1), None)
    return f"{answer.short_answer or ''} {citation.quote if citation else ''}"


def is_verbatim(app: Preflight, answer: Answer) -> bool:
    passages = {each.id: each.text for each in app.library.passages([each.passage_id for each in answer.citations])}
    return all(
        each.verified and passages[each.passage_id][each.start : each.end] == each.quote for each in answer.citations
    )


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_first_thing_shown_is_the_row_or_line_that_is_asked_for(app: Preflight, question: str, expected: str) -> None:
    answer = app.ask(question)
    assert expected in first_shown(answer), answer.answer
    assert is_verbatim(app, answer)


@pytest.mark.parametrize("question", [question for question, _ in QUESTIONS if any(map(str.isdigit, question))])
def test_passages_with_the_string_of_a_question_go_first(app: Preflight, question: str) -> None:
    from preflight_rag.text.exact import count_held, exact_strings

    strings = exact_strings(question)
    chosen = [hit.passage_id for hit in app.search(question).selected]
    held = [count_held(f"{passage.title} {passage.text}", strings) for passage in app.library.passages(chosen)]
    assert not strings or held[0] > 0


@pytest.mark.parametrize(
    "question", ["E-1099", "What does E-1099 mean?", "What is the price of VX-9999?", "What happened to task 5999?"]
)
def test_code_that_no_document_mentions_is_not_found(app: Preflight, question: str) -> None:
    answer = app.ask(question)
    assert (answer.outcome, answer.citations) == ("not_found", ())
    assert "No document that was searched mentions “" in answer.answer


def test_all_rows_of_a_supplier_are_shown(app: Preflight) -> None:
    quotes = [citation.quote for citation in app.ask("Which parts come from Norrland Valves?").citations]
    assert len(quotes) == 2
    assert {"VX-4410" in quotes[0], "VX-5105" in quotes[1]} == {True} or {"VX-5105" in quotes[0]} == {True}
