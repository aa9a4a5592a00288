"""A language model in this process: a GGUF file, run by llama.cpp through the package `xllamacpp`.

    model = LocalModel.open("models/SmolLM2-135M-Instruct.gguf")

`LoadedModel` is the file in memory, loaded once and shared in the process; `LocalModel` is LangChain's chat model
over it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import queue
import secrets
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary, finalize

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage, convert_to_openai_messages
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from preflight_rag.models.chat.gguf_file import GGUFFile, read_gguf
from preflight_rag.models.chat.slot_workers import Piece, SlotWorkers
from preflight_rag.models.chat.watched_reading import reading
from preflight_rag.state.errors import ContextOverflow, LocalModelError, ModelError, ModelTimeout, first_line
from preflight_rag.state.extras import require_extra
from preflight_rag.state.memory import available_bytes

PROVIDER = "gguf"
USUAL_CONTEXT = 8192
"""Tokens of one call unless the user sets another number: 16 passages with their prompt take about 4,000."""
MIDDLE_CONTEXT, LEAST_CONTEXT = 4096, 2048
"""Tokens of one call that are tried next if memory is short."""
SLOTS = 2
"""Number of concurrent calls. Without a graphics card more are not faster, and each takes a context's memory."""
BATCH_TOKENS = 64
"""Prompt tokens that are read at once on a processor: a cancelled call ends after the batch, so within a second from 64
tokens a second on."""
CARD_BATCH_TOKENS = 1024
"""Prompt tokens that are read at once on a graphics card."""
SPEED_LINES = 20
"""Lines of the text with which speed is measured, about 250 tokens."""
WORKING_BYTES = 200 << 20
"""Memory besides weights and contexts. SmolLM2 and Gemma 3 270M took 60 and 150 MB here; a guess for larger ones."""
_END = None
"""The last item in a reply's queue of pieces."""


class LoadedModel:
    """A model in memory.

    Args:
        file: Its file.
        context: Tokens that one call reads and writes; None for the usual number, or fewer if memory is short.

    Attributes:
        file: Its file.
        context: Tokens that one call reads and writes.
        slots: Calls that are answered at once; others wait for their turn.
        threads: Threads that calculate a call.

    Raises:
        LocalModelError: There is too little memory, or llama.cpp does not accept the file.
    """

    _open: ClassVar[WeakValueDictionary[tuple[Any, ...], LoadedModel]] = WeakValueDictionary()
    _opening: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, file: GGUFFile, context: int | None = None) -> None:
        self.file = file
        self.context, self.slots = _fitting_sizes(file, context, available_bytes())
        self.threads = threads()
        self._calls: set[Future[None]] = set()
        self._workers = SlotWorkers(_start_server(file, self.context, self.slots, self.threads), self.slots)
        finalize(self, self._workers.end)

    @classmethod
    def of(cls, path: Path, context: int | None = None) -> LoadedModel:
        """Load the model of a file; a model that this process has open with that context size is reused.

        Raises:
            LocalModelError: The model cannot be loaded.
        """
        with cls._opening:
            file = read_gguf(path)
            state = path.stat()
            key = (path.resolve(), state.st_mtime_ns, state.st_size, context)
            loaded = cls._open.get(key)
            if loaded is None:
                loaded = cls._open[key] = cls(file, context)
            return loaded

    def busy(self) -> int:
        """Return how many calls are being answered or wait for a slot."""
        return sum(not call.done() for call in list(self._calls))

    def ask(self, body: dict[str, Any], receive: Callable[[Piece], bool], stopped: threading.Event) -> Future[None]:
        """Queue a reply, which starts as soon as a slot is free; return its end's future; see `SlotWorkers.submit`."""
        call = self._workers.submit(body, receive, stopped)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call


