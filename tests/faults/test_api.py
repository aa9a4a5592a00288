"""Whatever is sent to the calls of the OpenAPI document: no failure of the server, and replies as described.

Values come from the document's own schemas, from what is really there (threads, documents, passages), and from neither.
In the full run the same document is also given to schemathesis, in an environment of its own: its plugin of pytest
would come into every run here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fault_counts import FULL, report, times
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from serving import serving

from preflight_rag.server.access import KeyRing
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

SAYS = Reply('Basalt is hard [1].\nQUOTES\n[1] "Basalt is a rock that is hard"')
QUESTION = "Is basalt hard?"
EXAMPLES = times(4, 150)
"""Of each call, with each kind of key."""
Strategy = st.SearchStrategy[Any]
TEXTS: Strategy = st.one_of(
    st.sampled_from(
        [QUESTION, "t1", "preflight", "preflight-corg", "default", "1", "all", "basalt.txt", "../../etc/passwd"]
    ),
    st.text(max_size=30),
    st.sampled_from(["", " ", "\0", "x" * 9000, "\u202e", "%00", "null", "0", "-1", "{}", "{{7*7}}", "é" * 300]),
)
NUMBERS: Strategy = st.one_of(st.integers(-2, 20), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
ANYTHING: Strategy = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
# Half of what makes a request that goes through, so that not every example ends at the first check.
LIKELY: dict[str, Strategy] = {
    "question": st.just(QUESTION),
    "query": st.just(QUESTION),
    "input": st.sampled_from([QUESTION, [{"role": "user", "content": QUESTION}], [QUESTION]]),
    "messages": st.just([{"role": "user", "content": QUESTION}]),
    "stream": st.booleans(),
    "model": st.sampled_from(["preflight", "preflight-plain", "openai:scripted", "offline"]),
    "thread_id": st.sampled_from(["t1", "t2", None]),
    "route": st.sampled_from(["auto", "plain", "map-reduce", "corg"]),
    "turn": st.integers(1, 2),
    "settings": st.dictionaries(st.sampled_from(["k", "route", "clarify", "since", "where"]), ANYTHING, max_size=2),
}


def of_schema(schema: dict[str, Any], schemas: dict[str, Any]) -> Strategy:
    """Values of a schema of the document; it has no more kinds than these."""
    if "$ref" in schema:
        return of_schema(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if "anyOf" in schema:
        return st.one_of([of_schema(each, schemas) for each in schema["anyOf"]])
    kind = schema.get("type")
    if kind == "object":
        fields = {
            name: st.one_of(LIKELY.get(name, st.nothing()), of_schema(field, schemas))
            for name, field in schema.get("properties", {}).items()
        }
        required = {name: fields.pop(name) for name in schema.get("required", []) if name in fields}
        made = st.fixed_dictionaries(required, optional=fields)
        more = st.dictionaries(st.text(max_size=8), ANYTHING, max_size=1)
        return st.tuples(made, st.one_of(st.just({}), more)).map(lambda both: both[1] | both[0])
    if kind == "array":
        return st.lists(of_schema(schema.get("items", {}), schemas), max_size=4)
    simple = {
        "string": TEXTS,
        "integer": st.integers(-2, 60),
        "number": NUMBERS,
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return simple.get(kind or "", ANYTHING)


class Call:
    """A call of the document: what may be sent to it, and what it promises to send back."""

    def __init__(
        self, method: str, path: str, described: dict[str, Any], document: dict[str, Any], known: dict[str, Any]
    ) -> None:
        self.method, self.path, self.responses = method.upper(), path, described["responses"]
        self._schemas, self._document = document["components"]["schemas"], document
        given = described.get("parameters", [])
        self.inputs = st.fixed_dictionaries(
            {
                "path": self._parameters(given, "path", known),
                "query": self._parameters(given, "query", known),
                "header": self._parameters(given, "header", {}),
                "body": self._body(described),
            }
        )

    def _parameters(self, given: list[dict[str, Any]], place: str, known: dict[str, Any]) -> Strategy:
        wanted, may = {}, {}
        for each in given:
            if each["in"] == place:
                real = st.sampled_from(known.get(each["name"], ["t1"]))
                values = (
                    of_schema(each["schema"], self._schemas)
                    if place != "header"
                    else st.sampled_from(["t1", "x" * 300])
                )
                (wanted if each.get("required") else may)[each["name"]] = st.one_of(real, values)
        return st.fixed_dictionaries(wanted, optional=may)

    def _body(self, described: dict[str, Any]) -> Strategy:
        content = described.get("requestBody", {}).get("content", {})
        if "application/json" not in content:
            return st.just(None)
        right = of_schema(content["application/json"]["schema"], self._schemas).map(json.dumps)
        return st.one_of(right, right, right, ANYTHING.map(json.dumps), st.text(max_size=20))

    def send(self, client: httpx.Client, inputs: dict[str, Any]) -> httpx.Response:
        path = self.path
        for name, value in inputs["path"].items():
            path = path.replace("{" + name + "}", quote(str(value), safe="") or "%20")
        content = inputs["body"].encode("utf-8", "surrogatepass") if inputs["body"] is not None else None
        headers = {**inputs["header"], **({"Content-Type": "application/json"} if content is not None else {})}
        return client.request(self.method, path, params=inputs["query"], content=content, headers=headers)

    def check(self, response: httpx.Response) -> None:
        """That the response is as the document says."""
        status = str(response.status_code)
        assert response.status_code < 500 or response.status_code == 503, response.text
        described = self.responses.get(status) or self.responses.get(f"{status[0]}XX")
        assert described is not None, f"{status} is not described: {response.text[:200]}"
        content = described.get("content", {})
        if not content:
            assert response.content in (b"", b"null") or status == "202", response.text[:200]
            return
        kind = response.headers.get("content-type", "").partition(";")[0]
        assert kind in content or "*/*" in content, f"{kind} is not described"
        if kind == "application/json":
            schema = {**content[kind].get("schema", {}), "components": self._document["components"]}
            Draft202012Validator(schema).validate(response.json())


@contextmanager
def served(folder: Path, kind: str) -> Iterator[tuple[str, dict[str, str], Any]]:
    """A server process over a scripted model, and the headers of a key of that kind."""
    headers = {}
    if kind != "nobody":
        with closing(KeyRing(folder)) as ring:
            headers = {"Authorization": f"Bearer {ring.add('anna', write=kind == 'full', admin=kind == 'full')}"}
    with ScriptedServer(default=SAYS) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"}
        flags = ("-l", folder, "--model", "openai:scripted", "-q", "--rate", 0)
        with serving(*flags, **environment) as (process, url):
            yield url, headers, process


KINDS = ("nobody", "read", "full")


@pytest.mark.parametrize("kind", KINDS)
def test_every_described_call_takes_whatever_is_sent(small_folder: Path, kind: str) -> None:
    counts: dict[int, int] = {}
    with served(small_folder, kind) as (url, headers, process):
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            document = client.get("/api/openapi.json").json()
            asked = {"question": QUESTION, "stream": False}
            for thread in ("t1", "t2"):
                assert client.post("/api/ask", json={**asked, "thread_id": thread}).status_code == 200
            documents = [each["id"] for each in client.get("/api/documents").json()["documents"]]
            passages = list(client.post("/api/search", json={"query": QUESTION}).json()["passages"])
            known = {"id": documents, "passage_id": passages, "turn": [1, 2], "name": ["preflight", "resp_1", "t1"]}
            calls = [
                Call(method, path, described, document, known)
                for path, methods in document["paths"].items()
                for method, described in methods.items()
                # What signs in or connects a model changes the server for all examples after it.
                if path != "/api/model"
            ]
            assert len(calls) > 30
            for place, call in enumerate(calls):
                send = examples(call, client, counts, place)
                send()
            assert process.poll() is None
            assert client.get("/health").json()["status"] == "ok"
        process.terminate()
        assert process.wait(timeout=30) == 0
        assert "Traceback" not in process.stderr.read()
    report(f"{kind}: {len(calls)} calls, {sum(counts.values())} requests, by status {dict(sorted(counts.items()))}")
    assert sum(count for status, count in counts.items() if status < 400) > sum(counts.values()) / 10
    if kind == "read":
        assert counts[403] >= 3


def examples(call: Call, client: httpx.Client, counts: dict[int, int], place: int) -> Any:
    """A function that sends examples of a call and checks every response."""

    @seed(17 + place)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(call.inputs)
    def send(inputs: dict[str, Any]) -> None:
        response = call.send(client, inputs)
        counts[response.status_code] = counts.get(response.status_code, 0) + 1
        call.check(response)

    return send


@pytest.mark.skipif(not FULL, reason="schemathesis is installed for the full run only")
@pytest.mark.parametrize("kind", KINDS)
def test_schemathesis_finds_nothing(small_folder: Path, tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    program = schemathesis(tmp_path_factory)
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    with served(small_folder, kind) as (url, headers, process):
        key = [f"--header={name}:{value}" for name, value in headers.items()]
        options = [f"--max-examples={EXAMPLES}", "--continue-on-failure", "--seed=17", "--suppress-health-check=all"]
        options.append("--request-timeout=60")  # a full server on a busy machine
        command = [program, "run", f"{url}/api/openapi.json", f"--checks={checks}", *options, *key]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        phases = "--phases=examples,coverage,fuzzing"
        done = subprocess.run(
            [*command, phases], capture_output=True, text=True, env=environment, check=False, cwd=small_folder.parent
        )
        assert process.poll() is None
    report(done.stdout[-2000:])
    assert done.returncode == 0, done.stdout + done.stderr


def schemathesis(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program: the one that is there, else in an environment that is made for it."""
    if found := os.environ.get("PREFLIGHT_SCHEMATHESIS") or shutil.which("schemathesis"):
        return found
    folder = tmp_path_factory.getbasetemp() / "schemathesis"
    program = folder / ("Scripts" if sys.platform == "win32" else "bin")
    if not folder.exists():
        venv.create(folder, with_pip=True)
        install = [str(program / "python"), "-m", "pip", "install", "--quiet", "schemathesis"]
        subprocess.run(install, check=True, capture_output=True)
    return str(program / "schemathesis")
