"""The evidence: quotes in their place, what does not hold, the way it was read, relations as a picture."""

import re

import pytest
from broken_bow import documents, script
from fpdf import FPDF
from playwright.sync_api import expect
from serving import running

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

QUESTION = "How many people live in Broken Bow?"
STYLES = """
edges => Object.fromEntries(
    edges.map(edge => [edge.classList[1], edge.getAttribute("stroke-dasharray") + getComputedStyle(edge).stroke])
)
"""
WAYS = [
    ("Which planet is the hottest?", "Read in one go, since two ways of searching found the same passages."),
    ("Who wrote Hamlet?", "No passage that was found is near the question."),
    (QUESTION, "Compared and grouped, since several things go by this name"),
    ("Hello", "Answered from the conversation, without a search."),
]


@pytest.mark.parametrize(("question", "told"), WAYS)
def test_the_way_is_told_in_one_sentence_with_the_numbers_on_demand(visit, demo_url, ask, question, told):
    page = visit(demo_url)
    ask(page, question)
    route = page.locator(".route")
    expect(route).to_contain_text(told)
    route.click()
    expect(page.get_by_role("tab", name="How this was answered")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".timeline li").first).to_be_visible()
    expect(page.locator(".numbers table")).to_be_hidden()
    page.locator(".numbers summary").click()
    expect(page.locator(".reason")).not_to_be_empty()


def test_passages_are_not_called_far_above_what_is_quoted_from_them(visit, demo_url):
    page = visit(demo_url)
    route = {"name": "plain", "forced": False, "reason": "no passage found is near the question (nearness 0.5 of 1)"}
    script = """
    async answer => {
        const page = document.querySelector("script[type=module][src$='/app.js']").src;
        return (await import(page.replace("app.js", "route.js"))).sentence(answer);
    }
    """
    far = "No passage that was found is near the question."
    assert page.evaluate(script, {"route": route, "citations": [], "relations": []}) == far
    assert page.evaluate(script, {"route": route, "citations": [{"n": 1}], "relations": []}) == "Read in one go."


def test_a_time_line_runs_while_the_answer_is_made(visit, scripted_url, ask):
    from preflight_rag.testing.scripted_replies import Reply

    page = visit(scripted_url(default=Reply("Hard [1].", delay=2.0)))
    ask(page, "How is basalt?", wait=False)
    page.get_by_title("Show the steps").click()
    expect(page.locator(".timeline .live")).to_contain_text("Reading and answering")
    expect(page.locator(".timeline li").first).to_contain_text("Understanding the question")
    page.locator(".turn-actions").wait_for()
    page.get_by_role("tab", name="How this was answered").click()
    expect(page.locator(".timeline")).to_contain_text(re.compile(r"1 call · \d+ tokens"))


def test_a_quote_is_marked_where_it_stands_whatever_comes_before_it(visit, scripted_url, ask):
    text = "🪨🪨🪨 Stones, in 𝒢ermany and beyond. Basalt is a rock that is hard. It comes from volcanoes. 🌋"
    reply = 'Basalt is hard [1].\n\nQUOTES\n[1] "Basalt is a rock that is hard."'
    page = visit(scripted_url(default=reply, documents=[Document(id="s", source="s", title="Stones", text=text)]))
    ask(page, "How is basalt?")
    page.locator(".answer .cite").click()
    expect(page.locator("mark")).to_have_text("Basalt is a rock that is hard.")
    assert page.locator(".passage-text").inner_text() == text


def test_a_quote_that_is_nowhere_is_marked_as_such(visit, scripted_url, ask):
    page = visit(scripted_url(default='Zebras sing at night [1].\n\nQUOTES\n[1] "Zebras sing at night in Milan."'))
    ask(page, "How is basalt?")
    expect(page.locator(".reply-foot .notice").last).to_contain_text("One quote was not found in the source.")
    page.locator(".chip").click()
    expect(page.locator(".source.unverified .verdict")).to_have_text("These words were not found in the source.")
    expect(page.locator("mark")).to_have_count(0)


