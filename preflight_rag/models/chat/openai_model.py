"""`ChatOpenAI` with two changes: streamed refusals are kept, and other servers get the limit under its older name."""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import urlsplit

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

OPENAI = "api.openai.com"


class OpenAIModel(ChatOpenAI):
    """A model of OpenAI's API, opened by its name.

    A streamed refusal, which LangChain drops, is put where a whole reply has it. Servers other than OpenAI's get the
    limit of a reply as `max_tokens`: Ollama, for one, silently ignores OpenAI's newer `max_completion_tokens`. A server
    that refuses the old name gets the new one.

    Attributes:
        newer_limit: Whether the server has refused the old name.
        always_streams: That replies are streamed even if nobody listens (`runnables.always_streams`).
    """

    newer_limit: bool = False
    always_streams: ClassVar[bool] = True

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the request's body; other servers than OpenAI's get the limit under its older name `max_tokens`."""
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        is_other_server = self.openai_api_base and urlsplit(self.openai_api_base).hostname != OPENAI
        if is_other_server and not self.newer_limit and "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        """Return a streamed piece as the base class does, with the refusal that it leaves out."""
        generation_chunk = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        choices = chunk.get("choices")
        delta = choices[0].get("delta") if choices else None
        if generation_chunk is not None and delta and delta.get("refusal"):
            generation_chunk.message.additional_kwargs["refusal"] = delta["refusal"]
        return generation_chunk
