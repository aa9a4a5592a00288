"""An answer as JSON instead of text: `response_format` of OpenAI's API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from preflight_rag.server.errors import Refused
from preflight_rag.state.values import Answer, Citation, Group, Receipt, RouteDecision, Saved

PLAIN = ("question", "answer", "outcome", "short_answer", "confidence", "citations", "groups", "gaps")
"""Fields of an answer in a JSON object without a schema."""
KNOWN = {
    *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref", "$defs"),
    *("definitions", "title", "description", "default", "examples", "minItems", "maxItems", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "$schema", "$id", "format"),
}
"""Supported keywords of a schema: those of OpenAI's structured outputs. A caller's `pattern` could take exponential
time."""
HOPS = 50  # most references and levels of nesting that are followed; a guess, above any schema of an answer


class AnswerFormat:
    """Writes answers as JSON: the fields that a schema names, or those of `PLAIN`.

    Args:
        schema: A JSON schema whose properties are fields of the answer; None for an object with `PLAIN`.
        param: The request's field that contains the schema, for errors.

    Raises:
        Refused: The schema is invalid, requires what answers do not have, or excludes what they may contain.
    """

    def __init__(self, schema: dict[str, Any] | None, param: str = "response_format") -> None:
        self._schema, self._param = schema, param
        self._validator: Any = None
        if schema is None:
            return
        _check_keywords(schema, param)
        self._validator = _validator(schema, param)
        self._check_names(_resolved(schema, schema))
        for sample in _samples():
            if problem := self.problem(sample):
                raise self._refused(f"an answer may not fit the schema: {problem}", "Allow for it there.")

    def text(self, answer: Answer) -> str:
        """Return the answer as JSON."""
        return json.dumps(self._value(answer), ensure_ascii=False)

    def _value(self, answer: Answer) -> Any:
        """Return the fields of an answer that are in the schema; without a schema, those of `PLAIN`."""
        whole = answer.model_dump(mode="json", by_alias=True)
        if self._schema is None:
            return {name: whole[name] for name in PLAIN}
        return _projected(whole, self._schema, self._schema, 0)

    def _check_names(self, schema: Any) -> None:
        """Raise an error if the schema is not an object of an answer's fields."""
        known = set(Answer.model_json_schema(mode="serialization", by_alias=True)["properties"])
        unknown = sorted(set(schema.get("properties") or {}) - known)
        if schema.get("type") != "object" or not schema.get("properties"):
            raise self._refused("the schema describes no object with properties", "Name fields of an answer.")
        if unknown:
            fields = ", ".join(sorted(known))
            raise self._refused(f"an answer has no field {unknown[0][:80]!r}", f"Its fields are: {fields}.")

    def problem(self, answer: Answer) -> str | None:
        """Return where an answer violates the schema; None if it is valid."""
        if self._validator is None:
            return None
        try:
            error = next(iter(self._validator.iter_errors(self._value(answer))), None)
        except RecursionError:
            return "the schema refers to itself without end"
        if error is None:
            return None
        place = ".".join(str(part) for part in error.absolute_path) or "the object"
        return f"{place}: {error.message[:200]}"

    def _refused(self, message: str, help: str) -> Refused:
        """Return the refusal of a value that is not supported."""
        return Refused(400, message, help=help, param=self._param, code="unsupported_value")


def format_of(given: Mapping[str, Any] | None, param: str = "response_format") -> AnswerFormat | None:
    """Return the format that `response_format`, or `text.format`, requests; None for text.

    Raises:
        Refused: It is not supported.
    """
    kind = (given or {}).get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return AnswerFormat(None, param)
    if kind == "json_schema":
        wrapped = (given or {}).get("json_schema", given)
        schema = wrapped.get("schema") if isinstance(wrapped, Mapping) else None
        if isinstance(schema, dict):
            return AnswerFormat(schema, param)
        raise Refused(400, "json_schema holds no schema", help="Send it as `schema`.", param=param)
    raise Refused(
        400,
        f"the format {str(kind)[:80]!r} is not known",
        help="Use text, json_object or json_schema.",
        param=param,
        code="unsupported_value",
    )


