"""Whether a document is what a question calls it."""

import pytest

from preflight_rag.conversation.document_kinds import is_of_kind
from preflight_rag.conversation.lookups import pointed_lookup


@pytest.mark.parametrize(
    ("kind", "title", "file", "text"),
    [
        ("list", "Admission prices 2025", "Admission prices 2025.docx", ""),
        ("price list", "Admission prices 2025", "a.docx", "This list replaces the prices of 2024."),
        ("list", "Stalls", "stalls.csv", ""),
        ("report", "Condition and treatment report: figurehead", "figurehead.docx", ""),
        ("letter", "Renewal of your lease", "lease.docx", "28 October\nDear Mr Ferrante,"),
        ("email", "Roof quotes", "RE roof quotes.eml", ""),
        ("minutes", "Volunteers' committee, 5 November", "committee.md", ""),
        ("policy", "Collections care", "care.md", "This policy sets out how objects are kept."),
        ("document", "Anything", "x.txt", ""),
        ("slides", "Education programme 2025", "Education programme 2025.pptx", ""),
    ],
)
def test_a_title_a_file_or_the_text_itself_says_of_what_kind_a_document_is(kind, title, file, text):
    assert is_of_kind(kind, title, file, [text])


@pytest.mark.parametrize(
    ("kind", "title", "file", "text"),
    [
        ("list", "Staff Handbook", "Staff handbook.docx", "Holidays are listed in it."),
        ("letter", "Roof quotes", "RE roof quotes.eml", "Dear Anita,"),
        ("letter", "Budget 2025", "Budget 2025.xlsx", ""),
        ("report", "Staff Handbook", "handbook.docx", "He reported a fire."),
        ("rota list", "Admission prices 2025", "prices.docx", "This list is valid."),
        ("minutes", "Ropewalk tour", "tour.txt", "It takes twenty minutes."),
    ],
)
def test_a_document_of_another_kind_is_not_meant(kind, title, file, text):
    assert not is_of_kind(kind, title, file, [text])


@pytest.mark.parametrize(
    ("message", "field", "kind"),
    [
        ("Who wrote that list?", "Authors", "list"),
        ("And who drew up this price list?", "Authors", "price list"),
        ("Who sent that mail?", "Authors", "mail"),
        ("When was that report written?", "Published", "report"),
        ("who prepared those minutes?", "Authors", "minutes"),
    ],
)
def test_a_message_points_to_a_document_by_its_kind(message, field, kind):
    found = pointed_lookup(message)
    assert (found.kind, found.fields[0], found.pointed) == ("metadata", field, kind)


@pytest.mark.parametrize(
    "message",
    [
        "Who wrote the list?",
        "Who wrote that song?",
        "When did she write the report?",
        "Who made that decision?",
        "When was that list found?",
    ],
)
def test_other_messages_point_to_no_document(message):
    assert pointed_lookup(message) is None
