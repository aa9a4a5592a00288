"""Where spans go when a command runs: to the exporters that OpenTelemetry's own variables name."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
SERVICE = "preflight-rag"


def configure(environ: Mapping[str, str] | None = None) -> str | None:
    """Export spans as the OTEL_… variables ask; without them nothing is imported.

    Returns:
        Why nothing is exported although the variables ask for it, or None.
    """
    environ = os.environ if environ is None else environ
    named = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if off or named == "none" or not any(environ.get(name) for name in EXPORTERS):
        return None
    if find_spec("opentelemetry.sdk") is None:
        return "spans are not exported: opentelemetry-sdk is not installed (see docs/tracing.md)"
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named_service = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if named_service else {"service.name": SERVICE}))
    problems = []
    for exporter in (named or "otlp").split(","):
        try:
            provider.add_span_processor(BatchSpanProcessor(_exporter(exporter.strip(), environ)))
        except (ImportError, LookupError, ValueError) as error:
            problems.append(f"spans are not exported to {exporter.strip()!r}: {error} (see docs/tracing.md)")
    trace.set_tracer_provider(provider)
    return "; ".join(problems) or None


def _exporter(name: str, environ: Mapping[str, str]) -> Any:
    """A span exporter by the name that OTEL_TRACES_EXPORTER knows it by, as installed packages announce them."""
    from importlib.metadata import entry_points

    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    if name == "otlp":
        general = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
        protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or general
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    if not found:
        raise LookupError(f"no installed package offers {name}")
    return found[0].load()()