def test_a_statement_that_its_source_does_not_support_is_shown_as_such(visit, scripted_url, ask):
    reply = 'Venus is the home of seven million penguins [1].\n\nQUOTES\n[1] "Basalt is a rock that is hard."'
    page = visit(scripted_url(default=reply))
    ask(page, "How is basalt?")
    expect(page.locator(".reply-foot .notice").first).to_contain_text("supported by the cited sources")
    page.get_by_role("button", name="Evidence").click()
    expect(page.locator(".doubts")).to_contain_text("Venus is the home of seven million penguins")
    marked = page.evaluate("[...CSS.highlights.values()].flatMap(all => [...all].map(String))")
    assert marked == ["Venus is the home of seven million penguins "] or marked[0].startswith("Venus is the home")


@pytest.fixture
def pier_url(embedder, tmp_path):
    """A server over two documents that say different things about dogs."""
    said = {"Pier rules": "Dogs are kept on a lead on the pier.", "Visitors' guide": "Dogs are welcome on the pier."}
    with Library.open(tmp_path / "pier", embedder=embedder, create=True) as library:
        library.add(
            [Document(id=title, source=f"/files/{title}.md", title=title, text=text) for title, text in said.items()]
        )
    with Preflight.open(tmp_path / "pier", "offline", embedder=embedder) as app, running(app) as url:
        yield url


def test_quotes_of_two_documents_about_a_yes_or_no_are_cards_with_their_titles(visit, pier_url, ask):
    page = visit(pier_url)
    ask(page, "Are dogs allowed on the pier?")
    expect(page.locator(".cards .card h3")).to_have_text(["Pier rules", "Visitors' guide"])
    # The title is not said again below, and no picture of relations is offered, since none was found.
    expect(page.locator(".cards .card-foot").first).not_to_contain_text("Pier rules")
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    expect(page.get_by_role("tab", name="Sources")).to_be_visible()
    expect(page.get_by_role("tab", name="Relations")).to_have_count(0)


def test_relations_are_a_picture_with_a_table(visit, scripted_url, ask):
    facts = ["A1", "B2", "A1", "A4", "C3", "-"]
    # Without dates: documents of one title and different dates are versions, which differ and do not contradict.
    undated = [document.model_copy(update={"date": None}) for document in documents(facts)]
    url = scripted_url(script(facts, notes=True), documents=undated, route="corg")
    page = visit(url)
    ask(page, QUESTION)
    expect(page.locator(".against .card")).to_have_count(2)
    expect(page.locator(".against")).to_contain_text("These sources contradict each other")
    expect(page.locator(".against blockquote").first).to_contain_text("people live in Broken Bow")
    expect(page.locator(".groups > .cards .card")).to_have_count(2)
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    page.get_by_role("tab", name="Relations").click()
    picture = page.locator(".graph")
    expect(picture).to_have_attribute("aria-label", re.compile(r"\d+ pairs? answering differently"))
    kinds = page.locator(".graph .edge").evaluate_all("edges => [...new Set(edges.map(e => e.classList[1]))].sort()")
    assert set(kinds) >= {"counterfactual", "distracting", "duplicated"}
    styles = page.locator(".graph .edge").evaluate_all(STYLES)
    assert len(set(styles.values())) == len(kinds)
    first = picture.evaluate("svg => svg.outerHTML")
    page.reload()
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    page.get_by_role("tab", name="Relations").click()
    expect(picture).to_be_visible()
    assert picture.evaluate("svg => svg.outerHTML") == first
    page.get_by_text("As a table").click()
    expect(page.locator(".wide-table tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Enlarge").click()
    expect(page.get_by_role("dialog").locator(".graph")).to_be_visible()
    boxes = (
        page.get_by_role("dialog")
        .locator(".graph .box")
        .evaluate_all("all => all.map(box => box.getBBox()).map(({x, y, width, height}) => ({x, y, width, height}))")
    )
    for place, a in enumerate(boxes):
        for b in boxes[place + 1 :]:
            apart = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
            assert apart or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]


