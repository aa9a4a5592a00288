"""Train the keyless reader: the command that makes `preflight_rag/models/reading/reader.onnx`.

    python -m training.train_reader --data DIR [--out FILE] [--checkpoints DIR] [--from WEIGHTS] [--until HH:MM]

Beside it, it writes its tokenizer, its network in integers (`training/reader_integers.py`), and its checksum and the
record of its training in `reader.json`.

First it trains on questions made from the texts' own sentences and titles (`reader_cloze.py`, `reader_paraphrase.py`),
then on the training parts of the annotated sets (`evaluation/datasets/`), with windows and hard negatives drawn anew in
each epoch. The shipped weights are the exponential moving average over the steps (Izmailov et al., UAI 2018, for the
idea). Seeds are fixed.

With `--from` it starts from given weights instead of all-MiniLM-L6-v2, and skips the first stage. While it trains, the
averaged weights are measured on a few pairs of the validation parts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evaluation.datasets import TRAINING, examples
from evaluation.datasets.statements import by_rule
from evaluation.samples import Sample, Span
from preflight_rag.cache import file_sha256
from preflight_rag.models.embedding.minilm import weights_folder
from preflight_rag.models.reading.extractive_reader import Window, load_tokenizer, padded, windows
from preflight_rag.state.errors import UsageError
from training.checkpoint import STATE, learned, load_weights
from training.reader_cloze import agreed, answered, cloze, training_texts
from training.reader_integers import export as integers
from training.reader_negatives import searched
from training.reader_network import UNKNOWN, VERDICTS, ReaderNetwork, Targets, export, loss
from training.reader_paraphrase import paraphrased, prompted
from training.reader_tables import tables
from training.reader_validation import Validation

SEED = 0
BATCH = 16
RATE = 2e-4
WARMUP = 0.05
RATE_FROM = 6e-5
"""The same for a training that starts from weights already trained on the task; 1.5e-4 gained nothing in 900 steps."""
AVERAGING = 0.998
"""Decay of the moving average of the weights; smaller at the beginning, where they change most."""
EPOCHS = 5
MADE, PARAPHRASED, CLAIMS, SUBJECTS = 14000, 10000, 2500, 1000
"""Numbers of cloze questions, questions from paraphrases, statements, and examples of MedQuAD in the first stage."""
EACH_MADE, EACH_PARAPHRASED, EACH_CLAIMS, EACH_ANSWERED = 700, 1000, 900, 1000
"""Numbers of these three, and of questions with their answer as one statement, in each epoch."""
EACH_SEARCHED = 1500
"""Questions with passages found by our own search, in each epoch; a guess."""
EACH_TABLE = 1200
"""Questions for cells of tables, in each epoch; a guess."""
SPAN_SETS = (
    "nq_open_oracle", "xquad_en", "squadshifts-new_wiki", "squad2", "covidqa", "ramdocs", "clapnq", "poisonedrag",
)  # fmt: skip
VERDICT_SETS = ("boolq", "pubmedqa")
"""Sets of yes/no questions, which are also used as statements."""
SHARES = {
    "squadshifts-reddit": 0.5, "squadshifts-amazon": 0.5, "boolq": 1.0, "pubmedqa": 0.7, "scifact": 0.7,
    "evidence_inference": 0.6, "conflictqa": 0.6, "medquad": 0.3,
}  # fmt: skip
"""Share of a set's examples in an epoch."""
KEPT_EACH, MEASURED_EACH = 100, 300
"""Steps between two saved states, and between two measurements."""
FINAL = 30 * 60
"""Seconds before `--until` from which on the rate falls to zero by then, however much of the plan is left."""
AT_ONCE = 1000
"""Examples that are tokenized together; an encoding is a hundred times as large as the part that is kept."""
WIDTHS = 16
"""Batches are padded to a multiple of this: torch caches compiled kernels and memory for each shape."""
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
UNCALIBRATED = {"answerable": 1.0, "margin": 0.0, "bias": 0.0, "threshold": 0.5}
"""The calibration until `calibrate_reader.py` has written one."""


class PreparedExample:
    """A tokenized example; its window is stored as bytes, since a plan has a hundred thousand of them."""

    __slots__ = ("_offsets", "_pieces", "_shift", "example")

    def __init__(self, window: Window, example: Sample) -> None:
        self.example, self._shift = example, window.shift
        self._pieces = np.array([window.ids, window.types], dtype=np.uint16)
        self._offsets = np.array(window.offsets, dtype=np.uint32)

    @property
    def tokens(self) -> int:
        """Word pieces of the window."""
        return int(self._pieces.shape[1])

    @property
    def window(self) -> Window:
        """Return the example's tokens as a window."""
        ids, types = self._pieces.tolist()
        return Window(0, ids, types, [(begin, end) for begin, end in self._offsets.tolist()], self._shift)


