"""The head of GGUF files: whole, cut off anywhere, or damaged anywhere."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight_rag.models.chat.gguf_file import read_gguf
from preflight_rag.state.errors import LocalModelError

CODES = {int: (4, "I"), float: (6, "f")}  # the format's numbers for types of values


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def value_of(value):
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        items = b"".join(map(text, value)) if isinstance(value[0], str) else struct.pack(f"<{len(value)}I", *value)
        return struct.pack("<IIQ", 9, 8 if isinstance(value[0], str) else 4, len(value)) + items
    kind, code = CODES[type(value)]
    return struct.pack(f"<I{code}", kind, value)


VALUES = {
    "general.architecture": "llama",
    "llama.context_length": 4096,
    "llama.block_count": 10,
    "llama.embedding_length": 640,
    "llama.attention.head_count": 10,
    "llama.attention.head_count_kv": 2,
    "llama.rope.freq_base": 10_000.0,
    "tokenizer.ggml.tokens": ["a", "bc", ""],
    "tokenizer.chat_template": "{{ messages }}",
}


def gguf(values=VALUES, *, version=3, magic=b"GGUF"):
    """A file with one tensor of 64 bytes, as the format's description has it."""
    pairs = b"".join(text(name) + value_of(value) for name, value in values.items())
    tensor = text("output.weight") + struct.pack("<IQIQ", 1, 16, 0, 0)
    return magic + struct.pack("<IQQ", version, 1, len(values)) + pairs + tensor + bytes(96)


WHOLE = gguf()
BODY = 96  # bytes of the tensor and of what pads it


@pytest.fixture
def write(tmp_path):
    def write(data, name="model.gguf"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def test_context_size_and_memory_of_a_token_are_read(write):
    found = read_gguf(write(WHOLE, "small.gguf"))
    assert (found.name, found.architecture, found.trained_context, found.chat) == ("small", "llama", 4096, True)
    assert found.token_bytes == 10 * 2 * (64 + 64) * 2  # layers, heads, keys and values of 640/10 numbers, two bytes
    assert found.weight_bytes == len(WHOLE)


def test_heads_may_differ_by_layer_and_sizes_be_given(write):
    values = VALUES | {"llama.attention.head_count_kv": [1, 4], "llama.attention.key_length": 100}
    values = {name: value for name, value in values.items() if name != "tokenizer.chat_template"}
    found = read_gguf(write(gguf(values)))
    assert (found.token_bytes, found.chat) == (10 * 4 * (100 + 64) * 2, False)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not a whole GGUF file"),
        (b"PK\x03\x04 and so on", "not a GGUF file"),
        (gguf(version=1), "of version 1; 2 and 3 are known"),
        (struct.pack("<4sI", b"GGUF", 3 << 24), "of version"),
        (gguf({"general.architecture": "llama"}), "holds no model that writes text"),
        (gguf({"general.type": "adapter", "general.architecture": "llama"}), "its type is .adapter"),
        (gguf(VALUES | {"llama.block_count": "many"}), "not a whole GGUF file"),
        (WHOLE[:16] + struct.pack("<Q", 2**60) + WHOLE[24:], "not a whole GGUF file"),
        (WHOLE[:24] + struct.pack("<Q", 2**63) + WHOLE[32:], "not a whole GGUF file"),
    ],
)
def test_what_is_no_model_is_said_in_one_line(write, data, says):
    with pytest.raises(LocalModelError, match=says) as caught:
        read_gguf(write(data))
    assert caught.value.help
    assert "\n" not in str(caught.value)


@given(st.integers(0, len(WHOLE) - BODY))
def test_a_file_that_is_cut_off_is_no_model(tmp_path_factory, cut):
    path = tmp_path_factory.getbasetemp() / "cut.gguf"
    path.write_bytes(WHOLE[:cut])
    with pytest.raises(LocalModelError):
        read_gguf(path)


@settings(deadline=None)  # a disk may wait
@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=12))
def test_a_file_that_is_damaged_is_read_or_refused(tmp_path_factory, place, noise):
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(WHOLE[:place] + noise + WHOLE[place + len(noise) :])
    with suppress(LocalModelError):
        assert read_gguf(path).trained_context > 0


def test_a_folder_names_the_models_in_it(write, tmp_path):
    with pytest.raises(LocalModelError, match=r"is a folder.*There is no \.gguf file in it"):
        read_gguf(tmp_path)
    write(WHOLE, "a.gguf")
    with pytest.raises(LocalModelError, match=r"Name a file in it: a\.gguf"):
        read_gguf(tmp_path)
    with pytest.raises(LocalModelError, match="there is no file"):
        read_gguf(tmp_path / "b.gguf")


def test_a_model_in_parts_is_named_by_its_first_and_has_all(write, tmp_path):
    first = write(WHOLE, "big-00001-of-00002.gguf")
    with pytest.raises(LocalModelError, match=r"'big-00002-of-00002\.gguf' is missing"):
        read_gguf(first)
    second = write(bytes(1000), "big-00002-of-00002.gguf")
    assert (read_gguf(first).name, read_gguf(first).weight_bytes) == ("big", len(WHOLE) + 1000)
    with pytest.raises(LocalModelError, match=r"Name the first one, big-00001-of-00002\.gguf"):
        read_gguf(second)
