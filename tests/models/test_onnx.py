"""ONNX Runtime reports nothing to its makers."""

import os
import subprocess
import sys

USE = """
from preflight_rag.models.embedding.minilm import MiniLM
from preflight_rag.models.reading.bundled_reader import BundledReader
MiniLM().encode_query("a stone")
BundledReader().read([("What is hard?", "", "Basalt is hard.")])
"""


def test_no_identifier_is_made_and_no_event_is_kept(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", USE], check=True, env=environment)
    made = [path for path in tmp_path.rglob("*") if "microsoft" in str(path.relative_to(tmp_path)).casefold()]
    assert made == []
