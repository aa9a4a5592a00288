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

DOWNLOADED_PATTERNS = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")
"""Patterns of files to download: settings, vocabularies and weights, no pickle (*.bin, *.pt) and no code (*.py)."""
SAFETENSORS_FILES = ("model.safetensors", "model.safetensors.index.json")
"""Files of weights that transformers and sentence-transformers load instead of a pickle in the same folder."""
TRUSTED_MODULE_PREFIX = "sentence_transformers."
"""Prefix of the Python modules whose classes a model folder may name."""


def model_folder(name: str, error: type[PreflightError], convert: str) -> str:
    """Return the checked folder from which to open a model: `name` if it is a folder, else its copy from the Hub.

    A model of the Hub is downloaded unless it is in the local cache.

    Args:
        name: A folder, or the name of a model on the Hub.
        error: Class of the error if its weights are a pickle, or it brings code.
        convert: Python that writes safetensors, with NAME and FOLDER for the old and the new model, for the error.

    Raises:
        PreflightError: Of the class `error`: the weights are a pickle, or the model needs code of its own.
        Exception: The error of the Hub's client if there is neither a folder nor a model of this name.
    """
    folder = Path(name)
    is_local = folder.exists()
    if not is_local:
        from huggingface_hub import snapshot_download

        with quiet_loading():
            folder = Path(snapshot_download(name, allow_patterns=list(DOWNLOADED_PATTERNS)))
    pickles, problem = _pickled_weights(folder), ""
    if pickles:
        problem = f"The weights of {name!r} are a pickle ({pickles[0]}), which can run code when it is read"
    elif not is_local and not any(folder.rglob("*.safetensors")):
        problem = f"{name!r} has no safetensors, and a pickle, which can run code when it is read, is not fetched"
    if problem:
        command = convert.replace("NAME", repr(name)).replace("FOLDER", repr(f"{PurePosixPath(name).name}-safe"))
        help = f'Trust who made it? python -c "{command}" writes them as safetensors into a folder to name instead'
        raise error(problem, help=help)
    if untrusted := _untrusted_module(folder):
        raise error(
            f"{name!r} needs code of its own ({untrusted}), which is not run",
            help="Choose a model that needs nothing but sentence-transformers and transformers",
        )
    return str(folder)


def _pickled_weights(folder: Path) -> list[str]:
    """Return the files of weights that would be unpickled, as sorted paths relative to the folder.

    These are adapters' weights, and models' weights without safetensors in the same folder.
    """
    models = [path for path in folder.rglob("pytorch_model*.bin*") if not _is_beside_safetensors(path)]
    return sorted(path.relative_to(folder).as_posix() for path in [*models, *folder.rglob("adapter_model*.bin")])


def _is_beside_safetensors(path: Path) -> bool:
    """Return whether the file's folder also contains safetensors weights."""
    return any((path.parent / name).exists() for name in SAFETENSORS_FILES)


def _untrusted_module(folder: Path) -> str:
    """Return the first module class or path in a model's settings that would run code from elsewhere; "" if none.

    Such are a class outside of sentence-transformers, e.g. "custom.Pooling", and a path that leaves the folder, e.g.
    "../other".
    """
    for settings_path in sorted([*folder.rglob("modules.json"), *folder.rglob("router_config.json")]):
        modules = json.loads(settings_path.read_text(encoding="utf-8"))
        if isinstance(modules, dict):  # router_config.json: {"types": {name: class}}
            modules = [{"type": module_class} for module_class in modules.get("types", {}).values()]
        for module in modules:
            module_class = str(module.get("type", ""))
            module_path = PurePosixPath(str(module.get("path", "")).replace("\\", "/"))
            if not module_class.startswith(TRUSTED_MODULE_PREFIX):
                return module_class
            if module_path.is_absolute() or ".." in module_path.parts:
                return str(module_path)
    return ""


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Silence transformers in the block: no progress bars, and no reports on unused weights while a model loads."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    had_progress_bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_progress_bar:
            logging.enable_progress_bar()


def fast_tokenizer(tokenizer: Any) -> Tokenizer | None:
    """Return a copy of the fast tokenizer inside a transformers tokenizer, without padding and truncation.

    None if there is no fast tokenizer inside. A fast tokenizer itself is copied, too.
    """
    from tokenizers import Tokenizer

    backend = tokenizer if isinstance(tokenizer, Tokenizer) else getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        return None
    copy = Tokenizer.from_str(backend.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
