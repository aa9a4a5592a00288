"""Check boxes: what is not ticked must not read as if it held, in every kind of file that has boxes."""

# ruff: noqa: E501 -- markup stands on lines of its own length
from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.text.check_boxes import with_boxes, with_typed_boxes
from preflight_rag.text.negation import polarity
from tests.whole_documents import form, p, word

CONTROL = (
    '<w:sdt><w:sdtPr><w14:checkbox xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml">'
    '<w14:checked w14:val="{on}"/></w14:checkbox></w:sdtPr><w:sdtContent><w:r><w:t>{sign}</w:t></w:r></w:sdtContent>'
    "</w:sdt><w:r><w:t> {label}</w:t></w:r>"
)
LEGACY = (
    '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="a"/><w:checkBox><w:default w:val="0"/>{checked}'
    "</w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:t>{label}</w:t></w:r>"
)
SYMBOL = '<w:r><w:sym w:font="Wingdings" w:char="{code}"/></w:r><w:r><w:t xml:space="preserve"> {label}</w:t></w:r>'
FORM = (
    '<office:forms><form:form><form:checkbox xml:id="c1" form:id="c1" form:label="Smoking"/>'
    '<form:checkbox xml:id="c2" form:id="c2" form:label="Pets" form:current-state="checked"/></form:form></office:forms>'
    '<text:p>Rules: <draw:control draw:control="c1"/><draw:control draw:control="c2"/></text:p>'
)
CONTENT_CONTROL = '<text:p><loext:content-control loext:checkbox="true" loext:checked="{on}">{sign}</loext:content-control> {label}</text:p>'


def text_of(path: Path) -> str:
    (document,) = load(path)
    return document.text


def paragraphs(*bodies: str) -> str:
    return "".join(f"<w:p>{body}</w:p>" for body in bodies)


@pytest.mark.parametrize(
    "body",
    [
        paragraphs(CONTROL.format(on=0, sign="☐", label="Smoking"), CONTROL.format(on=1, sign="☒", label="Pets")),
        paragraphs(CONTROL.format(on=0, sign="", label="Smoking"), CONTROL.format(on=1, sign="\uf0fe", label="Pets")),
        paragraphs(LEGACY.format(checked="", label="Smoking"), LEGACY.format(checked="<w:checked/>", label="Pets")),
        paragraphs(
            LEGACY.format(checked='<w:checked w:val="0"/>', label="Smoking"),
            LEGACY.format(checked='<w:checked w:val="1"/>', label="Pets"),
        ),
        paragraphs(SYMBOL.format(code="F0A8", label="Smoking"), SYMBOL.format(code="F0FE", label="Pets")),
        p("☐ Smoking") + p("☑ Pets"),
        p("[ ] Smoking") + p("[x] Pets"),
    ],
    ids=["control", "control without its sign", "legacy", "legacy with values", "symbol", "signs", "typed"],
)
def test_boxes_of_word_are_words(tmp_path: Path, body: str) -> None:
    assert text_of(word(tmp_path / "a.docx", body)).split("\n\n") == ["[not ticked] Smoking", "[ticked] Pets"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (FORM, "Rules: [not ticked] Smoking; [ticked] Pets"),
        (
            CONTENT_CONTROL.format(on="false", sign="☐", label="Smoking")
            + CONTENT_CONTROL.format(on="true", sign="☒", label="Pets"),
            "[not ticked] Smoking\n\n[ticked] Pets",
        ),
        ("<text:p>☐ Smoking</text:p><text:p>☒ Pets</text:p>", "[not ticked] Smoking\n\n[ticked] Pets"),
        (
            '<text:p><field:fieldmark field:type="vnd.oasis.opendocument.field.FORMCHECKBOX"><field:param '
            'field:name="Checkbox_Checked" field:value="true"/></field:fieldmark>Pets</text:p><text:p><field:fieldmark '
            'field:type="vnd.oasis.opendocument.field.FORMCHECKBOX"/>Smoking</text:p>',
            "[ticked] Pets\n\n[not ticked] Smoking",
        ),
    ],
    ids=["form", "content control", "signs", "field"],
)
def test_boxes_of_open_document_are_words(tmp_path: Path, body: str, expected: str) -> None:
    rooms = {"office": "office", "text": "text", "form": "form", "draw": "drawing"}
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{room}:1.0"' for name, room in rooms.items()
    )
    spaces += (
        ' xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'
        ' xmlns:field="urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0"'
    )
    with zipfile.ZipFile(tmp_path / "a.odt", "w") as archive:
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
        )
    assert text_of(tmp_path / "a.odt") == expected


@pytest.mark.parametrize(
    "body",
    [
        '<ul><li><input type="checkbox" disabled> Smoking</li><li><input type="checkbox" checked disabled> Pets</li></ul>',
        '<p><label><input type="checkbox"> Smoking</label></p><p><label><input type="checkbox" checked="">Pets</label></p>',
        '<p><label for="a">Smoking</label> <input id="a" type="checkbox"></p>'
        '<p><label for="b">Pets</label> <input id="b" type="checkbox" checked></p>',
        '<p><span role="checkbox" aria-checked="false">Smoking</span></p>'
        '<p><span role="checkbox" aria-checked="true">Pets</span></p>',
        '<form><p><input type="radio"> Smoking</p><p><input type="radio" checked> Pets</p></form>',
        "<p>&#9744; Smoking</p><p>&#9745; Pets</p>",
    ],
    ids=["task list", "label around", "label before", "role", "form", "signs"],
)
def test_boxes_of_a_page_are_words(tmp_path: Path, body: str) -> None:
    (tmp_path / "a.html").write_text(f"<html><body><h1>Rules</h1>{body}</body></html>")
    assert text_of(tmp_path / "a.html").split("\n")[1:] == ["[not ticked] Smoking", "[ticked] Pets"]


