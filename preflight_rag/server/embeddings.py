"""OpenAI's API of embeddings under `/v1/embeddings`: vectors by the library's own embedder."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.server.dependencies import ServiceOf
from preflight_rag.server.errors import Refused
from preflight_rag.server.openai_requests import ROUTE_OF

router = APIRouter(prefix="/v1", tags=["OpenAI"])
EMBEDDED_AT_ONCE = 16
"""Texts between two checks whether the client is still connected; about a second, a guess."""
MOST_TEXTS = 2048  # most texts of one request, as in OpenAI's own API


class EmbeddingsBody(BaseModel):
    """Texts to embed; `input_type` is for embedders that treat queries and passages differently."""

    model_config = ConfigDict(extra="ignore")

    model: str
    input: str | list[str] | list[int] | list[list[int]] = Field(description="A text, or several.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: Literal["query", "passage"] = "passage"


@router.post("/embeddings", response_model=None)
async def embeddings(body: EmbeddingsBody, request: Request, service: ServiceOf) -> dict[str, Any]:
    """Vectors of texts, as the library's own passages have them; OpenAI's own type has no place for base64.

    One request at a time is embedded, in groups: questions need not wait for another client's thousand texts, and the
    work for a client that has disconnected ends with its group.

    Raises:
        Refused: A text cannot be embedded, or the client has disconnected.
    """
    embedder = service.preflight.library.embedder
    texts = _texts(body, embedder)

    def embed(group: Sequence[str]) -> tuple[list[np.ndarray], int]:
        """Return the vectors of a group of texts, and their number of tokens."""
        if body.input_type == "query":
            vectors = [embedder.encode_query(text) for text in group]
        else:
            vectors = list(embedder.encode_passages(group))
        return vectors, sum(embedder.count_tokens(text) for text in group)

    vectors: list[np.ndarray] = []
    tokens = 0
    async with service.embedding:
        for start in range(0, len(texts), EMBEDDED_AT_ONCE):
            if await request.is_disconnected():
                raise Refused(499, "the client has left", help="Send fewer texts at once, or wait longer.")
            found, counted = await asyncio.to_thread(embed, texts[start : start + EMBEDDED_AT_ONCE])
            vectors, tokens = [*vectors, *found], tokens + counted
    data = [
        {"object": "embedding", "index": place, "embedding": _encoded(vector, body.encoding_format)}
        for place, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": embedder.name, "usage": usage}


def _texts(body: EmbeddingsBody, embedder: Embedder) -> list[str]:
    """Return the texts to embed, once the request is checked."""
    if body.model not in (embedder.name, embedder.name.split("/")[-1], *ROUTE_OF):
        help = f"Use {embedder.name!r}."
        raise Refused(404, f"there is no embedding model {body.model[:80]!r}", help=help, code="unknown_model")
    if body.dimensions not in (None, embedder.dimension):
        help = f"Leave it out: vectors have {embedder.dimension}."
        raise Refused(400, f"dimensions={body.dimensions} is not offered", help=help)
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not texts or len(texts) > MOST_TEXTS:
        raise Refused(400, f"{len(texts)} texts cannot be embedded at once", help=f"Send 1 to {MOST_TEXTS}.")
    plain = [text for text in texts if isinstance(text, str)]
    if len(plain) != len(texts):
        help = "Send text; in LangChain's OpenAIEmbeddings: check_embedding_ctx_length=False."
        raise Refused(400, "token numbers cannot be embedded", help=help)
    if not all(text.strip() for text in plain):
        raise Refused(400, "an empty text cannot be embedded", help="Leave it out.")
    for text in plain:
        text.encode()  # a lone surrogate is refused here, before it reaches a tokenizer
    return plain


def _encoded(vector: np.ndarray, encoding: str) -> list[float] | str:
    """Return a vector as numbers, or as base64 of 32-bit floats."""
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]
