"""Headings without a mark are found; no line of an address, a verse, a list, a letter or a table is taken for one."""

from __future__ import annotations

import pytest

from preflight_rag.text.headings import headings_of, is_page_line, plain_headings

WITH_HEADINGS = [
    ("Fares\n\nAn adult pays 12 crowns. Children travel free.", ["Fares"]),
    ("BUSES BEFORE FERRIES\nThe first bus leaves at 6:10.\n\nLost property\n\nIt is kept for 30 days.",
     ["BUSES BEFORE FERRIES", "Lost property"]),
    ("Article 5\nWhoever has not paid pays.\n\nArticle 6\nThe club is dissolved.", ["Article 5", "Article 6"]),
    ("The lease begins in May.\n\n§ 3 Notice\n\nEither party may end it.", ["§ 3 Notice"]),
    ("Schedule 2\n\nCoal: 40 t\nOil: 12 t", ["Schedule 2"]),
    ("It ends in June.\nRepairs\nSmall repairs are borne by the tenant.", ["Repairs"]),
    ("2.1 Deposit\nThe customer leaves 200 crowns.", ["2.1 Deposit"]),
    ("3. Notice\n\nEither party may end the lease with six months to go.", ["3. Notice"]),
    ("What to bring\n\n- a towel\n- a lock", ["What to bring"]),
    ("Fees of 2025\n\nBoat: Skiff | Fee: 218\nBoat: Yawl | Fee: 700", ["Fees of 2025"]),
    ("Harbour handbook\nFares\nAn adult pays 12 crowns for a crossing.", ["Fares"]),
    ("CHAPTER II\n\nOn the conduct of members\n\nMembers greet each other.",
     ["CHAPTER II", "On the conduct of members"]),
]  # fmt: skip
WITHOUT = {
    "address": "Vester Rowing Club\nMill Lane 4\n5500 Vester\n\nThe boathouse is closed in winter.",
    "letter": "Dear Sir\n\nYour boat is at the north pier.\n\nYours faithfully\n\nAda Lund\n\nHarbour office",
    "letter with a note": "The boat is safe.\n\nKind regards\nJon Vesely\n\nP.S. The key hangs by the door.",
    "name after a greeting": "It is safe.\n\nWith best wishes,\n\nJon Vesely\n\nThe harbour office opens at nine.",
    "verse": "The sea is grey\nThe sky is low\nThe boats come in\nThe cold winds blow",
    "verses": "The sea is grey\nThe sky is low,\n\nThe boats come in\nThe cold winds blow.",
    "list": "- Oars\n- Sails\n- Ropes\n\nAll of them hang in the loft.",
    "numbered list": "1. Wash your hands\n2. Dry them\n3. Put on gloves\n\nThe gloves are in the drawer.",
    "names": "Anna\nBeata\nCarla\nThey came by boat.",
    "labels": "Warden: Ada Lund\nTelephone: 5501\n\nShe lives at the pier.",
    "date": "4 March 2025\n\nThe board met at the boathouse.",
    "place and date": "Vester, 4 March 2025\n\nThe board met at the boathouse.",
    "rows": "Boat: Skiff | Fee: 218\nBoat: Yawl | Fee: 700\n\nFees are due in May.",
    "settings": "port = 8443\nhost = db\n\nThe server listens there.",
    "log": "2025-03-04 10:00:01 INFO started\n2025-03-04 10:00:02 ERROR failed\n\nThe worker was restarted.",
    "sentence": "Section 2 applies to members\n\nThey pay 400 crowns.",
    "last line": "The club meets in March.\n\nHarbour office",
    "mail": "From: ada@vester.example\nSubject: Keys\n\nThe keys are in the drawer.",
    "bill": "SUBTOTAL $863.91\nThank you for your visit. Come again.",
    "printed row": "SKU-4563 D-22 156 CRITICAL\nThe stock was counted in March.",
    "claim": "Claim # SF-1008 Make Jeep\nThe bumper was repaired at the yard.",
    "phone": "+420 555 0123\n\nCall before nine.",
    "web": "www.vester.example\n\nThe form is there.",
    "wrapped prose": "The boathouse is let to the rowing club for\nfive years and\nmay be used by guests. They pay 12.",
}


@pytest.mark.parametrize(("text", "headings"), WITH_HEADINGS)
def test_short_lines_above_a_text_are_headings(text: str, headings: list[str]) -> None:
    found = plain_headings(text)
    assert [heading for _, heading in found] == headings
    assert all(text[at:].startswith(heading) for at, heading in found)


@pytest.mark.parametrize("name", WITHOUT)
def test_lines_of_another_form_are_none(name: str) -> None:
    assert plain_headings(WITHOUT[name]) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Skerrow Museum - page 1", True),
        ("Page 3 of 7", True),
        ("p. 12", True),
        ("See the table on page 3", False),
        ("The museum opened on page 3.", False),
    ],
)
def test_the_foot_of_a_page_is_known(line, expected):
    assert is_page_line(line) is expected


def test_an_amount_over_a_rule_is_no_heading() -> None:
    assert headings_of("TOTAL $54.23\n============\nPaid by card. Thank you.\n") == []
    assert headings_of("Version 1.2\n===========\nThe menu is new.\n") == [(0, "Version 1.2")]
