"""What the page says where a model on this machine is too slow for the time that a turn has."""

import pytest
from playwright.sync_api import expect

from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.testing.scripted_replies import Reply

pytestmark = pytest.mark.slow


@pytest.fixture
def chat_reader(monkeypatch, tmp_path):
    """Makes a reader whose model is opened by its name, as a person opens one."""
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
    return lambda server: ChatReader(open_chat_model("openai:m", base_url=server.url))


def test_the_page_says_that_a_slow_model_was_not_done_in_time(scripted_url, visit, ask):
    page = visit(scripted_url([("hard", Reply("too late", delay=100))], answer_seconds=4))
    ask(page, "Which rock is hard?")
    expect(page.locator(".turn").last).to_contain_text("was not done in the time that a turn has here")
