"""The conversation: streaming, stopping, going on, asking back, errors in one line with the way out."""

import shutil
import time

import pytest
from broken_bow import documents, script
from playwright.sync_api import expect
from serving import serving

from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

SLOW = Reply(
    "Basalt is **hard** [1]. " + "".join(f"It really is so, says note {n}. " for n in range(60)), chunk_delay=0.04
)
GONE = "The server can't be reached. Your question is kept; try again when it is back."
FIRST_WORDS = """
window.firsts = [];
new MutationObserver(() => {
    const answer = document.querySelector(".turn:last-child .answer");
    if (!answer?.textContent || answer.seen) return;
    answer.seen = true;
    firsts.push(Date.now());
}).observe(document.getElementById("turns"), { subtree: true, childList: true, characterData: true });
"""


def test_an_answer_is_shown_while_it_is_written(visit, scripted_url, ask):
    page = visit(scripted_url(default=SLOW))
    ask(page, "How is basalt?", wait=False)
    expect(page.locator(".answer strong")).to_have_text("hard")
    expect(page.locator(".answer .cite")).to_have_text("1")
    first = page.locator(".answer").inner_text()
    page.wait_for_timeout(500)
    assert page.locator(".answer").inner_text().startswith(first.rstrip())
    expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    expect(page.locator(".turn-actions")).to_have_count(0)
    top = page.locator(".asked").bounding_box()["y"]
    expect(page.locator(".turn-actions")).to_be_attached(timeout=30_000)
    assert page.locator(".asked").bounding_box()["y"] == top


def test_the_models_first_word_is_on_the_page_at_once(visit, scripted_url, ask):
    reply = Reply("Basalt is hard [1]. " + "It is so. " * 6, delay=0.5, chunk_delay=0.05)
    page = visit(scripted_url(default=reply))
    page.evaluate(FIRST_WORDS)
    waits = []
    for number in range(3):
        ask(page, f"How is basalt {number}?")
        begun = scripted_url.model.requests[-1].arrived + reply.delay + reply.chunk_delay
        waits.append(page.evaluate("window.firsts.at(-1)") / 1000 - begun)
    assert min(waits) < 0.15, waits


@pytest.mark.parametrize("way", ["button", "Escape"])
def test_a_stopped_answer_ends_the_models_call_and_the_conversation_goes_on(visit, scripted_url, ask, way):
    page = visit(scripted_url([("How is basalt", SLOW, 1)], default="Light [1]."))
    ask(page, "How is basalt?", wait=False)
    expect(page.locator(".answer strong")).to_be_visible()
    if way == "button":
        page.get_by_role("button", name="Stop the answer").click()
    else:
        page.keyboard.press("Escape")
    expect(page.locator(".turn:last-child .notice")).to_have_text("Stopped.", timeout=3000)
    expect(page.locator(".turn:last-child .unfinished")).to_have_text("Unfinished; sources not checked")
    expect(page.locator(".turn:last-child .answer strong")).to_have_text("hard")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    deadline = time.time() + 2
    while scripted_url.model.active and time.time() < deadline:
        time.sleep(0.05)
    assert scripted_url.model.active == 0
    ask(page, "How is pumice?")
    expect(page.locator(".turn:last-child .answer")).to_contain_text("Light")


def test_a_turn_that_was_cut_off_is_found_and_finished(visit, scripted_url, ask):
    url = scripted_url([("How is basalt", SLOW, 1)], default="Basalt is hard [1].")
    page = visit(url)
    ask(page, "How is basalt?", wait=False)
    expect(page.locator(".answer strong")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".turn:last-child .notice")).to_have_text("Stopped.", timeout=3000)
    page.reload()
    expect(page.locator(".turn .notice")).to_have_text("This answer was not finished.")
    expect(page.locator(".turn .unfinished")).to_have_text("Unfinished; sources not checked")
    expect(page.locator(".turn .answer strong")).to_have_text("hard")
    page.get_by_role("button", name="Finish this answer").click()
    expect(page.locator(".turn-actions")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("Basalt is hard")
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".turn .unfinished")).to_have_count(0)


