"""An OpenAI client as a run of many calls needs it: connections of its own event loop, and no work twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

if TYPE_CHECKING:
    from openai import AsyncOpenAI


def renew_connections(chat_model: BaseChatModel) -> None:
    """Give an OpenAI client a pool of its own; call it at the start of each event loop.

    langchain-openai shares one pool over all event loops of a process. Connections that stay in it from a loop that is
    closed fail in the next one. Other providers' clients are left as they are.
    """
    client: Any = getattr(chat_model, "root_async_client", None)
    if client is None or chat_model._llm_type != "openai-chat":
        return
    from openai import DefaultAsyncHttpxClient

    renewed = client.with_options(http_client=DefaultAsyncHttpxClient())
    model: Any = chat_model
    model.root_async_client, model.async_client = renewed, Completions(renewed)


@dataclass(frozen=True)
class Completions:
    """`chat.completions` of an OpenAI client, as far as langchain-openai uses it for whole replies.

    The SDK's own walks through every field of a request, to rename what is spelled otherwise in Python: a fifth of a
    call's CPU time. LangChain's requests are plain JSON and go out as they are. Retries, time limits, errors and the
    reading of replies are the SDK's.
    """

    client: AsyncOpenAI

    @property
    def with_raw_response(self) -> Completions:
        """Where langchain-openai looks for `create`."""
        return self

    async def create(
        self,
        *,
        extra_headers: Any = None,
        extra_query: Any = None,
        extra_body: Any = None,
        timeout: Any = None,
        **body: Any,
    ) -> Completed:
        """Ask for a completion; the parameters are those of the SDK."""
        from openai.types.chat import ChatCompletion

        given = {"headers": extra_headers, "params": extra_query, "extra_json": extra_body, "timeout": timeout}
        options: Any = {name: value for name, value in given.items() if value is not None}
        reply = await self.client.post("/chat/completions", body=body, cast_to=ChatCompletion, options=options)
        return Completed(reply)


@dataclass(frozen=True)
class Completed:
    """A reply that was read already."""

    reply: Any

    def parse(self) -> Any:
        """The completion; a text where the server sent something else."""
        return self.reply
