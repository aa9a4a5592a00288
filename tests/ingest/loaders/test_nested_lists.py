"""Inner items of lists: each is read with the items that it is inside of, in every kind of file that has lists."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from docx import Document as WordDocument
from pptx import Presentation

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.nested_lists import LONGEST_PARENT, item_with_parents, with_denials, with_parents

FERRIES = [
    (0, "Ferries"),
    (1, "Weekdays: hourly"),
    (1, "Sundays"),
    (2, "Summer: two sailings"),
    (2, "Winter: none"),
    (0, "Buses"),
    (1, "Sundays: every hour"),
]
WRITTEN = ["Ferries, Sundays, Winter: none", "Ferries, Sundays, Summer: two sailings", "Buses, Sundays: every hour"]


def indented(mark: str = "- ", by: str = "  ") -> str:
    return "\n".join(f"{by * depth}{mark}{text}" for depth, text in FERRIES)


def nested(inside: str, around: str, label: str = "{}") -> str:
    """The list as markup: `inside` and `around` are the elements of an item and of a list."""
    written, before = "", -1
    for depth, text in FERRIES:
        written += f"<{around}>" if depth > before else f"</{inside}>" + f"</{around}></{inside}>" * (before - depth)
        written += f"<{inside}>{label.format(text)}"
        before = depth
    return written + f"</{inside}></{around}>" * (before + 1)


def write(path: Path) -> None:
    if path.suffix in (".md", ".txt"):
        path.write_text(f"# Island transport\n\n{indented()}\n")
    elif path.suffix == ".html":
        path.write_text(f"<html><body><h1>Island transport</h1>{nested('li', 'ul')}</body></html>")
    elif path.suffix == ".docx":
        document = WordDocument()
        document.add_heading("Island transport")
        for depth, text in FERRIES:
            document.add_paragraph(text, style=("List Bullet", "List Bullet 2", "List Bullet 3")[depth])
        document.save(str(path))
    elif path.suffix == ".pptx":
        presentation = Presentation()
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = "Island transport"
        frame = slide.placeholders[1].text_frame
        for number, (depth, text) in enumerate(FERRIES):
            paragraph = frame.add_paragraph() if number else frame.paragraphs[0]
            paragraph.text, paragraph.level = text, depth
        presentation.save(str(path))
    else:
        spaces = " ".join(
            f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text")
        )
        body = nested("text:list-item", "text:list", "<text:p>{}</text:p>")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(
                "content.xml",
                f"<office:document-content {spaces}><office:body><office:text><text:h>Island transport</text:h>{body}"
                "</office:text></office:body></office:document-content>",
            )


@pytest.mark.parametrize("kind", ["md", "txt", "html", "docx", "pptx", "odt"])
def test_an_inner_item_stands_with_the_items_around_it(tmp_path: Path, kind: str) -> None:
    write(tmp_path / f"a.{kind}")
    (document,) = load(tmp_path / f"a.{kind}")
    lines = [line.strip("- ") for line in document.text.split("\n")]
    assert [line for line in WRITTEN if line not in lines] == []
    assert {"Ferries", "Buses"} <= set(lines)


@pytest.mark.parametrize(("mark", "by"), [("* ", "    "), ("+ ", "\t"), ("1. ", "   "), ("a) ", "  ")])
def test_lists_are_read_with_any_mark_and_indent(mark: str, by: str) -> None:
    lines = [line.strip().removeprefix(mark) for line in with_parents(indented(mark, by).split("\n"))]
    assert [line for line in WRITTEN if line not in lines] == []


@pytest.mark.parametrize(
    "text",
    [
        "- Ferries\n- Sundays: none",
        "- Ferries\n - Sundays: none",  # by one column: a neighbour
        "- Ferries\n\nThe buses:\n\n  - Sundays: none",
        "- Ferries\n## Buses\n  - Sundays: none",
        "Ferries\n  - Sundays: none",
        "* * *\n  - Sundays: none",
    ],
)
def test_items_that_are_inside_of_none_stay_as_they_are(text: str) -> None:
    assert "\n".join(with_parents(text.split("\n"))) == text


def test_an_item_that_is_wrapped_stands_whole_before_those_inside_it() -> None:
    lines = ["- Ferries that cross the sound", "  in summer", "", "  - **Sundays:** none"]
    assert with_parents(lines)[-1] == "  - Ferries that cross the sound in summer: **Sundays:** none"


def test_a_long_item_is_cut_with_a_mark_before_those_inside_it() -> None:
    written = item_with_parents(["Dogs are welcome " + "in every room " * 20], "but not here")
    assert written.startswith("Dogs are welcome in every room")
    assert written.endswith(" …: but not here")
    assert len(written) < LONGEST_PARENT + 30


def test_lists_in_code_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Settings\n\n```yaml\n- ferries\n  - sundays: none\n```\n")
    (document,) = load(tmp_path / "a.md")
    assert "\n  - sundays: none\n" in document.text


def test_links_of_an_inner_item_stay_links(tmp_path: Path) -> None:
    page = "<ul><li>Ferries<ul><li><a href='/s'>Sundays</a></li></ul></li><li>Buses</li></ul>"
    page += "<ul><ul><li>Fares</li></ul></ul>"
    (tmp_path / "a.html").write_text(f"<html><body><h1>Transport</h1>{page}</body></html>")
    (document,) = load(tmp_path / "a.html")
    assert document.text.split("\n")[1:] == ["Ferries", "Ferries: Sundays", "Buses", "- Fares"]


def test_a_list_that_lays_out_a_page_stays_as_it_is(tmp_path: Path) -> None:
    found = "<li><h2>Ferries</h2><p>All sailings.</p><ul><li>Fares</li></ul></li>"
    found += f"<li>{'A long text of a result. ' * 8}<ul><li>Sundays</li></ul></li>"
    (tmp_path / "a.html").write_text(f"<html><body><h1>Transport</h1><ul>{found}</ul></body></html>")
    (document,) = load(tmp_path / "a.html")
    assert {"Fares", "Sundays"} <= set(document.text.split("\n"))


DENYING = "The plan does not cover"
DENIED = ["storm damage", "theft: bicycles"]


def write_denying(path: Path, line: str) -> None:
    if path.suffix == ".docx":
        document = WordDocument()
        document.add_paragraph(f"{line}:")
        for text in DENIED:
            document.add_paragraph(text, style="List Bullet")
        document.add_paragraph("The rent is 840 EUR.")
        document.save(str(path))
    elif path.suffix == ".html":
        items = "".join(f"<li>{text}</li>" for text in DENIED)
        path.write_text(f"<html><body><p>{line}:</p><ul>{items}</ul><p>The rent is 840 EUR.</p></body></html>")
    else:
        items = "\n".join(f"- {text}" for text in DENIED)
        path.write_text(f"{line}:\n\n{items}\n\nThe rent is 840 EUR.\n")


@pytest.mark.parametrize("suffix", [".md", ".txt", ".html", ".docx"])
def test_items_below_a_line_that_denies_them_stand_with_it(tmp_path, suffix):
    path = tmp_path / f"plan{suffix}"
    write_denying(path, DENYING)
    [document] = load(path)
    assert f"- {DENYING}: storm damage\n- {DENYING}, theft: bicycles\n" in document.text
    assert "\nThe rent is 840 EUR." in document.text


@pytest.mark.parametrize("suffix", [".md", ".html", ".docx"])
@pytest.mark.parametrize("line", ["The plan covers", "Notes on the plan", "The notary's plan"])
def test_items_below_any_other_line_are_left_alone(tmp_path, suffix, line):
    path = tmp_path / f"plan{suffix}"
    write_denying(path, line)
    [document] = load(path)
    assert "- storm damage\n- theft: bicycles\n" in document.text


@pytest.mark.parametrize("suffix", [".md", ".html", ".docx"])
def test_both_sides_of_a_denial_get_their_heading_and_other_lists_none(tmp_path, suffix):
    path = tmp_path / f"plan{suffix}"
    lists = {"Covered": "leaks", "Not covered": "limescale", "Parts": "a lid"}
    if suffix == ".docx":
        document = WordDocument()
        for heading, item in lists.items():
            document.add_heading(heading, 2)
            document.add_paragraph(item, style="List Bullet")
        document.save(str(path))
    elif suffix == ".html":
        body = "".join(f"<h2>{heading}</h2><ul><li>{item}</li></ul>" for heading, item in lists.items())
        path.write_text(f"<html><body><h1>Kettle</h1>{body}</body></html>")
    else:
        path.write_text("\n".join(f"## {heading}\n\n- {item}\n" for heading, item in lists.items()))
    [document] = load(path)
    assert [line for line in document.text.splitlines() if line.startswith("- ")] == [
        "- Covered: leaks",
        "- Not covered: limescale",
        "- a lid",
    ]


def test_both_sides_of_a_denial_get_their_line():
    text = "The plan covers:\n- fire\n\nThe plan does not cover:\n- pets\n\nContacts:\n- Ms Lee"
    assert with_denials(text) == (
        "The plan covers:\n- The plan covers: fire\n\nThe plan does not cover:\n- The plan does not cover: pets"
        "\n\nContacts:\n- Ms Lee"
    )


@pytest.mark.parametrize(
    "line", ["You must not bring", "No refunds for", "What isn't included", "Exclusions", "Everything except"]
)
def test_lines_that_deny_are_known_by_their_words(line):
    assert with_denials(f"{line}:\n- food\n- pets") == f"{line}:\n- {line}: food\n- {line}: pets"


@pytest.mark.parametrize("marks", [("1.", "2."), ("a)", "b)"), ("(1)", "(2)")])
def test_numbered_items_stand_with_a_line_that_denies_them(marks):
    first, second = marks
    text = f"The plan does not cover:\n{first} storm damage\n{second} pets"
    assert with_denials(text) == (
        f"The plan does not cover:\n{first} The plan does not cover: storm damage\n"
        f"{second} The plan does not cover: pets"
    )


def test_lettered_item_is_no_line_above_the_next_ones():
    text = "Rules\n\nText of the rules.\n\na) no pets\nb) no cars"
    assert with_denials(text) == text


@pytest.mark.parametrize(
    ("parents", "text", "written"),
    [
        (["Project Leader"], "The Project Leader is elected.", "The Project Leader is elected."),
        (["Ferries", "Sundays:"], "On Sundays none", "Ferries: On Sundays none"),
        (["Leader"], "Leaders are elected.", "Leader: Leaders are elected."),  # another word
    ],
)
def test_an_item_that_names_what_it_belongs_to_does_not_repeat_it(parents, text, written) -> None:
    assert item_with_parents(parents, text) == written


@pytest.mark.parametrize(("indent", "is_inside"), [("  ", False), ("    ", False), ("       ", True)])
def test_a_paragraph_that_stands_no_deeper_than_an_item_ends_its_list(indent: str, is_inside: bool) -> None:
    lines = ["    - Ferries", "", f"{indent}They are small.", "", "       - Sundays: none"]
    assert with_parents(lines)[-1] == f"       - {'Ferries, ' if is_inside else ''}Sundays: none"
