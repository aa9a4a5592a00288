"""Make the default embedder's graph, `preflight_rag/models/embedding/minilm.onnx`: all-MiniLM-L6-v2 without weights.

    python -m training.embedder_graph

It maps token ids to normalised, mean-pooled sentence vectors. torch exports it and ONNX Runtime optimises it; then the
weights are removed, and each is named as in the published `model.safetensors`, from which they are loaded. If the
export has transposed a matrix, the node that multiplies with it transposes it back.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper
from safetensors.numpy import load_file

from preflight_rag.models.embedding.minilm import GRAPH, WEIGHTS, embedder_session, weights_folder
from preflight_rag.models.hugging_face import quiet_loading

OPSET = 17
"""Version of ONNX's operators: the first with LayerNormalization; ONNX Runtime supports it from 1.12 on."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PROBES = ("one sentence", "another sentence, which is longer and is therefore not padded", "x")
SMALL = 300
"""Tensors with fewer values are constants of the graph, and stay in it."""
DOMAINS = ("", "com.microsoft")
"""Domains of the graph's operators; ONNX Runtime would list all that it knows."""


class SentenceGraph(torch.nn.Module):
    """BERT, the mean over its tokens, scaled to length 1."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Return vectors, shape (batch, 384)."""
        hidden = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2, dim=1)


def main() -> None:
    """Write the graph, after checking that it gives sentence-transformers' vectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=GRAPH)
    export(parser.parse_args().out)


def export(out: Path) -> None:
    """Write the graph to a file.

    Raises:
        ValueError: A weight is not one of the published file, or the vectors differ.
    """
    from sentence_transformers import SentenceTransformer

    folder = weights_folder()
    with quiet_loading():
        model = SentenceTransformer(str(folder), device="cpu", trust_remote_code=False)
    batch = model.tokenizer(list(PROBES), padding=True, return_tensors="pt")
    with tempfile.TemporaryDirectory() as scratch:
        exported = Path(scratch) / "exported.onnx"
        _export(model[0].auto_model, tuple(batch[name] for name in INPUTS), exported)
        graph = onnx.load(_optimized(exported))
    take_weights_out(graph, load_file(folder / WEIGHTS))
    out.write_bytes(graph.SerializeToString())
    feed = {name: batch[name].numpy() for name in INPUTS}
    vectors = embedder_session(folder, out).run(None, feed)[0]
    if not np.allclose(vectors, model.encode(list(PROBES)), atol=1e-5):
        raise ValueError("the graph does not give the model's vectors")


def _export(bert: Any, tensors: tuple[Any, ...], target: Path) -> None:
    """Write the network as an ONNX graph with variable batch size and length."""
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {"vectors": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            SentenceGraph(bert).eval(),
            tensors,
            str(target),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(INPUTS),
            output_names=["vectors"],
            dynamic_axes=axes,
        )


def _optimized(source: Path) -> Path:
    """Return the path of a copy of the graph that ONNX Runtime has simplified."""
    target = source.with_name("optimized.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return target


def take_weights_out(model: Any, published: Mapping[str, np.ndarray]) -> None:
    """Name a graph's weights as in the published file, and remove their values.

    Raises:
        ValueError: A weight is not in the published file.
    """
    renamed, turned = {}, set()
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < SMALL:
            continue
        name, is_turned = _published_name(tensor.name, values, published)
        renamed[tensor.name] = name
        if is_turned:
            turned.add(name)
        _leave_out(tensor, name, published[name].shape)
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = renamed.get(name, name)
        if turned & set(node.input):
            if node.op_type != "MatMul" or node.input[1] not in turned:
                raise ValueError(f"{node.op_type} cannot turn a matrix round: {list(node.input)}")
            node.op_type, node.domain = "FusedMatMul", "com.microsoft"
            node.attribute.append(helper.make_attribute("transB", 1))
    kept = [known for known in model.opset_import if known.domain in DOMAINS]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def _published_name(name: str, values: np.ndarray, published: Mapping[str, np.ndarray]) -> tuple[str, bool]:
    """Return the published name of a weight, and whether it is transposed there."""
    for known, other in published.items():
        if np.array_equal(values, other):
            return known, False
        if other.ndim == 2 and np.array_equal(values, other.T):
            return known, True
    raise ValueError(f"{name} is not one of the published weights")


def _leave_out(tensor: Any, name: str, shape: tuple[int, ...]) -> None:
    """Replace a tensor's data by a reference to a file of weights."""
    tensor.name = name
    tensor.ClearField("raw_data")
    del tensor.dims[:]
    tensor.dims.extend(shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    where = tensor.external_data.add()
    where.key, where.value = "location", WEIGHTS


if __name__ == "__main__":
    main()
