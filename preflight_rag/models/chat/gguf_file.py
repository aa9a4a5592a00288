"""Facts about a model from the head of its GGUF file, read with checked lengths before native code opens the file.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The package `gguf` reads it too, but trusts the
lengths in a file, so that a damaged one keeps it busy forever.
"""

from __future__ import annotations

import mmap
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight_rag.state.errors import LocalModelError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Codes of `struct` by the format's numbers for value types."""
_STRING, _ARRAY = 8, 9
_CACHE_NUMBER_BYTES = 2  # bytes of each number that is cached for a token: half precision
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
"""The end of the name of one of a model's files, such as "-00001-of-00003.gguf"."""
DAMAGED_FILE_HELP = "Download it again, and compare its size or its checksum with what the publisher says."


@dataclass(frozen=True)
class GGUFFile:
    """A model's file.

    Attributes:
        path: Its path; for a model in several files, that of the first.
        architecture: The model's kind in llama.cpp's terms, such as `llama`.
        trained_context: Length in tokens for which the model was trained.
        weight_bytes: The size of all its files.
        token_bytes: Memory that each token in a context takes; an upper bound for models with a sliding window.
        chat: Whether it has a template for conversations, as models that follow instructions have.
    """

    path: Path
    architecture: str
    trained_context: int
    weight_bytes: int
    token_bytes: int
    chat: bool

    @property
    def name(self) -> str:
        """The file's name without its extension."""
        return _PART.sub(".gguf", self.path.name).removesuffix(".gguf")


def read_gguf(path: Path) -> GGUFFile:
    """Read the facts about a model from its GGUF file's head.

    Raises:
        LocalModelError: There is no such file, it is damaged, or not a language model.
    """
    files = _model_files(path)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            values, tensors = _Head(data, path).read()
        weight_bytes = sum(model_file.stat().st_size for model_file in files)
        return _model_facts(path, values, tensors, weight_bytes)
    except LocalModelError:  # our retryable errors are subclasses of OSError
        raise
    except OSError as error:
        problem = f"the model's file {str(path)!r} cannot be read: {error.strerror or error}"
        raise LocalModelError(problem, help="Check the path and its permissions.") from error
    # mapping an empty file raises ValueError, too
    except (EOFError, ValueError, struct.error, OverflowError, MemoryError):
        raise LocalModelError(
            f"{str(path)!r} is not a whole GGUF file: cut off, or damaged", help=DAMAGED_FILE_HELP
        ) from None


def _model_facts(path: Path, values: dict[str, Any], tensors: int, weight_bytes: int) -> GGUFFile:
    """Return the facts about a language model from the values in its file's head.

    Raises:
        LocalModelError: The file has no language model.
        ValueError: A value is of the wrong kind.
    """
    kind, architecture = values.get("general.type", "model"), values.get("general.architecture")
    if kind != "model" or not isinstance(architecture, str) or not tensors:
        problem = f"its type is {kind!r}" if kind != "model" else "there is none in it"
        raise LocalModelError(f"{str(path)!r} holds no language model: {problem}", help="Name the model's own file.")

    def number(name: str, default: int = 0) -> int:
        """Return a number of the architecture; of a number for each layer, the largest."""
        value = values.get(f"{architecture}.{name}", default)
        layer_values = value if isinstance(value, tuple) else (value,)
        return max(map(int, layer_values), default=0)

    context = number("context_length")
    if context <= 0 or values.get(f"{architecture}.attention.causal") is False:
        help = "It may be an embedder; name a language model's file."
        raise LocalModelError(f"{str(path)!r} holds no model that writes text", help=help)
    heads = number("attention.head_count", 1) or 1
    head_size = number("embedding_length") // heads
    key_size = number("attention.key_length", head_size)
    value_size = number("attention.value_length", head_size)
    cached_numbers = number("attention.head_count_kv", heads) * (key_size + value_size)
    return GGUFFile(
        path=path,
        architecture=architecture,
        trained_context=context,
        weight_bytes=weight_bytes,
        token_bytes=number("block_count") * cached_numbers * _CACHE_NUMBER_BYTES,
        chat="tokenizer.chat_template" in values,
    )


