"""Which rows, lines and sentences a question names."""

from __future__ import annotations

import pytest

from preflight_rag.offline.lines import (
    find_lines_of_coded_document,
    find_named_lines,
    find_sentences_with_exact_strings,
    narrowed,
)
from preflight_rag.state.reading import Source

PARTS = Source(
    1,
    "p",
    "Parts",
    "sku: VX-4410 | name: Ball valve | supplier: Norrland\n"
    "sku: VX-4490 | name: Check valve | supplier: Ostwald\n"
    "sku: VX-5105 | name: Gate valve | supplier: Norrland",
)
LOG = Source(
    2,
    "l",
    "server",
    "2025-02-01 00:00:07 INFO worker-1 task 6001 done\n"
    "2025-02-09 03:14:07 ERROR worker-3 task 6871 failed\n"
    "2025-02-09 03:15:07 ERROR mailer gave up",
)
PROSE = Source(3, "q", "Mails", "Write to a@lund.org. It is read by Ada. Write to b@lund.org. It is read by Bo.")


def test_rows_are_named_by_a_code_or_by_a_cell() -> None:
    assert find_named_lines("price of vx4490", [PARTS]) == [(1, PARTS.text.split("\n")[1])]
    assert find_named_lines("Which parts come from Norrland?", [PARTS]) == [
        (1, PARTS.text.split("\n")[0]),
        (1, PARTS.text.split("\n")[2]),
    ]
    assert find_named_lines("Who was the mayor?", [PARTS, LOG]) == []


def test_a_row_with_all_words_of_the_question_goes_before_a_cell_that_is_one_of_them() -> None:
    loan = "Object: Sextant by Ray | Borrower: Bidwell Museum | Insurance value (£): 7800"
    other = "Object: Half model of a brig | Borrower: Bidwell Museum | Insurance value (£): 950"
    budget = "Item: Insurance | Budget 2024 (£): 9400"
    register = Source(1, "a", "Loans", f"{loan}\n{other}")
    sources = [register, Source(2, "b", "Budget", budget)]
    assert find_named_lines("What is the insurance value of the sextant?", sources) == [(1, loan)]


def test_the_row_with_most_of_the_question_in_one_cell_goes_before_a_cell_with_less_of_it() -> None:
    rows = "Name: Ada Orr | Role: Garden\nName: Bo Lund | Role: Garden warden\nName: Cy Moss | Role: Garden"
    for question in ("Who is the garden warden?", "Who is our garden warden in the east wing?"):
        assert find_named_lines(question, [Source(1, "a", "Staff", rows)]) == [
            (1, "Name: Bo Lund | Role: Garden warden")
        ]


def test_errors_are_named_by_what_the_question_says_of_them() -> None:
    assert find_named_lines("Which worker failed?", [LOG]) == [(2, LOG.text.split("\n")[1])]
    assert find_named_lines("Which errors are there?", [LOG]) == [(2, line) for line in LOG.text.split("\n")[1:]]


def test_a_reader_is_given_what_is_about_the_string() -> None:
    assert [(each.n, each.text) for each in narrowed("Who supplies VX-5105?", [PARTS, LOG])] == [
        (1, "sku: VX-5105 | name: Gate valve | supplier: Norrland")
    ]
    (source,) = narrowed("Who reads b@lund.org?", [PARTS, PROSE])
    assert source.text == "Write to b@lund.org.\n\nIt is read by Bo."
    assert narrowed("Who supplies gate valves?", [PARTS, LOG]) == [PARTS, LOG]


def test_sentences_with_the_string_are_evidence() -> None:
    assert find_sentences_with_exact_strings("a@lund.org", [PROSE]) == [(3, "Write to a@lund.org.")]


def test_the_sentence_around_a_string_is_trimmed_to_it_and_a_title_is_no_quote():
    text = (
        "GX-2290 data sheet\n\n" + "a run of words without a stop " * 40 + "then GX-2290 weighs 4 kg " + "and on " * 100
    )
    (n, quote), *others = find_sentences_with_exact_strings("GX-2290", [Source(1, "p", "GX-2290 data sheet", text)])
    assert (n, others) == (1, [])
    assert "GX-2290 weighs 4 kg" in quote
    assert len(quote) <= 600


