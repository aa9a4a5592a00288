"""OpenTelemetry spans of turns and stages, if somebody exports them; without a tracer provider nothing is done.

A turn's span is the parent of its stages' spans. They contain route, tokens, calls and passages, and no text of a user
or a document, unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true` is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langgraph.errors import GraphBubbleUp

from preflight_rag.state.values import Answer, Clarification

if TYPE_CHECKING:
    from opentelemetry.context import Context as TraceContext
    from opentelemetry.trace import Span, Tracer

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
NAME = "preflight-rag"


class TurnSpan:
    """The span of one turn; `context` is the parent of its stages' spans, None if nobody exports spans."""

    def __init__(self, question: str, thread_id: str, turn: int) -> None:
        self.context: TraceContext | None = None
        self._span: Span | None = None
        tracer = _tracer()
        if tracer is None:
            return
        from opentelemetry.trace import set_span_in_context

        self._span = tracer.start_span("preflight.turn")
        self.context = set_span_in_context(self._span)
        self._span.set_attributes({"preflight.thread_id": thread_id, "preflight.turn": turn})
        if _includes_texts():
            self._span.set_attribute("preflight.question", question)

    def ended(self, answer: Answer | Clarification) -> None:
        """Record how the turn ended, or that it asks the user, and end the span."""
        if self._span is None:
            return
        if not isinstance(answer, Answer):
            self._span.set_attribute("preflight.waiting", True)
            self._span.end()
            return
        receipt = answer.receipt
        self._span.set_attributes(
            {
                "preflight.route": answer.route.name,
                "preflight.abstained": answer.abstained,
                "preflight.citations": len(answer.citations),
                "preflight.gaps": len(answer.gaps),
                "preflight.calls": receipt.model_calls,
                "gen_ai.request.model": receipt.model,
                "gen_ai.usage.input_tokens": receipt.input_tokens,
                "gen_ai.usage.output_tokens": receipt.output_tokens,
            }
        )
        if _includes_texts():
            self._span.set_attributes({"preflight.answer": answer.answer, "preflight.reason": answer.route.reason})
        self._span.end()

    def failed(self, error: BaseException) -> None:
        """Record that the turn was stopped or failed, and end the span."""
        if self._span is not None:
            _mark_failed(self._span, error)
            self._span.end()


class StageSpan:
    """The tracing span of one stage, or of one part of a fan-out."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    def done(self, state: Mapping[str, Any], rows: list[dict[str, Any]], update: Mapping[str, Any]) -> None:
        """Record in the span how many passages the stage read, its cost, and the turn's route."""
        if self._span is None:
            return
        passages = update.get("passage_refs", state.get("passage_refs"))
        decision = update.get("decision") or state.get("decision") or {}
        attributes = {
            "preflight.calls": sum(row["calls"] for row in rows),
            "gen_ai.usage.input_tokens": sum(row["input_tokens"] for row in rows),
            "gen_ai.usage.output_tokens": sum(row["output_tokens"] for row in rows),
            "preflight.passages": len(passages) if isinstance(passages, list) else None,
            "preflight.route": decision.get("name"),
            "preflight.partition": state.get("partition"),
            "preflight.group": state.get("group"),
        }
        self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})


@contextmanager
def stage_span(name: str, turn: TraceContext | None) -> Iterator[StageSpan]:
    """Open a stage's span as the current one, so that spans of HTTP clients and databases become its children.

    Its parent is the turn's span (`TurnSpan.context`), or with None the current span.
    """
    tracer = _tracer()
    if tracer is None:
        yield StageSpan()
        return
    with tracer.start_as_current_span(
        f"preflight.{name}", turn, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield StageSpan(span)
        except BaseException as error:
            _mark_failed(span, error)
            raise


def _tracer() -> Tracer | None:
    """Return a tracer if an application has set up a tracer provider, else None.

    OpenTelemetry is not imported for this: an application with a provider has imported it already.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return None
    tracer: Tracer = api.get_tracer(NAME)
    return tracer


def _includes_texts() -> bool:
    """Return whether the environment asks for questions and answers in traces."""
    return os.environ.get(CONTENT, "").strip().lower() == "true"


def _mark_failed(span: Span, error: BaseException) -> None:
    """Mark a span as failed with the error's type alone, since its text may contain a question or a document.

    A turn that stops to ask the user has not failed, and is marked as waiting.
    """
    from opentelemetry.trace import StatusCode

    if isinstance(error, GraphBubbleUp):
        span.set_attribute("preflight.waiting", True)
        return
    span.set_attribute("error.type", type(error).__name__)
    if isinstance(error, Exception):
        span.set_status(StatusCode.ERROR)
