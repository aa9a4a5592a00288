"""Extractive readers of the Hugging Face Hub: any model for SQuAD 2.0's task, by name, from the cache or a folder.

Such a model gives each token a score as a start and as an end; those of [CLS] stand for "no answer here" (Devlin et
al., NAACL 2019, section 4.3). Long passages are read in overlapping windows. Relevance, verdicts and descriptors exist
only in the project's own reader (`bundled_reader.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.models.hugging_face import fast_tokenizer, model_folder, quiet_loading
from preflight_rag.models.reading.extractive_reader import (
    EVEN,
    MAX_QUESTION,
    Pair,
    PassageReading,
    Span,
    Window,
    answer_spans,
    sigmoid,
    windows,
)
from preflight_rag.state.errors import ExtractiveReaderError, first_line
from preflight_rag.text.words import encodable

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

WINDOW = 384
"""Maximum number of tokens of question and passage together; BERT's setting for SQuAD."""
STRIDE = 128
"""Tokens by which two windows of a passage overlap, if the window has room for it."""
LEAST_WINDOW = 16
"""Tokens below which a window has no room for a question and a passage; a guess."""
HEADS = ("ForQuestionAnswering", "ForQuestionAnsweringSimple")
"""Suffixes of architectures with scores of starts and ends."""
RESERVED_POSITIONS = 2
"""Positions at the beginning of the position table that RoBERTa's family does not use for tokens."""
TO_SAFETENSORS = (
    "from transformers import AutoModelForQuestionAnswering as M, AutoTokenizer as T; "
    "M.from_pretrained(NAME).save_pretrained(FOLDER); T.from_pretrained(NAME).save_pretrained(FOLDER)"
)
_HEAD_HELP = "Choose a SQuAD 2.0 model, such as deepset/roberta-base-squad2, or default"


class HubReader:
    """A question-answering model of transformers, on the CPU. Thread-safe.

    `answerable` is the logistic function of the best span's margin: its score above [CLS]'s, which the model was
    trained to weigh against each other. Passages go through it one by one, so that no reading depends on others. A
    model trained only on SQuAD 1.1 never saw an unanswerable question: its [CLS] means nothing.

    Args:
        name: A model's name on the Hub, or a folder.

    Raises:
        ExtractiveReaderError: The model cannot be loaded, has no head for spans, or no fast tokenizer.
    """

    threshold = EVEN

    def __init__(self, name: str) -> None:
        self.name = name
        config, tokenizer, self._model = _load_model(name)
        self.window = _token_limit(name, config, tokenizer)
        self._takes_types = "token_type_ids" in tokenizer.model_input_names
        self._cls_token = tokenizer.cls_token_id
        self._tokenizer = _window_tokenizer(name, tokenizer, self.window)

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """Return one reading for each pair, in order.

        Raises:
            ExtractiveReaderError: The model fails on these texts.
        """
        clean = [(encodable(question), encodable(title), encodable(text)) for question, title, text in pairs]
        windows_of: list[list[Window]] = [[] for _ in pairs]
        for window in windows(clean, self._tokenizer, most_question=min(MAX_QUESTION, self.window // 3)):
            windows_of[window.pair].append(window)
        readings = []
        for (_, title, text), pair_windows in zip(clean, windows_of, strict=True):
            scores = [self._scores(window) for window in pair_windows]
            readings.append(_reading_of_spans(answer_spans(title, text, pair_windows, scores)))
        return readings

    def _scores(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Run the model on a window, and return its scores of starts and of ends, each of shape (tokens,).

        Position 0 has the scores of [CLS], wherever the model has that token.
        """
        import torch

        feed = {"input_ids": torch.tensor([window.ids]), "attention_mask": torch.ones(1, len(window.ids)).long()}
        if self._takes_types:
            feed["token_type_ids"] = torch.tensor([window.types])
        try:
            with torch.inference_mode():
                output = self._model(**feed)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            raise ExtractiveReaderError(
                f"The extractive reader {self.name!r} failed: {first_line(error)}",
                help="Choose another one, or default",
            ) from error
        start, end = output.start_logits[0].float().numpy(), output.end_logits[0].float().numpy()
        cls_position = window.ids.index(self._cls_token) if self._cls_token in window.ids else 0
        start[0], end[0] = start[cls_position], end[cls_position]
        return start, end


def _reading_of_spans(spans: tuple[Span, ...]) -> PassageReading:
    """Return a passage's reading with these answer spans; the best span's margin gives the probability of an answer."""
    return PassageReading(spans, answerable=sigmoid(spans[0].margin) if spans else 0.0)


def _load_model(name: str) -> tuple[Any, Any, Any]:
    """Load a model's configuration, tokenizer and network; code that comes with it is never run. Errors get advice."""
    try:
        import torch
        from transformers import AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer
    except ImportError as error:
        raise ExtractiveReaderError(
            f"{name!r} needs the packages torch and transformers: {error}", help="Install them, or choose default"
        ) from error
    try:
        folder = model_folder(name, ExtractiveReaderError, TO_SAFETENSORS)
        with quiet_loading():
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
            _check_head(name, config)
            tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            model = AutoModelForQuestionAnswering.from_pretrained(
                folder, config=config, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
            )
    except ExtractiveReaderError:
        raise
    except Exception as error:
        raise ExtractiveReaderError(
            f"Cannot load the extractive reader {name!r}: {first_line(error)}",
            help="Check the name or path; a model that is not on this machine needs a network once. "
            "--extractive-reader default comes with the package and needs none",
        ) from error
    return config, tokenizer, model.eval()


def _check_head(name: str, config: Any) -> None:
    """Raise an error if the model has no head for question answering."""
    architectures = getattr(config, "architectures", None) or []
    if not any(architecture.endswith(HEADS) for architecture in architectures):
        raise ExtractiveReaderError(
            f"{name!r} is not an extractive reader: {', '.join(architectures) or 'it'} has no trained head for spans",
            help=_HEAD_HELP,
        )


def _token_limit(name: str, config: Any, tokenizer: Any) -> int:
    """Return how many tokens the model reads at once: the least of its positions, its tokenizer's limit, and `WINDOW`.

    Raise an error if they are too few for a question and a passage.
    """
    positions = getattr(config, "max_position_embeddings", None)
    limits = [tokenizer.model_max_length, WINDOW]
    if positions and positions > 0:
        limits.append(positions - RESERVED_POSITIONS)
    window = int(min(limits))
    if window < LEAST_WINDOW:
        raise ExtractiveReaderError(f"{name!r} reads {window} tokens, too few for a question and a passage")
    return window


def _window_tokenizer(name: str, tokenizer: Any, window: int) -> Tokenizer:
    """Return a copy of the fast tokenizer, which a model must have, set to split a pair's passage into windows."""
    copy = fast_tokenizer(tokenizer)
    if copy is None:
        raise ExtractiveReaderError(
            f"The extractive reader {name!r} has no fast tokenizer, which tells where in the text a token stands",
            help="Choose a model with a tokenizer.json",
        )
    copy.enable_truncation(window, stride=min(STRIDE, window // 4), strategy="only_second")
    return copy
