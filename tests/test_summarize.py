"""Summaries of files and of documents of the library, offline and by a chat model."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from preflight_rag import Preflight
from preflight_rag.cli import app as commands
from preflight_rag.langchain import summarize_tool
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import AllPartitionsFailed, EmptyDocument, ModelError, UsageError
from preflight_rag.summarize import close_matches, find_subject, subject_of_file, summarize
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

SENTENCES = [
    "Sleep after learning improves the memory of word lists.",
    "Naps of twenty minutes help nearly as much as a night.",
    "Caffeine in the evening shortens deep sleep by an hour.",
    "Dreams are longest in the last third of the night.",
    "Shift workers sleep five hours on working days [4].",
    "Blue light delays the release of melatonin in adults.",
]


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.txt"
    path.write_text("Sleep\n\n" + " ".join(SENTENCES) + "\n\nReferences\nWalker MP. 2006;57:139.", encoding="utf-8")
    return path


@pytest.fixture
def subject(report, embedder):
    return subject_of_file(report, embedder.count_tokens)


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(commands, ["summarize", *map(str, arguments)])


async def test_offline_the_sentences_themselves_are_cited_with_their_place(subject, report, embedder):
    found = await summarize(subject, reader=OfflineReader(embedder), embedder=embedder, tokens=45)
    text = report.read_text(encoding="utf-8")
    quotes = [citation.quote for citation in found.citations]
    assert quotes == [sentence for sentence in SENTENCES if sentence in quotes]
    assert 2 <= len(quotes) < 6
    assert all(c.verified and text[c.start : c.end] == c.quote and c.passage_id == "" for c in found.citations)
    assert [f"[{n}]" in found.summary for n in range(1, len(quotes) + 2)] == [True] * len(quotes) + [False]
    assert (found.tokens <= 45, 0 < found.share < 1, found.receipt.model_calls) == (True, True, 0)


async def test_marks_of_the_document_itself_are_not_taken_for_citations(subject, embedder):
    found = await summarize(subject, reader=OfflineReader(embedder), embedder=embedder, tokens=500)
    assert [c.n for c in found.citations] == [1, 2, 3, 4, 5, 6]
    assert (found.share, found.gaps) == (1.0, ())


def test_a_document_of_the_library_is_cited_by_its_passages(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        name = next(row["id"] for row in app.library.documents() if row["id"].endswith("venus.md"))
        found = app.summarize(name, tokens=60)
        assert found.document_id == name
        for citation in found.citations:
            (passage,) = app.library.passages([citation.passage_id])
            assert passage.text[citation.start : citation.end] == citation.quote


async def test_a_chat_model_is_asked_once_and_its_marks_are_checked(subject, embedder, chat_reader):
    reply = 'Naps help [2]. Cats sleep all day [3][9].\nQUOTES\n[2] "Naps of twenty minutes help"'
    with ScriptedServer(default=reply) as server:
        found = await summarize(subject, reader=chat_reader(server), embedder=embedder, tokens=500)
    assert found.summary == "Naps help [1]. Cats sleep all day [2][3]."
    assert found.citations[0].quote == "Naps of twenty minutes help"
    assert [c.verified for c in found.citations] == [True, False, False]
    assert found.gaps[0].error == "the reply cites [9], but 6 sentences were given"
    assert (server.count(), list(found.receipt.by_stage)) == (1, ["select", "summarize"])


async def test_a_reply_that_cites_nothing_is_given_its_sentences(subject, embedder, chat_reader):
    with ScriptedServer(default="Blue light delays the release of melatonin.") as server:
        found = await summarize(subject, reader=chat_reader(server), embedder=embedder, tokens=500)
    assert found.citations[0].quote == SENTENCES[5]
    assert "cites nothing" in found.gaps[0].error


async def test_what_is_longer_than_a_prompt_is_read_in_parts_and_made_into_one(subject, embedder, chat_reader):
    script = [
        ("<extract>", "Sleep and naps help [1][4]."),
        ("Sleep after learning", "Sleep helps [1]."),
        ("n=", "Dreams [4]."),
    ]
    with ScriptedServer(script) as server:
        reader = chat_reader(server)
        found = await summarize(subject, reader=reader, embedder=embedder, tokens=500, prompt_tokens=110)
    parts = [request.prompt for request in server.requests if "<extract>" not in request.prompt]
    assert len(parts) > 1
    assert all(prompt.count("<passage n=") <= 4 for prompt in parts)
    assert sum(prompt.count("<passage n=") for prompt in parts) == 6
    assert found.summary == "Sleep and naps help [1][2]."
    assert found.receipt.by_stage["map_summary"].calls == len(parts)
    assert found.receipt.by_stage["reduce_summary"].calls == 1


async def test_offline_parts_make_the_same_summary(subject, embedder):
    reader = OfflineReader(embedder)
    whole = await summarize(subject, reader=reader, embedder=embedder, tokens=500)
    parts = await summarize(subject, reader=reader, embedder=embedder, tokens=500, prompt_tokens=60)
    assert parts.citations == whole.citations
    assert parts.summary.split() == whole.summary.split()


async def test_a_lost_part_is_a_gap_and_all_lost_an_error(subject, embedder, chat_reader):
    down = Reply("out of order", status=400)
    with ScriptedServer(
        [("Sleep after learning", down), ("<extract>", "Dreams [4].")], default="Dreams [4]."
    ) as server:
        options = {"reader": chat_reader(server), "embedder": embedder, "tokens": 500, "prompt_tokens": 110}
        found = await summarize(subject, **options)
    assert [(gap.stage, gap.item) for gap in found.gaps] == [("map_summary", "0")]
    with ScriptedServer(default=down) as server:
        options["reader"] = chat_reader(server)
        with pytest.raises(AllPartitionsFailed, match="none of the") as caught:
            await summarize(subject, **options)
        assert caught.value.receipt["model_calls"] > 1
        with pytest.raises(ModelError) as caught:
            await summarize(subject, **options | {"prompt_tokens": 6000})
        assert caught.value.receipt["model_calls"] == 1


@pytest.mark.parametrize(
    ("name", "content", "arguments", "told"),
    [
        ("empty.txt", " \n", [], "holds no text|no text|is empty"),
        ("tiny.txt", "Sleep helps the memory of adults.", ["--tokens", "2"], "smaller than the shortest sentence"),
        ("two.jsonl", '{"id": "a", "text": "One."}\n{"id": "b", "text": "Two."}\n', [], "holds several documents"),
        ("data.xyz", "text", [], "no loader reads"),
    ],
)
def test_what_cannot_be_summarised_is_one_line(run, tmp_path, name, content, arguments, told):
    (tmp_path / name).write_text(content, encoding="utf-8")
    result = run(tmp_path / name, *arguments)
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("preflight: ")
    assert result.stderr.count("\n") == 1
    assert any(part in result.stderr for part in told.split("|"))


def test_an_unknown_id_is_told_with_those_like_it(library, embedder):
    with pytest.raises(UsageError, match=r"no document of that id.*Did you mean .*venus\.md"):
        find_subject(library, "vernus.md", embedder.count_tokens)
    with pytest.raises(UsageError, match="Give a file, or the id of a document"):
        find_subject(library, "zzzzzzzzzzzzzzzzzzzzzzzzzz", embedder.count_tokens)


def test_close_matches_go_by_id_file_name_and_title():
    rows = [{"id": "/data/a1.txt", "title": "Sleep and memory"}, {"id": "/data/tides.md", "title": ""}]
    assert close_matches("sleep and memry", rows) == ["/data/a1.txt"]
    assert close_matches("TIDES.MD", rows) == ["/data/tides.md"]


def test_without_a_library_and_a_file_both_are_missed(run, tmp_path):
    result = run("nothing.txt", "--library", tmp_path / "none")
    assert result.exit_code == 2
    assert "there is no file 'nothing.txt', and no library at" in result.stderr


def test_a_file_without_text_is_named(tmp_path, embedder):
    (tmp_path / "blank.md").write_text("\n\n", encoding="utf-8")
    with pytest.raises(EmptyDocument, match=r"blank\.md"):
        subject_of_file(tmp_path / "blank.md", embedder.count_tokens)


def test_the_command_prints_the_summary_its_sentences_and_the_share(run, report):
    result = run(report, "--model", "offline", "--tokens", "30")
    assert result.exit_code == 0
    assert "[1] characters " in result.stdout
    assert "selected: 2 sentences" in result.stdout
    found = json.loads(run(report, "--model", "offline", "--tokens", "30", "--json").stdout)
    assert (found["schema"], found["sentences"], found["citations"][0]["verified"]) == (1, 2, True)


async def test_the_tool_gives_the_summary_and_tells_mistakes(own_folder):
    def call(name):
        return {"type": "tool_call", "id": "1", "name": "summarize_document", "args": {"document_id": name}}

    with Preflight.open(own_folder, "offline") as app:
        tool = summarize_tool(app, tokens=60)
        name = next(row["id"] for row in app.library.documents() if row["id"].endswith("venus.md"))
        message = tool.invoke(call(name))
        later = await tool.ainvoke(call("vernus.md"))
    assert message.artifact["document_id"] == "venus.md"
    assert message.artifact["citations"][0]["quote"] in message.content
    assert (later.status, "Did you mean" in later.content) == ("error", True)
