"""How a question and a passage become one sequence of the reader, in training and in use.

`[CLS] question [SEP] title, passage [SEP]`, at most `MAX_TOKENS` word pieces of BERT's uncased vocabulary; a longer
passage is read in windows that overlap by `STRIDE` (Devlin et al., NAACL 2019, section 4.2). Position 0 stands for "no
answer here".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Encoding, Tokenizer

MAX_TOKENS = 256
MAX_QUESTION = 64
STRIDE = 64
LONGEST_PIECE = 32
"""Characters that one word piece of a question is given room for before it is tokenized."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("start", "end", "descriptor_start", "descriptor_end", "scores")
SCORES = ("answerable", "relevant", "yes", "no", "neither")
"""Columns of the output `scores`."""


@dataclass(frozen=True)
class Window:
    """One sequence of a question and (a part of) a passage.

    Attributes:
        pair: Position of the pair in the caller's list.
        ids, types: Word pieces and their segment (0 question, 1 passage).
        offsets: For each piece its stretch of title and text joined; (0, 0) for pieces outside the passage.
        shift: Characters of the title and what joins it; offsets below it are the title's.
    """

    pair: int
    ids: list[int]
    types: list[int]
    offsets: list[tuple[int, int]]
    shift: int


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`, set to cut pairs as the reader takes them."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, stride=STRIDE, strategy="only_second")
    return tokenizer


def joined(title: str, text: str) -> str:
    """Title and text as the reader takes them."""
    return f"{title}\n{text}" if title else text


def windows(
    pairs: Sequence[tuple[str, str, str]],
    tokenizer: Tokenizer,
    *,
    all_windows: bool = True,
    most_question: int = MAX_QUESTION,
) -> list[Window]:
    """The sequences of (question, title, text) pairs, in order; long passages have several.

    Args:
        pairs: Questions with a passage's title and text.
        tokenizer: As `load_tokenizer` makes it.
        all_windows: False takes the first of each pair only.
        most_question: Word pieces of a question that are read.
    """
    questions = {question: _cut(question, tokenizer, most_question) for question, _, _ in pairs}
    encoded = tokenizer.encode_batch([(questions[question], joined(title, text)) for question, title, text in pairs])
    found = []
    for pair, ((_, title, _), encoding) in enumerate(zip(pairs, encoded, strict=True)):
        shift = len(joined(title, ""))
        for part in [encoding, *encoding.overflowing] if all_windows else [encoding]:
            found.append(_window(pair, part, shift))
    return found


def _window(pair: int, encoding: Encoding, shift: int) -> Window:
    offsets = [
        offset if sequence == 1 else (0, 0)
        for offset, sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True)
    ]
    return Window(pair, encoding.ids, encoding.type_ids, offsets, shift)


def _cut(question: str, tokenizer: Tokenizer, most: int) -> str:
    """The question's first pieces; what a person asks is shorter."""
    question = question[: LONGEST_PIECE * most]
    encoding = tokenizer.encode("", question, add_special_tokens=False)
    return question if len(encoding.ids) <= most else question[: encoding.offsets[most - 1][1]]


def padded(batch: Sequence[Window]) -> dict[str, np.ndarray]:
    """The model's inputs, each of shape (windows, tokens of the longest)."""
    import numpy as np

    shape = (len(batch), max(len(window.ids) for window in batch))
    feed = {name: np.zeros(shape, dtype=np.int64) for name in INPUTS}
    for i, window in enumerate(batch):
        feed["input_ids"][i, : len(window.ids)] = window.ids
        feed["token_type_ids"][i, : len(window.ids)] = window.types
        feed["attention_mask"][i, : len(window.ids)] = 1
    return feed
