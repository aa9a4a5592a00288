"""Training of the keyless reader: the command that makes `preflight_rag/models/reading/reader.onnx`.

    python -m training.train_reader --data DIR [--out FILE] [--checkpoints DIR]

Beside it, it writes its tokenizer, its network in whole numbers (`training/reader_integers.py`), and its checksum and
what it was trained on into `reader.json`.

First on questions made of the texts' own sentences and titles (`reader_cloze.py`, `reader_paraphrase.py`), then on the
training parts of the annotated sets (`reader_data.py`), with windows and hard negatives drawn anew in each epoch. The
weights that are shipped are the exponential moving average over the steps (Izmailov et al., UAI 2018, for the idea).
Seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from preflight_rag.cache import file_sha256
from preflight_rag.evaluation.datasets import TRAINING, examples
from preflight_rag.evaluation.datasets.statements import by_rule
from preflight_rag.evaluation.samples import Sample, Span
from preflight_rag.models.embedding.minilm import weights_folder
from preflight_rag.models.reading.extractive_reader import Window, load_tokenizer, padded, windows
from training.reader_cloze import answered, cloze, training_texts
from training.reader_integers import export as integers
from training.reader_network import UNKNOWN, VERDICTS, ReaderNetwork, Targets, export, loss
from training.reader_paraphrase import paraphrased, prompted

SEED = 0
BATCH = 16
RATE = 2e-4
WARMUP = 0.05
AVERAGING = 0.998
"""Decay of the moving average of the weights, once the first half is over."""
EPOCHS = 5
MADE, PARAPHRASED, CLAIMS, SUBJECTS = 14000, 10000, 2500, 1000
"""Cloze questions, those made of paraphrases, statements, and examples of MedQuAD in the first stage."""
EACH_MADE, EACH_PARAPHRASED, EACH_CLAIMS, EACH_ANSWERED = 700, 1000, 900, 1000
"""Of these three, and of questions with their answer as one statement, in each epoch."""
SPAN_SETS = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "clapnq", "poisonedrag")
SHARES = {"pubmedqa": 0.7, "scifact": 0.7, "evidence_inference": 0.6, "conflictqa": 0.6, "medquad": 0.3}
"""Part of a set that an epoch takes."""
STATE, KEPT_EACH = "training.pt", 250
"""Where a training that is cut off goes on, and how many steps lie between."""
UNCALIBRATED = {"answerable": 1.0, "margin": 0.0, "bias": 0.0, "threshold": 0.5}
"""What stands in the place of the calibration until `calibrate_reader.py` has written one."""


@dataclass(frozen=True)
class Prepared:
    """An example as the network takes it."""

    window: Window
    example: Sample


def stages(data: Path) -> Iterator[tuple[str, list[Sample]]]:
    """Name and examples of each stage, in order."""
    rng = random.Random(SEED)  # noqa: S311
    texts = training_texts(data, rng)
    made = list(cloze(texts, rng))
    claims = list(by_rule(texts, rng))
    retold = list(paraphrased(data, rng))
    asked_of_trials = list(prompted(data, rng))
    rng.shuffle(made)
    rng.shuffle(retold)
    subjects = examples("medquad", data, "train", SEED)
    yield "cloze", [*made[:MADE], *retold[:PARAPHRASED], *claims[:CLAIMS], *_some(subjects, SUBJECTS, rng)]
    for epoch in range(EPOCHS):
        asked = [example for name in SPAN_SETS for example in examples(name, data, "train", epoch)]
        chosen = list(asked)
        for name, share in SHARES.items():
            found = examples(name, data, "train", epoch)
            chosen += _some(found, int(share * len(found)), rng)
        chosen += _some(list(answered(asked, rng)), EACH_ANSWERED, rng)
        chosen += _some(claims[CLAIMS:], EACH_CLAIMS, rng)
        chosen += _some(asked_of_trials, len(asked_of_trials) // 2, rng)
        chosen += _some(made[MADE:], EACH_MADE, rng) + _some(retold, EACH_PARAPHRASED, rng)
        yield f"epoch {epoch + 1}", chosen


def _some(found: Sequence[Sample], most: int, rng: random.Random) -> list[Sample]:
    return rng.sample(found, min(most, len(found)))


def prepare(chosen: Sequence[Sample]) -> list[Prepared]:
    """Tokenized examples; one whose answer lies beyond the window is left out."""
    tokenizer = load_tokenizer(weights_folder() / "tokenizer.json")
    pairs = [(example.question, example.passage.title, example.passage.text) for example in chosen]
    found = [
        Prepared(window, example)
        for window, example in zip(windows(pairs, tokenizer, all_windows=False), chosen, strict=True)
    ]
    return [
        item for item in found if not item.example.passage.spans or positions(item.window, item.example.passage.spans)
    ]


def positions(window: Window, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """First and last token of each stretch of the text that lies in the window."""
    found = []
    for start, end in spans:
        inside = [
            i
            for i, (a, b) in enumerate(window.offsets)
            if a < b and a - window.shift < end and b - window.shift > start
        ]
        reached = inside and window.offsets[inside[-1]][1] - window.shift >= end
        if inside and reached and window.offsets[inside[0]][0] - window.shift <= start:
            found.append((inside[0], inside[-1]))
    return found


def batches(prepared: Sequence[Prepared], rng: random.Random) -> list[list[Prepared]]:
    """Random batches of similar length."""
    order = list(prepared)
    rng.shuffle(order)
    pools = [order[i : i + 50 * BATCH] for i in range(0, len(order), 50 * BATCH)]
    found = []
    for pool in pools:
        pool.sort(key=lambda item: len(item.window.ids))
        found += [pool[i : i + BATCH] for i in range(0, len(pool), BATCH)]
    rng.shuffle(found)
    return found


def targets(batch: Sequence[Prepared]) -> Targets:
    """What the network should give for a batch."""
    shape = (len(batch), max(len(item.window.ids) for item in batch))
    allowed = np.zeros(shape, dtype=bool)
    for i, item in enumerate(batch):
        allowed[i, : len(item.window.ids)] = [a < b for a, b in item.window.offsets]
        allowed[i, 0] = True

    def marked(spans: Sequence[Sequence[Span] | None]) -> torch.Tensor:
        rows = [
            [] if marks is None else positions(item.window, marks) or [(0, 0)]
            for item, marks in zip(batch, spans, strict=True)
        ]
        most = max(1, *map(len, rows))
        return torch.tensor([row + [(UNKNOWN, UNKNOWN)] * (most - len(row)) for row in rows])

    def labels(values: Sequence[int | None]) -> torch.Tensor:
        return torch.tensor([UNKNOWN if value is None else int(value) for value in values])

    asked = [item.example for item in batch]
    return Targets(
        allowed=torch.from_numpy(allowed),
        answers=marked([example.passage.spans for example in asked]),
        descriptors=marked([example.passage.descriptor for example in asked]),
        answerable=labels([example.answerable for example in asked]),
        relevant=labels([example.passage.relevant for example in asked]),
        verdict=labels(
            [None if example.passage.verdict is None else VERDICTS.index(example.passage.verdict) for example in asked]
        ),
    )


class Trainer:
    """Steps over the stages with one schedule, keeping the moving average of the weights."""

    def __init__(self, steps: int) -> None:
        torch.manual_seed(SEED)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.network = ReaderNetwork().to(self.device)
        self.learned = {name: value for name, value in self.network.named_parameters() if value.requires_grad}
        self.average = {name: value.detach().clone() for name, value in self.learned.items()}
        self.optimizer = torch.optim.AdamW(self.learned.values(), lr=RATE, weight_decay=0.01, fused=True)
        self.steps, self.step, self.first = steps, 0, 0
        self.began, self.recent = time.monotonic(), 0.0

    def run(self, batch: Sequence[Prepared]) -> None:
        """One step."""
        done = self.step / self.steps
        for group in self.optimizer.param_groups:
            group["lr"] = RATE * min(done / WARMUP, (1 - done) / (1 - WARMUP))
        feed = {
            name: torch.from_numpy(value).to(self.device) for name, value in padded([b.window for b in batch]).items()
        }
        self.network.train()
        with torch.autocast(self.device, dtype=torch.bfloat16):
            outputs = self.network(**feed)
        value = loss([output.cpu() for output in outputs], targets(batch))
        torch.autograd.backward(value)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        self.recent += (float(value.detach()) - self.recent) * max(0.01, 1 / (self.step - self.first))
        self._average(AVERAGING if done > 0.5 else 0.0)
        if self.step % 100 == 0:
            left = (time.monotonic() - self.began) / (self.step - self.first) * (self.steps - self.step)
            sys.stderr.write(f"step {self.step}/{self.steps}, loss {self.recent:.3f}, {left / 60:.0f} minutes left\n")

    def _average(self, decay: float) -> None:
        if decay == 0.0 and self.step % 100:
            return
        with torch.no_grad():
            for name, value in self.learned.items():
                self.average[name].lerp_(value, 1 - decay)

    def save(self, path: Path) -> None:
        """Keep all that a killed training needs to go on from here."""
        state = {
            "step": self.step,
            "network": self.network.state_dict(),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }
        scratch = path.with_suffix(".tmp")
        torch.save(state, scratch)
        os.replace(scratch, path)

    def resume(self, path: Path) -> None:
        """Go on from where `save` was called, in a training with the same data and settings."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.average = state["average"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = self.first = state["step"]
        torch.set_rng_state(state["random"].cpu())

    def averaged(self) -> ReaderNetwork:
        """The network with the averaged weights."""
        network = ReaderNetwork()
        network.load_state_dict(self.average, strict=False)
        return network.eval()


