"""Tests of an application, with a language model that says what a test wants, or fails as a test wants.

    python docs/examples/9_test_your_application.py
    PREFLIGHT_LIBRARY=my-library pytest docs/examples/9_test_your_application.py

`answer` stands for your application. The server speaks OpenAI's API over real HTTP on this machine; no key is needed.
"""

import math
import os

from langchain_openai import ChatOpenAI

from preflight_rag import Answer, Preflight, PreflightError
from preflight_rag.testing import Reply, ScriptedServer

LIBRARY = os.environ.get("PREFLIGHT_LIBRARY", "demo-library")
QUESTION = "How deep is Lake Baikal?"


def answer(model: ScriptedServer, **settings: object) -> Answer | str:
    """What the user of the application sees."""
    chat = ChatOpenAI(base_url=model.url, api_key="any", model="any")
    with Preflight.open(LIBRARY, chat, route="plain", **settings) as app:
        try:
            return app.ask(QUESTION)
        except PreflightError as error:
            return str(error)


def test_the_answer_is_the_models_and_its_prompt_had_the_passage() -> None:
    """A rule for prompts that hold a text."""
    with ScriptedServer([("Baikal", "It is 1,642 metres deep [1].")]) as model:
        found = answer(model)
    assert isinstance(found, Answer)
    assert found.answer == "It is 1,642 metres deep [1]."
    assert "1,642" in model.requests[0].prompt
    assert model.count() == found.receipt.model_calls == 1


def test_a_busy_model_is_asked_again_and_one_that_is_away_is_named() -> None:
    """Two failures, then an answer; then a model that never replies."""
    with ScriptedServer([("Baikal", Reply(status=500), 2)], default="Very deep [1].") as model:
        assert isinstance(answer(model), Answer)
        assert model.count() == 3
    with ScriptedServer(default=Reply(delay=math.inf)) as model:
        assert "did not reply in time" in str(answer(model, deadline=0.5))


def test_an_answer_that_was_cut_off_says_so() -> None:
    """The beginning of a reply is shown, and marked."""
    with ScriptedServer(default=Reply("It is 1,642 metres deep [1], and", finish_reason="length")) as model:
        found = answer(model)
    assert getattr(found, "incomplete", None) == "length"


if __name__ == "__main__":
    for name in [name for name in globals() if name.startswith("test_")]:
        globals()[name]()
        print("passed:", name.replace("_", " "))
