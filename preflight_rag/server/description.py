"""The OpenAPI description of the server, corrected: errors in this API's form, streams and files with their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

_TEXT: Mapping[str, Any] = {"type": "string"}
_TEXT_OR_NULL: Mapping[str, Any] = {"type": ["string", "null"]}
_LINES = {
    "type": "object",
    "required": ["code", "message", "help"],
    "properties": {name: _TEXT for name in ("code", "message", "help")},
}
_OPENAI_LINES = {
    "type": "object",
    "required": ["message", "type", "param", "code"],
    "properties": {"message": _TEXT, "type": _TEXT, "param": _TEXT_OR_NULL, "code": _TEXT_OR_NULL},
}
ERRORS = {
    "Error": {"type": "object", "required": ["error"], "properties": {"error": _LINES}},
    "OpenAIError": {"type": "object", "required": ["error"], "properties": {"error": _OPENAI_LINES}},
}
"""Schemas of error bodies: of this API, and of OpenAI's under `/v1`."""
STREAM: Mapping[str, Any] = {"text/event-stream": {}}
STREAMED: dict[int | str, dict[str, Any]] = {200: {"description": "The answer, or events.", "content": dict(STREAM)}}
"""Response description of routes that answer with one JSON value or with events."""


def describe_as_it_behaves(app: FastAPI) -> None:
    """Describe every error in its real form; FastAPI documents another form, and only for invalid fields."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            for theirs in ("HTTPValidationError", "ValidationError"):
                schemas.pop(theirs, None)
            schemas.update(ERRORS)
            for path, calls in schema["paths"].items():
                for call in calls.values():
                    _describe_errors(call["responses"], "OpenAIError" if path.startswith("/v1/") else "Error")
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]


def _describe_errors(responses: dict[str, Any], form: str) -> None:
    """Describe the errors of a call; the stream's misleading schema and FastAPI's own error are removed."""
    responses.pop("422", None)
    for each in responses.values():
        # FastAPI describes the schema of one event, not of the stream
        each.get("content", {}).get("text/event-stream", {}).pop("schema", None)
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{form}"}}}
    responses["4XX"] = {"description": "The request is refused, in one line.", "content": content}
    responses["5XX"] = {"description": "Busy, or a model or the server failed.", "content": content}
