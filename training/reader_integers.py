"""Make the reader's network in integers: `preflight_rag/models/reading/reader_integers.onnx`.

    python -m training.reader_integers

Weights of the shipped network are eight-bit integers with one scale for each row. A layer's input is split here into
two such numbers, the second being the remainder of the first, so a layer is two integer products, which processors with
such instructions compute four times as fast as one of floats. In some layers the first token's vector has values
several times as large as any other's, so it is divided by a factor before the split, and the result multiplied by it.
Norms, softmax and the rest stay floats. `preflight_rag/models/reading/integer_network.py` decides when it is used.

The graph has no weights: each is named by its place in `reader.onnx`, beside which it lies.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from preflight_rag.cache import file_sha256
from preflight_rag.models.onnx import quiet_onnxruntime
from preflight_rag.models.reading.bundled_reader import MODEL
from preflight_rag.models.reading.extractive_reader import INPUTS, OUTPUTS, SCORES, load_tokenizer, padded, windows
from training.embedder_graph import OPSET

ORT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""
LAYERS, HEADS, HIDDEN, INNER = 6, 12, 384, 1536
"""Sizes of all-MiniLM-L6-v2."""
EPSILON = 1e-12
"""The epsilon of BERT's layer norms."""
UP, DOWN = {0: 8, 1: 8, 2: 8, 3: 8, 4: 8}, {0: 4, 1: 4, 2: 4, 3: 4}
"""Divisors of the first token's vector before a layer's two large products: powers of two, so that nothing is rounded.
Largest values were 20 to 30 and 12 to 22, those of all other tokens 4 to 12 and 4 to 5 (texts of the demo)."""
MIDDLE, STEPS = 128, 255
"""The zero point of unsigned eight-bit integers, and the number of steps from the least to the largest."""
DECIMALS = 5
"""Decimals of the reference outputs."""
PROBES = (
    ("Where does the kite nest?", "Red kites", "The red kite nests in old oak trees."),
    (
        "When was the lighthouse of Halden built?",
        "",
        "In 1871 the lighthouse was built of 38 metres of granite; 12 keepers and their families lived on the island. "
        "It burnt down on 3 May 1902, and nobody was hurt. A new one, of iron, has stood there since 1905 (“the old "
        "lady”, as fishermen call it), and is visited by 20,000 people a year.",
    ),
)
"""Texts on which both forms are compared: short and long, with numbers and punctuation."""


class Graph:
    """A graph that is written node by node.

    Args:
        model: The file with the weights; the graph will lie beside it.
    """

    def __init__(self, model: Path) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self._file, content = model.name, model.read_bytes()
        self._places = {
            tensor.name: (content.index(tensor.raw_data), tensor) for tensor in onnx.load(model).graph.initializer
        }

    def weight(self, name: str) -> str:
        """Add a tensor of the model's file, and return its name."""
        if name not in self.weights:
            offset, found = self._places[name]
            tensor = TensorProto(name=name, data_type=found.data_type, dims=found.dims)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", self._file), ("offset", offset), ("length", len(found.raw_data))):
                tensor.external_data.add(key=key, value=str(value))
            self.weights[name] = tensor
        return name

    def constant(self, name: str, value: Any) -> str:
        """Add a small tensor stored in the graph itself, and return its name."""
        self.weights.setdefault(name, onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, *inputs: str, domain: str = "", out: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return the output's name."""
        out = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], domain=domain, **attributes))
        return out

    def several(self, kind: str, *inputs: str, out: Sequence[str] = (), count: int = 3, **attributes: Any) -> list[str]:
        """Add a node with several outputs, and return their names."""
        named = list(out) or [f"{kind}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(kind, list(inputs), named, **attributes))
        return named


def network(model: Path) -> Any:
    """Return the graph of a model that `training/reader_network.py` wrote, for one window without padding."""
    graph = Graph(model)
    hidden = _embeddings(graph)
    for layer in range(LAYERS):
        hidden = _layer(graph, layer, hidden)
    _heads(graph, hidden)
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"]) for name in _inputs()]
    scores = helper.make_tensor_value_info(OUTPUTS[-1], TensorProto.FLOAT, [1, len(SCORES)])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "tokens"]) for name in OUTPUTS[:-1]]
    made = helper.make_graph(graph.nodes, "reader", ids, [*outputs, scores], list(graph.weights.values()))
    domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(ORT, 1)]
    return helper.make_model(made, opset_imports=domains, ir_version=8)


