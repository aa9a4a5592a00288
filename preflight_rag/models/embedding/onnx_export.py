"""Export of a sentence-transformers BERT to ONNX, kept in the user's cache folder.

The exported graph maps token ids to normalised, mean-pooled sentence vectors and is already optimised by ONNX Runtime.
A manifest holds the checksums of its files. Everything is written under a temporary name and moved into place, so that
processes may race.
"""

from __future__ import annotations

import json
import os
import secrets
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight_rag.cache import file_sha256
from preflight_rag.models.hugging_face import quiet_loading

OPSET = 17
"""Version of ONNX's operators: the first that has LayerNormalization as one; ONNX Runtime reads it from 1.12 on."""
MANIFEST = "manifest.json"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PROBES = ("one sentence", "another sentence, which is longer and is therefore not padded", "x")


@dataclass(frozen=True)
class ExportedModel:
    """The files of one export."""

    model: Path
    tokenizer: Path


def find_export(folder: Path) -> ExportedModel | None:
    """The export that lies in `folder`, or None where there is none or a file fails its checksum."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {role: folder / manifest[role]["file"] for role in ("model", "tokenizer")}
        if any(file_sha256(path) != manifest[role]["sha256"] for role, path in files.items()):
            return None
        return ExportedModel(**files)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def export_model(weights: Path, folder: Path) -> ExportedModel:
    """Export the SentenceTransformer in `weights` into `folder`, which takes seconds and imports torch.

    Raises:
        OSError: The folder cannot be written.
        RuntimeError: The export failed, or does not reproduce the model's vectors.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / f".{secrets.token_hex(6)}.tmp"
    raw, optimized = scratch.with_suffix(".raw"), scratch.with_suffix(".onnx")
    try:
        _export_graph(weights, raw)
        _optimize(raw, optimized)
        model = _place(optimized, folder, "model-{}.onnx")
    finally:
        raw.unlink(missing_ok=True)
        optimized.unlink(missing_ok=True)
    scratch.write_bytes((weights / "tokenizer.json").read_bytes())
    tokenizer = _place(scratch, folder, "tokenizer-{}.json")
    exported = ExportedModel(model, tokenizer)
    entries = {
        role: {"file": path.name, "sha256": file_sha256(path)}
        for role, path in (("model", model), ("tokenizer", tokenizer))
    }
    manifest = entries | {"weights_sha256": file_sha256(weights / "model.safetensors"), "opset": OPSET}
    scratch.write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    os.replace(scratch, folder / MANIFEST)
    return exported


def _place(source: Path, folder: Path, pattern: str) -> Path:
    """Move a file to a name that carries its checksum: racing writers put different contents under different names."""
    target = folder / pattern.format(file_sha256(source)[:12])
    os.replace(source, target)
    return target


def _export_graph(weights: Path, target: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    with quiet_loading():
        model = SentenceTransformer(str(weights), device="cpu")
    graph = _sentence_graph(model[0].auto_model)
    batch = model.tokenizer(list(PROBES), padding=True, return_tensors="pt")
    tensors = tuple(batch[name] for name in INPUTS)
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {"vectors": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            tensors,
            str(target),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(INPUTS),
            output_names=["vectors"],
            dynamic_axes=axes,
        )
    _check_graph(target, {name: batch[name].numpy() for name in INPUTS}, model.encode(list(PROBES)))


def _sentence_graph(bert: Any) -> Any:
    import torch

    class SentenceGraph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            hidden = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
            weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2, dim=1)

    return SentenceGraph().eval()


def _check_graph(path: Path, feed: dict[str, Any], expected: Any) -> None:
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    if not np.allclose(session.run(None, feed)[0], expected, atol=1e-4):
        raise RuntimeError("the exported graph does not reproduce the model's vectors")


def _optimize(source: Path, target: Path) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