def test_a_server_that_is_gone_is_said_and_the_question_and_the_draft_are_kept(visit, demo_folder, tmp_path):
    folder = shutil.copytree(demo_folder, tmp_path / "served")
    with ScriptedServer(default=SLOW) as model:
        environment = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
        how = ("-l", folder, "--model", "openai:scripted", "-q")
        with serving(*how, **environment) as (process, url):
            page = visit(url)
            page.watch.allowed = ["net::ERR", "404"]
            page.get_by_label("Your question").fill("How is basalt?")
            page.keyboard.press("Enter")
            expect(page.locator(".answer strong")).to_be_visible()
            process.kill()
            expect(page.get_by_role("alert")).to_have_text(GONE, timeout=40_000)
            expect(page.locator(".turn .unfinished")).to_have_text("Unfinished; sources not checked")
            expect(page.locator(".answer strong")).to_have_text("hard")
            page.get_by_label("Your question").fill("How is pumice?")
            page.keyboard.press("Enter")
            expect(page.locator(".turn:last-child").get_by_role("alert")).to_have_text(GONE)
        with serving(*how, "--port", url.rpartition(":")[2], **environment) as (_, again):
            assert again == url
            page.get_by_role("button", name="Try again").click()
            expect(page.locator(".turn .notice")).to_have_text("This answer was not finished.")
            expect(page.locator(".answer strong")).to_have_text("hard")
            page.goto(f"{url}/#/")
            page.reload()
            expect(page.get_by_label("Your question")).to_have_value("How is pumice?")


def test_a_stream_is_taken_up_again_after_a_reload_and_in_a_second_tab(visit, scripted_url, ask):
    url = scripted_url([("How is basalt", SLOW, 1)], default="Light [1].")
    page = visit(url)
    ask(page, "How is basalt?", wait=False)
    expect(page.locator(".answer strong")).to_be_visible()
    page.reload()
    expect(page.locator(".answer strong")).to_have_text("hard")
    expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    second = visit(url, path=page.url.removeprefix(url))
    expect(second.locator(".answer strong")).to_have_text("hard")
    expect(page.locator(".turn-actions")).to_be_attached(timeout=30_000)
    expect(second.locator(".turn-actions")).to_be_attached(timeout=30_000)
    for tab in (page, second):
        text = tab.locator(".answer").inner_text()
        assert text.count("Basalt is hard") == 1
        assert text.count("It really is so, says note") == 60
        expect(tab.locator(".turn")).to_have_count(1)
    suggesting = scripted_url.model.count("Questions to ask next")
    assert scripted_url.model.count("How is basalt") == 1 + suggesting
    assert suggesting <= 1


def test_what_is_asked_in_one_tab_appears_in_the_other(visit, scripted_url, ask):
    page = visit(scripted_url([("How is basalt", SLOW, 1)], default="Light [1].", rewrite="off"))
    ask(page, "How is pumice?")
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.locator(".turn")).to_have_count(1)
    ask(page, "How is basalt?", wait=False)
    expect(second.locator(".turn:last-child .answer strong")).to_have_text("hard")
    second.get_by_role("button", name="Stop the answer").click()
    expect(page.locator(".turn:last-child .notice")).to_have_text("Stopped.", timeout=5000)


def test_a_question_is_changed_and_asked_again_from_there(visit, scripted_url, ask):
    rules = [("How is basalt", "Basalt is hard [1]."), ("How is slate", "Slate is flat [1].")]
    page = visit(scripted_url(rules, default="Light [1].", rewrite="off"))
    for question in ("How is pumice?", "How is basalt?", "How is marble?"):
        ask(page, question)
    before = page.url
    page.locator(".turn").nth(1).hover()
    page.get_by_role("button", name="Change this question").nth(1).click()
    page.get_by_label("The question in other words").fill("How is slate?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn:last-child .answer")).to_contain_text("Slate is flat")
    expect(page.locator(".asked").first).to_contain_text("pumice")
    assert page.url != before
    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    page.get_by_role("link", name="See it as it was").click()
    expect(page.locator(".turn")).to_have_count(3)
    expect(page.locator(".asked").nth(1)).to_contain_text("basalt")


def test_thumbs_are_kept_with_their_reason(visit, scripted_url, ask):
    page = visit(scripted_url(default="Basalt is hard [1]."))
    ask(page, "How is basalt?")
    page.get_by_role("button", name="Not a good answer").click()
    page.get_by_role("button", name="Something is missing").click()
    page.get_by_label("What would be right").fill("very hard")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("#toast")).to_have_text("Kept on this server.")
    page.reload()
    expect(page.get_by_role("button", name="Not a good answer")).to_have_attribute("aria-pressed", "true")
    ((turn, feedback),) = scripted_url.app.ledger.feedback()
    assert (turn.question, feedback.good) == ("How is basalt?", False)
    assert (feedback.reason, feedback.expected) == ("Something is missing", "very hard")
    page.get_by_role("button", name="Not a good answer").click()
    expect(page.get_by_role("button", name="Not a good answer")).to_have_attribute("aria-pressed", "false")
    assert scripted_url.app.ledger.feedback() == []


