"""`/v1/embeddings`: the library's embedder."""

from __future__ import annotations

import base64
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.server.errors import Refused
from preflight_rag.server.openai_body import ROUTE_OF
from preflight_rag.server.service import ServiceOf

router = APIRouter(prefix="/v1", tags=["OpenAI"])
MOST_TEXTS = 2048


class EmbeddingsBody(BaseModel):
    """Texts to embed; `input_type` is for embedders that read queries and passages in different ways."""

    model_config = ConfigDict(extra="ignore")

    model: str
    input: str | list[str] | list[int] | list[list[int]] = Field(description="A text, or several.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: Literal["query", "passage"] = "passage"


@router.post("/embeddings")
def embeddings(body: EmbeddingsBody, service: ServiceOf) -> dict[str, Any]:
    """Vectors of texts, as the library's own passages have them."""
    embedder = service.preflight.library.embedder
    texts = _texts(body, embedder)
    if body.input_type == "query":
        vectors = np.stack([embedder.encode_query(text) for text in texts])
    else:
        vectors = embedder.encode_passages(texts)
    tokens = sum(embedder.count_tokens(text) for text in texts)
    data = [
        {"object": "embedding", "index": place, "embedding": _told(vector, body.encoding_format)}
        for place, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": embedder.name, "usage": usage}


def _texts(body: EmbeddingsBody, embedder: Embedder) -> list[str]:
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
    return plain


def _told(vector: np.ndarray, encoding: str) -> list[float] | str:
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]
