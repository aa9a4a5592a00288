"""Nothing that is loaded is run: no pickle, no code of a model's repository, no shell, by a scan and for real."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import subprocess
import sys
import threading
from hashlib import sha1, sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from fault_counts import times

from preflight_rag.library import Library
from preflight_rag.library.index.generations import DENSE, MANIFEST, ROWS
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Document

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("preflight_rag", "graph", "nodes", "prompts", "state", "training", "benchmarks", "docs", ".ci")
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle", "imp"}
CALLS = {"eval", "exec", "os.system", "os.popen", "tempfile.mktemp", "pandas.read_pickle", "pd.read_pickle"}
UNSAFE_YAML = {"yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"}
REMOTE_CODE = {"SentenceTransformer", "CrossEncoder", "from_pretrained"}
"""What opens models: whether their repositories' code may run is said each time."""


def sources() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted({path.resolve() for path in found if "node_modules" not in path.parts})


def faults(source: str) -> list[str]:
    """What a source does that could run what it loads."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            found += _faults_of_call(node)
    return found


def _faults_of_call(call: ast.Call) -> list[str]:
    name = ast.unparse(call.func)
    given = {each.arg: ast.unparse(each.value) for each in call.keywords if each.arg}
    last = name.split(".")[-1]
    found = []
    if name in CALLS or (last == "import_module" and call.args and ast.unparse(call.args[0]).strip("'\"") in MODULES):
        found.append(name)
    if name in UNSAFE_YAML and not re.search("(?:Safe|Base)Loader", given.get("Loader", "")):
        found.append(name)
    if name == "torch.load" and given.get("weights_only") != "True":
        found.append("torch.load without weights_only=True")
    if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
        found.append("numpy.load without allow_pickle=False")
    if (
        given.get("shell", "False") != "False"
        or given.get("verify") == "False"
        or given.get("pickle_fallback") == "True"
    ):
        found.append(ast.unparse(call)[:80])
    if given.get("trust_remote_code", "False") != "False" or given.get("weights_only") == "False":
        found.append(ast.unparse(call)[:80])
    if last in REMOTE_CODE and not name.startswith(("BertTokenizer", "Config")) and "trust_remote_code" not in given:
        found.append(f"{name} without trust_remote_code=False")
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_source_runs_nothing_that_it_loads(path: Path) -> None:
    assert not faults(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import torch\ntorch.load('x')",
        "torch.load('x', weights_only=False)",
        "np.load('x')",
        "np.load('x', allow_pickle=True)",
        "yaml.load(text, Loader=yaml.Loader)",
        "eval(text)",
        "subprocess.run(command, shell=True)",
        "os.system(command)",
        "tempfile.mktemp()",
        "httpx.get(url, verify=False)",
        "AutoModel.from_pretrained(name)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "JsonPlusSerializer(pickle_fallback=True)",
        "importlib.import_module('pickle')",
    ],
)
def test_the_scan_finds(source: str) -> None:
    assert faults(source)


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.canary}",)


def model_without_weights(folder: Path, architecture: str) -> Path:
    """A model's folder, whole but for its weights."""
    from transformers import BertConfig, BertTokenizerFast

    folder.mkdir(parents=True)
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fever", "tea")
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    labels = {"num_labels": 1} if architecture == "BertForSequenceClassification" else {}
    BertConfig(vocab_size=len(words), architectures=[architecture], **sizes, **labels).save_pretrained(folder)
    return folder


def poisoned_model(folder: Path, architecture: str, canary: Path) -> str:
    """A model's folder whose weights are a pickle with a payload."""
    import torch

    model_without_weights(folder, architecture)
    torch.save({"payload": Touch(canary)}, folder / "pytorch_model.bin")
    return str(folder)


def weights_of(folder: Path, architecture: str) -> dict[str, Any]:
    """Harmless weights that fit a folder's configuration, the same each time."""
    import torch
    import transformers

    torch.manual_seed(0)
    model = getattr(transformers, architecture)(transformers.BertConfig.from_pretrained(folder))
    return dict(model.state_dict())


def open_embedder(name: str) -> None:
    from preflight_rag.models.opening import open_embedder

    open_embedder(name)


def open_pair(name: str) -> None:
    from preflight_rag.models.opening import open_embedder

    open_embedder(f"pair:{name}|{name}")


def open_reranker(name: str) -> None:
    from preflight_rag.models.opening import open_reranker

    open_reranker(name)


def open_reader(name: str) -> None:
    from preflight_rag.models.reading.hub_reader import HubReader

    HubReader(name)


