"""A model in this process is asked by experiments within the limits of a turn, and stopped where it repeats itself."""

import pytest
from langchain_core.messages import HumanMessage
from small_model import model_path

from evaluation.harness.budget import Budget
from evaluation.harness.replies import ReplyCache, cached
from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.runnables import with_reply_limit
from preflight_rag.text.circles import before_circles

REPEAT = " ".join(["la"] * 12)
"""A prompt to which this small model replies in circles until it is stopped."""
MANY = 1500


@pytest.fixture(scope="module")
def chat_model():
    return open_chat_model(f"gguf:{model_path()}")


async def test_a_prompts_limit_ends_a_reply(chat_model):
    budget = Budget()
    model = with_reply_limit(cached(chat_model, ReplyCache(None), budget), 12)
    reply = await model.ainvoke([HumanMessage("Tell a long story about the sea.")])
    assert reply.response_metadata["finish_reason"] == "length"
    assert budget.output_tokens == 12


async def test_a_reply_in_circles_is_not_read_to_its_limit(chat_model):
    budget = Budget()
    model = with_reply_limit(cached(chat_model, ReplyCache(None), budget), MANY)
    reply = await model.ainvoke([HumanMessage(REPEAT)])
    assert before_circles(reply.text) != reply.text
    assert budget.output_tokens < MANY / 2
