"""Average the weights of several trainings into one reader, which generalises better than each of them.

    python -m training.average_readers WEIGHTS [WEIGHTS …] --out FILE --data DIR

From one file of weights, such as a checkpoint, it makes the reader with these weights. Uniform averaging of weights
that were fine-tuned from the same ones (Wortsman et al., ICML 2022, "Model soups", section 2); averaging weights with
those from which they were fine-tuned keeps what the first ones knew about other texts (Wortsman et al., CVPR 2022). The
same files are written beside FILE as by `training.train_reader`; `training.refit --reader FILE` takes it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from evaluation.datasets import TRAINING, examples
from preflight_rag.cache import file_sha256
from preflight_rag.models.embedding.minilm import weights_folder
from preflight_rag.state.errors import PreflightError
from training.checkpoint import learned, load_weights
from training.reader_integers import export as integers
from training.reader_network import ReaderNetwork, export
from training.reader_validation import Validation
from training.train_reader import UNCALIBRATED


def average(paths: Sequence[Path]) -> ReaderNetwork:
    """Return a network whose learned weights are the mean of those in several files.

    Args:
        paths: Files that `training.checkpoint.load_weights` reads; all of the same network.

    Raises:
        UsageError: A file cannot be read, or is of another network.
    """
    network, each = ReaderNetwork(), ReaderNetwork()
    total = {name: torch.zeros_like(value) for name, value in learned(network).items()}
    for path in paths:
        load_weights(each, path)
        for name, value in learned(each).items():
            total[name] += value.detach() / len(paths)
    with torch.no_grad():
        for name, value in learned(network).items():
            value.copy_(total[name])
    return network.eval()


def write(network: ReaderNetwork, paths: Sequence[Path], out: Path, data: Path | None = None) -> None:
    """Write a network with its tokenizer, its form in integers, and the record of its training.

    Args:
        network: The network with the averaged weights.
        paths: The files whose mean it is.
        out: The reader.onnx to write.
        data: Folder of the data sets; the record then counts the examples that a training reads of each.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    export(network, out)
    out.with_name(f"{out.stem}_tokenizer.json").write_bytes((weights_folder() / "tokenizer.json").read_bytes())
    trained: dict[str, object] = {"mean of": [{"file": path.name, **_about(path)} for path in paths]}
    if data:
        trained = {"examples": {name: len(examples(name, data, "train")) for name in TRAINING}, **trained}
    settings = {"calibration": UNCALIBRATED, "sha256": file_sha256(out), "trained": trained}
    out.with_suffix(".json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    integers(out)


def _about(path: Path) -> dict[str, object]:
    """Return the record of the training of a file of weights."""
    beside = path.with_suffix(".json")
    known = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}
    trained = known.get("trained") or {name: known[name] for name in ("start", "rate", "step") if name in known}
    return {"sha256": file_sha256(path), **trained}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the mean, and print the figures of each file and of the mean on validation pairs."""
    parser = argparse.ArgumentParser(prog="python -m training.average_readers", description=__doc__)
    parser.add_argument("weights", type=Path, nargs="+", help="reader.onnx, *.npz or a training's state, *.pt")
    parser.add_argument("--out", type=Path, required=True, help="the reader.onnx to write")
    parser.add_argument("--data", type=Path, help="folder of the data sets: measures each and the mean on validation")
    options = parser.parse_args(arguments)
    try:
        network = average(options.weights)
        if options.data:
            validation = Validation(options.data)
            for path in options.weights:
                sys.stderr.write(f"{path.name}: {validation.measure(average([path]))}\n")
            sys.stderr.write(f"mean: {validation.measure(network)}\n")
        write(network, options.weights, options.out, options.data)
    except PreflightError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
