"""LangChain's own adapter for MCP uses the tools.

It needs the SDK's first line, so it is not installed where constraints.txt is followed: .ci/neighbours.py runs this.
"""

import sys

import pytest

adapters = pytest.importorskip("langchain_mcp_adapters.client")


@pytest.fixture
def client(own_folder):
    arguments = ["-m", "preflight_rag", "mcp", "--library", str(own_folder), "--model", "offline"]
    return adapters.MultiServerMCPClient(
        {"preflight": {"transport": "stdio", "command": sys.executable, "args": arguments}}
    )


async def test_a_question_through_the_adapters_tool(client):
    tools = {tool.name: tool for tool in await client.get_tools()}
    assert set(tools) == {"ask", "search", "read_passage", "list_documents"}
    call = {"type": "tool_call", "id": "1", "name": "ask", "args": {"question": "How hot is the planet Venus?"}}
    message = await tools["ask"].ainvoke(call)
    assert message.tool_call_id == "1"
    assert "Sources:\n[1] Venus, the hottest planet - " in message.content[0]["text"]
    assert message.artifact["structured_content"]["citations"][0]["verified"]


async def test_a_wrong_argument_is_the_tools_error(client):
    tools = {tool.name: tool for tool in await client.get_tools()}
    call = {"type": "tool_call", "id": "1", "name": "read_passage", "args": {"passage_id": "none"}}
    message = await tools["read_passage"].ainvoke(call)
    assert message.status == "error"
    assert "there is no passage 'none'. search and ask return the ids." in str(message.content)


async def test_documents_are_resources(client):
    documents = await client.get_resources("preflight")
    assert any("Venus" in document.as_string() for document in documents)