def _check_keywords(schema: Any, param: str, depth: int = 0) -> None:
    """Raise an error if a schema has unsupported keywords, or is nested too deeply."""
    if depth > HOPS:
        raise Refused(400, "the schema is nested too deeply", help="Write it flatter.", param=param)
    if not isinstance(schema, dict):
        return
    unknown = sorted(set(map(str, schema)) - KNOWN)
    if unknown:
        help = f"Use {', '.join(sorted(KNOWN))}."
        raise Refused(400, f"the schema's {unknown[0][:80]!r} is not supported", help=help, param=param)
    if not str(schema.get("$ref", "#")).startswith("#"):
        raise Refused(400, "the schema refers to another document", help="Put it under $defs.", param=param)
    for holder in ("properties", "$defs", "definitions"):
        if isinstance(schema.get(holder), dict):
            for each in schema[holder].values():
                _check_keywords(each, param, depth + 1)
    for each in [schema.get("items"), schema.get("additionalProperties"), *_list(schema.get("anyOf"))]:
        _check_keywords(each, param, depth + 1)


def _list(value: Any) -> list[Any]:
    """Return a value that is a list; [] for any other."""
    return value if isinstance(value, list) else []


def _validator(schema: dict[str, Any], param: str) -> Any:
    """Return a validator for a schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        line = getattr(error, "message", "it refers to itself without end")
        raise Refused(400, f"the schema is none: {line[:200]}", help="See json-schema.org.", param=param) from None
    nothing: Registry[Any] = Registry()  # so that no reference is fetched
    return Draft202012Validator(schema, registry=nothing)


def _projected(value: Any, schema: Any, root: dict[str, Any], depth: int) -> Any:
    """Return the parts of a value for which the schema has a place."""
    schema = _resolved(schema, root)
    if depth > HOPS or not isinstance(schema, dict):
        return value
    for each in _list(schema.get("anyOf")):
        option = _resolved(each, root)
        if isinstance(option, dict) and _is_of(value, option.get("type")):
            return _projected(value, option, root, depth + 1)
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        fields = schema["properties"].items()
        return {name: _projected(value[name], of, root, depth + 1) for name, of in fields if name in value}
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_projected(each, schema["items"], root, depth + 1) for each in value]
    return value


def _is_of(value: Any, kind: Any) -> bool:
    """Return whether a schema's type `kind` is the JSON type of a value that is an object or a list."""
    wanted = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
    return wanted is not None and kind == wanted


def _resolved(schema: Any, root: dict[str, Any]) -> Any:
    """Return the schema to which a reference within the same schema leads."""
    for _ in range(HOPS):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        found: Any = root
        for part in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        schema = found
    return {}


def _samples() -> tuple[Answer, Answer]:
    """Return one answer with all fields that clients request, and one with all optional parts missing."""
    route = RouteDecision(name="plain", reason="why", top_n=3, threshold=0.2)
    receipt = Receipt(model="m", saved=Saved())
    bare = Answer(
        question="q",
        thread_id="t",
        turn=1,
        standalone_question="q",
        queries=("q",),
        route=route,
        answer="a",
        abstained=True,
        outcome="not_found",
        receipt=receipt,
    )
    cited = Citation(
        n=1, passage_id="p", document_id="d", title="T", source="s", quote="q", start=0, end=1, verified=True
    )
    full = bare.model_copy(
        update={
            "abstained": False,
            "outcome": "answered",
            "short_answer": "a",
            "confidence": 0.9,
            "citations": (cited, cited.model_copy(update={"page": 1, "date": "2020-01-01"})),
            "groups": (Group(entity="e", answer="a", citations=(1,)),),
        }
    )
    return bare, full
