"""Several libraries behind one address: a request goes to the one that it names, and their conversations stay apart."""

from contextlib import ExitStack, contextmanager

import pytest
from serving import running_app, serving

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.server.app import create_app_of_several
from preflight_rag.server.several import COOKIE, HEADER, libraries_in
from preflight_rag.state.errors import LibraryMissing

pytestmark = pytest.mark.slow
FACTS = {"stones": "Basalt is a rock that is hard.", "plants ü": "Moss is a plant that is soft."}


@pytest.fixture
def folder(tmp_path, embedder):
    for name, text in FACTS.items():
        (tmp_path / "note.txt").write_text(text, encoding="utf-8")
        with Library.open(tmp_path / "libraries" / name, embedder=embedder, create=True) as library:
            library.ingest(tmp_path / "note.txt")
    (tmp_path / "libraries" / "no library").mkdir()
    return tmp_path / "libraries"


@contextmanager
def served(folder, embedder):
    with ExitStack() as stack:
        opened = {
            name: stack.enter_context(Preflight.open(path, "offline", embedder=embedder))
            for name, path in libraries_in(folder).items()
        }
        yield stack.enter_context(running_app(create_app_of_several(opened)))


def test_a_request_goes_to_the_library_that_it_names(folder, embedder, client_of):
    with served(folder, embedder) as url:
        client = client_of(url)
        info = client.get("/api/info").json()
        assert (info["library"]["name"], info["libraries"]) == ("plants ü", ["plants ü", "stones"])
        stones = {HEADER: "stones"}
        assert client.get("/api/info", headers=stones).json()["library"]["name"] == "stones"
        assert client.get("/api/info", headers={HEADER: "plants%20%C3%BC"}).json()["library"]["name"] == "plants ü"
        assert client.get("/api/info", headers={"Cookie": f"{COOKIE}=stones"}).json()["library"]["name"] == "stones"
        answer = client.post("/api/ask", json={"question": "What is hard?", "stream": False}, headers=stones).json()
        assert "Basalt" in answer["answer"]
        assert len(client.get("/api/threads", headers=stones).json()["threads"]) == 1
        assert client.get("/api/threads").json()["threads"] == []


def test_a_library_that_is_not_there_is_named_and_one_that_is_gone_is_the_first(folder, embedder, client_of):
    with served(folder, embedder) as url:
        client = client_of(url)
        reply = client.get("/api/info", headers={HEADER: "animals"})
        assert (reply.status_code, reply.json()["error"]["message"]) == (404, "there is no library 'animals' here")
        assert client.get("/api/info", headers={"Cookie": f"{COOKIE}=animals"}).json()["library"]["name"] == "plants ü"


def test_the_command_serves_every_library_of_a_folder(folder, client_of):
    with serving("--libraries", folder, "--model", "offline") as (_, url):
        assert client_of(url).get("/api/info").json()["libraries"] == ["plants ü", "stones"]


def test_a_folder_without_libraries_is_refused(tmp_path):
    with pytest.raises(LibraryMissing, match="no library in the folder"):
        libraries_in(tmp_path)
