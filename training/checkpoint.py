"""Store the reader's learned weights in a file small enough for a repository, from which a training can continue.

    python -m training.checkpoint --checkpoints DIR [--out FILE]

reads the state that `training/train_reader.py` stores in DIR, also while it runs, and writes the averaged weights as
16-bit floats to FILE.npz, and beside it FILE.json with the step, the rates, and the measurements. A training starts
from it with `--from FILE.npz`; its optimizer starts anew, with a short warm-up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from preflight_rag.cache import file_sha256
from preflight_rag.state.errors import UsageError
from training.reader_network import ReaderNetwork

STATE = "training.pt"
"""File from which an interrupted training continues, in the folder of its checkpoints."""
KEPT = Path(__file__).with_name("checkpoint") / "reader.npz"
"""The weights of an unfinished training in the repository."""
LARGEST = 24_000_000
"""Most bytes of a file of weights: about the size of the shipped network."""
ROWS, SCALE = ".rows", ".scale"
"""Suffixes of the names of a rounded matrix in `reader.onnx`."""


def learned(network: ReaderNetwork) -> dict[str, Tensor]:
    """Return the parameters that training changes, by name."""
    return {name: value for name, value in network.named_parameters() if value.requires_grad}


def load_weights(network: ReaderNetwork, path: Path) -> None:
    """Load the learned weights in a file into a network.

    Args:
        network: The network; parameters that are not in the file, such as word embeddings, stay unchanged.
        path: A model that `reader_network.export` wrote (*.onnx), a checkpoint that `export` wrote (*.npz), or the
            state of a training (*.pt), of which the averaged weights are taken.

    Raises:
        UsageError: The file cannot be read, or lacks a weight of the network, or has one of another shape.
    """
    readers = {".onnx": _of_model, ".npz": _of_checkpoint, ".pt": _of_state}
    if path.suffix not in readers:
        raise UsageError(f"{path.name} holds no weights", help=f"Name a file that ends in {' or '.join(readers)}.")
    try:
        found = readers[path.suffix](path)
    except Exception as error:  # numpy, torch and onnx raise different errors for a damaged file
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"no weights can be read from {str(path)!r}: {why:.200}", help="Check the file.") from None
    with torch.no_grad():
        for name, value in learned(network).items():
            if name not in found or found[name].shape != tuple(value.shape):
                shape = found[name].shape if name in found else "nothing"
                raise UsageError(
                    f"{path.name} has {shape} for {name}, not {tuple(value.shape)}",
                    help="Take weights of the same network (training/reader_network.py).",
                )
            value.copy_(torch.from_numpy(found[name]))


def _of_model(path: Path) -> dict[str, np.ndarray]:
    """Return the weights in an ONNX model; those stored as integers are multiplied by their scales."""
    import onnx

    tensors = {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    found = {}
    for name, value in tensors.items():
        if name.endswith(ROWS):
            stem = name.removesuffix(ROWS)
            found[stem] = value.astype(np.float32) * tensors[f"{stem}{SCALE}"]
        elif not name.endswith(SCALE):
            found[name] = np.array(value)
    return found


def _of_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """Return the weights of a NumPy checkpoint."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].astype(np.float32) for name in file.files}


def _of_state(path: Path) -> dict[str, np.ndarray]:
    """Return the averaged weights of an interrupted training."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    return {name: value.float().numpy() for name, value in state["average"].items()}


def export(weights: Mapping[str, Tensor], about: Mapping[str, Any], out: Path) -> None:
    """Write learned weights as 16-bit floats, and beside them the record of their training.

    Raises:
        UsageError: The file would be larger than `LARGEST`.
    """
    size = sum(value.numel() * 2 for value in weights.values())
    if size > LARGEST:
        raise UsageError(f"the weights take {size:,} bytes, more than {LARGEST:,}", help="Keep the state itself.")
    out.parent.mkdir(parents=True, exist_ok=True)
    halves: dict[str, Any] = {name: value.detach().cpu().numpy().astype(np.float16) for name, value in weights.items()}
    np.savez_compressed(out, **halves)
    description = {"sha256": file_sha256(out), **about}
    out.with_suffix(".json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the averaged weights of the latest state."""
    parser = argparse.ArgumentParser(prog="python -m training.checkpoint", description=__doc__)
    parser.add_argument(
        "--checkpoints", type=Path, required=True, help="the folder that train_reader keeps its state in"
    )
    parser.add_argument("--out", type=Path, default=KEPT)
    options = parser.parse_args(arguments)
    path = options.checkpoints / STATE
    if not path.is_file():
        parser.error(f"there is no {STATE} in {options.checkpoints}")
    state = torch.load(path, map_location="cpu", weights_only=True)
    export(state["average"], state["about"] | {"step": state["step"]}, options.out)
    sys.stderr.write(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB, step {state['step']}\n")


if __name__ == "__main__":
    main()
