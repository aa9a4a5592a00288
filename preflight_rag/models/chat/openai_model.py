"""`ChatOpenAI` whose streams say that a model refused: LangChain drops that, and an empty reply is left of it."""

from __future__ import annotations

from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI


class OpenAIModel(ChatOpenAI):
    """A model of OpenAI's API, as it is opened by its name; a streamed refusal stands where a whole reply has it."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        choices = chunk.get("choices")
        delta = choices[0].get("delta") if choices else None
        if made is not None and delta and delta.get("refusal"):
            made.message.additional_kwargs["refusal"] = delta["refusal"]
        return made
