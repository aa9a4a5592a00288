"""The mean of several trainings' weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from preflight_rag.state.errors import UsageError
from training import average_readers


class Tiny(nn.Module):
    """Two layers, the first of which is not trained."""

    def __init__(self):
        super().__init__()
        self.words, self.heads = nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)
        self.words.weight.requires_grad = False
        with torch.no_grad():
            self.words.weight.fill_(5)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(average_readers, "ReaderNetwork", Tiny)


def weights(folder, name, *values):
    path = folder / name
    np.savez(path, **{"heads.weight": np.array([values], np.float16)})
    return path


def test_each_weight_is_the_mean_and_what_is_not_trained_stays(tmp_path):
    paths = [
        weights(tmp_path, "a.npz", 1.0, -2.0),
        weights(tmp_path, "b.npz", 3.0, 4.0),
        weights(tmp_path, "c.npz", 5, 7),
    ]
    network = average_readers.average(paths)
    assert network.heads.weight.tolist() == [[3.0, 3.0]]
    assert network.words.weight.tolist() == [[5.0, 5.0], [5.0, 5.0]]
    assert not network.training


def test_weights_of_another_network_are_refused_by_name(tmp_path):
    with pytest.raises(UsageError, match=r"b\.npz has \(1, 3\) for heads\.weight, not \(1, 2\)"):
        average_readers.average([weights(tmp_path, "a.npz", 1, 2), weights(tmp_path, "b.npz", 1, 2, 3)])


def test_a_missing_file_is_one_line(tmp_path, capsys):
    assert average_readers.main([str(tmp_path / "gone.npz"), "--out", str(tmp_path / "reader.onnx")]) == 1
    assert "no weights can be read from" in capsys.readouterr().err
