"""What an error says of a model is true for what went wrong, and its hint helps against that."""

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI

from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.model_errors import in_our_words
from preflight_rag.state.errors import BadReply, ModelAuthError, ModelError, ModelUnavailable, UnknownModel
from preflight_rag.state.reading import Source
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

SOURCES = [Source(1, "a", "Venus", "Venus has about 465 °C.")]


async def failure(reader):
    with pytest.raises(ModelError) as caught:
        await reader.answer(question="How hot?", sources=SOURCES)
    return caught.value


def chat(server, **options):
    return ChatOpenAI(base_url=server.url, api_key="k", model="m", max_retries=0, timeout=20, **options)


def raising(error):
    def model(_):
        raise error

    return ChatReader(RunnableLambda(model, name="mine"))


class Broken(FakeListChatModel):
    """A chat model of somebody's own with a mistake in it."""

    def _call(self, *arguments, **options):
        return None + 1


@pytest.mark.parametrize("error", [TypeError("no len()"), AttributeError("x"), KeyError("x"), ValueError("bad")])
async def test_a_mistake_in_a_callers_model_is_no_wrong_address(error):
    failed = await failure(raising(error))
    assert type(failed) is ModelError
    assert f"mine failed: {type(error).__name__}" in str(failed)
    assert "URL" not in str(failed)


async def test_nor_is_one_in_a_chat_models_class():
    failed = await failure(ChatReader(Broken(responses=["x"])))
    assert str(failed).endswith("The error is in the code of the model.")


async def test_nor_is_an_option_that_the_client_does_not_take():
    with ScriptedServer() as server:
        failed = await failure(ChatReader(chat(server).bind(colour="red")))
    assert "colour" in failed.message
    assert failed.help == "The model was made or bound with an option that its client does not take."


@pytest.mark.parametrize("error", [ConnectionResetError("gone"), ConnectionRefusedError("no")])
async def test_a_connection_that_a_callers_model_loses_is_retryable(error):
    failed = await failure(raising(error))
    assert isinstance(failed, ModelUnavailable)
    assert failed.retryable
    assert failed.help == "Check the network."


HTML = Reply(raw="<html>a proxy's page</html>", headers={"Content-Type": "text/html"})
ERROR = Reply(raw='{"error": {"message": "no such adapter"}}', headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("streaming", [False, True])
async def test_only_a_server_whose_address_was_given_may_have_a_wrong_one(streaming):
    with ScriptedServer(default=HTML) as server:
        failed = await failure(ChatReader(chat(server, streaming=streaming)))
    assert isinstance(failed, BadReply)
    assert failed.help == "Is the base URL right? It usually ends in /v1."


async def test_an_error_in_the_place_of_a_completion_is_told():
    with ScriptedServer(default=ERROR) as server:
        failed = await failure(ChatReader(chat(server)))
    assert str(failed) == "openai:m answered with an error: no such adapter"


@pytest.mark.parametrize(
    ("reply", "kind", "says", "says_not"),
    [
        (Reply("your country is not supported", status=403), ModelAuthError, "your country is not", "refused the key"),
        (Reply("no key", status=401), ModelAuthError, "OPENAI_API_KEY", "URL"),
        (Reply("used up", status=429, code="insufficient_quota"), ModelError, "billing", "Wait"),
        (Reply("slow down", status=429), ModelError, "PREFLIGHT_MAX_CONCURRENCY", "--max-concurrency"),
        (Reply("maximum context length is 8192", status=400), ModelError, "PREFLIGHT_CONTEXT_WINDOW", "--k"),
        (Reply("gone", status=404), UnknownModel, "base URL", "--model"),
    ],
)
async def test_each_refusal_has_the_hint_that_helps(reply, kind, says, says_not):
    with ScriptedServer(default=reply) as server:
        failed = await failure(ChatReader(chat(server)))
    assert isinstance(failed, kind)
    assert says in str(failed)
    assert says_not not in str(failed)
    assert not failed.retryable or reply.code is None


async def test_a_prompt_is_not_sent_on_to_a_server_that_was_not_named():
    with ScriptedServer(default="from elsewhere") as other:
        elsewhere = Reply(status=307, headers={"Location": f"{other.url}/chat/completions"}, raw="")
        with ScriptedServer(default=elsewhere) as server:
            failed = await failure(ChatReader(chat(server)))
            assert server.requests
        assert other.requests == []
    assert isinstance(failed, ModelUnavailable)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://name:secret@host:1/v1", "http://host:1/v1"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("host/v1", "host/v1"),
    ],
)
def test_a_password_in_an_address_is_not_shown(address, shown):
    failed = in_our_words(ConnectionRefusedError("no"), "model", base_url=address)
    assert f"at {shown} running" in failed.help
    assert "secret" not in str(failed)
