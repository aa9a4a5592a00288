"""The MCP SDK's own client, of whichever of its two lines is installed, with the second one's names."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    import httpx2 as sdk_http
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    MODES = ("auto", "legacy")
except ImportError:  # the first line
    import httpx as sdk_http
    from mcp import ClientSession, types
    from mcp.shared.exceptions import McpError as MCPError
    from mcp.shared.memory import create_connected_server_and_client_session

    Client = None
    MODES = ("auto",)

__all__ = ["MODES", "MCPError", "in_process", "over_http", "over_stdio"]


class Named:
    """A value of the first line's, by the second's names: `is_error` for `isError`."""

    def __init__(self, value):
        self._value = value

    def __getattr__(self, name):
        found = getattr(self._value, re.sub(r"_([a-z])", lambda letter: letter.group(1).upper(), name))
        if isinstance(found, list):
            return [Named(each) for each in found]
        return str(found) if name == "uri" else found


class First:
    """The first line's session; a call that is cancelled tells the server, as the second line does by itself."""

    def __init__(self, session):
        self._session = session

    async def call_tool(self, name, arguments, progress_callback=None):
        number = self._session._request_id
        try:
            return Named(await self._session.call_tool(name, arguments, progress_callback=progress_callback))
        except asyncio.CancelledError:
            params = types.CancelledNotificationParams(requestId=number)
            notification = types.ClientNotification(types.CancelledNotification(params=params))
            await self._session.send_notification(notification)
            raise

    async def list_tools(self):
        return Named(await self._session.list_tools())

    async def list_resources(self, cursor=None):
        return Named(await self._session.list_resources(cursor))

    async def list_resource_templates(self):
        return Named(await self._session.list_resource_templates())

    async def read_resource(self, uri):
        return Named(await self._session.read_resource(uri))


@asynccontextmanager
async def over_stdio(command, variables, mode="auto"):
    """A client of a process that it starts."""
    with open(os.devnull, "w") as nowhere:
        transport = stdio_client(
            StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ) | variables),
            errlog=nowhere,
        )
        async with _client(transport, mode) as client:
            yield client


@asynccontextmanager
async def over_http(url, mode="auto", key=None):
    """A client of a running server."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with sdk_http.AsyncClient(headers=headers, timeout=60) as http:
        async with _client(streamable_http_client(url, http_client=http), mode) as client:
            yield client


@asynccontextmanager
async def in_process(server):
    """A client of a server of this process."""
    if Client:
        async with Client(server) as client:
            yield client
    else:
        async with create_connected_server_and_client_session(server) as session:
            yield First(session)


@asynccontextmanager
async def _client(transport, mode):
    if Client:
        async with Client(transport, mode=mode) as client:
            yield client
        return
    async with AsyncExitStack() as stack:
        incoming, outgoing, *_ = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(ClientSession(incoming, outgoing))
        await session.initialize()
        yield First(session)
