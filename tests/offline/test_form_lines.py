"""Fields of forms and receipts that a question names; the texts are those of `office_documents.jsonl`, read by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.offline.form_lines import find_named_fields
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document

DOCUMENTS = Path(__file__).with_name("office_documents.jsonl")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Source]:
    """Each document as one passage."""
    folder, found = tmp_path_factory.mktemp("office"), []
    for row in map(json.loads, DOCUMENTS.read_text(encoding="utf-8").splitlines()):
        path = folder / row["name"]
        path.write_text(row["text"], encoding="utf-8")
        for read in load(path):
            assert isinstance(read, Document)
            found.append(Source(len(found) + 1, read.id, read.title, read.text, str(path), document_id=read.id))
    return found


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the total of the plumber's invoice?", "810.72"),
        ("What is the total of the bakery receipt?", "15.50"),
        ("When is the next meeting of the board?", "9 April 2025"),
    ],
)
def test_a_field_is_found_by_its_label_and_its_document(sources: list[Source], question: str, value: str) -> None:
    (n, line), *others = find_named_fields(question, sources)
    assert value in line
    assert line in next(source.text for source in sources if source.n == n)
    assert not others


@pytest.mark.parametrize(
    "question",
    [
        "What is the total of the gardener's invoice?",
        "What is the phone number of the plumber?",
        "Which bank does the bakery use?",
        "Who was elected treasurer of the board?",
        "Did the board agree to replace the boiler?",
        "What is the total?",
    ],
)
def test_no_field_where_a_word_of_the_question_stands_nowhere_in_the_document(
    sources: list[Source], question: str
) -> None:
    assert find_named_fields(question, sources) == []


def test_the_names_of_columns_are_shown_with_the_values_below_them() -> None:
    text = (
        "Booking Summary\nStart Date End Date Gross Amount Net Amount\n12/20/24 12/31/24 $12,500.00 $11,250.00\nTotals"
    )
    source = Source(1, "p", "Movie booking", text, "booking.pdf", document_id="d")
    ((_, line),) = find_named_fields("What is the net amount of the movie booking?", [source])
    assert line == "Start Date End Date Gross Amount Net Amount\n12/20/24 12/31/24 $12,500.00 $11,250.00"


def test_who_is_asked_for_is_a_name_and_no_address() -> None:
    text = "Contact: office@example.org\nContact: Michael Chen\nContact Email: Desk"
    source = Source(1, "p", "Booking agency", text, "booking.pdf", document_id="d")
    assert find_named_fields("Who is the contact at the booking agency?", [source]) == [(1, "Contact: Michael Chen")]


def test_long_documents_are_no_forms() -> None:
    source = Source(1, "p", "Invoice", "Total: 12.00", "invoice.txt", document_id="d", start=90_000)
    assert find_named_fields("What is the total of the invoice?", [source]) == []


def test_sentence_that_names_more_goes_before_a_field() -> None:
    text = (
        "2. Roof: B. Ferreira reported that the repair will cost 84 000 crowns. Decision: Talbot's offer is taken.\n"
        "\nAction points\nB. Ferreira  sign the roof contract  by 20 March\n"
    )
    source = Source(1, "minutes.txt", "Minutes of the board", text, "minutes.txt", document_id="minutes.txt")
    assert find_named_fields("How much will the roof repair cost?", [source]) == []


@pytest.mark.parametrize("line", ["7. Notice", "2.1) Notice of the two", "Notice board - page 1"])
def test_the_number_of_a_part_or_page_is_no_value(line: str) -> None:
    text = f"{line}\n\nDuring probation the notice is one week for the period that the contract names.\n"
    assert find_named_fields("What is the notice period during probation?", [Source(1, "p", "", text)]) == []


def test_a_year_is_no_number_of_a_field() -> None:
    text = "Roof project 2025/26\n\nEstimated cost of the roof project: £312,000\n"
    found = find_named_fields("How much will the roof project cost?", [Source(1, "p", "", text)])
    assert "Roof project 2025/26" not in [line for _, line in found]


def test_a_sentence_that_a_printed_line_breaks_off_is_shown_whole() -> None:
    text = "Kiln report\nPrinted for the guild. Kiln tested by Ola\nLind of Vester, who found no crack.\nEnd of report"
    source = Source(1, "p", "Kiln report", text, "kiln.pdf", document_id="d")
    ((_, line),) = find_named_fields("Who tested the kiln?", [source])
    assert line == "Printed for the guild. Kiln tested by Ola\nLind of Vester, who found no crack."


def test_the_name_of_a_column_behind_a_cell_is_no_person() -> None:
    rows = "Name: Ada Orr | Role: Garden | Days a week: 2\nName: Bo Lund | Role: Garden warden | Days a week: 5"
    assert find_named_fields("Who is the garden warden?", [Source(1, "a", "Staff", rows)]) == []
    assert find_named_fields("Who is the warden of the garden?", [Source(1, "a", "Garden", "Warden: Bo Lund")])


def row_of(n: int, name: str, row: str) -> Source:
    return Source(n, name, "Prices", row, name, document_id=name)


def test_same_row_of_another_price_list_is_shown_beside_the_shorter_one() -> None:
    old = row_of(1, "prices-2024.pdf", "Service: Ear tag | Dog: 19 | Cat: 18")
    new = row_of(2, "prices-2025.xlsx", "Item: Ear tag | Dog: 24 | Cat, ferret or small pet: 23")
    other = row_of(3, "prices-2023.csv", "Item: Nail clip | Dog: 12 | Cat: 11")
    assert find_named_fields("How much is an ear tag?", [old, new, other]) == [(1, old.text), (2, new.text)]


def test_what_a_mail_quotes_is_no_field() -> None:
    mail = Source(1, "m", "Re: Price", "Somebody wrote: It says 19 pounds for the ear tag.", "m.eml", document_id="m")
    assert find_named_fields("How much is the ear tag?", [mail]) == []


def test_columns_alone_name_all_rows_of_their_table() -> None:
    rows = [
        "Date: 16 October | Speaker: Lieve Maes | Subject: How lace is dated",
        "Date: 20 November | Speaker: Lionel Yeo | Subject: Fire brigades",
        "Date: 19 February | Speaker: Ursula Finch | Subject: Buttons",
    ]
    talks = Source(1, "p", "Newsletter", "\n".join(["Winter talks", *rows]), document_id="d")
    assert find_named_fields("What are the dates and speakers of the winter talks?", [talks]) == [
        (1, row) for row in rows
    ]
    assert find_named_fields("What is the date of the winter talk on buttons?", [talks]) == [(1, rows[2])]
