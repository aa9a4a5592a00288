"""One process, many tenants: each call names whose library it asks, and has numbers and a thread of its own.

    python docs/examples/7_tenants.py
    python docs/examples/7_tenants.py --model openai:gpt-4.1-mini

Behind a web server, put `library` into the config from who is signed in, never from what a request says.
"""

import argparse
import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

from langchain_core.runnables import RunnableConfig

from preflight_rag import Preflight
from preflight_rag.langchain import PreflightRetriever, preflight_tool

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", default="offline")
given = parser.parse_args()
DOCUMENTS = {
    "north": "# Holidays\n\nNorth Ltd gives 28 days of holiday a year. Unused days are lost in April.",
    "south": "# Holidays\n\nSouth Ltd gives 31 days of holiday a year. Unused days are paid out.",
}
QUESTION = "How many days of holiday are there in a year?"


def of(tenant: str | None, **more: object) -> RunnableConfig:
    """The config of a call for a tenant."""
    return {"configurable": {"library": tenant, **more}}


async def main() -> None:
    """Answer both tenants at once, from one tool."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        apps = {}
        for tenant, text in DOCUMENTS.items():
            (folder / f"{tenant}.md").write_text(text, encoding="utf-8")
            apps[tenant] = opened.enter_context(Preflight.open(folder / tenant, given.model, create=True))
            apps[tenant].ingest([folder / f"{tenant}.md"])

        tool = preflight_tool(apps)  # for create_agent: agent.ainvoke(..., of(tenant)) reaches it
        call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTION}}
        for answer in await asyncio.gather(*[tool.ainvoke(call, of(tenant, k=4)) for tenant in DOCUMENTS]):
            print(answer.content, "\n  thread:", answer.artifact["thread_id"])

        retriever = PreflightRetriever(library={tenant: app.library for tenant, app in apps.items()}, k=1)
        print("retrieved:", (await retriever.ainvoke(QUESTION, of("south")))[0].page_content)

        # Nobody else's library is opened or named, and what belongs to the operator is refused.
        for config in (of(None), of("../south"), of("north", preflight_mesh="/etc/passwd")):
            print("refused:", (await tool.ainvoke(call, config)).content)


if __name__ == "__main__":
    asyncio.run(main())
