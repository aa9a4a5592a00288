"""The reader's network in torch: all-MiniLM-L6-v2's encoder with heads; for training and export only.

Spans as in BERT (Devlin et al., NAACL 2019, section 4.3): a start and an end score for each token, position 0 for "no
answer". Whether the passage contains the answer, whether it is relevant, and its verdict on a yes/no question are
computed from the first token's vector.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from preflight_rag.models.embedding.minilm import weights_folder
from preflight_rag.models.hugging_face import quiet_loading
from preflight_rag.models.reading.extractive_reader import INPUTS, OUTPUTS, SCORES
from training.embedder_graph import OPSET

HIDDEN = 384
DROPOUT = 0.1
VERDICTS = ("yes", "no", "neither")
WEIGHTS = {"span": 1.0, "answerable": 0.5, "relevant": 0.25, "verdict": 0.5, "descriptor": 0.3}
"""Weights of the losses."""
UNKNOWN = -1


class ReaderNetwork(nn.Module):
    """Encoder and heads; `forward` returns `OUTPUTS` for `INPUTS`, each of shape (batch, tokens) or (batch, 5)."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import AutoModel

        with quiet_loading():
            self.encoder = AutoModel.from_pretrained(
                str(weights_folder()),
                trust_remote_code=False,
                attn_implementation="eager",
                hidden_dropout_prob=DROPOUT,
                attention_probs_dropout_prob=0.0,
                add_pooling_layer=False,
            )
        self.encoder.embeddings.word_embeddings.weight.requires_grad = False
        self.tokens = nn.Linear(HIDDEN, 4)
        self.pooled = nn.Linear(HIDDEN, HIDDEN)
        self.scores = nn.Linear(HIDDEN, len(SCORES))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        """Return scores of starts, ends, descriptors' starts and ends, and of the passage as a whole."""
        hidden = self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state
        start, end, descriptor_start, descriptor_end = self.tokens(hidden).unbind(-1)
        return start, end, descriptor_start, descriptor_end, self.scores(torch.tanh(self.pooled(hidden[:, 0])))


@dataclass(frozen=True)
class Targets:
    """The target outputs for a batch.

    Attributes:
        allowed: (batch, tokens), positions at which a span may begin or end: the passage's, and 0.
        answers, descriptors: (batch, spans, 2), first and last token of each right span, (0, 0) for "none here";
            unknown rows and unused places hold `UNKNOWN`.
        answerable, relevant, verdict: (batch,), a class or `UNKNOWN`.
    """

    allowed: Tensor
    answers: Tensor
    descriptors: Tensor
    answerable: Tensor
    relevant: Tensor
    verdict: Tensor


def loss(outputs: Sequence[Tensor], targets: Targets) -> Tensor:
    """Return the weighted sum of all heads' losses, each averaged over the examples with a known target."""
    start, end, descriptor_start, descriptor_end, scores = (output.float() for output in outputs)
    parts = {
        "span": _spans(start, end, targets.answers, targets.allowed),
        "descriptor": _spans(descriptor_start, descriptor_end, targets.descriptors, targets.allowed),
        "answerable": _binary(scores[:, 0], targets.answerable),
        "relevant": _binary(scores[:, 1], targets.relevant),
        "verdict": functional.cross_entropy(scores[:, 2:], targets.verdict, ignore_index=UNKNOWN, reduction="sum")
        / (targets.verdict != UNKNOWN).sum().clamp(min=1),
    }
    total = torch.zeros(())
    for name, part in parts.items():
        total = total + WEIGHTS[name] * part
    return total


def _spans(start: Tensor, end: Tensor, right: Tensor, allowed: Tensor) -> Tensor:
    """Return half the negative log probability of all right spans together, over the rows that have one.

    Start and end count as pairs, so that no span reaches from one mention of an answer to the next.
    """
    known = right[:, 0, 0] != UNKNOWN
    if not known.any():
        return (start.sum() + end.sum()) * 0
    pairs = right[known]
    begins, ends = (
        side[known].masked_fill(~allowed[known], -1e4).log_softmax(1).gather(1, pairs[:, :, i].clamp(min=0))
        for i, side in enumerate((start, end))
    )
    together = (begins + ends).masked_fill(pairs[:, :, 0] == UNKNOWN, -1e4)
    return -together.logsumexp(1).mean() / 2


def _binary(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the loss of yes/no labels, ignoring unknown ones."""
    known = labels != UNKNOWN
    if not known.any():
        return logits.sum() * 0
    return functional.binary_cross_entropy_with_logits(logits[known], labels[known].float())


class RoundedRows(nn.Module):
    """A matrix stored as eight-bit integers with one scale for each row, and widened to floats on use."""

    rows: Tensor
    scale: Tensor

    def __init__(self, matrix: Tensor) -> None:
        super().__init__()
        scale = matrix.detach().abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
        self.register_buffer("rows", torch.round(matrix.detach() / scale).to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the rows of some ids."""
        return self.rows[ids].float() * self.scale[ids]

    def matrix(self) -> Tensor:
        """Return all rows."""
        return self.rows.float() * self.scale


class RoundedLinear(nn.Module):
    """A linear layer with rounded weights; its inputs stay floats."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = RoundedRows(layer.weight), layer.bias

    def forward(self, values: Tensor) -> Tensor:
        """Apply the layer with its rounded weights."""
        return functional.linear(values, self.weight.matrix(), self.bias)


def rounded(network: ReaderNetwork) -> ReaderNetwork:
    """Return the network with eight-bit weights in encoder and word embeddings; the heads are small and stay floats.

    Activations stay floats: rounding them too would be twice as fast, but it costs answers, and a sum's last bit, which
    differs between processors, would change a score by tenths.
    """
    network = copy.deepcopy(network).eval()
    for module in list(network.encoder.modules()):
        for name, layer in list(module.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(module, name, RoundedLinear(layer))
    words = network.encoder.embeddings
    words.word_embeddings = RoundedRows(words.word_embeddings.weight)
    return network


def export(network: ReaderNetwork, target: Path) -> None:
    """Write the network as ONNX with rounded weights, which are widened when the file is loaded."""
    import onnxruntime

    probe = torch.ones((2, 8), dtype=torch.long)
    axes = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, *OUTPUTS[:-1])} | {"scores": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            rounded(network),
            (probe, probe, probe * 0),
            str(target),
            dynamo=False,
            opset_version=OPSET,
            do_constant_folding=False,
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes=axes,
        )
    onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
