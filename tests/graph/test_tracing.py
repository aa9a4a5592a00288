"""Spans of turns and stages; and without the variables nothing is traced and no request goes out."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mcp import Client
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from plain_turn import STAGES

from preflight_rag import Preflight
from preflight_rag.cli.main import export_spans
from preflight_rag.graph.tracing import CONTENT, TurnSpan
from preflight_rag.mcp.server import make_server
from preflight_rag.state.errors import PreflightError
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

QUESTION = "How hot is the planet Venus?"
PREFIXES = ("OTEL_", "LANGSMITH_", "LANGCHAIN_")


@pytest.fixture(scope="module")
def exporter():
    """Where the spans of this process go: a provider can be set once only."""
    found, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    trace.set_tracer_provider(provider)
    yield found
    found.shutdown()


@pytest.fixture
def spans(exporter):
    exporter.clear()
    return exporter


class Receiver:
    """A local receiver of HTTP posts: what came to which path."""

    def __init__(self):
        got = self.got = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                got.append((self.path, self.rfile.read(int(self.headers.get("Content-Length") or 0))))
                self.send_response(200)
                self.end_headers()

            do_PATCH = do_GET = do_POST

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()


def ask(folder, question=QUESTION, **variables):
    """A question by the command line, in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
    command = [sys.executable, "-m", "preflight_rag", "ask", question, "--library", str(folder), "--model", "offline"]
    done = subprocess.run(command, env=kept | variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def named(spans):
    return {span.name: span for span in spans.get_finished_spans()}


def test_a_turn_is_a_span_with_a_span_for_each_stage(own_folder, spans):
    with Preflight.open(own_folder, "offline") as app:
        answer = app.ask(QUESTION, thread_id="t")
    found = named(spans)
    assert set(found) == {"preflight.turn", *(f"preflight.{name}" for name in STAGES)}
    turn = found.pop("preflight.turn")
    assert turn.attributes["preflight.route"] == answer.route.name == "plain"
    assert turn.attributes["gen_ai.usage.input_tokens"] == answer.receipt.input_tokens
    assert turn.attributes["preflight.calls"] == answer.receipt.model_calls
    assert {span.parent.span_id for span in found.values()} == {turn.context.span_id}
    assert found["preflight.retrieve"].attributes["preflight.passages"] == 16
    assert all(turn.start_time <= span.start_time <= span.end_time <= turn.end_time for span in found.values())
    everything = str([dict(span.attributes) for span in spans.get_finished_spans()])
    assert "Venus" not in everything
    assert "hotter" not in everything


def test_text_is_told_only_where_it_is_asked_for(own_folder, spans, monkeypatch):
    monkeypatch.setenv(CONTENT, "true")
    with Preflight.open(own_folder, "offline") as app:
        answer = app.ask(QUESTION)
    attributes = named(spans)["preflight.turn"].attributes
    assert attributes["preflight.question"] == QUESTION
    assert attributes["preflight.answer"] == answer.answer


def test_parallel_parts_have_a_span_each(own_folder, spans):
    with Preflight.open(own_folder, "offline") as app:
        app.ask(QUESTION, route="map-reduce")
    parts = [span for span in spans.get_finished_spans() if span.name == "preflight.map_context"]
    assert sorted(span.attributes["preflight.partition"] for span in parts) == [1, 2, 3, 4]


def test_a_failed_turn_tells_the_kind_of_error_and_no_text(own_folder, chat_reader, spans):
    with ScriptedServer(default=Reply(status=401, text="bad key for Venus")) as server:
        with Preflight.open(own_folder, chat_reader(server)) as app, pytest.raises(PreflightError):
            app.ask(QUESTION, route="plain", rewrite="off")
    found = named(spans)
    for name in ("preflight.turn", "preflight.answer_plain"):
        assert found[name].attributes["error.type"] == "ModelAuthError"
        assert found[name].status.status_code.name == "ERROR"
    assert "Venus" not in "".join(span.to_json() for span in found.values())


def test_without_a_provider_a_span_is_nothing(monkeypatch):
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: trace.ProxyTracerProvider())
    span = TurnSpan(QUESTION, "t", 1)
    assert span.context is None


def test_without_the_variables_nothing_is_traced_and_no_request_goes_out(own_folder):
    with Receiver() as receiver:
        ask(own_folder, LANGSMITH_ENDPOINT=receiver.url, LANGSMITH_API_KEY="key")
    assert receiver.got == []


def test_langsmith_is_told_where_its_variable_asks(own_folder):
    with Receiver() as receiver:
        ask(own_folder, LANGSMITH_ENDPOINT=receiver.url, LANGSMITH_API_KEY="key", LANGSMITH_TRACING="true")
    assert any(path.startswith("/runs") for path, _ in receiver.got)


def test_a_command_exports_to_where_the_variables_say(own_folder):
    with Receiver() as receiver:
        ask(own_folder, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_EXPORTER_OTLP_COMPRESSION="none")
    sent = [ExportTraceServiceRequest.FromString(body).resource_spans[0] for _, body in receiver.got]
    names = {span.name for each in sent for scope in each.scope_spans for span in scope.spans}
    assert {path for path, _ in receiver.got} == {"/v1/traces"}
    assert {"preflight.turn", "preflight.retrieve", "preflight.cite"} <= names
    service = {each.key: each.value.string_value for each in sent[0].resource.attributes}["service.name"]
    assert service == "preflight-rag"


def test_spans_on_the_console_leave_standard_output_alone(own_folder):
    done = ask(own_folder, OTEL_TRACES_EXPORTER="console")
    assert "preflight.turn" in done.stderr
    assert "preflight.turn" not in done.stdout


def test_an_exporter_that_is_not_there_is_told_and_the_answer_comes(own_folder):
    done = ask(own_folder, OTEL_TRACES_EXPORTER="zipkin")
    assert "preflight: spans are not exported to 'zipkin': no installed package offers zipkin" in done.stderr
    assert "the hottest planet of the solar system, with a surface" in done.stdout


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    ],
)
def test_nothing_is_imported_where_nothing_is_asked_for(variables):
    code = "import json, sys; from preflight_rag.cli.main import export_spans; print(json.dumps([export_spans(), "
    code += "[name for name in sys.modules if name.startswith(('opentelemetry', 'langgraph'))]]))"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}
    done = subprocess.run([sys.executable, "-c", code], env=kept | variables, capture_output=True, text=True)
    assert json.loads(done.stdout) == [None, []]


def test_a_missing_sdk_is_told(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "opentelemetry-sdk is not installed" in export_spans({"OTEL_TRACES_EXPORTER": "otlp"})


async def test_a_turn_over_mcp_stands_below_the_span_of_its_call(own_folder, spans):
    with Preflight.open(own_folder, "offline") as app:
        async with Client(make_server(app)) as client:
            await client.call_tool("ask", {"question": QUESTION})
    found = named(spans)
    assert found["preflight.turn"].parent.span_id == found["tools/call ask"].context.span_id
