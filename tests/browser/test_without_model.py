"""The page says that the language model is away, before a question and with the answer, and takes it back."""

import pytest
from playwright.sync_api import expect

from preflight_rag.testing.scripted_replies import Reply

pytestmark = pytest.mark.slow

QUESTION = "Which rock is hard?"


def test_the_page_says_that_the_model_is_away_and_when_it_is_back(scripted_url, visit, ask):
    rules = [("hard", Reply("no", status=500), 1), ("hard", "Basalt is hard [1].")]
    page = visit(scripted_url(rules))
    away = page.locator("#model-away")
    expect(away).to_be_hidden()
    ask(page, QUESTION)
    expect(away).to_contain_text("The language model is away")
    expect(page.locator(".turn").last).to_contain_text("The language model could not be reached")
    page.locator(".turn").last.locator(".route").click()
    expect(page.locator("#evidence")).to_contain_text("HTTP 500")
    page.reload()
    expect(away).to_contain_text("HTTP 500")
    ask(page, "Which rock is really hard?")
    expect(away).to_be_hidden()
