"""One application over three documents that contradict each other, and one scripted model, whose replies tests set."""

from __future__ import annotations

import asyncio
import math
from contextlib import contextmanager

from broken_bow import QUESTION, documents, script

from preflight_rag import Preflight, TokenEvent
from preflight_rag.library import Library
from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.state.errors import PreflightError
from preflight_rag.testing import ScriptedServer, prompt_of

FACTS = ["A1", "A2", "A3"]
"""Three documents that contradict each other: three partitions, and three groups."""
ROUTES = ["plain", "map-reduce", "corg"]
ASKED = {"plain": 1, "map-reduce": 3 + 1, "corg": 1 + 3}
FIRST = {"plain": 1, "map-reduce": 3, "corg": 1 + 1}
"""Calls of a turn of which each fails: all partitions; what COrg compares, then all contexts as one group."""
REDUCED = "1,001, 1,002 or 1,003 people live there [1][2][3]."
_known = script(FACTS, notes=True)


def healthy(body):
    """A model that reads what it is given; the reduce prompt has no passages."""
    return _known(body) if "<passage" in prompt_of(body) or "Context2\n" in prompt_of(body) else REDUCED


class Talk:
    """One application and one scripted server, whose replies each test sets."""

    def __init__(self, folder, server, deadline, *, whole=False):
        self.server, self.script = server, healthy
        model = open_chat_model("openai:m", base_url=server.url, timeout=deadline)
        model.disable_streaming = whole
        self.app = Preflight.open(folder, model, deadline=deadline, rewrite="rules", partition_size=1, k=3)

    def requests(self, text=""):
        return self.server.count(text)

    def ask(self, reply=None, *, route="plain", tokens=True, use=None, where="", times=None, **settings):
        """The pieces that were streamed, and the answer or the error; `reply` is for prompts that hold `where`."""
        self.server.requests.clear()
        left = [math.inf if times is None else times]

        def replies(body):
            if reply is not None and where in prompt_of(body) and left[0] > 0:
                left[0] -= 1
                return reply
            return healthy(body)

        self.script = replies

        async def take():
            text, last = [], None
            events = self.app.astream(QUESTION, route=route, tokens=tokens, use=use, **settings)
            try:
                async for event in events:
                    text += [event.text] if isinstance(event, TokenEvent) else []
                    last = event
            except PreflightError as error:
                last = error
            return "".join(text), last

        taken = asyncio.run(take())
        self.server.wait_idle()
        return taken

    def answer(self, script, *, route, **settings):
        """The answer where the model says what the script says; else the error."""
        self.script = script
        try:
            return self.app.ask(QUESTION, route=route, **settings)
        except PreflightError as error:
            return error
        finally:
            self.server.wait_idle()


def make_library(folder, embedder):
    """A library of the three documents."""
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(documents(FACTS))
    return folder


@contextmanager
def talking(folder, deadline, *, whole=False):
    """A `Talk` whose calls may take so many seconds; with `whole` nothing is streamed."""
    talks = []
    with ScriptedServer(lambda body: talks[0].script(body)) as server:
        talks.append(Talk(folder, server, deadline, whole=whole))
        with talks[0].app:
            yield talks[0]