def test_of_many_documents_eight_are_drawn_and_the_rest_on_demand(visit, scripted_url, ask):
    facts = ["A1", "A2", *[f"{state}{n}" for n, state in enumerate("BCBCBCBCBCBCBC", 3)]]
    page = visit(scripted_url(script(facts, notes=True), documents=documents(facts), route="corg"))
    ask(page, QUESTION)
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    page.get_by_role("tab", name="Relations").click()
    rows = page.locator(".graph .dot")
    expect(rows).to_have_count(8)
    expect(page.locator(".graph-summary")).to_contain_text("16 documents")
    page.get_by_role("button", name="Show 8 more").click()
    expect(rows).to_have_count(16)


def test_marks_of_one_document_are_one_chip_with_its_pages(visit, scripted_url, ask, tmp_path):
    path = tmp_path / "A survey of the rocks that are hard, of those that are light, and of all that are white.pdf"
    document = FPDF()
    document.set_font("Helvetica", size=12)
    for fact in ("Basalt is a rock that is hard. ", "Pumice is a rock that is light. ", "Marble is white. "):
        document.add_page()
        document.multi_cell(0, 8, fact * 60)
    document.output(str(path))
    other = tmp_path / "slate.txt"
    other.write_text("Slate is a rock that is flat.", encoding="utf-8")
    page = visit(scripted_url(default="Basalt is hard, slate is flat [1, 2, 3, 4, 5].", files=[path, other], k=16))
    ask(page, "Which rocks are hard, light and flat?")
    answer = page.evaluate("id => fetch(`/api/threads/${id}`).then(r => r.json())", page.url.split("/t/")[1])
    cited = answer["turns"][0]["answer"]["citations"]
    assert [one["n"] for one in cited] == [1, 2, 3, 4, 5]
    documents = list(dict.fromkeys(one["document_id"] for one in cited))
    chips = page.locator(".chip")
    expect(chips).to_have_count(len(documents))
    for place, document_id in enumerate(documents):
        of_one = [one for one in cited if one["document_id"] == document_id]
        assert spread(chips.nth(place).locator(".n").inner_text()) == [one["n"] for one in of_one]
        if pages := sorted({one["page"] for one in of_one if one["page"]}):
            assert spread(chips.nth(place).locator(".chip-more").inner_text().split("p. ")[1]) == pages
    marks = page.locator(".answer .cite")
    assert [n for mark in marks.all_inner_texts() for n in spread(mark)] == [1, 2, 3, 4, 5]
    assert marks.count() <= 3
    chips.first.click()
    expect(page.locator("[aria-expanded=true] .n").first).to_contain_text("1")
    page.set_viewport_size({"width": 360, "height": 740})
    assert all(chip.evaluate("each => each.getBoundingClientRect().right <= innerWidth") for chip in chips.all())
    lines = "each => { const of = new Range(); of.selectNodeContents(each); return of.getClientRects().length; }"
    assert all(chip.locator(".n").evaluate(lines) == 1 for chip in chips.all()), "numbers on one line"


def spread(text):
    """The numbers of `1, 3–5`."""
    ends = [[int(number) for number in part.split("–")] for part in text.split(",")]
    return [n for first, *last in ends for n in range(first, (last or [first])[0] + 1)]


TITLES = [
    "Bows",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "The population of Broken Bow and of all surrounding settlements as it was counted, estimated and counted again",
    "石の町の人口についての調査報告書、その増加と減少の原因に関する長い考察",
]
OVERLAPS = """
(where) => {
    const graph = document.querySelector(`${where} .graph`);
    const rect = (node) => {
        const { left, top, right, bottom } = node.getBoundingClientRect();
        return { name: `${node.getAttribute("class")} ${node.textContent}`, left, top, right, bottom };
    };
    const all = (names) => [...graph.querySelectorAll(names)].map(rect);
    const cross = (a, b, from, to) => a[to] > b[from] + 0.5 && b[to] > a[from] + 0.5;
    const meet = (a, b) => cross(a, b, "left", "right") && cross(a, b, "top", "bottom");
    const pairs = (some) => some.flatMap((a, i) => some.slice(i + 1).map((b) => [a, b]));
    const overlapping = (some) => pairs(some).filter(([a, b]) => meet(a, b)).map(([a, b]) => [a.name, b.name]);
    const holds = (b, a) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
    const [boxes, pills] = [all(".box"), all(".pill")];
    const own = all(".box-name, .box-descriptor, .node-title");
    return {
        documents: all(".dot").length,
        labelled: pills.length > 2,
        labels: overlapping([...own, ...all(".dot"), ...pills]),
        boxes: overlapping([...boxes, ...pills]),
        outside: own.filter((a) => !boxes.some((box) => holds(box, a))).map((a) => a.name),
    };
}
"""
APART = {"documents": 12, "labelled": True, "labels": [], "boxes": [], "outside": []}


