"""Of documents that replace each other the newest stands first, whatever program wrote them; all invented."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from docx import Document as WordDocument
from fpdf import FPDF
from openpyxl import Workbook
from pptx import Presentation as Slides

from preflight_rag import Preflight

Sentences = tuple[str, ...]


def word(path: Path, title: str, sentences: Sentences) -> None:
    made = WordDocument()
    made.add_heading(title, 0)
    for sentence in sentences:
        made.add_paragraph(sentence)
    made.save(str(path))


def printed(path: Path, title: str, sentences: Sentences) -> None:
    pdf = FPDF()
    pdf.set_title(title)
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 16)
    pdf.cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    for sentence in sentences:
        pdf.multi_cell(0, 8, sentence, new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(path))


def page(path: Path, title: str, sentences: Sentences) -> None:
    body = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    path.write_text(
        f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>", encoding="utf-8"
    )


def slides(path: Path, title: str, sentences: Sentences) -> None:
    deck = Slides()
    deck.core_properties.title = title
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = title
    slide.placeholders[1].text = "\n".join(sentences)
    deck.save(str(path))


def workbook(path: Path, title: str, sentences: Sentences) -> None:
    book = Workbook()
    book.properties.title = title
    sheet = book.active
    sheet.title = "Fees"
    for row in (("Boat", "Fee"), *(tuple(sentence.split(": ")) for sentence in sentences)):
        sheet.append(row)
    book.save(path)


def latex(path: Path, title: str, sentences: Sentences) -> None:
    body = "\n\n".join(sentences)
    path.write_text(
        f"\\documentclass{{article}}\\title{{{title}}}\\begin{{document}}\\maketitle\n\n{body}\n\\end{{document}}",
        encoding="utf-8",
    )


def flat(path: Path, title: str, sentences: Sentences) -> None:
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
    body = "".join(f"<text:p>{sentence}</text:p>" for sentence in sentences)
    path.write_text(
        f'<?xml version="1.0"?><office:document {spaces} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
        f"<dc:title>{title}</dc:title></office:meta><office:body><office:text>{body}</office:text></office:body>"
        "</office:document>",
        encoding="utf-8",
    )


def mail(path: Path, title: str, sentences: Sentences) -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = title, "harbour@vester.example", "crew@vester.example"
    message["Date"] = f"Mon, 3 Mar {title[-4:]} 10:00:00 +0100"
    message.set_content("\n".join(sentences) + "\n")
    path.write_bytes(message.as_bytes())


Write = Callable[[Path, str, Sentences], None]
FAMILIES: dict[str, tuple[Write, str, str, str, str]] = {
    # Writer, title, what holds in both years but for §, the figures of the older and of the newer.
    "kennel.docx": (word, "Kennel rules", "A dog may stay in the kennel for § nights.", "12", "16"),
    "sauna.pdf": (printed, "Sauna rules", "The sauna is heated to § degrees.", "80", "95"),
    "archive.html": (page, "Archive rules", "Letters are kept in the archive for § years.", "15", "25"),
    "crane.pptx": (slides, "Crane rules", "The crane lifts § tonnes at most.", "31", "44"),
    "choir.tex": (latex, "Choir rules", "The choir rehearses for § minutes.", "70", "90"),
    "mooring.fodt": (flat, "Mooring rules", "A mooring ring holds § boats.", "3", "2"),
    "bakery.eml": (mail, "Bakery rules", "The oven of the bakery is swept every § days.", "9", "6"),
}
QUESTIONS = {
    "kennel.docx": "How many nights may a dog stay in the kennel?",
    "sauna.pdf": "To how many degrees is the sauna heated?",
    "archive.html": "For how many years are letters kept in the archive?",
    "crane.pptx": "How many tonnes does the crane lift?",
    "choir.tex": "For how many minutes does the choir rehearse?",
    "mooring.fodt": "How many boats does a mooring ring hold?",
    "bakery.eml": "How often is the oven of the bakery swept?",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preflight]:
    folder = tmp_path_factory.mktemp("files")
    for name, (write, title, sentence, *figures) in FAMILIES.items():
        for year, figure in zip(("2022", "2025"), figures, strict=True):
            file = folder / f"{Path(name).stem}-{year}{Path(name).suffix}"
            write(file, f"{title} {year}", (sentence.replace("§", figure), "Questions go to the office in the tower."))
    for year, fee in (("2022", "218"), ("2025", "240")):
        workbook(folder / f"fees-{year}.xlsx", f"Berth fees {year}", (f"Skiff: {fee}", "Yawl: 700"))
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as opened:
        assert opened.ingest([folder]).added == 2 * len(FAMILIES) + 2
        yield opened


@pytest.mark.parametrize("name", FAMILIES)
def test_newest_version_stands_first_with_what_held_before(app: Preflight, name: str) -> None:
    _, title, sentence, older, newer = FAMILIES[name]
    answer = app.ask(QUESTIONS[name])
    first, second = answer.citations[:2]
    assert first.quote.strip("- ") == sentence.replace("§", newer)
    assert second.quote.strip("- ") == sentence.replace("§", older)
    # Where both figures are sure they are claimed, each beside the year of its rules.
    claimed = [line for line in answer.answer.split("\n") if line.startswith("- ")]
    if claimed:
        assert [line.split()[1] for line in claimed] == [newer.split()[0], older.split()[0]], title
        assert [" 2025)" in line for line in claimed] == [True, False], title
    else:
        assert f"since 2025; {older}" in answer.answer, title
    assert older not in (answer.short_answer or "")


@pytest.mark.parametrize("name", FAMILIES)
def test_version_of_the_year_that_is_asked_for_stands_first(app: Preflight, name: str) -> None:
    _, _, sentence, older, _ = FAMILIES[name]
    answer = app.ask(QUESTIONS[name].replace("?", " in 2022?"))
    assert answer.citations[0].quote.strip("- ") == sentence.replace("§", older)


def test_newest_sheet_stands_first(app: Preflight) -> None:
    answer = app.ask("What is the fee for a skiff?")
    assert "Fee: 240" in answer.citations[0].quote
    assert "218" not in (answer.short_answer or "")
