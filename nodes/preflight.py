"""Stage `preflight`: predict, without a language model, whether the key passage would be lost.

The dense ranking of the retrieved passages is compared with a BM25 ranking of the same passages. Where their first n
agree (IoU > threshold) the key passage is taken to stand where a model looks, and plain RAG serves; else map/reduce
(BriefContext, section 5.2, equation 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from langgraph.runtime import Runtime

from ..models.words import words
from ..state.context import Context, Settings
from ..state.reading import Source
from ..state.schema import PassageRef, Retrieved, State
from ..state.values import RouteDecision, RouteName

ALWAYS_PLAIN_PASSAGES = 3


async def preflight(state: Retrieved, runtime: Runtime[Context]) -> State:
    """Choose the route and say why."""
    refs, settings = state["passages"], runtime.context.settings
    sources = await runtime.context.sources(refs)
    decision = decide(state["standalone_question"], refs, sources, settings)
    partitions = partition(len(refs), settings.partition_size) if decision.name == "map_reduce" else []
    return {"decision": decision.model_dump(), "partitions": partitions}


def decide(question: str, refs: Sequence[PassageRef], sources: Sequence[Source], settings: Settings) -> RouteDecision:
    """The route for these passages, with the numbers behind it."""
    top_n, threshold = settings.top_n, settings.threshold
    tokens = sum(ref["tokens"] for ref in refs)
    signals = {"passages": float(len(refs)), "context_tokens": float(tokens)}

    def decision(name: RouteName, reason: str, *, forced: bool = False, iou: float | None = None) -> RouteDecision:
        return RouteDecision(
            name=name,
            reason=reason,
            forced=forced,
            iou=iou,
            top_n=top_n,
            threshold=threshold,
            risk=None if iou is None else 1 - iou,
            signals=signals,
        )

    if not refs:
        return decision("abstain", "nothing was found in the library")
    iou = agreement(dense_order(refs), lexical_order(question, sources), top_n)
    if settings.route != "auto":
        name: RouteName = "plain" if settings.route == "plain" else "map_reduce"
        return decision(name, f"the route was forced to {settings.route}", forced=True, iou=iou)
    if len(refs) <= ALWAYS_PLAIN_PASSAGES:
        return decision("plain", f"only {len(refs)} passages: nothing can be lost between them", iou=iou)
    if tokens < settings.map_prompt_tokens:
        return decision("plain", f"the passages have {tokens} tokens: they fit one map prompt", iou=iou)
    if iou > threshold:
        return decision("plain", f"dense and BM25 top {top_n} agree (IoU {iou:.2g} > {threshold:g})", iou=iou)
    return decision("map_reduce", f"dense and BM25 top {top_n} disagree (IoU {iou:.2g} <= {threshold:g})", iou=iou)


def dense_order(refs: Sequence[PassageRef]) -> list[int]:
    """Ranks of the passages, ordered by cosine with the question (R_LLM of equation 1)."""
    return [ref["rank"] for ref in sorted(refs, key=lambda ref: (-ref["cosine"], ref["rank"]))]


def lexical_order(question: str, sources: Sequence[Source]) -> list[int]:
    """Ranks of the passages that share a word with the question, ordered by BM25 among them (R_BM25 of equation 1)."""
    from rank_bm25 import BM25Okapi

    texts = [words(f"{source.title} {source.text}") for source in sources]
    asked = words(question)
    if not any(texts):
        return []
    scores = BM25Okapi([text or [""] for text in texts]).get_scores(asked)
    sharing = [i for i, text in enumerate(texts) if set(text) & set(asked)]
    return [sources[i].n for i in sorted(sharing, key=lambda i: (-scores[i], sources[i].n))]


def agreement(a: Sequence[int], b: Sequence[int], top_n: int) -> float:
    """Intersection over union of the first n of two rankings, in [0, 1]; 0 when both are empty."""
    first, second = set(a[:top_n]), set(b[:top_n])
    union = first | second
    return len(first & second) / len(union) if union else 0.0


def partition(count: int, size: int) -> list[list[int]]:
    """Ranks 1 to count in runs of at most `size`, as equal in length as can be."""
    parts = ceil(count / size)
    bounds = [round(i * count / parts) for i in range(parts + 1)] if parts else []
    return [list(range(bounds[i] + 1, bounds[i + 1] + 1)) for i in range(parts)]
