"""A PDF opens at the page of the quote, with the quote marked in its text, by pdf.js that this server serves."""

import re
from pathlib import Path

import matplotlib
import pytest
from axe_playwright_python.sync_playwright import Axe
from fpdf import FPDF
from PIL import Image
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
FIRST = ["Survey of quarries.", "", "Granite is grey. Granite is not", "quarried in the valley."]
SECOND = [
    "Findings.",
    "",
    "The of\ufb01ce of mines found that granite is quar-",
    "ried in eleven places, and that every one",
    "of them is wet.",
]
QUOTE = "The office of mines found that granite is quarried in eleven places, and that every one of them is wet."
SUBPIXEL = """
() => {
    const canvas = document.querySelector(".sheet canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((dark, value, place) => dark + (place % 4 === 0 && value < 100), 0);
}
"""


def make_pdf(path, pages):
    document = FPDF()
    document.add_font("dejavu", fname=str(FONT))
    document.set_font("dejavu", size=12)
    for lines in pages:
        document.add_page()
        for line in lines:
            document.cell(0, 8, line, new_x="LMARGIN", new_y="NEXT")
    document.output(str(path))
    return path


@pytest.fixture
def survey(tmp_path):
    """Two pages; what is quoted stands on the second, broken at a hyphen, with a ligature."""
    return make_pdf(tmp_path / "survey.pdf", [FIRST, SECOND])


def open_pdf(page, name="Open the PDF at page 2"):
    page.locator(".answer .cite").first.click()
    page.get_by_role("button", name=name).click()


def test_on_a_phone_a_page_opens_at_the_beginning_of_its_lines(visit, scripted_url, ask, tmp_path):
    line = "Granite from the eleven quarries of the north is wet in spring, as all who broke it say."
    wide = make_pdf(tmp_path / "wide.pdf", [[line, "It dries in May."]])
    page = visit(scripted_url(default=f'Granite is wet [1].\n\nQUOTES\n[1] "{line}"', files=[wide]))
    page.set_viewport_size({"width": 390, "height": 844})
    ask(page, "Where is granite quarried?")
    open_pdf(page, "Open the PDF at page 1")
    viewer = page.get_by_role("dialog", name="wide")
    expect(viewer.get_by_role("status")).to_have_text("The quote is marked.")
    room, mark = viewer.locator(".viewer-room"), viewer.locator("mark").first
    assert mark.bounding_box()["width"] > room.bounding_box()["width"]
    assert room.evaluate("room => room.scrollLeft") == 0


def test_a_quote_is_marked_over_lines_hyphens_and_ligatures(visit, scripted_url, ask, survey):
    page = visit(scripted_url(default=f'Granite is wet [1].\n\nQUOTES\n[1] "{QUOTE}"', files=[survey]))
    ask(page, "Where is granite quarried?")
    open_pdf(page)
    viewer = page.get_by_role("dialog", name="survey")
    expect(viewer.get_by_role("status")).to_have_text("The quote is marked.")
    expect(viewer).to_contain_text("Page 2 of 2")
    marked = "".join(viewer.locator("mark").all_inner_texts())
    assert re.sub(r"\W", "", marked) == re.sub(r"\W", "", QUOTE)
    expect(viewer.locator("mark").first).to_be_in_viewport()
    expect(viewer.locator("[data-drawn]")).to_be_visible()
    assert page.evaluate(SUBPIXEL) > 500
    viewer.get_by_role("button", name="Previous page").click()
    expect(viewer).to_contain_text("Page 1 of 2")
    expect(viewer.locator(".textLayer")).to_contain_text("Survey of quarries.")
    expect(viewer.locator("mark")).to_have_count(0)
    viewer.get_by_role("button", name="Next page").click()
    expect(viewer.locator("mark").first).to_be_visible()
    before = viewer.locator(".sheet").bounding_box()["width"]
    viewer.get_by_role("button", name="Larger").click()
    page.wait_for_function(
        "before => document.querySelector('.sheet')?.getBoundingClientRect().width > before * 1.4", arg=before
    )
    expect(viewer.locator("mark").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(viewer).to_have_count(0)
    expect(page.get_by_role("button", name="Open the PDF at page 2")).to_be_focused()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("narrow", [False, True], ids=["1280", "360"])
def test_a_pdf_fits_the_screen_passes_axe_and_is_closed_by_back(visit, scripted_url, ask, survey, narrow, dark):
    reply = f'Granite is wet [1].\n\nQUOTES\n[1] "{QUOTE}"'
    page = visit(scripted_url(default=reply, files=[survey]), narrow=narrow, dark=dark)
    ask(page, "Where is granite quarried?")
    open_pdf(page)
    viewer = page.get_by_role("dialog")
    expect(viewer.locator("[data-drawn]")).to_be_visible()
    expect(viewer.locator("mark").first).to_be_in_viewport()
    box = viewer.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
    page.go_back()
    expect(viewer).to_have_count(0)
    expect(page.locator("#evidence")).to_be_in_viewport()
    if narrow:
        page.go_back()
        expect(page.locator("#evidence")).not_to_be_in_viewport()
    expect(page.locator(".turn")).to_have_count(1)


def test_where_the_quote_is_not_found_the_page_is_shown_and_says_so(visit, scripted_url, ask, survey):
    page = visit(scripted_url(default=f'Granite is wet [1].\n\nQUOTES\n[1] "{QUOTE}"', files=[survey]))
    ask(page, "Where is granite quarried?")
    make_pdf(survey, [FIRST, ["The report was written anew, and says nothing of it."]])
    open_pdf(page)
    viewer = page.get_by_role("dialog")
    expect(viewer.get_by_role("status")).to_contain_text("The quote was not found on this page")
    expect(viewer.locator(".textLayer")).to_contain_text("The report was written anew")
    expect(viewer.locator("mark")).to_have_count(0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: path.unlink(), "This file is no longer there."),
        (lambda path: path.write_bytes(b"not a PDF at all"), "This PDF is damaged"),
    ],
)
def test_a_file_that_cannot_be_shown_says_why(visit, scripted_url, ask, survey, change, told):
    page = visit(scripted_url(default=f'Granite is wet [1].\n\nQUOTES\n[1] "{QUOTE}"', files=[survey]))
    page.watch.allowed = ["404"]
    ask(page, "Where is granite quarried?")
    page.locator(".answer .cite").first.click()
    expect(page.get_by_role("button", name="Open the PDF at page 2")).to_be_visible()
    change(survey)
    page.get_by_role("button", name="Open the PDF at page 2").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text(told)
    page.keyboard.press("Escape")
    page.reload()
    page.locator(".answer .cite").first.click()
    if not survey.exists():
        expect(page.locator(".passage")).to_contain_text("survey.pdf is no longer where it was read from")