def test_a_turn_that_a_crash_left_open_is_shown_or_dropped(visit, scripted_url, ask):
    url = scripted_url(default="Basalt is hard [1].")
    page = visit(url)
    page.watch.allowed = ["409"]
    ask(page, "How is basalt?")
    thread_id = page.url.rsplit("/", 1)[-1]
    scripted_url.app.ledger.begin(thread_id, "How is slate?", settings={}, model="scripted")
    ask(page, "How is marble?", wait=False)
    expect(page.get_by_role("alert")).to_contain_text("was not finished")
    page.get_by_role("button", name="Show it").click()
    expect(page.locator(".turn:last-child .asked")).to_contain_text("How is slate?")
    expect(page.get_by_role("button", name="Finish this answer")).to_be_visible()
    ask(page, "How is marble?", wait=False)
    page.get_by_role("button", name="Drop it and ask this").click()
    expect(page.locator(".turn:last-child .answer")).to_contain_text("Basalt is hard")


def test_a_failed_turn_is_shown_as_such_later(visit, scripted_url, ask):
    page = visit(scripted_url([("How is basalt", Reply("not this one", status=422))]))
    ask(page, "How is basalt?", wait=False)
    said = page.get_by_role("alert").inner_text()
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text(said.split(".")[0])


def test_an_error_says_what_happened_and_offers_another_try(visit, scripted_url, ask):
    page = visit(scripted_url([("How is basalt", Reply("not this one", status=422), 1)], default="Hard [1]."))
    ask(page, "How is basalt?", wait=False)
    expect(page.get_by_role("alert")).to_contain_text("does not accept the call: not this one")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn:last-child .answer")).to_contain_text("Hard")


def test_a_lost_connection_says_so_and_goes_on(visit, scripted_url, ask):
    page = visit(scripted_url([("How is basalt", SLOW, 1)], default="Basalt is hard [1]."))
    page.watch.allowed = ["ERR_INTERNET_DISCONNECTED", "net::ERR"]
    ask(page, "How is basalt?", wait=False)
    expect(page.locator(".answer strong")).to_be_visible()
    page.context.set_offline(True)
    page.evaluate("document.getElementById('question').focus()")
    page.get_by_role("button", name="Stop the answer").click()
    expect(page.locator(".turn:last-child .notice")).to_contain_text("is stopped as soon as it can be")
    ask(page, "How is basalt now?", wait=False)
    expect(page.get_by_role("alert")).to_contain_text(GONE)
    page.context.set_offline(False)
    page.locator(".turn:last-child").get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn:last-child .answer")).to_contain_text("Basalt is hard")


def test_several_things_of_one_name_are_asked_about_first(visit, scripted_url, ask):
    facts = ["A1", "B2", "C3"]
    settings = {"route": "corg", "clarify": True, "clarify_above": 2}
    url = scripted_url(script(facts, notes=True), documents=documents(facts), **settings)
    page = visit(url)
    ask(page, "How many people live in Broken Bow?", wait=False)
    options = page.locator(".option")
    expect(options).to_have_count(3)
    expect(page.get_by_role("button", name="Answer for these")).to_be_disabled()
    page.reload()
    expect(options).to_have_count(3)
    options.nth(0).click()
    options.nth(2).click()
    expect(options.nth(0)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Answer for these").click()
    expect(page.locator(".card")).to_have_count(2)
    ask(page, "How many people live in Broken Bow?", wait=False)
    page.get_by_role("button", name="Answer for all").click()
    expect(page.locator(".turn:last-child .card")).to_have_count(3)


def test_conversations_are_renamed_searched_and_kept_apart(visit, scripted_url, ask):
    url = scripted_url([("How is pumice", "Pumice is light [1].")], default="Basalt is hard [1].")
    page = visit(url)
    ask(page, "How is basalt?")
    page.get_by_role("button", name="New conversation").click()
    ask(page, "How is pumice?")
    titles = page.locator(".thread-title")
    expect(titles).to_have_text(["How is pumice?", "How is basalt?"])
    page.locator("#thread-list li").last.hover()
    page.get_by_role("button", name="Rename: How is basalt?").click()
    page.get_by_label("Title").fill("Stones")
    page.keyboard.press("Enter")
    expect(titles).to_have_text(["How is pumice?", "Stones"])
    titles.last.click()
    expect(page.locator("#chat-title")).to_have_text("Stones")
    expect(page.locator(".answer")).to_contain_text("Basalt is hard")
    page.keyboard.press("Control+k")
    page.keyboard.type("light")
    expect(titles).to_have_text(["How is pumice?"])


def test_an_answer_goes_on_while_another_conversation_is_looked_at(visit, scripted_url, ask):
    page = visit(scripted_url([("How is basalt", SLOW, 1)], default="Light [1]."))
    ask(page, "How is pumice?")
    page.get_by_role("button", name="New conversation").click()
    ask(page, "How is basalt?", wait=False)
    expect(page.locator(".answer strong")).to_be_visible()
    page.locator("#thread-list a", has_text="pumice").click()
    expect(page.locator(".answer")).to_contain_text("Light")
    page.locator("#thread-list a", has_text="basalt").click()
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".turn-actions")).to_be_attached(timeout=30_000)
    expect(page.locator(".answer")).to_contain_text("Basalt is hard")


