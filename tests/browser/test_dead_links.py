"""Links to what is no longer there: one line that says so, and the way out."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def test_a_conversation_that_is_gone_says_so_and_a_new_one_can_be_begun(visit, demo_url, ask):
    page = visit(demo_url, path="/#/t/nothing-here")
    page.watch.allowed = ["404"]
    expect(page.get_by_role("alert")).to_have_text(
        "This conversation is no longer here: it was deleted, or the link is wrong."
    )
    ask(page, "Which planet is the hottest?")
    expect(page.locator(".answer")).to_contain_text("Venus")
    assert not page.url.endswith("nothing-here")


def test_an_address_of_nothing_says_so(visit, demo_url):
    page = visit(demo_url, path="/#/nowhere")
    expect(page.get_by_role("alert")).to_have_text("There is nothing at this address.")
    expect(page.locator("#where")).to_contain_text("50 documents")
    expect(page.get_by_role("alert")).to_be_visible()
    page.locator(".dead-end").get_by_role("link", name="Library").click()
    expect(page.locator(".documents > li").first).to_be_visible()


def test_a_passage_and_a_document_that_are_gone_say_so(visit, scripted_url, ask):
    page = visit(scripted_url(default='Basalt is hard [1].\n\nQUOTES\n[1] "Basalt is a rock that is hard."'))
    page.watch.allowed = ["404"]
    ask(page, "How is basalt?")
    for row in scripted_url.app.library.documents():
        scripted_url.app.library.delete_document(row["id"])
    page.locator(".answer .cite").click()
    expect(page.locator(".passage")).to_contain_text("taken out")
    expect(page.locator(".source")).to_contain_text("Basalt is a rock that is hard.")


@pytest.mark.parametrize("name", ["basalt.txt"])
def test_a_file_that_is_gone_says_so_in_the_list_and_where_it_was_linked(visit, scripted_url, tmp_path, name):
    page = visit(scripted_url(), path="/#/library")
    page.watch.allowed = ["404"]
    link = page.get_by_role("link", name="basalt")
    address = link.evaluate("link => link.href")
    (tmp_path / name).unlink()
    page.reload()
    expect(page.locator(".documents")).to_contain_text("its file is no longer there")
    expect(link).to_have_count(0)
    page.goto(address)
    expect(page.get_by_role("main")).to_contain_text("The file 'basalt.txt' is no longer where it was read from.")
    page.get_by_role("link", name="Library").click()
    expect(page.locator(".documents > li").first).to_be_visible()


def test_a_source_opens_where_it_was_published(visit, scripted_url, ask, tmp_path):
    record = tmp_path / "basalt.jsonl"
    record.write_text(
        '{"id": "b", "title": "Basalt", "text": "Basalt is a rock that is hard.", "pmid": 23193287, '
        '"doi": "10.1093/nar/gks1195"}\n{"id": "p", "title": "Pumice", "text": "Pumice is light.", '
        '"url": "javascript:alert(1)"}\n',
        encoding="utf-8",
    )
    reply = (
        'Basalt is hard, pumice light [1][2].\n\nQUOTES\n[1] "Basalt is a rock that is hard."\n[2] "Pumice is light."'
    )
    page = visit(scripted_url(default=reply, files=[record]))
    ask(page, "How is basalt?")
    for number in (1, 2):
        page.locator(f"#source-{number}").evaluate("button => button.click()")
        expect(page.locator(f"#passage-{number}")).to_be_visible()
        if "Basalt" in page.locator(f"#source-{number}").inner_text():
            link = page.locator(f"#passage-{number} a.web")
            expect(link).to_have_text("Open at the publisher")
            expect(link).to_have_attribute("href", "https://doi.org/10.1093/nar/gks1195")
            assert link.get_attribute("target") == "_blank"
            assert set(link.get_attribute("rel").split()) == {"noopener", "noreferrer"}
        else:
            expect(page.locator(f"#passage-{number} a")).to_have_count(0)
    page.get_by_role("link", name="Library", exact=True).click()
    listed = page.locator(".documents h2 a")
    expect(listed).to_have_text(["Basalt"])
    expect(listed).to_have_attribute("href", "https://doi.org/10.1093/nar/gks1195")
