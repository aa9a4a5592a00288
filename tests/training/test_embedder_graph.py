"""The shipped graph of the default embedder is what the training script makes."""

import numpy as np
import onnx
import pytest

from preflight_rag.models.embedding import minilm
from training.embedder_graph import export

pytestmark = pytest.mark.slow


def nodes_of(path):
    graph = onnx.load(path, load_external_data=False).graph
    return [(node.op_type, list(node.input), list(node.output)) for node in graph.node]


def test_the_shipped_graph_is_the_scripts_and_has_no_weights(tmp_path):
    export(tmp_path / "graph.onnx")
    assert nodes_of(tmp_path / "graph.onnx") == nodes_of(minilm.GRAPH)
    assert minilm.GRAPH.stat().st_size < 100_000
    ids = np.arange(1000, 1024).reshape(2, 12)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    folder = minilm.weights_folder()
    made, shipped = (
        minilm.embedder_session(folder, graph).run(None, feed)[0] for graph in (tmp_path / "graph.onnx", minilm.GRAPH)
    )
    assert np.array_equal(made, shipped)
