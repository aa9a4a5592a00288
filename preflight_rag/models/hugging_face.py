"""Shared code for models of the Hugging Face Hub: a folder without pickles and code, quiet loading, a tokenizer.

A model is opened from a folder that was checked before. Weights that torch would unpickle are refused, even with
`weights_only`, since that has had vulnerabilities, too. So is a folder that names code outside of
sentence-transformers, which version 5 of it runs, whatever `trust_remote_code` says. Neither kind of file is
downloaded from the Hub.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from preflight_rag.state.errors import PreflightError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FETCHED = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")
"""Files fetched from the Hub: settings, vocabularies and weights, no pickle (*.bin, *.pt) and no code (*.py)."""
SAFE = ("model.safetensors", "model.safetensors.index.json")
"""Weights that transformers and sentence-transformers prefer to a pickle."""
MODULES = "sentence_transformers."
"""Module prefix of the classes that a model folder may name."""


def model_folder(name: str, error: type[PreflightError], convert: str) -> str:
    """Return the folder from which to open a model: `name` if it is a folder, else the Hub's download or cache.

    Args:
        name: A folder, or the name of a model on the Hub.
        error: Class of the error if its weights are a pickle, or it brings code.
        convert: Python that writes safetensors, with NAME and FOLDER for the old and the new model, for the error.

    Raises:
        PreflightError: Of the class `error`.
        Exception: The error of the Hub's client if it is neither.
    """
    folder = Path(name)
    is_local = folder.exists()
    if not is_local:
        from huggingface_hub import snapshot_download

        with quiet_loading():
            folder = Path(snapshot_download(name, allow_patterns=list(FETCHED)))
    pickles, problem = _pickles(folder), ""
    if pickles:
        problem = f"The weights of {name!r} are a pickle ({pickles[0]}), which can run code when it is read"
    elif not is_local and not any(folder.rglob("*.safetensors")):
        problem = f"{name!r} has no safetensors, and a pickle, which can run code when it is read, is not fetched"
    if problem:
        command = convert.replace("NAME", repr(name)).replace("FOLDER", repr(f"{PurePosixPath(name).name}-safe"))
        help = f'Trust who made it? python -c "{command}" writes them as safetensors into a folder to name instead'
        raise error(problem, help=help)
    if foreign := _foreign_code(folder):
        raise error(
            f"{name!r} needs code of its own ({foreign}), which is not run",
            help="Choose a model that needs nothing but sentence-transformers and transformers",
        )
    return str(folder)


def _pickles(folder: Path) -> list[str]:
    """Return weights that would be unpickled: a model's without safetensors beside it, and adapters."""
    models = [path for path in folder.rglob("pytorch_model*.bin*") if not _is_beside_safetensors(path)]
    return sorted(path.relative_to(folder).as_posix() for path in [*models, *folder.rglob("adapter_model*.bin")])


def _is_beside_safetensors(path: Path) -> bool:
    """Return whether safetensors weights lie beside a file."""
    return any((path.parent / name).exists() for name in SAFE)


def _foreign_code(folder: Path) -> str:
    """Return the first module that a folder names outside of sentence-transformers.

    "" if there is none.
    """
    for path in sorted([*folder.rglob("modules.json"), *folder.rglob("router_config.json")]):
        settings = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(settings, dict):  # the modules of a router
            settings = [{"type": kind} for kind in settings.get("types", {}).values()]
        for row in settings:
            kind, place = str(row.get("type", "")), PurePosixPath(str(row.get("path", "")).replace("\\", "/"))
            if not kind.startswith(MODULES):
                return kind
            if place.is_absolute() or ".." in place.parts:
                return str(place)
    return ""


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Load a model of transformers, in the block, without progress bars and reports on unused weights."""
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
    """Return a copy of a transformers tokenizer's fast one, without padding and truncation; None if it has none."""
    from tokenizers import Tokenizer

    backend = tokenizer if isinstance(tokenizer, Tokenizer) else getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        return None
    copy = Tokenizer.from_str(backend.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
