"""What stands under a heading is read with it, whether or not the heading has a mark, in each kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from docx import Document as WordDocument
from fpdf import FPDF

from preflight_rag import Preflight

Parts = Sequence[tuple[str, str]]
DOCUMENTS: dict[str, tuple[str, Parts]] = {
    "transport": (
        "Transport on the island",
        [
            (
                "Buses",
                "They run every 20 minutes on weekdays. On Sundays they run every hour. Tickets are sold on board.",
            ),
            (
                "FERRIES",
                "They run every two hours on weekdays. On Sundays they run every three hours. Tickets are sold.",
            ),
        ],
    ),
    "fees": (
        "Moorings",
        [
            ("Members", "The fee is 120 crowns a month. Payment is due on the first."),
            ("Guests", "The fee is 35 crowns a night. Payment is due on arrival."),
            ("Former members", "The fee is 90 crowns a month. Payment is due in June."),
        ],
    ),
    "wardens": (
        "Wardens",
        [
            ("North pier", "The warden is Ada Lund. She can be called at 5501."),
            ("South pier", "The warden is Jon Vesely. He can be called at 5502."),
        ],
    ),
    "rooms": (
        "House rules",
        [
            ("Kitchen", "It is open from six to ten. Shoes must be taken off."),
            ("Sauna", "It is open from four to eight. Towels are lent for two crowns."),
            ("Workshop", "It is open from nine to five. Gloves must be worn."),
        ],
    ),
    "huts": (
        "Huts",
        [
            ("Alder hut", "Beds cost 40 crowns. Dogs are allowed."),
            ("Birch hut", "Beds cost 55 crowns. Dogs are not allowed."),
        ],
    ),
    "charter": (
        "Charter of the rowing club",
        [
            ("Article 1", "The club is called the Vester Rowing Club. Its seat is in Vester."),
            ("Article 2", "Whoever rows pays 400 crowns a year. Article 5 applies to all in arrears."),
            ("Article 3", "The board has seven members. It meets at least four times a year."),
            ("Article 4", "The general meeting is held in March. Under article 5 nobody who owes a fee may vote."),
            ("Article 5", "Whoever has not paid by June loses the right to use the boats."),
            ("Article 6", "The club is dissolved by two thirds of the votes."),
        ],
    ),
    "lease": (
        "Lease of the mill",
        [
            ("§ 1 Premises", "The landlord lets the mill with the yard. The pond is not part of the lease."),
            ("§ 2 Rent", "The rent is 900 crowns a month. It is due on the third of the month."),
            ("§ 3 Notice", "Either party may end the lease with six months to go. § 2 stays in force until the end."),
            ("§ 4 Repairs", "Small repairs are borne by the tenant. See § 3 for the end of the lease."),
        ],
    ),
    "supply": (
        "Supply contract",
        [
            ("Schedule 1", "Coal is delivered on the first Monday of each month."),
            ("Schedule 2", "Late deliveries cost 75 crowns a day. The penalty is capped, see Schedule 3."),
            ("Schedule 3", "The cap of Schedule 2 does not apply to strikes."),
        ],
    ),
    "hire": (
        "Terms of hire",
        [
            ("7.1 Deposit", "The customer leaves 200 crowns. Clause 7.2 says when it is returned."),
            ("7.2 Return", "The machine is brought back clean by six o'clock."),
            ("7.3 Damage", "Scratches are not charged. Clause 7.2 remains unaffected."),
        ],
    ),
}
QUESTIONS = [
    ("How often do the buses run on Sundays?", "every hour"),
    ("How often do the ferries run on Sundays?", "three hours"),
    ("How often do ferries run on weekdays?", "two hours"),
    ("What is the fee for guests?", "35 crowns"),
    ("What is the fee for members?", "120 crowns"),
    ("What is the fee for former members?", "90 crowns"),
    ("When is payment due for former members?", "June"),
    ("Who is the warden of the south pier?", "Jon Vesely"),
    ("Who is the warden of the north pier?", "Ada Lund"),
    ("At which number can the warden of the south pier be called?", "5502"),
    ("When is the sauna open?", "four to eight"),
    ("When is the workshop open?", "nine to five"),
    ("When is the kitchen open?", "six to ten"),
    ("What do beds cost in the Birch hut?", "55 crowns"),
    ("Are dogs allowed in the Alder hut?", "Dogs are allowed"),
    ("What does article 5 say?", "not paid by June"),
    ("article 5", "not paid by June"),
    ("What does article 3 say about the board?", "seven members"),
    ("What is in article 6?", "dissolved"),
    ("What does § 3 say?", "six months"),
    ("What does § 2 of the lease say?", "900 crowns"),
    ("What does schedule 2 say?", "75 crowns"),
    ("Schedule 3", "strikes"),
    ("What does clause 7.2 say?", "brought back clean"),
    ("clause 7.2", "brought back clean"),
]
"""A question, and what the first thing that is shown for it says."""


def written(mark: str, gap: str) -> Callable[[Path, str, Parts], None]:
    def write(path: Path, title: str, parts: Parts) -> None:
        body = "\n\n".join(f"{mark}{heading}{gap}{text}" for heading, text in parts)
        path.write_text(f"{mark[1:]}{title}\n\n{body}\n", encoding="utf-8")

    return write


def word(path: Path, title: str, parts: Parts) -> None:
    made = WordDocument()
    made.add_paragraph().add_run(title).bold = True
    for heading, text in parts:
        made.add_paragraph().add_run(heading).bold = True
        made.add_paragraph(text)
    made.save(str(path))


def printed(path: Path, title: str, parts: Parts) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 16)
    pdf.cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
    for heading, text in parts:
        pdf.set_font("Helvetica", "B", 12)
        pdf.cell(0, 10, heading, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, text, new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(path))


KINDS = {
    "marked.md": written("## ", "\n\n"),
    "parted.txt": written("", "\n\n"),
    "above.txt": written("", "\n"),
    "bold.docx": word,
    "printed.pdf": printed,
}


@pytest.fixture(scope="module", params=KINDS)
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preflight]:
    folder = tmp_path_factory.mktemp("files")
    for name, (title, parts) in DOCUMENTS.items():
        KINDS[request.param](folder / f"{name}{Path(request.param).suffix}", title, parts)
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as opened:
        assert opened.ingest([folder]).added == len(DOCUMENTS)
        yield opened


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
def test_part_that_is_asked_for_is_shown_first(app: Preflight, question: str, expected: str) -> None:
    answer = app.ask(question)
    assert expected in answer.citations[0].quote
    others = [text for _, text in QUESTIONS if text != expected]
    assert answer.short_answer not in others
