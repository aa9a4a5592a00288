"""Parts of one document that say the same of two things: what a question names is shown, whatever marks its heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag import Preflight

BUSES, FERRIES = ("every 20 minutes", "every hour"), ("every two hours", "every three hours")


def sentences(times: tuple[str, str]) -> list[str]:
    return [f"They run {times[0]} on weekdays.", f"On Sundays they run {times[1]}. Tickets are sold on board."]


def markdown(path: Path) -> None:
    parts = [f"## {name}\n\n{' '.join(sentences(times))}" for name, times in (("Buses", BUSES), ("Ferries", FERRIES))]
    path.write_text("# Transport\n\n" + "\n\n".join(parts) + "\n")


def page(path: Path) -> None:
    parts = [
        f"<h2>{name}</h2>" + "".join(f"<p>{each}</p>" for each in sentences(times))
        for name, times in (("Ferries", FERRIES), ("Buses", BUSES))
    ]
    path.write_text(f"<html><body><h1>Transport</h1>{''.join(parts)}</body></html>")


def fields(path: Path) -> None:
    parts = [
        f"{name}\n\nWeekdays: {times[0]}\nSundays: {times[1]}"
        for name, times in (("Buses", BUSES), ("Ferries", FERRIES))
    ]
    path.write_text("GETTING AROUND\n\n" + "\n\n".join(parts) + "\n")


def items(path: Path) -> None:
    parts = [
        f"<h2>{name}</h2><ul><li>Weekdays: {times[0]}</li><li>Sundays: {times[1]}</li></ul>"
        for name, times in (("Buses", BUSES), ("Ferries", FERRIES))
    ]
    path.write_text(f"<html><body><h1>Transport</h1>{''.join(parts)}</body></html>")


def tables(path: Path) -> None:
    parts = [
        f"## {name}\n\n| Day | Frequency |\n|---|---|\n| Weekdays | {times[0]} |\n| Sundays | {times[1]} |"
        for name, times in (("Buses", BUSES), ("Ferries", FERRIES))
    ]
    path.write_text("# Transport\n\n" + "\n\n".join(parts) + "\n")


def word(path: Path) -> None:
    from docx import Document

    document = Document()
    document.add_heading("Transport", 0)
    for name, times in (("Ferries", FERRIES), ("Buses", BUSES)):
        document.add_heading(name, 1)
        for each in sentences(times):
            document.add_paragraph(each)
    document.save(str(path))


def printed(path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    for name, times in (("Transport", None), ("Buses", BUSES), ("Ferries", FERRIES)):
        pdf.set_font("Helvetica", size=14)
        pdf.cell(0, 9, name, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", size=10)
        if times:
            pdf.multi_cell(0, 6, " ".join(sentences(times)), new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(path))


FILES = [
    ("a.md", markdown),
    ("b.html", page),
    ("c.txt", fields),
    ("d.html", items),
    ("e.md", tables),
    ("f.docx", word),
    ("g.pdf", printed),
]


@pytest.mark.parametrize(("name", "write"), FILES, ids=[name for name, _ in FILES])
def test_the_part_that_is_asked_for_is_quoted(tmp_path, name, write):
    write(tmp_path / name)
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / name])
        for asked, times in (("buses", BUSES), ("ferries", FERRIES)):
            answer = app.ask(f"How often do the {asked} run on Sundays?")
            assert times[1] in answer.citations[0].quote
            assert answer.short_answer in (None, times[1])