def test_scans_are_decoded_under_the_policy_of_the_worker(visit, scripted_url, ask, tmp_path):
    """A picture of JPEG 2000 with its text below, as scanners make them: it needs WebAssembly in the worker."""
    scan, text = tmp_path / "scan.pdf", make_pdf(tmp_path / "words.pdf", [["Basalt is a rock that is hard."]])
    picture = Image.new("RGBA", (600, 800), "white")
    picture.paste((20, 20, 20, 255), (100, 100, 300, 300))
    picture.save(scan, "PDF")
    assert b"JPXDecode" in scan.read_bytes()
    page = visit(scripted_url(default='Hard [1].\n\nQUOTES\n[1] "Basalt is a rock that is hard."', files=[text]))
    ask(page, "How is basalt?")
    page.locator(".answer .cite").first.click()
    expect(page.get_by_role("button", name="Open the PDF at page 1")).to_be_visible()
    text.write_bytes(scan.read_bytes())
    page.get_by_role("button", name="Open the PDF at page 1").click()
    expect(page.get_by_role("dialog").locator("[data-drawn]")).to_be_visible()
    assert page.evaluate(SUBPIXEL) > 5000


CASES = [
    ("whole", "One two three.", ["zero one", "two", "three four"], [[0, 5, 8], [1, 0, 3], [2, 0, 5]], 1),
    ("nowhere", "Nothing of the kind stands on this page at all.", ["One two three."], [], 0),
    ("short and nowhere", "412 m", ["the bridge is 41 m long"], [], 0),
    ("a row of a table", "Costs | Hours: 1.5 | Cost: 225", ["Costs of 1.5", "Costs 1.5 225", "x"], [[1, 0, 13]], 1),
    ("a row that stands twice", "Costs | Hours: 1.5 | Cost: 225", ["Costs 1.5 225", "Costs 1.5 225"], [], 0),
    ("empty", "“…”", ["One"], [], 0),
]


@pytest.mark.parametrize(("name", "quote", "parts", "spans", "share"), CASES, ids=[case[0] for case in CASES])
def test_quotes_are_found_by_letters_and_digits(visit, demo_url, name, quote, parts, spans, share):
    page = visit(demo_url)
    found = find_quote(page, quote, parts)
    assert (found["spans"], found["share"]) == (spans, share)


def test_of_equal_places_the_one_with_the_same_surroundings_is_marked(visit, demo_url):
    page = visit(demo_url)
    parts = ["In men the dose was 5 mg daily.", "In women the dose was 5 mg daily."]
    assert find_quote(page, "5 mg", parts, {"before": "women, the dose was ", "after": ""})["spans"] == [[1, 22, 26]]
    assert find_quote(page, "5 mg", parts, {"before": "In men the dose was ", "after": ""})["spans"] == [[0, 20, 24]]


def test_a_quote_that_something_interrupts_is_marked_in_its_pieces(visit, demo_url):
    page = visit(demo_url)
    first, second = (
        "The first half of a long sentence stands here, and",
        "its second half stands below the running head.",
    )
    parts = [first, "Journal of Stones 12", second]
    found = find_quote(page, f"{first} {second}", parts)
    assert [span[0] for span in found["spans"]] == [0, 2]
    assert found["share"] == 1
    more = f"{first} Much more follows, which stands on no page of this document at all, neither here nor there."
    assert find_quote(page, more, parts)["spans"] == []


def find_quote(page, quote, parts, around=None):
    script = """async ([quote, parts, around]) => {
        const module = document.querySelector('script[type=module]').src.replace("app.js", "quote.js");
        return (await import(module)).findQuote(quote, parts, around ?? {});
    }"""
    return page.evaluate(script, [quote, parts, around])