@pytest.mark.parametrize("kind", ["md", "txt"])
def test_typed_boxes_are_words(tmp_path: Path, kind: str) -> None:
    (tmp_path / f"a.{kind}").write_text(
        "Rules of the flat\n\n- [ ] smoking\n* [x] pets\n1. [X] guests\n\nParties: [ ] yes  [x] no\n"
    )
    lines = text_of(tmp_path / f"a.{kind}").split("\n")
    assert "- [not ticked] smoking" in lines
    assert "* [ticked] pets" in lines
    assert "1. [ticked] guests" in lines
    assert "Parties: [not ticked] yes; [ticked] no" in [" ".join(line.split()) for line in lines]


@pytest.mark.parametrize(
    "text", ["a[x] is set", "see [x].", "[x](https://a.org) is a link", "x = [ ]", "see [ ] there"]
)
def test_other_brackets_stay_as_they_are(text: str) -> None:
    assert with_typed_boxes(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("☐ smoking", "[not ticked] smoking"),
        ("  - ☒pets", "  - [ticked] pets"),
        ("Smoking: ☐ yes ☒ no", "Smoking: [not ticked] yes; [ticked] no"),
        ("Smoking ☐, Pets ☑", "Smoking [not ticked]; Pets [ticked]"),
        ("Yes ☒ No ☐", "Yes [ticked]; No [not ticked]"),
        ("Yes ☒ No ☐ (tick one)", "Yes [ticked]; No [not ticked] (tick one)"),
        ("Pets? ☐ yes ☒ no", "Pets? [not ticked] yes; [ticked] no"),
        ("Pets  ☐ yes    ☒ no", "Pets  [not ticked] yes; [ticked] no"),
        ("Yes ☒    No ☐    of all", "Yes [ticked]; No [not ticked] of all"),
        ("Yes ☒ No ☐ of all", "Yes; [ticked]; No; [not ticked]; of all"),
        (
            "Yes ☒ No ☐ of all\nPets ☐",
            "Yes [ticked]; No [not ticked] of all\nPets [not ticked]",
        ),
        (
            "Room ☒ large ☐ small\n☐ pets",
            "Room [ticked] large; [not ticked] small\n[not ticked] pets",
        ),
        (
            "Yes ☒ No ☐ of all\n☐ pets\nGuests ☐",
            "Yes; [ticked]; No; [not ticked]; of all\n[not ticked] pets\nGuests [not ticked]",
        ),
        ("☑ pets\n☒ smoking\n☐ guests", "[ticked] pets\n[crossed, not ticked] smoking\n[not ticked] guests"),
        ("| smoking | ☐ | ☑ |", "| smoking | [not ticked] | [ticked] |"),
        (
            "Smoking      ☐              2\nPets         ☑              3",
            "Smoking      [not ticked]   2\nPets         [ticked]       3",
        ),
        ("✅ pets\n❌ smoking", "[ticked] pets\n[crossed, not ticked] smoking"),
        ("✓ pets\n✗ smoking", "✓ pets\n[crossed, not ticked] smoking"),
        ("A box: □ ■ ✓", "A box: □ ■ ✓"),
    ],
)
def test_signs_for_boxes_are_words(text: str, expected: str) -> None:
    assert with_boxes(text) == expected


def test_boxes_in_tables_are_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Flat,Smoking,Pets\nAlder,☐,☑\nBirch,☑,☐\n", encoding="utf-8")
    assert text_of(tmp_path / "a.csv").split("\n") == [
        "Flat: Alder | Smoking: [not ticked] | Pets: [ticked]",
        "Flat: Birch | Smoking: [ticked] | Pets: [not ticked]",
    ]


def test_boxes_of_a_printed_form_that_are_not_ticked_are_named(tmp_path: Path) -> None:
    fields = {"a_1": ("Name of the ship", "Aurora")}
    text = text_of(form(tmp_path / "a.pdf", fields, ticked=("insured",), empty_boxes=("on_loan",)))
    assert text.endswith("Name of the ship: Aurora\ninsured: yes\n[not ticked] on loan")


def test_an_empty_printed_form_has_no_boxes(tmp_path: Path) -> None:
    fields = {"a_1": ("Name of the ship", "")}
    assert "ticked" not in text_of(form(tmp_path / "a.pdf", fields, empty_boxes=("on_loan",)))


@pytest.mark.parametrize("sign", ["☐", "❌", "✘"])
def test_an_item_that_is_not_ticked_denies_it(sign: str) -> None:
    assert polarity("Is smoking allowed?", with_boxes(f"Rules: {sign} smoking allowed")) < 0
    assert polarity("Is smoking allowed?", with_boxes(f"{sign} smoking allowed ☑ pets allowed")) < 0
    assert polarity("Are pets allowed?", with_boxes(f"{sign} smoking allowed ☑ pets allowed")) > 0


@pytest.mark.parametrize("line", ["Yes ☒ No ☐ of all", "Large ☐ small ☒ rooms"])
def test_a_box_of_no_known_item_says_nothing_of_any(line: str) -> None:
    text = with_boxes(line)
    assert not any(polarity(question, text) < 0 for question in ("Is it small?", "Is it of all?", "Are rooms large?"))