def train(data: Path, out: Path, checkpoints: Path | None = None) -> ReaderNetwork:
    """Train on the data sets, write the model and what stands beside it, and return the network."""
    rng = random.Random(SEED)  # noqa: S311
    plan = [(name, batches(prepare(chosen), rng)) for name, chosen in stages(data)]
    trainer = Trainer(sum(len(found) for _, found in plan))
    if checkpoints:
        checkpoints.mkdir(parents=True, exist_ok=True)
        if (checkpoints / STATE).is_file():
            trainer.resume(checkpoints / STATE)
    first = 0
    for name, found in plan:
        sys.stderr.write(f"{name}: {len(found)} batches\n")
        for position, batch in enumerate(found, first + 1):
            if position > trainer.step:
                trainer.run(batch)
                if checkpoints and position % KEPT_EACH == 0:
                    trainer.save(checkpoints / STATE)
        first += len(found)
    network = trainer.averaged()
    export(network, out)
    out.with_name(f"{out.stem}_tokenizer.json").write_bytes((weights_folder() / "tokenizer.json").read_bytes())
    record(out, data, trainer.steps)
    integers(out)
    if checkpoints:
        (checkpoints / STATE).unlink(missing_ok=True)
    return network


def record(model: Path, data: Path, steps: int) -> None:
    """Write a model's checksum and what it was trained on into the settings beside it; the rest of them is kept."""
    path = model.with_suffix(".json")
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"calibration": UNCALIBRATED}
    trained = {
        "examples": {name: len(examples(name, data, "train")) for name in TRAINING},
        "seed": SEED,
        "epochs": EPOCHS,
        "steps": steps,
        "batch": BATCH,
        "rate": RATE,
        "averaging": AVERAGING,
    }
    settings = known | {"sha256": file_sha256(model), "trained": trained}
    path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write the model."""
    parser = argparse.ArgumentParser(prog="python -m training.train_reader", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "preflight_rag" / "models" / "reading" / "reader.onnx"
    )
    parser.add_argument(
        "--checkpoints", type=Path, help="folder to keep the state in: a training that was cut off goes on"
    )
    options = parser.parse_args(arguments)
    train(options.data, options.out, options.checkpoints)
    sys.stderr.write(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