class LocalModel(BaseChatModel):
    """A chat model whose file is open in this process.

    Args:
        model: Its name.
        temperature: Sampling temperature; None for llama.cpp's own.
        max_tokens: Most tokens of a reply; None for as many as the context has room for.
        timeout: Timeout of a reply in seconds.
        loaded: The model in memory.
    """

    always_streams: ClassVar[bool] = True
    """A stream contains everything that a whole reply does, and if a reply is cancelled, its streamed part is known."""

    model: str
    temperature: float | None = 0.0
    max_tokens: int | None = None
    timeout: float | None = None
    _loaded: LoadedModel = PrivateAttr()

    def __init__(self, *, loaded: LoadedModel, **values: Any) -> None:
        super().__init__(**values)
        self._loaded = loaded

    @classmethod
    def open(cls, path: str | Path, *, context: int | None = None, **values: Any) -> Self:
        """Open the model of a GGUF file.

        Args:
            path: The file; for a model in several files, the first.
            context: Tokens that one call reads and writes; None for 8,192, or fewer if model or memory limit it.
            **values: Values of the fields, such as `temperature`.

        Raises:
            UsageError: The extra `local` is not installed.
            LocalModelError: The file is missing, damaged, or larger than the available memory.
        """
        require_extra("local", "a model in this process (gguf:)")
        loaded = LoadedModel.of(Path(path).expanduser(), context)
        profile = {"max_input_tokens": loaded.context, "structured_output": True}
        return cls(loaded=loaded, model=loaded.file.name, **{"profile": profile, **values})

    @property
    def loaded(self) -> LoadedModel:
        """The model in memory."""
        return self._loaded

    def speed(self) -> tuple[float, float]:
        """Measure how many tokens the model reads and writes in a second, with one call that takes seconds.

        Its text is random, so that no part of it is in the model's cache.
        """
        text = " ".join(f"Line {n} of {secrets.token_hex(2)}." for n in range(SPEED_LINES))
        reply = self.invoke(f"{text}\n\nWhich lines are there?", max_tokens=16)
        timings = reply.response_metadata["timings"]
        return timings["prompt_per_second"], timings["predicted_per_second"]

    def keeps_to_schemas(self) -> bool:
        """Return whether the model's replies conform to a JSON schema, tested by one short call; False if it fails."""
        schema = {
            "type": "object",
            "properties": {"n": {"enum": [7]}},
            "required": ["n"],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "number", "schema": schema}}
        try:
            reply = self.invoke("Say a number.", max_tokens=16, response_format=form)
        except ModelError:
            return False
        return str(reply.text).replace(" ", "").replace("\n", "").startswith('{"n":7')

    @property
    def _llm_type(self) -> str:
        return PROVIDER

    @property
    def _identifying_params(self) -> dict[str, Any]:
        """Return the parameters by which LangChain identifies the model."""
        return {"model": self.model, "temperature": self.temperature, "max_tokens": self.max_tokens}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Return the whole reply, collected from the stream; LangChain calls this for `invoke`."""
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Return the whole reply, collected from the stream; LangChain calls this for `ainvoke`."""
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        """Yield the reply's pieces as llama.cpp writes them; raise ModelTimeout if the next one takes too long."""
        pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._running_reply(self._request_body(messages, stop, kwargs), pieces.put):
            while True:
                try:
                    piece = pieces.get(timeout=self.timeout)
                except queue.Empty:
                    raise self._timeout_error() from None
                if _is_progress(piece):
                    continue
                if (chunk := self._to_chunk(piece)) is _END:
                    return
                if run_manager is not None and chunk.text:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the reply's pieces as `_stream` does; report the reading of the prompt to the callback in `reading`."""
        pieces: asyncio.Queue[Any] = asyncio.Queue()
        loop, report_progress = asyncio.get_running_loop(), reading.get()

        def put(piece: Any) -> None:
            """Put a piece into the queue from llama.cpp's thread."""
            with suppress(RuntimeError):  # the event loop is closed: nobody waits for the piece
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        with self._running_reply(self._request_body(messages, stop, kwargs), put):
            while True:
                try:
                    async with asyncio.timeout(self.timeout):
                        piece = await pieces.get()
                except TimeoutError:
                    raise self._timeout_error() from None
                if _is_progress(piece):
                    if report_progress is not None:
                        report_progress(piece["prompt_progress"]["processed"], piece["prompt_progress"]["total"])
                    continue
                if (chunk := self._to_chunk(piece)) is _END:
                    return
                if run_manager is not None and chunk.text:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk

    @contextmanager
    def _running_reply(self, body: dict[str, Any], put: Callable[[Any], None]) -> Iterator[None]:
        """Run a reply during the block, and stop it at the block's end.

        `put` is called in another thread with each piece of the reply, and then with `_END` or an exception.
        """
        stopped = threading.Event()

        def receive(piece: Piece) -> bool:
            """Pass a piece on; return whether to stop."""
            if not stopped.is_set():
                put(piece)
            return stopped.is_set()

        def put_end(reply: Future[None]) -> None:
            """Pass on the end of the reply, or its error."""
            if not reply.cancelled() and not stopped.is_set():
                put(reply.exception() or _END)

        reply = self._loaded.ask(body, receive, stopped)
        reply.add_done_callback(put_end)
        try:
            yield
        finally:
            stopped.set()
            reply.cancel()

    def _request_body(
        self, messages: list[BaseMessage], stop: list[str] | None, call_options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the request to llama.cpp, in the form of OpenAI's API; a call's options replace the model's own."""
        max_tokens = call_options.get("max_completion_tokens") or call_options.get("max_tokens") or self.max_tokens
        # As with OpenAI's client: options that the API does not define are sent beside the others in the request.
        call_options = {**call_options, **(call_options.get("extra_body") or {})}
        handled_here = ("max_completion_tokens", "stream", "extra_body")
        options: dict[str, Any] = {"temperature": self.temperature, "max_tokens": max_tokens, "stop": stop}
        options |= {name: value for name, value in call_options.items() if name not in handled_here}
        options["max_tokens"] = max_tokens
        return {
            **{name: value for name, value in options.items() if value is not None},
            "messages": convert_to_openai_messages(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # a piece after each batch of the prompt: a call can be stopped there
        }

    def _to_chunk(self, piece: Any) -> ChatGenerationChunk | None:
        """Convert a piece of a reply into LangChain's form; `_END` stays.

        Raises:
            ContextOverflow: The prompt is longer than the context.
            ModelError: The piece is an error: llama.cpp does not accept the call, or failed.
        """
        if piece is _END:
            return None
        if isinstance(piece, Exception):
            problem = f"{self.model} does not accept the call: {first_line(piece)}"
            raise ModelError(problem, help="llama.cpp may not support one of the options.") from piece
        if error := piece.get("error"):
            raise self._convert_error(error)
        choices = piece.get("choices") or [{}]
        delta = choices[0].get("delta") or {}
        extra = {"reasoning_content": text} if (text := delta.get("reasoning_content")) else {}
        message = AIMessageChunk(content=delta.get("content") or "", additional_kwargs=extra, id=piece.get("id"))
        if counts := piece.get("usage"):
            message.usage_metadata = _to_usage(counts)
        if reason := choices[0].get("finish_reason"):
            message.response_metadata = {"finish_reason": reason, "model_name": self.model, "model_provider": PROVIDER}
        if timings := piece.get("timings"):
            message.response_metadata["timings"] = timings
        return ChatGenerationChunk(message=message)

    def _convert_error(self, error: Mapping[str, Any]) -> ModelError:
        """Convert an error of llama.cpp into one of ours."""
        if error.get("type") == "exceed_context_size_error":
            sizes = f"{error.get('n_prompt_tokens', 0):,} tokens, and it reads and writes {self._loaded.context:,}"
            largest = self._loaded.file.trained_context
            larger = f", or set PREFLIGHT_CONTEXT_WINDOW to up to {largest:,}" if largest > self._loaded.context else ""
            help = f"Ask with a smaller k{larger}."
            return ContextOverflow(f"the prompt is too long for {self.model}: {sizes}", help=help)
        return ModelError(f"{self.model} failed: {first_line(Exception(str(error.get('message', error))))}")

    def _timeout_error(self) -> ModelTimeout:
        """Return the error for a reply of which the next piece did not come in time."""
        return ModelTimeout(f"{self.model} did not reply in time", help="Try again, or raise PREFLIGHT_DEADLINE.")


def _is_progress(piece: Any) -> bool:
    """Return whether a piece contains nothing but the progress of reading the prompt.

    If it were passed on, it would count as the first written piece when speed is measured.
    """
    return isinstance(piece, Mapping) and bool(piece.get("prompt_progress"))


def _to_usage(counts: Mapping[str, Any]) -> UsageMetadata:
    """Convert the token counts of llama.cpp into LangChain's."""
    cached = (counts.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return UsageMetadata(
        input_tokens=counts["prompt_tokens"],
        output_tokens=counts["completion_tokens"],
        total_tokens=counts["total_tokens"],
        input_token_details=InputTokenDetails(cache_read=cached),
    )


def _fitting_sizes(file: GGUFFile, wanted: int | None, available: int | None) -> tuple[int, int]:
    """Return the largest context size, in tokens, and the number of slots for which there is memory.

    More slots come before a smaller context. A context size that the user wants is never reduced for lack of memory.

    Args:
        file: The model's file.
        wanted: The context size that the user wants; None for the usual one.
        available: Bytes that the process may still allocate; None if unknown.

    Raises:
        LocalModelError: There is not enough memory for one call with the smallest context.
    """
    largest = min(wanted or USUAL_CONTEXT, file.trained_context)
    smaller = {min(largest, MIDDLE_CONTEXT), min(largest, LEAST_CONTEXT)}
    contexts = [largest] if wanted else sorted({largest, *smaller}, reverse=True)
    choices = [(context, slots) for context in contexts for slots in range(SLOTS, 0, -1)]
    for context, slots in choices:
        needed = file.weight_bytes + WORKING_BYTES + context * slots * file.token_bytes
        if available is None or needed <= available:
            return context, slots
    raise LocalModelError(
        f"{file.name} needs about {_gigabytes(needed)} GB of memory, and {_gigabytes(available or 0)} GB are free",
        help="Close other programs, or take a smaller model (docs/install.md says which).",
    )


def _gigabytes(count: int) -> str:
    """Return a number of bytes in gigabytes, as text."""
    return f"{count / (1 << 30):.1f}"


def _start_server(file: GGUFFile, context: int, slots: int, threads: int) -> Any:
    """Load a model, and return the `xllamacpp.Server` that runs it.

    xllamacpp opens a port on this machine for every model; it is protected by a random key.

    Raises:
        LocalModelError: llama.cpp does not accept the file.
    """
    # Threads that spin while they wait for each other cost more than they give on a machine with other work.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file.path)
    params.model_alias = {file.name}
    params.n_ctx, params.n_parallel, params.kv_unified = context * slots, slots, False
    processor = xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    has_card = any(device["type"] != processor for device in _devices())
    params.n_batch = params.n_ubatch = CARD_BATCH_TOKENS if has_card else BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [secrets.token_urlsafe(32)]
    params.endpoint_slots = params.endpoint_props = params.ui = False
    params.endpoint_metrics = True
    params.verbosity = -1  # nothing on stderr: problems are reported by errors
    try:
        with _keep_signal_handlers():
            server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise LocalModelError(
            f"llama.cpp does not load {file.name} (architecture {file.architecture!r})",
            help="The file may be damaged; or the model is newer than it: pip install --upgrade xllamacpp.",
        ) from error
    # Answered by the server's loop of tasks. A server that is freed before its loop runs is told to stop too early and
    # never stops: one of twenty processes that ended at once waited for it for ever.
    server.handle_metrics()
    return server


def _devices() -> Sequence[Mapping[str, Any]]:
    """Return the devices that llama.cpp can use."""
    import xllamacpp

    devices: Sequence[Mapping[str, Any]] = xllamacpp.get_device_info()
    return devices


def threads() -> int:
    """Return the number of threads for a model: `OMP_NUM_THREADS`, else the number of free cores.

    Every thread waits for the slowest one. Measured on two cores that had other work: 38 tokens a second with one
    thread, 2 with two.
    """
    if (setting := os.environ.get("OMP_NUM_THREADS", "")).isdecimal() and int(setting):
        return int(setting)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, min(cores, round(cores - busy)))


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Restore the process's handlers of SIGINT and SIGTERM after the block: llama.cpp's server installs its own.

    C functions are used, since Python's `signal` sets handlers in the main thread alone.
    """
    get_handler, set_handler = ctypes.pythonapi.PyOS_getsig, ctypes.pythonapi.PyOS_setsig
    get_handler.restype = set_handler.restype = ctypes.c_void_p
    get_handler.argtypes, set_handler.argtypes = [ctypes.c_int], [ctypes.c_int, ctypes.c_void_p]
    handlers = {number: get_handler(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            set_handler(number, handler)
