"""No call tells a client where on this machine's disk the documents lie."""

import json

import openai
import pytest
from serving import running

QUESTION = "Which rock is hard?"


@pytest.fixture
def told(offline_app, client_of):
    """What each call says, by its name, after two turns."""
    with running(offline_app) as url:
        client = client_of(url)
        client.ask(QUESTION, thread_id="t")
        streamed = client.events("/api/ask", question=QUESTION, html=True)
        answer = client.ask(QUESTION, thread_id="t")
        passage = answer.json()["citations"][0]["passage_id"]
        listed = client.get("/api/documents")
        name = listed.json()["documents"][0]["id"]
        file = client.get("/api/documents/file", params={"id": name})
        gets = ("/api/threads", "/api/threads/t", "/api/threads/t/export", f"/api/passages/{passage}", "/api/info")
        said = {path: client.get(path).text for path in (*gets, "/api/stats", "/health", "/v1/models", "/metrics")}
        said |= {"search": client.post("/api/search", json={"query": "hard rock"}).text, "file": str(file.headers)}
        said |= {"ask": answer.text, "stream": json.dumps(streamed), "documents": listed.text}
        with openai.OpenAI(base_url=f"{url}/v1", api_key="any") as chat:
            asked = {"model": "preflight", "messages": [{"role": "user", "content": QUESTION}]}
            said["chat"] = chat.chat.completions.create(**asked).model_dump_json()
            said["chat stream"] = "".join(
                chunk.model_dump_json() for chunk in chat.chat.completions.create(**asked, stream=True)
            )
        said["deleted"] = str(client.delete("/api/documents", params={"id": name}).status_code)
        assert file.status_code == 200
        yield said


def test_no_call_tells_a_path_and_names_open_and_delete(told, tmp_path):
    assert [name for name, text in told.items() if str(tmp_path) in text] == []
    assert '"document_id":"basalt.txt"' in told["ask"].replace(" ", "")
    assert told["deleted"] == "204"
