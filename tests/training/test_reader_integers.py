"""The shipped network in whole numbers is what the training script makes of the shipped floats."""

import json
import shutil

import numpy as np
import onnx

from preflight_rag.models.reading.bundled_reader import MODEL, TOKENIZER
from preflight_rag.models.reading.extractive_reader import OUTPUTS
from training.reader_integers import export


def test_the_shipped_graph_is_the_scripts_and_has_no_weights(tmp_path):
    for path in (MODEL, TOKENIZER):
        shutil.copy(path, tmp_path)
    export(tmp_path / MODEL.name)
    shipped = MODEL.with_name("reader_integers.onnx")
    assert (tmp_path / shipped.name).read_bytes() == shipped.read_bytes()
    assert shipped.stat().st_size < 100_000
    made, kept = (json.loads(path.with_suffix(".json").read_text()) for path in (tmp_path / shipped.name, shipped))
    assert made["sha256"] == kept["sha256"]
    for some, others in zip(made["probes"], kept["probes"], strict=True):
        assert some["ids"] == others["ids"]
        for name in OUTPUTS:
            np.testing.assert_allclose(some["outputs"][name], others["outputs"][name], atol=1e-4)


def test_every_weight_of_the_graph_is_where_the_model_has_it():
    graph = onnx.load(MODEL.with_name("reader_integers.onnx"), load_external_data=False).graph
    content = MODEL.read_bytes()
    values = {tensor.name: tensor for tensor in onnx.load(MODEL).graph.initializer}
    used = set()
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            place = {entry.key: entry.value for entry in tensor.external_data}
            offset, length = int(place["offset"]), int(place["length"])
            assert place["location"] == MODEL.name
            assert content[offset : offset + length] == values[tensor.name].raw_data
            used.add(tensor.name)
    assert used == set(values)
