"""The checkpointer of `langgraph dev`, which `langgraph.json` names.

It is loaded on its own, by its path, so imports from this package are absolute here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver

from preflight_rag.graph.offered import THREADS as ADDRESS
from preflight_rag.graph.offered import own_place
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer
from preflight_rag.threads.sqlite_database import THREADS
from preflight_rag.threads.thread_store import open_thread_store


@asynccontextmanager
async def studio_saver() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """Return the checkpointer for `langgraph.json`: the database of PREFLIGHT_THREADS, else that of `own_place()`."""
    own = await asyncio.to_thread(own_place)
    if url := os.environ.get(ADDRESS) or (None if isinstance(own, Path) else own.url):
        async with open_thread_store(Path(), url) as store:
            yield store.saver
        return
    folder = own if isinstance(own, Path) else own.folder
    async with open_checkpointer(folder / THREADS) as saver:
        yield saver
