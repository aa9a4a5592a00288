"""What all models of the Hugging Face Hub need here: quiet loading, and a tokenizer that can be set otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Load a model of transformers without progress bars, and without a report on weights that it does not use."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def fast_tokenizer(tokenizer: Any) -> Tokenizer | None:
    """A copy of a transformers tokenizer's fast one, without padding and truncation; None where it has none."""
    from tokenizers import Tokenizer

    backend = tokenizer if isinstance(tokenizer, Tokenizer) else getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        return None
    copy = Tokenizer.from_str(backend.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