def _inputs() -> list[str]:
    """Return the inputs of the graph; it takes no attention mask."""
    return [name for name in INPUTS if name != "attention_mask"]


def _embeddings(graph: Graph) -> str:
    """Add the embeddings to the graph, and return the name of their output."""
    prefix = "encoder.embeddings."
    words = graph.add("Gather", graph.weight(f"{prefix}word_embeddings.rows"), "input_ids")
    scales = graph.add("Gather", graph.weight(f"{prefix}word_embeddings.scale"), "input_ids")
    words = graph.add("Mul", graph.add("Cast", words, to=TensorProto.FLOAT), scales)
    types = graph.add("Gather", graph.weight(f"{prefix}token_type_embeddings.weight"), "token_type_ids")
    places = _first_rows(graph, graph.weight(f"{prefix}position_embeddings.weight"))
    return _norm(graph, graph.add("Add", graph.add("Add", words, types), places), f"{prefix}LayerNorm")


def _first_rows(graph: Graph, table: str) -> str:
    """Return the first rows of a table, one for each token."""
    graph.constant("zero", np.array([0]))
    if "length" not in graph.weights:
        graph.constant("length", np.array([1]))
        graph.add(
            "Slice", graph.add("Shape", "input_ids"), "length", graph.constant("two", np.array([2])), out="tokens"
        )
    return graph.add("Slice", table, "zero", "tokens", "zero")


def _norm(graph: Graph, values: str, name: str) -> str:
    """Add a layer normalisation, and return the name of its output."""
    weight, bias = graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias")
    return graph.add("LayerNormalization", values, weight, bias, axis=-1, epsilon=EPSILON)


def _layer(graph: Graph, layer: int, hidden: str) -> str:
    """Add a layer of the encoder, and return the name of its output."""
    prefix = f"encoder.encoder.layer.{layer}."
    parts = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
    sides = graph.constant("sides", np.array([HIDDEN] * 3))
    vectors = graph.several("Split", _dense(graph, hidden, parts), sides, axis=-1)
    context = graph.add("MultiHeadAttention", *vectors, domain=ORT, num_heads=HEADS)
    attended = _dense(graph, context, [f"{prefix}attention.output.dense"])
    hidden = _norm(graph, graph.add("Add", attended, hidden), f"{prefix}attention.output.LayerNorm")
    inner = _dense(graph, hidden, [f"{prefix}intermediate.dense"], UP.get(layer), biased=False)
    inner = graph.add("BiasGelu", inner, graph.weight(f"{prefix}intermediate.dense.bias"), domain=ORT)
    outer = _dense(graph, inner, [f"{prefix}output.dense"], DOWN.get(layer))
    return _norm(graph, graph.add("Add", outer, hidden), f"{prefix}output.LayerNorm")