def _model_files(path: Path) -> list[Path]:
    """Return all files of the model whose first file is at the path.

    Raises:
        LocalModelError: The path is a folder, a later file of a model, or missing, or another of its files is missing.
    """
    if path.is_dir():
        names = sorted(file.name for file in path.glob("*.gguf"))
        first_names = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        help = f"Name a file in it: {first_names}." if names else "There is no .gguf file in it."
        raise LocalModelError(f"{str(path)!r} is a folder, not a model's file", help=help)
    if not path.is_file():
        help = "Check the path in --model gguf:PATH; docs/install.md says which models are sensible."
        raise LocalModelError(f"there is no file {str(path)!r}", help=help)
    if (part := _PART.search(path.name)) is None:
        return [path]
    start, count = path.name[: part.start()], int(part[2])
    if int(part[1]) != 1:
        first = f"{start}-00001-of-{part[2]}.gguf"
        raise LocalModelError(f"{path.name!r} is a later part of a model", help=f"Name the first one, {first}.")
    parts = [path.with_name(f"{start}-{n:05}-of-{part[2]}.gguf") for n in range(1, count + 1)]
    missing = [file.name for file in parts if not file.is_file()]
    if missing:
        problem = f"the model at {str(path)!r} is not whole: {missing[0]!r} is missing"
        raise LocalModelError(problem, help=f"Put all {count} parts into one folder.")
    return parts


class _Head:
    """Reads a file's head; every length is checked against the size of the file.

    Args:
        data: The file's bytes.
        path: The path for error messages.
    """

    def __init__(self, data: mmap.mmap | bytes, path: Path) -> None:
        self._data, self._path = data, path
        self._position = 0

    def read(self) -> tuple[dict[str, Any], int]:
        """Read the values by their names, with None for each list of texts, and the number of tensors.

        Raises:
            LocalModelError: The file is not a GGUF file of a known version.
            EOFError: The file ends too early.
        """
        if self._data[:4] != MAGIC:
            help = "Models of other formats (safetensors, .bin) need a server, such as Ollama or vLLM."
            raise LocalModelError(f"{str(self._path)!r} is not a GGUF file", help=help)
        self._position = len(MAGIC)
        (version,) = self._numbers("I")
        if version not in VERSIONS:
            known = " and ".join(map(str, VERSIONS))
            problem = f"{str(self._path)!r} is a GGUF file of version {version}; {known} are known"
            raise LocalModelError(problem, help=DAMAGED_FILE_HELP)
        tensors, count = self._numbers("QQ")
        values: dict[str, Any] = {}
        for _ in range(count):
            name = self._text()
            (kind,) = self._numbers("I")
            values[name] = self._value(kind)
        self._check_tensors(tensors)
        return values, tensors

    def _check_tensors(self, count: int) -> None:
        """Raise EOFError unless the last tensor begins within the file; llama.cpp itself checks its size."""
        last = 0
        for _ in range(count):
            self._skip_texts(1)
            (dimensions,) = self._numbers("I")
            self._bytes(8 * dimensions)
            last = max(last, self._numbers("IQ")[1])
        if self._position + last >= len(self._data):
            raise EOFError

    def _bytes(self, count: int) -> bytes:
        """Read the next `count` bytes; raise EOFError if the file has fewer."""
        self._position += count
        if self._position > len(self._data):
            raise EOFError
        return self._data[self._position - count : self._position]

    def _numbers(self, codes: str) -> tuple[Any, ...]:
        """Read the next numbers, little-endian; `codes` are those of `struct`."""
        return struct.unpack(f"<{codes}", self._bytes(struct.calcsize(f"<{codes}")))

    def _text(self) -> str:
        """Read a text: its length, then its bytes."""
        return self._bytes(self._numbers("Q")[0]).decode()

    def _skip_texts(self, count: int) -> None:
        """Skip texts without reading them, since a vocabulary has up to 300,000."""
        position, data, unpack_length = self._position, self._data, struct.Struct("<Q").unpack_from
        for _ in range(count):
            (length,) = unpack_length(data, position)
            position += 8 + length  # the length itself takes eight bytes
        self._position = position
        self._bytes(0)  # checks that the position is within the file

    def _value(self, kind: int) -> Any:
        """Read the next value of a type: a list of numbers as a tuple, a list of texts, which is skipped, as None."""
        if kind == _STRING:
            return self._text()
        if kind in _NUMBERS:
            return self._numbers(_NUMBERS[kind])[0]
        if kind != _ARRAY:
            raise EOFError
        inner, count = self._numbers("IQ")
        if inner in _NUMBERS:
            width = struct.calcsize(f"<{_NUMBERS[inner]}")
            return struct.unpack(f"<{count}{_NUMBERS[inner]}", self._bytes(width * count))
        if inner != _STRING:  # lists of lists: the format has them, but no model uses them
            raise EOFError
        self._skip_texts(count)
        return None