FAXES = "Caretaker: Fax | Phone: (555) 777-8888\nCaretaker: Desk | Phone: 555-7788"
PEOPLE = "Contact: Dr. Ngozi Okafor | Phone (work, fax): +47 55\nContact: Lea Vik | Phone (work, fax): +47 66"


def test_row_about_the_person_goes_before_one_with_another_word_of_the_question():
    sources = [Source(1, "p", "keys", FAXES), Source(2, "q", "people", PEOPLE)]
    assert find_named_lines("What is the fax number of Ngozi Okafor?", sources) == [(2, PEOPLE.split("\n")[0])]
    assert find_named_lines("What is the number of the fax?", sources) == [(1, FAXES.split("\n")[0])]


LEASE = """2.1 The rent is 900 crowns.

2.2 Late payment is charged:

(a) 8 percent in the first month,

(b) 12 percent after that.

2.3 Notice

Notice is three months, or 2.2 million crowns."""


@pytest.mark.parametrize(
    ("question", "clause"),
    [
        ("What does clause 2.2 say?", LEASE[LEASE.index("2.2") : LEASE.index("\n\n2.3")]),
        ("What is in § 2.3?", LEASE[LEASE.index("2.3") :]),
    ],
)
def test_clause_is_shown_from_its_number_to_the_next(question, clause):
    assert find_sentences_with_exact_strings(question, [Source(1, "p", "Lease", LEASE)]) == [(1, clause)]


BILL = Source(
    1,
    "b",
    "Bill of Lund and Orr",
    "BILL\nBill number: KD-2210\nDate: 4 March 2025\nOrder: RB-0415\n"
    "Work: Slates | Hours: 9 | Sum: €540.00\nWork: Tax at 10% | Sum: €54.00\nWork: Sum due | Sum: €594.00\n"
    "Please pay the sum that is due by 1 April 2025.",
    document_id="bill",
)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("How much tax was on bill KD-2210?", "Work: Tax at 10% | Sum: €54.00"),
        ("How many hours were the slates on KD-2210?", "Work: Slates | Hours: 9 | Sum: €540.00"),
        ("When is bill KD-2210 due?", "Please pay the sum that is due by 1 April 2025."),
    ],
)
def test_the_line_asked_for_of_a_document_named_by_its_code_goes_before_the_code(question, line):
    assert find_lines_of_coded_document(question, [BILL, PARTS]) == [(1, line), (1, "Bill number: KD-2210")]


@pytest.mark.parametrize("question", ["What is KD-2210?", "How much tax was on RB-0777?", "Who supplies VX-5105?"])
def test_no_document_is_named_by_a_code_that_is_all_of_the_question_or_one_of_a_list(question):
    assert find_lines_of_coded_document(question, [BILL, PARTS]) == []


def test_entries_of_a_list_with_one_label_are_no_documents():
    text = "Order: RB-0415\nTax: 4\nOrder: RB-0416\nTax: 9"
    assert find_lines_of_coded_document("What is the tax of RB-0416?", [Source(1, "o", "Orders", text)]) == []


def test_rows_of_the_named_table_with_another_word_of_the_question_go_before_others():
    anchor, ship = "No.: 4 | Wreck: Anchor of oak | Depth (m): 12", "No.: 7 | Wreck: Lost sloop | Depth (m): 30"
    rows = f"No.: 1 | Wreck: Barge | Depth (m): 9\n{ship}\n{anchor}"
    wrecks = Source(1, "w", "Wreck list", rows)
    question = "What is the depth of the anchor lost in the wreck list?"
    assert find_named_lines(question, [wrecks]) == [(1, anchor), (1, ship)]
    assert find_named_lines("What is the depth of the anchor lost in the harbour?", [wrecks]) == []
    assert find_named_lines("What is the colour of the anchors lost in the wreck list?", [wrecks]) == []


def test_of_rows_with_a_named_cell_the_one_with_most_words_comes_first() -> None:
    rows = ["No: 1 | Object: Button, livery | Location: C5", "No: 2 | Object: Button, fire brigade | Location: C12"]
    listed = Source(1, "p", "Inventory", "\n".join(rows))
    assert find_named_lines("Where is the fire brigade button kept?", [listed]) == [(1, rows[1]), (1, rows[0])]