def test_answers_are_copied_and_exported_with_their_sources(visit, scripted_url, ask):
    url = scripted_url(default='Basalt is hard [1].\n\nQUOTES\n[1] "Basalt is a rock that is hard."')
    page = visit(url, permissions=["clipboard-read", "clipboard-write"])
    ask(page, "How is basalt?")
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#toast")).to_have_text("Copied, with its sources.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Basalt is hard [1].\n\n[1] ")
    assert '"Basalt is a rock that is hard."' in copied
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    exported = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename.endswith(".md")
    assert "How is basalt?" in exported
    assert "Basalt is a rock that is hard." in exported


def test_settings_are_sent_and_remembered(visit, scripted_url, ask):
    page = visit(scripted_url(default="Hard [1].", route="auto"))
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("radio", name="In one go").check()
    page.get_by_label("Passages read").fill("2")
    page.get_by_text("Conditions").click()
    page.get_by_label("Only where").fill("title ~ Basalt")
    page.get_by_role("button", name="Save").click()
    page.reload()
    expect(page.locator("#quick-route")).to_have_value("plain")
    expect(page.locator("#quick-summary")).to_contain_text("1 filter")
    with page.expect_request("**/api/ask") as asked:
        ask(page, "How is basalt?", wait=False)
    body = asked.value.post_data_json
    assert (body["route"], body["k"], body["where"]) == ("plain", 2, ["title ~ Basalt"])
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Defaults").click()
    expect(page.locator("#quick-route")).to_have_value("auto")
    expect(page.locator("#quick-summary")).not_to_contain_text("filter")


def test_questions_are_suggested_after_an_answer_unless_switched_off(visit, scripted_url, ask):
    rules = [("Questions to ask next", "How light is pumice?\nWhich rock is flat?\nHow old is granite?")]
    page = visit(scripted_url(rules, default="Basalt is hard, pumice light [1][2][3][4].", rewrite="off"))
    ask(page, "How are basalt, pumice, marble and slate?")
    offered = page.get_by_role("region", name="You could ask next").get_by_role("button")
    expect(offered).to_have_text(["How light is pumice?", "Which rock is flat?", "How old is granite?"])
    offered.first.click()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn:last-child .asked")).to_contain_text("How light is pumice?")
    expect(page.locator(".turn:last-child .turn-actions")).to_be_visible()
    expect(page.locator(".next")).to_have_count(1)
    asked = scripted_url.model.count("Questions to ask next")
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_label("Suggest what to ask next").uncheck()
    page.get_by_role("button", name="Save").click()
    page.reload()
    ask(page, "How is slate?")
    expect(page.locator(".next")).to_have_count(0)
    assert scripted_url.model.count("Questions to ask next") == asked


def test_conversations_of_other_programs_stand_below_those_of_the_page(visit, scripted_url, ask):
    url = scripted_url(default="Basalt is hard [1].", rewrite="off")
    scripted_url.app.ask("Which rock is light?", thread_id="from-a-script")
    page = visit(url)
    ask(page, "Which rock is hard?")
    others = page.locator("#other-threads")
    expect(page.locator("#thread-list li")).to_have_count(1)
    expect(page.locator("#thread-list")).to_contain_text("Which rock is hard?")
    expect(others.locator("summary")).to_have_text("From other programs (1)")
    expect(others.get_by_role("link")).not_to_be_visible()
    others.locator("summary").click()
    others.get_by_role("link").click()
    expect(page.locator(".turn")).to_contain_text("Which rock is light?")
    expect(others.locator("li")).to_have_class("current")


def test_why_a_long_question_is_refused_is_in_sight(visit, empty_url, ask):
    page = visit(empty_url)
    page.watch.allowed = ["400"]
    ask(page, "Which rock is dark? " * 1500, wait=False)
    expect(page.locator(".notice.error")).to_be_in_viewport(timeout=30_000)


def test_the_library_leads_back_to_the_open_conversation(visit, demo_url, ask):
    page = visit(demo_url)
    ask(page, "Which planet is the hottest?")
    page.get_by_role("link", name="Library").click()
    expect(page.locator("#library")).to_be_visible()
    page.locator("#to-chat").click()
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".turn")).to_contain_text("Which planet is the hottest?")
    page.locator("#to-chat").click()
    expect(page.locator(".turn")).to_have_count(0)