@pytest.mark.parametrize("narrow", [False, True], ids=["1280", "360"])
def test_nothing_overlaps_in_a_picture_of_twelve_documents(visit, scripted_url, ask, narrow):
    facts = ["A1", "B2", "C3", "A1", "A4", "B2", "C5", "-7", "B6", "A1", "C3", "-8"]
    found = [
        each.model_copy(update={"title": f"{each.title}. {TITLES[n % 4]}"}) for n, each in enumerate(documents(facts))
    ]
    page = visit(scripted_url(script(facts, notes=True), documents=found, route="corg"), narrow=narrow)
    ask(page, QUESTION)
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    page.get_by_role("tab", name="Relations").click()
    page.get_by_role("button", name="Show 4 more").click()
    expect(page.locator(".graph .dot")).to_have_count(12)
    assert page.evaluate(OVERLAPS, "#evidence") == APART
    assert page.locator("#evidence-body").evaluate("body => body.scrollWidth - body.clientWidth") == 0
    page.get_by_role("button", name="Enlarge").click()
    expect(page.get_by_role("dialog").locator(".graph .dot")).to_have_count(12)
    assert page.evaluate(OVERLAPS, "dialog") == APART


@pytest.mark.slow
@pytest.mark.parametrize("narrow", [False, True])
def test_rows_of_a_table_are_shown_as_a_table_with_its_columns(visit, empty_url, tmp_path, ask, narrow):
    parts = tmp_path / "parts.csv"
    parts.write_text("sku,part,price_eur\nGX-2290,Check valve,61.20\nGX-3105,Gate valve,92.00\n", encoding="utf-8")
    page = visit(empty_url, narrow=narrow)
    page.locator("#first-files").set_input_files([parts])
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Ask").click()
    ask(page, "What is the price of the check valve?")
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    for place in (".answer .rows", "#evidence .quoted .rows"):
        table = page.locator(place).first
        expect(table.locator("thead th")).to_have_text(["sku", "part", "price eur"])
        expect(table.locator("tbody tr").first).to_contain_text("61.20")
    expect(page.locator(".answer .rows .cite").first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


WIDE = """branch,manager,employees,opening hours,staff bicycles,parking places,heating costs,repair costs,monthly rent
Ulm,Marta Kovac,12,eight to six,14,22,4100,1850,2730
Prague,Jon Vale,19,nine to five,11,30,5200,1420,3145
"""
INSIDE = """box => {
    const [own, around] = [box.getBoundingClientRect(), box.parentElement.getBoundingClientRect()];
    const cell = box.querySelector("mark").getBoundingClientRect();
    return own.right <= around.right + 1 && own.left <= cell.left && cell.right <= own.right;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("narrow", [False, True])
def test_a_wide_table_scrolls_in_its_own_box_to_the_cell_that_answers(visit, empty_url, tmp_path, ask, narrow):
    (tmp_path / "branches.csv").write_text(WIDE, encoding="utf-8")
    page = visit(empty_url, narrow=narrow)
    page.locator("#first-files").set_input_files([tmp_path / "branches.csv"])
    expect(page.get_by_text("1 added.")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Ask").click()
    ask(page, "What is the monthly rent of the Prague branch?")
    page.locator(".turn-actions").get_by_role("button", name="Evidence").click()
    for place in (".answer .rows", "#evidence .quoted .rows"):
        box = page.locator(place).first
        expect(box.locator("mark")).to_have_text("3145")
        assert box.evaluate("box => box.scrollWidth > box.clientWidth")
        expect(box).not_to_have_js_property("scrollLeft", 0)
        assert box.evaluate(INSIDE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#evidence-body").evaluate("body => body.scrollWidth - body.clientWidth") == 0
