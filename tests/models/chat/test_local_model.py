"""A GGUF file that answers in this process, beside the same file behind llama.cpp's HTTP server."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import time

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from small_model import CONTEXT, model_path, model_server

from preflight_rag.models.chat import local_model
from preflight_rag.models.chat.chat_models import model_name, open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.gguf_file import GGUFFile
from preflight_rag.models.chat.local_model import LocalModel
from preflight_rag.models.chat.model_errors import in_our_words
from preflight_rag.models.chat.runnables import name_of
from preflight_rag.state.errors import ContextOverflow, LocalModelError, ModelError, UnknownModel, UsageError

MESSAGES = [SystemMessage("You are brief."), HumanMessage("Name a colour.")]
NUMBER = {"type": "object", "properties": {"n": {"enum": [3, 5]}}, "required": ["n"], "additionalProperties": False}
AS_NUMBER = {"type": "json_schema", "json_schema": {"name": "number", "schema": NUMBER}}
LONG = "The cat sat on the mat and looked at the moon. " * 150
SOON = 5.0  # a second, and what a busy machine makes of it; a reply that went on would take far longer


@pytest.fixture(scope="module")
def model():
    return LocalModel.open(model_path(), context=CONTEXT)


@pytest.fixture(scope="module")
def served():
    with model_server() as server:
        yield server


async def free(model):
    until = time.monotonic() + SOON
    while model.loaded.busy() and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return not model.loaded.busy()


def test_it_counts_tokens_as_the_server_does_and_says_the_same(model, served):
    over_http = open_chat_model("openai:", base_url=served.url)
    here, there = (each.invoke(MESSAGES, max_tokens=12) for each in (model, over_http))
    assert here.usage_metadata["input_tokens"] == there.usage_metadata["input_tokens"]
    assert here.usage_metadata["output_tokens"] == there.usage_metadata["output_tokens"]
    assert here.response_metadata["finish_reason"] == there.response_metadata["finish_reason"]
    assert name_of(model) == f"gguf:{model_path().stem}"


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_of_tokens_ends_a_reply_and_says_so(model, name):
    reply = model.bind(**{name: 5}).invoke(MESSAGES)
    assert (reply.usage_metadata["output_tokens"], reply.response_metadata["finish_reason"]) == (5, "length")


def test_a_stop_word_is_not_written(model):
    whole = model.invoke("Count: 1, 2, 3,", max_tokens=24).content
    word = whole.split()[2]
    cut = model.invoke("Count: 1, 2, 3,", max_tokens=24, stop=[word])
    assert cut.content == whole[: whole.index(word)]
    assert cut.response_metadata["finish_reason"] == "stop"


def test_a_schema_is_kept_to(model):
    reply = model.bind(response_format=AS_NUMBER).invoke("Say a number.", max_tokens=24)
    assert json.loads(reply.content)["n"] in (3, 5)
    assert model.keeps_to_schemas()


async def test_a_stream_is_the_reply_in_pieces_with_its_count_at_the_end(model):
    pieces = [piece async for piece in model.astream(MESSAGES, max_tokens=8)]
    whole = await model.ainvoke(MESSAGES, max_tokens=8)
    assert "".join(piece.content for piece in pieces) == whole.content
    assert len([piece for piece in pieces if piece.content]) > 2
    assert sum((piece.usage_metadata or {}).get("output_tokens", 0) for piece in pieces) == 8
    assert "".join(piece.content for piece in model.stream(MESSAGES, max_tokens=8)) == whole.content


async def test_calls_at_once_are_more_than_slots_and_all_answered(model):
    calls = [model.ainvoke(f"Say {n}.", max_tokens=4) for n in range(model.loaded.slots + 2)]
    assert [reply.usage_metadata["output_tokens"] for reply in await asyncio.gather(*calls)] == [4] * len(calls)


async def test_a_stream_that_is_closed_frees_its_slot(model):
    stream = model.astream("Tell a very long story.", max_tokens=2000)
    async for piece in stream:
        if piece.content:
            break
    assert model.loaded.busy() == 1
    await stream.aclose()
    assert await free(model)


async def test_a_call_that_is_cancelled_while_it_reads_frees_its_slot_and_one_that_waits_never_begins(model):
    calls = [asyncio.create_task(model.ainvoke(LONG, max_tokens=500)) for _ in range(model.loaded.slots + 1)]
    while model.loaded.busy() < len(calls):
        await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    assert [type(end) for end in await asyncio.gather(*calls, return_exceptions=True)] == [asyncio.CancelledError] * 3
    assert await free(model)


def test_a_file_is_opened_once_in_a_process_and_its_context_is_known(model):
    again = open_chat_model(f"gguf:{model_path()}", context_window=CONTEXT)
    assert again.loaded is model.loaded
    assert ChatReader(again).context_window() == CONTEXT


async def test_a_prompt_that_is_too_long_is_said_with_both_numbers(model):
    with pytest.raises(ContextOverflow, match=rf"\d,\d+ tokens, and it reads and writes {CONTEXT:,}\. Ask with"):
        await model.ainvoke(LONG * 4)
    with pytest.raises(ModelError, match="does not accept the call"):
        model.invoke("x", response_format={"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}}})
    assert (await model.ainvoke(MESSAGES, max_tokens=2)).usage_metadata["output_tokens"] == 2


async def test_a_servers_word_for_a_prompt_that_is_too_long_is_known(served):
    with pytest.raises(Exception, match="context") as caught:
        await open_chat_model("openai:", base_url=served.url).ainvoke(LONG * 4)
    assert isinstance(in_our_words(caught.value, "m"), ContextOverflow)


def sized(**sizes):
    given = {"trained_context": 32_768, "weight_bytes": 4 << 30, "token_bytes": 128 << 10, "chat": True}
    return GGUFFile(path=model_path(), architecture="llama", **given | sizes)


@pytest.mark.parametrize(
    ("gigabytes", "wanted", "expected"),
    [
        (16.0, None, (8192, 2)),  # 4 GB, and 1 GB for each call's context
        (5.5, None, (8192, 1)),
        (4.8, None, (4096, 1)),
        (4.5, None, (2048, 1)),
        (None, None, (8192, 2)),
        (16.0, 32_768, (32_768, 2)),
        (16.0, 65_536, (32_768, 2)),
        (9.0, 32_768, (32_768, 1)),
    ],
)
def test_context_and_calls_at_once_are_what_memory_has_room_for(gigabytes, wanted, expected):
    available = None if gigabytes is None else int(gigabytes * (1 << 30))
    assert local_model._fitting_sizes(sized(), wanted, available) == expected


def test_too_little_memory_is_said_before_the_file_is_loaded(monkeypatch):
    monkeypatch.setattr(local_model, "available_bytes", lambda: 100 << 20)
    monkeypatch.setattr(local_model, "_start_server", lambda *_: pytest.fail("it was loaded"))
    with pytest.raises(LocalModelError, match=r"needs about 0\.\d GB of memory, and 0\.1 GB are free\. Close other"):
        LocalModel.open(model_path(), context=2048)


def test_a_file_that_llama_cpp_does_not_take_is_said_in_one_line(tmp_path):
    path = tmp_path / "other.gguf"
    path.write_bytes(model_path().read_bytes().replace(b"llama", b"lamma"))
    with pytest.raises(LocalModelError, match=r"llama\.cpp does not load other") as caught:
        LocalModel.open(path)
    assert "\n" not in str(caught.value)


def test_names_of_files_keep_their_colons_and_an_empty_one_is_unknown():
    assert model_name("gguf:C:\\models\\a.gguf") == "gguf:C:\\models\\a.gguf"
    with pytest.raises(UnknownModel, match="gguf:PATH"):
        model_name("gguf:")


def test_without_the_extra_it_is_one_line_with_the_command(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"xllamacpp\. pip install 'preflight-rag\[local\]'"):
        LocalModel.open(tmp_path / "a.gguf")


SLEEPER = """
import signal, sys, time
from preflight_rag.models.chat.local_model import LocalModel
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs behind a shell's & inherits that it is ignored
try:
    model = LocalModel.open(sys.argv[1], context=512)
    print("ready", flush=True)
    while True:  # a signal that comes just before one long sleep would be seen after it only
        time.sleep(0.05)