OPENERS = {
    "embedder": (open_embedder, "BertModel"),
    "pair of encoders": (open_pair, "BertModel"),
    "reranker": (open_reranker, "BertForSequenceClassification"),
    "reader": (open_reader, "BertForQuestionAnswering"),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_bare", [False, True], ids=["a zip of torch's", "a bare pickle"])
@pytest.mark.parametrize("kind", OPENERS)
def test_weights_that_are_a_pickle_are_not_run(kind: str, is_bare: bool, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    opener, architecture = OPENERS[kind]
    name = poisoned_model(tmp_path / "model", architecture, canary)
    if is_bare:
        (tmp_path / "model" / "pytorch_model.bin").write_bytes(pickle.dumps({"payload": Touch(canary)}))
    with pytest.raises(PreflightError) as caught:
        opener(name)
    assert not canary.exists()
    assert "\n" not in caught.value.message
    assert caught.value.help


def test_the_payload_is_dangerous(tmp_path: Path) -> None:
    """Else the test above shows nothing."""
    import torch

    poisoned_model(tmp_path / "model", "BertModel", tmp_path / "canary")
    torch.load(tmp_path / "model" / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / "canary").exists()


LAYOUTS = ("pytorch_model.bin", "shards", "adapter_model.bin", "a module", "both names")


def pickled_model(folder: Path, architecture: str, layout: str) -> str:
    """A model's folder whose harmless weights, or some of them, are a pickle that torch reads."""
    import torch
    from safetensors.torch import save_file

    weights = weights_of(model_without_weights(folder, architecture), architecture)
    match layout:
        case "pytorch_model.bin":
            torch.save(weights, folder / "pytorch_model.bin")
        case "shards":
            torch.save(weights, folder / "pytorch_model-00001-of-00001.bin")
            shards = {"metadata": {}, "weight_map": dict.fromkeys(weights, "pytorch_model-00001-of-00001.bin")}
            (folder / "pytorch_model.bin.index.json").write_text(json.dumps(shards), encoding="utf-8")
        case "adapter_model.bin":  # what a configuration may name beside weights that are none
            save_file(weights, folder / "model.safetensors", {"format": "pt"})
            torch.save(weights, folder / "adapter_model.bin")
            settings = json.loads((folder / "config.json").read_text("utf-8"))
            settings["transformers_weights"] = "adapter_model.bin"
            (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        case "a module":  # of sentence-transformers, which reads its weights by itself
            save_file(weights, folder / "model.safetensors", {"format": "pt"})
            (folder / "2_Dense").mkdir()
            torch.save({"linear.weight": torch.eye(16)}, folder / "2_Dense" / "pytorch_model.bin")
        case "both names":  # an adapter's safetensors do not make a model's
            save_file(weights, folder / "adapter_model.safetensors", {"format": "pt"})
            torch.save(weights, folder / "pytorch_model.bin")
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", OPENERS)
def test_weights_that_are_a_pickle_are_refused_before_they_are_read(
    kind: str, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    opener, architecture = OPENERS[kind]
    name = pickled_model(tmp_path / "model", architecture, layout)
    read: list[Any] = []
    monkeypatch.setattr(torch, "load", lambda *given, **_: read.append(given))
    with pytest.raises(PreflightError, match="pickle") as caught:
        opener(name)
    assert read == []
    assert len(str(caught.value).splitlines()) == 1
    assert ".bin" in caught.value.message
    assert "safetensors" in caught.value.help


@pytest.mark.slow
@pytest.mark.parametrize("kind", times(["embedder", "reader"], list(OPENERS)))
def test_the_way_out_of_a_pickle_is_a_command_that_works(kind: str, tmp_path: Path) -> None:
    """The command of the message makes a folder that opens."""
    opener, architecture = OPENERS[kind]
    name = pickled_model(tmp_path / "model", architecture, "pytorch_model.bin")
    with pytest.raises(PreflightError) as caught:
        opener(name)
    command = re.search(r'python -c "([^"]+)"', caught.value.help)
    assert command
    done = subprocess.run(
        [sys.executable, "-c", command[1]], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    made = {path.parent for path in tmp_path.rglob("model.safetensors")}
    assert len(made) == 1
    opener(str(made.pop()))


@pytest.mark.parametrize("kind", OPENERS)
def test_safetensors_beside_a_pickle_are_what_is_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from safetensors.torch import save_file

    opener, architecture = OPENERS[kind]
    name = poisoned_model(tmp_path / "model", architecture, tmp_path / "canary")
    save_file(weights_of(tmp_path / "model", architecture), tmp_path / "model" / "model.safetensors", {"format": "pt"})
    read: list[Any] = []
    monkeypatch.setattr(torch, "load", lambda *given, **_: read.append(given))
    opener(name)
    assert read == []
    assert not (tmp_path / "canary").exists()


CODE = "import pathlib\npathlib.Path({canary!r}).touch()\nclass Evil:\n    pass\n"


@pytest.mark.parametrize("file", ["modules.json", "router_config.json", "path"])
def test_a_folder_that_names_code_of_its_own_is_refused(file: str, tmp_path: Path) -> None:
    """sentence-transformers 5 runs the code that lies in a folder, whatever `trust_remote_code` says."""
    folder, canary = tmp_path / "model", tmp_path / "canary"
    kind = "sentence_transformers.models.Transformer"
    model_without_weights(folder, "BertModel")
    (folder / "evil.py").write_text(CODE.format(canary=str(canary)), encoding="utf-8")
    modules = [{"idx": 0, "name": "0", "path": "", "type": kind if file == "router_config.json" else "evil.Evil"}]
    if file == "path":
        modules = [{"idx": 0, "name": "0", "path": "../elsewhere", "type": kind}]
    if file == "router_config.json":
        (folder / file).write_text(json.dumps({"types": {"a": "evil.Evil"}, "structure": {}}), encoding="utf-8")
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    for opener in (open_embedder, open_reranker):
        with pytest.raises(PreflightError, match=r"evil\.Evil|elsewhere") as caught:
            opener(str(folder))
        assert len(str(caught.value).splitlines()) == 1
        assert caught.value.help
    assert not canary.exists()


FROM_A_HUB = """
import sys
from preflight_rag.models.opening import open_embedder, open_extractive_reader, open_reranker
from preflight_rag.state.errors import PreflightError
opener = {"embedder": open_embedder, "reranker": open_reranker, "reader": open_extractive_reader}[sys.argv[1]]
try:
    opener(sys.argv[2])
    print("opened")
except PreflightError as error:
    print(error)
"""


class Hub(SimpleHTTPRequestHandler):
    """As much of the Hub's API as a download takes; `server.asked` has the files that were fetched."""

    def do_HEAD(self) -> None:
        self._answer(head=True)

    def do_GET(self) -> None:
        self._answer(head=False)

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, *, head: bool) -> None:
        path, kept = unquote(self.path.split("?")[0]), self.server.kept  # type: ignore[attr-defined]
        body, status = b"", 200
        headers = {"Content-Type": "application/json", "X-Repo-Commit": COMMIT}
        if path.startswith("/api/models/tiny/model/tree/"):
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": sha1(data).hexdigest()}
                for name, data in kept.items()
            ]
            body = json.dumps(rows).encode()
        elif path.startswith("/api/models/tiny/model"):
            rows = [{"rfilename": name} for name in kept]
            body = json.dumps({"id": "tiny/model", "sha": COMMIT, "siblings": rows}).encode()
        elif "/resolve/" in path and path.split("/", 5)[5] in kept:
            name = path.split("/", 5)[5]
            body = kept[name]
            headers |= {"Content-Type": "application/octet-stream", "ETag": f'"{sha1(body).hexdigest()}"'}
            if not head:
                self.server.asked.append(name)  # type: ignore[attr-defined]
        else:
            status, headers["X-Error-Code"] = 404, "EntryNotFound"
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if not head:
            self.wfile.write(body)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.slow
@pytest.mark.parametrize("is_safe", [True, False], ids=["with safetensors", "a pickle alone"])
@pytest.mark.parametrize("kind", times(["embedder"], ["embedder", "reranker", "reader"]))
def test_a_pickle_on_the_hub_is_not_even_fetched(kind: str, is_safe: bool, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    _, architecture = OPENERS[kind]
    folder = Path(poisoned_model(tmp_path / "model", architecture, tmp_path / "canary"))
    if is_safe:
        save_file(weights_of(folder, architecture), folder / "model.safetensors", {"format": "pt"})
    (folder / "modeling.py").write_text(CODE.format(canary=str(tmp_path / "canary")), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.kept = {path.name: path.read_bytes() for path in folder.iterdir()}  # type: ignore[attr-defined]
        server.asked = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        given = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "home")}
        given |= {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1", "no_proxy": "*"}
        outcomes = []
        for _ in range(2):  # the second time from the cache
            code = [sys.executable, "-c", FROM_A_HUB, kind, "tiny/model"]
            done = subprocess.run(
                code, env=os.environ | given, capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0, done.stderr
            outcomes.append(done.stdout.strip())
            given["HF_HUB_OFFLINE"] = "1"
        server.shutdown()
        asked = set(server.asked)  # type: ignore[attr-defined]
    assert "config.json" in asked
    assert not asked & {"pytorch_model.bin", "modeling.py"}
    assert not (tmp_path / "canary").exists()
    for outcome in outcomes:
        if is_safe:
            assert outcome == "opened"
        else:
            assert len(outcome.splitlines()) == 1
            assert "safetensors" in outcome


@pytest.mark.parametrize("name", [ROWS, DENSE])
def test_an_index_file_that_is_a_pickle_is_not_run(name: str, tmp_path: Path, embedder: Embedder) -> None:
    """Nor where its checksum stands in the manifest, as who may write the folder can bring about."""
    canary, folder = tmp_path / "canary", tmp_path / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add([Document(id="v", source="v.txt", text="Venus is hot.")])
        expected = [(hit.passage_id, hit.score) for hit in library.search("hot Venus").fused]
    manifest_file = folder / "index" / MANIFEST
    manifest = json.loads(manifest_file.read_text("utf-8"))
    index_file = folder / "index" / manifest["folder"] / name
    if name == ROWS:
        np.save(index_file, np.array([Touch(canary)], dtype=object), allow_pickle=True)
    else:
        index_file.write_bytes(pickle.dumps(Touch(canary)))
    data = index_file.read_bytes()
    manifest["files"][name] = {"size": len(data), "sha256": sha256(data).hexdigest()}
    manifest_file.write_text(json.dumps(manifest), encoding="utf-8")
    with Library.open(folder, embedder=embedder) as library:
        assert [(hit.passage_id, hit.score) for hit in library.search("hot Venus").fused] == expected
    assert not canary.exists()
