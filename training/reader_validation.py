"""Monitor a training: the averaged weights read a few pairs of the validation parts from time to time.

Small on purpose, so that measuring takes a few per cent of the time: these figures show whether the reader still
improves, not how good it is, which `preflight eval reading` measures.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch

from evaluation.datasets import examples
from evaluation.metrics import roc_area
from evaluation.reading_metrics import exact_match, span_f1
from evaluation.samples import Sample
from preflight_rag.models.embedding.minilm import weights_folder
from preflight_rag.models.reading.extractive_reader import Window, answer_spans, load_tokenizer, padded, windows
from training.reader_network import VERDICTS, ReaderNetwork

BATCH = 16
SPANS = {"squadshifts-new_wiki": 120, "xquad_en": 80}
"""Number of questions with a marked answer, by set."""
ANSWERABLE = {"squad2": 120}
VERDICT = {"boolq": 120}


class Validation:
    """The pairs for measuring.

    Args:
        data: Folder of the data sets.
    """

    def __init__(self, data: Path) -> None:
        tokenizer = load_tokenizer(weights_folder() / "tokenizer.json")
        self.pairs: dict[str, list[tuple[Window, Sample]]] = {}
        for name, count in (SPANS | ANSWERABLE | VERDICT).items():
            found = examples(name, data, "validation")
            if name in SPANS:
                found = [example for example in found if example.passage.spans]
            chosen = random.Random(name).sample(found, min(count, len(found)))  # noqa: S311
            texts = [(example.question, example.passage.title, example.passage.text) for example in chosen]
            paired = zip(windows(texts, tokenizer, all_windows=False), chosen, strict=True)
            self.pairs[name] = sorted(paired, key=lambda item: len(item[0].ids))

    def measure(self, network: ReaderNetwork) -> dict[str, float]:
        """Return a network's figures: F1 and exact matches of spans, ROC area of answerability, right verdicts."""
        found: dict[str, float] = {}
        for name, pairs in self.pairs.items():
            outputs = [output for start in range(0, len(pairs), BATCH) for output in _read(network, pairs, start)]
            known = [example for _, example in pairs]
            if name in SPANS:
                texts = [_span(window, example, out) for (window, example), out in zip(pairs, outputs, strict=True)]
                both = list(zip(texts, known, strict=True))
                found[f"{name} F1"] = _mean([span_f1(text, example.names) for text, example in both])
                found[f"{name} exact"] = _mean([float(exact_match(text, example.names)) for text, example in both])
            elif name in ANSWERABLE:
                area = roc_area([_answerable(out) for out in outputs], [bool(e.answerable) for e in known], seed=0)
                found[f"{name} area"] = round(area.value, 3)
            else:
                said = [VERDICTS[int(out[-1][2:4].argmax())] for out in outputs]
                right = [float(a == e.passage.verdict) for a, e in zip(said, known, strict=True)]
                found[f"{name} right"] = _mean(right)
        return found


def _read(network: ReaderNetwork, pairs: Sequence[tuple[Window, Sample]], start: int) -> list[tuple[torch.Tensor, ...]]:
    """Return the network's outputs for a batch of pairs that begins at `start`."""
    batch = [window for window, _ in pairs[start : start + BATCH]]
    # A bfloat16's error is far below differences that a hundred pairs can show.
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = network(**{name: torch.from_numpy(value) for name, value in padded(batch).items()})
    *of_tokens, of_pairs = outputs
    read = []
    for i, window in enumerate(batch):
        unpadded = [scores[i, : len(window.ids)].float() for scores in of_tokens]
        read.append((*unpadded, of_pairs[i].float()))
    return read


def _span(window: Window, example: Sample, outputs: Sequence[torch.Tensor]) -> str:
    """Return the text of the best answer span; empty if there is none."""
    scores = [(outputs[0].numpy(), outputs[1].numpy())]
    spans = answer_spans(example.passage.title, example.passage.text, [window], scores)
    return spans[0].text if spans else ""


def _answerable(outputs: Sequence[torch.Tensor]) -> float:
    """Return the score of a pair being answerable."""
    return float(outputs[-1][0])


def _mean(scores: Sequence[float]) -> float:
    """Return the mean of scores in percent; 0 without any."""
    return round(100 * sum(scores) / max(1, len(scores)), 1)