except KeyboardInterrupt:
    print("ended")
"""


def test_ctrl_c_still_ends_a_process_with_a_model():
    command = [sys.executable, "-c", SLEEPER, str(model_path())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGINT)
        try:
            said, wrong = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (said, wrong, process.returncode) == ("ended\n", "", 0)


ENDER = """
import asyncio, builtins, sys, threading, time
from preflight_rag.models.chat.local_model import LocalModel
how, path = sys.argv[1:]
model = builtins.kept = LocalModel.open(path, context=2048)  # nothing frees what a module of Python's own refers to
ask = lambda: model.invoke("The cat sat on the mat and looked at the moon. " * 120, max_tokens=1000)

async def late():
    try:
        async with asyncio.timeout(1):
            await asyncio.gather(*(model.ainvoke("The cat sat on the mat. " * 200) for _ in range(3)))
    except TimeoutError:
        print("late")

if how == "late":
    asyncio.run(late())
    sys.exit(7)
for _ in range(3):  # one of them waits for a slot
    threading.Thread(target=ask, daemon=True).start()
time.sleep(1)
if how == "exit":
    sys.exit(7)
if how == "error":
    raise ValueError("of the program")
print("reads", flush=True)
ask()
"""


@pytest.mark.parametrize(
    ("how", "status", "last"),
    [
        ("late", 7, ""),
        ("exit", 7, ""),
        ("error", 1, "ValueError: of the program"),
        ("interrupt", -signal.SIGINT, "KeyboardInterrupt"),
    ],
)
def test_a_process_whose_model_still_works_ends_as_it_was_to(how, status, last):
    """Without an end of the model before the interpreter's own each of them died of a signal."""
    command = [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)" + ENDER]
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    with subprocess.Popen(
        [*command, how, str(model_path())], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        if how == "interrupt":
            assert process.stdout.readline() == "reads\n"
            os.kill(process.pid, signal.SIGINT)
        _, wrong = process.communicate(timeout=120)
    assert process.returncode == status
    assert (wrong.strip().splitlines() or [""])[-1] == last


async def test_what_is_read_of_a_prompt_is_no_piece_of_the_reply(model):
    """Pieces that only say how far the prompt is read were taken for the reply's first ones."""
    prompt = secrets.token_hex(200)  # some 300 tokens that were not read before, in five batches
    empty = [piece async for piece in model.astream(prompt, max_tokens=2) if not piece.content]
    assert len(empty) <= 4, "the role, the reason of the end, the count, and LangChain's own last one"
