"""References to passages as the state of a turn keeps them, for tests that retrieve nothing."""

from __future__ import annotations

from preflight_rag.state.reading import Source


def passage_refs(sources: list[Source], cosines: list[float], tokens: int) -> list[dict[str, object]]:
    """One for each source, of a cosine with the question and a length."""
    return [
        {
            "id": str(source.n),
            "document_id": source.document_id or str(source.n),
            "title": source.title,
            "source": "",
            "rank": source.n,
            "score": 1.0,
            "cosine": cosine,
            "tokens": tokens,
            "preview": "",
        }
        for source, cosine in zip(sources, cosines, strict=True)
    ]