def _dense(graph: Graph, values: str, layers: Sequence[str], smaller: int | None = None, *, biased: bool = True) -> str:
    """Return linear layers with the same input, computed as two integer products.

    Args:
        graph: The graph.
        values: The input's name.
        layers: The layers' names.
        smaller: Divisor of the first token's vector.
        biased: Whether the bias is added, too.
    """
    if smaller:
        values = graph.add("Mul", values, _first_token(graph, 1 / smaller))
    first, scale, zero = graph.several("DynamicQuantizeLinear", values)
    rest = graph.add("Sub", values, graph.add("DequantizeLinear", first, scale, zero))
    middle, steps = graph.constant("middle", np.uint8(MIDDLE)), graph.constant("steps", np.float32(STEPS))
    # The remainder lies within half a step.
    fine = graph.add("Div", scale, steps)
    second = graph.add("QuantizeLinear", rest, fine, middle)
    matrix = graph.add("Transpose", _joined(graph, [f"{name}.weight.rows" for name in layers]), perm=[1, 0])
    scales = graph.add("Squeeze", _joined(graph, [f"{name}.weight.scale" for name in layers]), _last(graph))
    bias = _joined(graph, [f"{name}.bias" for name in layers])
    once = biased and not smaller
    coarse = graph.add("MatMulIntegerToFloat", first, matrix, scale, scales, zero, domain=ORT)
    inputs = [second, matrix, fine, scales, middle, *(["", bias] if once else [])]
    sums = graph.add("Add", coarse, graph.add("MatMulIntegerToFloat", *inputs, domain=ORT))
    if smaller:
        sums = graph.add("Mul", sums, _first_token(graph, smaller))
    return graph.add("Add", sums, bias) if biased and not once else sums


def _first_token(graph: Graph, factor: float) -> str:
    """Return a column with a factor for the first token, and 1 for all others."""
    name = f"first_{factor:g}"
    if f"{name}_rows" not in {node.output[0] for node in graph.nodes}:
        column = np.ones((512, 1), dtype=np.float32)
        column[0] = factor
        rows = _first_rows(graph, graph.constant(name, column))
        graph.add("Identity", rows, out=f"{name}_rows")
    return f"{name}_rows"


def _joined(graph: Graph, names: Sequence[str]) -> str:
    """Return the name of the weights, several ones concatenated."""
    found = [graph.weight(name) for name in names]
    return graph.add("Concat", *found, axis=0) if len(found) > 1 else found[0]


def _last(graph: Graph) -> str:
    """Return the name of the constant -1, the last axis."""
    return graph.constant("last", np.array([-1]))


def _heads(graph: Graph, hidden: str) -> None:
    """Add the scores of tokens and of pairs, the graph's outputs."""
    matrix = graph.add("Transpose", graph.weight("tokens.weight"), perm=[1, 0])
    each = graph.add("Add", graph.add("MatMul", hidden, matrix), graph.weight("tokens.bias"))
    ones = graph.constant("ones", np.array([1] * 4))
    for name, part in zip(OUTPUTS, graph.several("Split", each, ones, axis=-1, count=4), strict=False):
        graph.add("Squeeze", part, _last(graph), out=name)
    first = graph.add("Gather", hidden, graph.constant("first", np.array(0)), axis=1)
    pooled = graph.add("Gemm", first, graph.weight("pooled.weight"), graph.weight("pooled.bias"), transB=1)
    inputs = graph.add("Tanh", pooled), graph.weight("scores.weight"), graph.weight("scores.bias")
    graph.add("Gemm", *inputs, transB=1, out=OUTPUTS[-1])


def export(model: Path) -> None:
    """Write the graph, and the outputs of floats for `PROBES`, beside a model and its tokenizer."""
    path = model.with_name(f"{model.stem}_integers.onnx")
    path.write_bytes(network(model).SerializeToString())
    session = quiet_onnxruntime().InferenceSession(str(model), providers=["CPUExecutionProvider"])
    found = windows(PROBES, load_tokenizer(model.with_name(f"{model.stem}_tokenizer.json")))
    probes = []
    for window in found:
        outputs = [
            np.round(output[0].astype(float), DECIMALS).tolist() for output in session.run(None, padded([window]))
        ]
        probes.append({"ids": window.ids, "types": window.types, "outputs": dict(zip(OUTPUTS, outputs, strict=True))})
    kept = {"sha256": file_sha256(model), "probes": probes}
    path.with_suffix(".json").write_text(json.dumps(kept) + "\n", encoding="utf-8")


def main() -> None:
    """Write the shipped graph."""
    parser = argparse.ArgumentParser(prog="python -m training.reader_integers", description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL, help="as training.train_reader writes it")
    export(parser.parse_args().model)


if __name__ == "__main__":
    main()
