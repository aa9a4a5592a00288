"""The metrics of a server for Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Upper bounds of buckets in seconds: from a static file to a turn of a slow local model.
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """The server's counters. No label contains a user's words."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        timed: dict[str, Any] = {"registry": self.registry, "buckets": _SECONDS}
        self.requests = Counter("preflight_requests", "HTTP requests.", ["method", "path", "status"], **own)
        self.request_seconds = Histogram(
            "preflight_request_seconds", "Seconds of a request, streams included.", ["path"], **timed
        )
        self.turns = Counter("preflight_turns", "Turns by route and outcome.", ["route", "status"], **own)
        self.turn_seconds = Histogram("preflight_turn_seconds", "Seconds of an answered turn.", ["route"], **timed)
        self.tokens = Counter("preflight_tokens", "Tokens of the language model.", ["direction"], **own)
        self.running = Gauge("preflight_turns_running", "Turns that are being taken.", **own)
        self.documents = Gauge("preflight_documents", "Documents in the library.", **own)
        self.passages = Gauge("preflight_passages", "Passages in the library.", **own)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self.registry)
