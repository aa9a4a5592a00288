"""What a document is and for whom: as it calls itself, never guessed."""

import pytest

from preflight_rag.conversation.overview import overview_of
from preflight_rag.state.values import Passage


def of(text, title="", name="a.txt", kind="txt", fields=()):
    passages = [Passage(id="p", document_id="d", text=text, end=len(text))]
    return overview_of(title, name, kind, fields, passages, lambda words: len(words.split()))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"text": "x", "title": "Delivery agreement for pumps"}, "Agreement"),
        ({"text": "x", "title": "Minutes of the meeting on rents"}, "Minutes"),
        ({"text": "x", "title": "Why people sign a contract they do not read"}, "Text"),
        ({"text": "x", "name": "invoice-4471-plumber.pdf", "kind": "pdf"}, "Invoice"),
        ({"text": "x", "name": "claim_form_0231.txt"}, "Claim form"),
        ({"text": "INVOICE\n\nBolts: 3"}, "Invoice"),
        ({"text": "Claim # SF-1008 Make Jeep", "kind": "pdf"}, "PDF"),
        ({"text": "x", "title": "A report", "fields": ["doi"]}, "Article"),
        ({"text": "x", "kind": "xyz"}, "XYZ file"),
    ],
)
def test_a_document_is_what_it_calls_itself_else_its_kind_of_file(given, what):
    assert of(**given).what == what


@pytest.mark.parametrize(
    ("text", "audience"),
    [
        ("Invoice\nBill to: Marta Kovac\nTotal: 3", "Marta Kovac"),
        ("This leaflet is for people who take ketamine at home. Read it.", "people who take ketamine at home"),
        ("The course is intended for nurses and carers.", "nurses and carers"),
        ("Notes on moss. It grows for years.", ""),
    ],
)
def test_whom_it_is_for_is_told_only_where_it_says_so(text, audience):
    assert of(text).audience == audience


def test_a_sentence_of_its_own_stands_for_it():
    text = "Field notes\n\nMoss grows on the north side of old walls. Soil is not needed at all for that."
    assert of(text, title="Field notes").gist == "Moss grows on the north side of old walls."


def test_the_gist_has_no_marks_of_emphasis():
    text = "This agreement is between **Pell & Rourke** and the **tenant**."
    assert of(text, title="Agreement").gist == "This agreement is between Pell & Rourke and the tenant."