def stages(
    data: Path, epochs: int = EPOCHS, *, made_first: bool = True, cache: Path | None = None
) -> Iterator[tuple[str, list[Sample]]]:
    """Yield name and examples of each stage, in order.

    Args:
        data: Folder of the data sets.
        epochs: Number of passes through the annotated sets.
        made_first: Whether a stage of made questions comes before them.
        cache: Folder of the library of whole articles; with it, passages found by our own search are used, too.
    """
    rng = random.Random(SEED)  # noqa: S311
    texts = training_texts(data, rng)
    made = list(cloze(texts, rng))
    claims = list(by_rule(texts, rng))
    retold = list(paraphrased(data, rng))
    asked_of_trials = list(prompted(data, rng))
    rng.shuffle(made)
    rng.shuffle(retold)
    if made_first:
        subjects = examples("medquad", data, "train", SEED)
        yield "cloze", [*made[:MADE], *retold[:PARAPHRASED], *claims[:CLAIMS], *_some(subjects, SUBJECTS, rng)]
    for epoch in range(epochs):
        asked = [example for name in SPAN_SETS for example in examples(name, data, "train", epoch)]
        chosen = list(asked)
        judged: list[Sample] = []
        for name, share in SHARES.items():
            found = examples(name, data, "train", epoch)
            part = _some(found, int(share * len(found)), rng)
            chosen += part
            judged += part if name in VERDICT_SETS else []
        chosen += agreed(judged, rng)
        if cache:
            chosen += searched(data, cache, EACH_SEARCHED, rng)
        chosen += tables(data, EACH_TABLE, rng)
        chosen += _some(list(answered(asked, rng)), EACH_ANSWERED, rng)
        chosen += _some(claims[CLAIMS:], EACH_CLAIMS, rng)
        chosen += _some(asked_of_trials, len(asked_of_trials) // 2, rng)
        chosen += _some(made[MADE:], EACH_MADE, rng) + _some(retold, EACH_PARAPHRASED, rng)
        yield f"epoch {epoch + 1}", chosen


def _some(found: Sequence[Sample], most: int, rng: random.Random) -> list[Sample]:
    """Return at most `most` of the samples, drawn at random."""
    return rng.sample(found, min(most, len(found)))


def prepare(chosen: Sequence[Sample]) -> list[PreparedExample]:
    """Return tokenized examples, without those whose answer lies outside the window."""
    tokenizer = load_tokenizer(weights_folder() / "tokenizer.json")
    found = []
    for start in range(0, len(chosen), AT_ONCE):
        some = chosen[start : start + AT_ONCE]
        pairs = [(example.question, example.passage.title, example.passage.text) for example in some]
        for window, example in zip(windows(pairs, tokenizer, all_windows=False), some, strict=True):
            if not example.passage.spans or positions(window, example.passage.spans):
                found.append(PreparedExample(window, example))
    return found


def positions(window: Window, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Return first and last token of each span that lies in the window."""
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


def batches(prepared: Sequence[PreparedExample], rng: random.Random) -> list[list[PreparedExample]]:
    """Return random batches of similar length."""
    order = list(prepared)
    rng.shuffle(order)
    pools = [order[i : i + 50 * BATCH] for i in range(0, len(order), 50 * BATCH)]
    found = []
    for pool in pools:
        pool.sort(key=lambda item: item.tokens)
        found += [pool[i : i + BATCH] for i in range(0, len(pool), BATCH)]
    rng.shuffle(found)
    return found


def width(batch: Sequence[Window]) -> int:
    """Return the tokens of a batch's rows, including padding."""
    return -(-max(len(window.ids) for window in batch) // WIDTHS) * WIDTHS


def feed_of(batch: Sequence[Window]) -> dict[str, torch.Tensor]:
    """Return the network's inputs for a batch, each of shape (windows, width)."""
    wide = width(batch)
    return {
        name: torch.from_numpy(np.pad(value, ((0, 0), (0, wide - value.shape[1]))))
        for name, value in padded(batch).items()
    }


def targets(batch: Sequence[PreparedExample]) -> Targets:
    """Return the target outputs for a batch."""
    found = [item.window for item in batch]
    allowed = np.zeros((len(batch), width(found)), dtype=bool)
    for i, window in enumerate(found):
        allowed[i, : len(window.ids)] = [a < b for a, b in window.offsets]
        allowed[i, 0] = True

    def marked(spans: Sequence[Sequence[Span] | None]) -> torch.Tensor:
        rows = [
            [] if marks is None else positions(window, marks) or [(0, 0)]
            for window, marks in zip(found, spans, strict=True)
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
    """Runs the steps of all stages with one schedule, and keeps the moving average of the weights.

    Args:
        steps: Number of steps in the plan.
        start: Initial weights; without them, all-MiniLM-L6-v2 and untrained heads.
        until: Time, in seconds since the epoch, at which the schedule ends however much of the plan is left.
    """

    def __init__(self, steps: int, start: Path | None = None, until: float | None = None) -> None:
        torch.manual_seed(SEED)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.network = ReaderNetwork()
        if start:
            load_weights(self.network, start)
        self.network.to(self.device)
        self.learned = learned(self.network)
        self.average = {name: value.detach().clone() for name, value in self.learned.items()}
        self.rate = RATE_FROM if start else RATE
        self.optimizer = torch.optim.AdamW(self.learned.values(), lr=self.rate, weight_decay=0.01, fused=True)
        self.steps, self.step, self.until = steps, 0, until
        self.done = 0.0
        self.recent, self.pace = 0.0, 0.0
        self.precision = "bfloat16"
        self.about: dict[str, Any] = {"start": start.name if start else "", "rate": self.rate, "steps planned": steps}

    @property
    def finished(self) -> bool:
        """Return whether the schedule has ended."""
        return self.done >= 1

    def run(self, batch: Sequence[PreparedExample]) -> None:
        """Run one training step on a batch."""
        began = time.monotonic()
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * part_of_rate(self.done, self.steps)
        value = self.loss(batch, self.precision)
        torch.autograd.backward(value)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._average(min(AVERAGING, (1 + self.step) / (10 + self.step)))
        self.step += 1
        self.recent += (float(value.detach()) - self.recent) * max(0.01, 1 / self.step)
        self.pace += (time.monotonic() - began - self.pace) * (0.02 if self.pace else 1)
        self.done = min(1.0, self.done + (1 - self.done) / self._left())
        if self.step % 50 == 0:
            sys.stderr.write(
                f"{time.strftime('%H:%M:%S')} step {self.step}/{self.steps}, loss {self.recent:.3f}, "
                f"{self.pace:.2f} s a step, {self.done:.1%} of the schedule\n"
            )

    def loss(self, batch: Sequence[PreparedExample], precision: str) -> torch.Tensor:
        """Return the loss of a batch."""
        padded_batch = feed_of([item.window for item in batch])
        feed = {name: value.to(self.device) for name, value in padded_batch.items()}
        self.network.train()
        with torch.autocast(self.device, dtype=PRECISIONS[precision], enabled=PRECISIONS[precision] is not None):
            outputs = self.network(**feed)
        return loss([output.cpu() for output in outputs], targets(batch))

    def choose_precision(self, batch: Sequence[PreparedExample]) -> None:
        """Choose the number format in which a step takes less processor time here; some processors lack bfloat16."""
        spent: dict[str, float] = {}
        random_state = torch.get_rng_state()
        for name in PRECISIONS:
            for turn in range(3):
                began = time.process_time() if turn else 0.0
                torch.autograd.backward(self.loss(batch, name))
                spent[name] = min(spent.get(name, math.inf), time.process_time() - began) if turn else math.inf
                self.optimizer.zero_grad()
        torch.set_rng_state(random_state)
        self.precision = min(spent, key=lambda name: spent[name])
        pace = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items())
        sys.stderr.write(f"processor time of a step: {pace}; taken: {self.precision}\n")

    def _left(self) -> float:
        """Return the steps until the end of the schedule, including this one."""
        left = float(max(1, self.steps - self.step + 1))
        if self.until is not None and self.pace:
            seconds = self.until - time.time()
            if seconds < FINAL:
                left = min(left, max(1.0, seconds / self.pace))
        return left

    def _average(self, decay: float) -> None:
        """Move the average of the weights towards the learned ones."""
        with torch.no_grad():
            for name, value in self.learned.items():
                self.average[name].lerp_(value, 1 - decay)

    def save(self, path: Path) -> None:
        """Save everything from which a killed training can continue."""
        state = {
            "step": self.step,
            "done": self.done,
            "about": self.about,
            "network": self.network.state_dict(),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }
        scratch = path.with_suffix(".tmp")
        torch.save(state, scratch)
        os.replace(scratch, path)

    def resume(self, path: Path) -> None:
        """Continue from a saved state, in a training with the same data and settings."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        if "plan" in self.about and state["about"].get("plan") != self.about["plan"]:
            raise UsageError(
                f"the state in {str(path.parent)!r} is of a training with other data or settings",
                help=f"Name another folder, or begin from its weights: --from {path}.",
            )
        self.network.load_state_dict(state["network"])
        self.average = state["average"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.done, self.about = state["step"], state["done"], state["about"]
        torch.set_rng_state(state["random"].cpu())

    def averaged(self) -> ReaderNetwork:
        """Return the network with the averaged weights."""
        network = ReaderNetwork()
        network.load_state_dict(self.average, strict=False)
        return network.eval()


def train(
    data: Path,
    out: Path,
    checkpoints: Path | None = None,
    *,
    start: Path | None = None,
    epochs: int = EPOCHS,
    until: float | None = None,
    cache: Path | None = None,
) -> ReaderNetwork:
    """Train on the data sets, write the model and the files beside it, and return the network.

    Args:
        data: Folder of the data sets.
        out: The model's file.
        checkpoints: Folder for the state.
        start: Initial weights.
        epochs: Number of passes through the annotated sets.
        until: Time at which the schedule ends, however much of the plan is left.
        cache: As in `stages`.

    Raises:
        UsageError: The state in `checkpoints` is of another plan.
    """
    rng = random.Random(SEED)  # noqa: S311
    found = stages(data, epochs, made_first=start is None, cache=cache)
    plan = [(name, batches(prepare(chosen), rng)) for name, chosen in found]
    trainer = Trainer(sum(len(batches) for _, batches in plan), start, until)
    trainer.about["plan"] = plan_hash(plan)
    if checkpoints:
        checkpoints.mkdir(parents=True, exist_ok=True)
        if (checkpoints / STATE).is_file():
            trainer.resume(checkpoints / STATE)
    trainer.choose_precision(plan[0][1][0])
    validation = Validation(data) if checkpoints else None
    first = 0
    for name, stage in plan:
        sys.stderr.write(f"{name}: {len(stage)} batches\n")
        for position, batch in enumerate(stage, first + 1):
            if position <= trainer.step or trainer.finished:
                continue
            trainer.run(batch)
            if checkpoints and (position % KEPT_EACH == 0 or trainer.finished):
                trainer.save(checkpoints / STATE)
            if checkpoints and validation and (position % MEASURED_EACH == 0 or trainer.finished):
                measured = validation.measure(trainer.averaged())
                trainer.about.setdefault("measured", {})[str(position)] = measured
                trainer.save(checkpoints / STATE)
                sys.stderr.write(f"{time.strftime('%H:%M:%S')} step {position}: {measured}\n")
        first += len(stage)
    network = trainer.averaged()
    export(network, out)
    out.with_name(f"{out.stem}_tokenizer.json").write_bytes((weights_folder() / "tokenizer.json").read_bytes())
    record(out, data, trainer)
    integers(out)
    return network


def part_of_rate(done: float, steps: int) -> float:
    """Return the next step's fraction of the peak rate at a point of the schedule: rising, then falling to 0."""
    return min((done + 1 / steps) / WARMUP, (1 - done) / (1 - WARMUP), 1.0)


def plan_hash(plan: Sequence[tuple[str, Sequence[Sequence[PreparedExample]]]]) -> str:
    """Return a hash that identifies a plan: the examples of all batches, in order."""
    digest = hashlib.sha256()
    for name, stage in plan:
        digest.update(name.encode())
        for batch in stage:
            for item in batch:
                digest.update(f"{item.example.question}\n{item.example.passage.text}\n".encode("utf-8", "replace"))
    return digest.hexdigest()[:16]


def record(model: Path, data: Path, trainer: Trainer) -> None:
    """Write a model's checksum and the record of its training to the settings beside it; the rest is kept."""
    path = model.with_suffix(".json")
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"calibration": UNCALIBRATED}
    trained = {
        "examples": {name: len(examples(name, data, "train")) for name in TRAINING},
        "seed": SEED,
        "start": trainer.about["start"],
        "steps": trainer.step,
        "batch": BATCH,
        "rate": trainer.rate,
        "averaging": AVERAGING,
    }
    settings = known | {"sha256": file_sha256(model), "trained": trained}
    path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _clock(text: str) -> float:
    """Return the next time, in seconds since the epoch, at which a clock shows `text`, e.g. `06:30`."""
    try:
        hour, minute = (int(part) for part in text.split(":"))
        now = datetime.now().astimezone()
        found = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time of day such as 16:15") from None
    return (found if found > now else found + timedelta(days=1)).timestamp()


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
    parser.add_argument(
        "--from", dest="start", type=Path, help="weights to go on from: a reader.onnx, a checkpoint (*.npz, *.pt)"
    )
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"over the annotated sets; {EPOCHS}")
    parser.add_argument("--until", type=_clock, metavar="HH:MM", help="when it has to be finished, today or tomorrow")
    parser.add_argument(
        "--library-cache",
        type=Path,
        help="where a library of whole articles is kept, whose search finds wrong passages",
    )
    parser.add_argument("--threads", type=int, help="processor cores to use")
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    train(
        options.data,
        options.out,
        options.checkpoints,
        start=options.start,
        epochs=options.epochs,
        until=options.until,
        cache=options.library_cache,
    )
    sys.stderr.write(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB\n")


if __name__ == "__main__":
    main()
