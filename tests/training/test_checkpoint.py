"""Weights that a training goes on from: read from a model, a state or a checkpoint, and kept small."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from preflight_rag.cache import file_sha256
from preflight_rag.state.errors import UsageError
from training import checkpoint
from training.checkpoint import LARGEST, export, learned, load_weights, main


class Tiny(nn.Module):
    """Two layers, the first of which is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.heads = nn.Linear(3, 4), nn.Linear(4, 2)
        for value in self.words.parameters():
            value.requires_grad = False


def filled(seed: int) -> Tiny:
    torch.manual_seed(seed)
    return Tiny()


def test_only_what_is_trained_is_kept(tmp_path):
    export(learned(filled(1)), {}, tmp_path / "reader.npz")
    with np.load(tmp_path / "reader.npz") as file:
        assert set(file.files) == {"heads.weight", "heads.bias"}
        assert {file[name].dtype for name in file.files} == {np.dtype("float16")}


def test_weights_come_back_as_they_were(tmp_path):
    one, other = filled(1), filled(2)
    before = other.words.weight.clone()
    export(learned(one), {"step": 7}, tmp_path / "reader.npz")
    load_weights(other, tmp_path / "reader.npz")
    torch.testing.assert_close(other.heads.weight, one.heads.weight, atol=1e-3, rtol=1e-3)
    assert torch.equal(other.words.weight, before)
    assert other.heads.weight.requires_grad


def test_beside_the_weights_stands_what_they_are(tmp_path):
    export(learned(filled(1)), {"step": 7, "plan": "abc"}, tmp_path / "kept" / "reader.npz")
    told = json.loads((tmp_path / "kept" / "reader.json").read_text(encoding="utf-8"))
    assert told == {"sha256": file_sha256(tmp_path / "kept" / "reader.npz"), "step": 7, "plan": "abc"}


def test_the_latest_state_is_exported_by_one_command(tmp_path, capsys):
    one, other = filled(1), filled(2)
    average = {name: value.detach() for name, value in learned(one).items()}
    state = {"step": 12, "average": average, "about": {"plan": "abc", "rate": 1e-4}}
    torch.save(state, tmp_path / "training.pt")
    main(["--checkpoints", str(tmp_path), "--out", str(tmp_path / "reader.npz")])
    load_weights(other, tmp_path / "reader.npz")
    torch.testing.assert_close(other.heads.bias, one.heads.bias, atol=1e-3, rtol=1e-3)
    told = json.loads((tmp_path / "reader.json").read_text(encoding="utf-8"))
    assert (told["step"], told["plan"], told["rate"]) == (12, "abc", 1e-4)
    assert "step 12" in capsys.readouterr().err


def test_a_state_can_be_gone_on_from(tmp_path):
    one, other = filled(1), filled(2)
    torch.save({"average": {k: v.detach() for k, v in learned(one).items()}}, tmp_path / "training.pt")
    load_weights(other, tmp_path / "training.pt")
    assert torch.equal(other.heads.weight, one.heads.weight)


@pytest.mark.parametrize("name", ["reader.npz", "reader.onnx", "reader.pt", "reader.txt"])
@pytest.mark.parametrize("content", [None, b"", b"no weights"])
def test_what_holds_no_weights_is_one_line(name, content, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=r"reader\.\w+") as refused:
        load_weights(filled(1), tmp_path / name)
    assert "\n" not in str(refused.value)
    assert refused.value.help


def test_weights_of_another_network_are_refused(tmp_path):
    export({"heads.weight": torch.zeros(2, 5), "heads.bias": torch.zeros(2)}, {}, tmp_path / "reader.npz")
    with pytest.raises(UsageError, match=r"\(2, 5\) for heads.weight, not \(2, 4\)"):
        load_weights(filled(1), tmp_path / "reader.npz")


def test_a_file_too_large_to_be_kept_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "LARGEST", 10)
    with pytest.raises(UsageError, match="more than 10"):
        export(learned(filled(1)), {}, tmp_path / "reader.npz")
    assert not list(tmp_path.iterdir())


def test_the_readers_weights_fit():
    from training.reader_network import ReaderNetwork

    assert 20_000_000 < 2 * sum(value.numel() for value in learned(ReaderNetwork()).values()) < LARGEST


def test_without_a_state_nothing_is_written(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--checkpoints", str(tmp_path), "--out", str(tmp_path / "reader.npz")])
    assert "no training.pt" in capsys.readouterr().err
