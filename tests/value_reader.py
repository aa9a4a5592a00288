"""An extractive reader whose answers can be foretold: the values of the kind asked for, of passages with the name."""

from __future__ import annotations

from preflight_rag.models.reading.extractive_reader import EVEN, PassageReading, Span
from preflight_rag.text.names import speaks_of, surface_name
from preflight_rag.text.values import asked_kind, values


class ValueReader:
    """A passage answers (0.9) when it holds the question's name and a value of its kind, else hardly (0.01)."""

    name = "values"
    threshold = EVEN

    def __init__(self):
        self.calls = []

    def read(self, pairs):
        self.calls.append(list(pairs))
        return [self._reading(*pair) for pair in pairs]

    def _reading(self, question, title, text):
        spans = []
        for value in values(text, asked_kind(question), question):
            start = text.find(value.text)
            if start >= 0 and asked_kind(question) != "verdict":
                spans.append(Span(start, start + len(value.text), value.text, 5.0 - len(spans)))
        named = speaks_of(surface_name(question), title or "?", text)
        known = bool(spans) and named and bool(surface_name(question))
        verdict = {"yes": (0.9, 0.05, 0.05), "no": (0.05, 0.9, 0.05)}[values(text, "verdict", question)[0].text]
        whole = Span(0, len(text), text, 1.0)
        return PassageReading(tuple(spans) or ((whole,) if text.strip() else ()), 0.9 if known else 0.01, 0.5, verdict)
