"""What a person sees who works in a terminal: bars, Ctrl-C, questions before changes, Markdown, the library's list."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from shutil import which

import office_files
import pytest
from terminal import Terminal
from typer.testing import CliRunner

from preflight_rag.cli import app
from preflight_rag.library import Library
from preflight_rag.testing.scripted_server import ScriptedServer


@pytest.fixture(scope="module")
def offices(tmp_path_factory):
    """A library of all kinds of office files, with others beside them that are not read."""
    folder = office_files.write_all(tmp_path_factory.mktemp("offices") / "files")
    for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg", "old.doc", "song.mp3"):
        (folder / name).write_bytes(b"x")
    library = folder.parent / "library"
    result = CliRunner().invoke(app, ["ingest", str(folder), "--library", str(library)])
    assert result.exit_code == (0 if which("tesseract") else 1), result.output  # one is a scan
    return library, folder, result.output


def records(path: Path, count: int) -> Path:
    lines = []
    for number in range(count):
        text = " ".join(f"In {1500 + number} the mill {number} ground {n} sacks of rye." for n in range(12))
        lines.append(json.dumps({"id": f"r{number}", "title": f"Mill {number}", "text": text}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(tmp_path, run):
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(4):
        records(folder / f"mills{number}.jsonl", 1).write_text(
            records(folder / "x.jsonl", 150).read_text(encoding="utf-8").replace('"r', f'"f{number}-r'),
            encoding="utf-8",
        )
    (folder / "x.jsonl").unlink()
    library = tmp_path / "library"
    process = Terminal("ingest", folder, "--library", library)
    process.until(r"mills\d\.jsonl|Mill \d")
    process.until(r"[1-9]\d*%")
    process.interrupt()
    assert process.end() == 130
    assert "stopping after what is in hand" in process.plain
    assert "Run the same command again to go on" in process.plain
    (added,) = re.findall(r"added (\d+)", process.plain)
    assert 0 < int(added) < 600
    assert run("library", "verify", "--library", library).exit_code == 0
    rest = json.loads(run("ingest", folder, "--library", library, "--json").stdout)
    assert (rest["added"], rest["skipped"]) == (600 - int(added), int(added))


@pytest.mark.slow
def test_the_bar_names_the_file_and_the_time_left(tmp_path):
    process = Terminal("ingest", records(tmp_path / "mills.jsonl", 400), "--library", tmp_path / "library")
    assert process.end() == 0
    assert re.search(r"\d+% .*\d:\d\d:\d\d .*(mills\.jsonl|Mill \d+)", process.plain)
    assert re.search(r"\d+ of 400 passages embedded", process.plain)
    assert "(0 documents)" not in process.plain
    shares = [int(share) for share in re.findall(r"(\d+)%", process.plain.partition("making the index")[0])]
    assert shares[:-1] == sorted(shares[:-1])  # then the bar of the index begins


@pytest.mark.slow
def test_what_is_not_read_is_listed_by_kind(offices, run, tmp_path):
    _, folder, output = offices
    assert "not read: 4 .jpg (a.jpg, b.jpg, c.jpg, ...): a picture" in output
    assert "not read: old.doc: an old Word document; save it as .docx" in output
    assert "not read: song.mp3: sound" in output
    assert "note: " in output
    assert "hidden sheets: Old figures" in output
    named = run("ingest", folder, "--library", tmp_path / "library", "--names").stdout
    assert named.count("not read: ") == 6 + len(re.findall("note: .*not read: ", named))
    assert f"not read: {folder / 'd.jpg'}: a picture" in named


@pytest.mark.parametrize(
    ("question", "short", "place"),
    [
        ("What was spent in Caldria?", "$750.30", "budget.xlsx, sheet 1"),
        ("What is the autumn depth of the buoy at Caldria?", "5.4 m", "survey.pptx, slide 2"),
        ("When is high water in Norhaven?", "06:40", "tides.od"),
    ],
)
def test_a_table_of_an_office_file_answers(offices, run, question, short, place):
    library, *_ = offices
    result = run("ask", question, "--library", library, "--model", "offline")
    assert result.stdout.startswith(short), result.stdout
    assert place in result.stdout


def test_the_list_of_documents(offices, run):
    library, *_ = offices
    shown = run("library", "list", "--library", library).stdout
    assert "Harbour survey" in shown
    assert "survey.pptx" in shown
    read = len(office_files.ALL) if which("tesseract") else len(office_files.ALL) - 1  # one is a scan
    assert f"{read + 2} documents" in shown
    found = json.loads(run("library", "list", "--find", "keeper", "--library", library, "--json").stdout)
    assert {each["title"] for each in found["documents"]} == {"The Keeper of Norhaven", "Keepers of Norhaven"}
    assert "No document's title" in run("library", "list", "--find", "zebra", "--library", library).stdout


def test_remove_asks_first_takes_names_and_leaves_a_whole_library(tmp_path, run):
    folder = office_files.write_all(tmp_path / "files")
    library = tmp_path / "library"
    assert run("ingest", folder, "--library", library).exit_code == (0 if which("tesseract") else 1)  # one is a scan
    unasked = run("library", "remove", "budget.xlsx", "--library", library)
    assert (unasked.exit_code, "--yes" in unasked.stderr) == (2, True)

    process = Terminal("library", "remove", "budget.xlsx", "--library", library)
    process.until(r"Remove this document .*\[y/N\]")
    process.type("n")
    assert process.end() == 1
    process = Terminal("library", "remove", "budget.xlsx", "records.json", "--library", library)
    process.until(r"Remove 3 documents .*\[y/N\]")
    process.type("y")
    assert process.end() == 0
    assert "removed 3 documents" in process.plain
    assert run("library", "verify", "--library", library).exit_code == 0
    with Library.open(library) as opened:
        assert "budget" not in {row["title"] for row in opened.documents()}

    several = run("library", "remove", "Tide tables", "--yes", "--library", library)
    assert (several.exit_code, "3 documents have the name" in several.stderr) == (2, True)
    misspelt = run("library", "remove", "survey.pptxx", "--yes", "--library", library)
    assert (misspelt.exit_code, "survey.pptx" in misspelt.stderr.split("Did you mean")[1]) == (2, True)
    assert (folder / "budget.xlsx").is_file()


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "hi", "--library"),
        ("search", "hi", "--library"),
        ("chat", "--library"),
        ("ingest", "nothing-here", "--library"),
        ("ingest", "picture.jpg", "--library"),
        ("ingest", "folder", "--library"),
        ("threads", "list", "--library"),
        ("library", "list", "--library"),
        ("library", "remove", "x", "--yes", "--library"),
        ("search", "hi", "--pubmed", "--library"),
    ],
)
def test_a_mistake_makes_no_library(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFLIGHT_NCBI_URL", "http://127.0.0.1:9")
    (tmp_path / "folder").mkdir()
    for name in ("picture.jpg", "folder/picture.jpg"):
        (tmp_path / name).write_bytes(b"x")
    before = sorted(os.listdir(tmp_path))
    result = run(*arguments, "typo/my-libary")
    assert "Traceback" not in result.output
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.slow
def test_calibrate_asks_before_it_writes(tmp_path, run):
    library = tmp_path / "library"
    run("ingest", records(tmp_path / "mills.jsonl", 60), "--library", library)
    unasked = run("calibrate", "--library", library, "--count", 40)
    assert (unasked.exit_code, "--yes" in unasked.stderr) == (2, True)
    process = Terminal("calibrate", "--library", library, "--count", 40)
    process.until(r"\[y/N\]|preflight: ")
    if "[y/N]" in process.plain:
        process.type("n")
    process.end()
    assert not (library / "preflight.json").exists()


def test_chat_draws_markdown_on_a_terminal_and_leaves_it_alone_in_a_pipe(own_folder, run):
    reply = "It is **very hot** [1]:\n\n- on the surface\n- in the clouds"
    with ScriptedServer(default=reply) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:m"}
        process = Terminal("chat", "--library", own_folder, "--route", "plain", **environment)
        process.until("> ")
        process.type("How hot is the planet Venus?")
        process.until("model: openai:m - 1 call, ")
        process.until("> ")
        process.type("")
        assert process.end() == 0
        piped = CliRunner().invoke(
            app,
            ["chat", "--library", str(own_folder), "--route", "plain"],
            input="How hot is Venus?\n\n",
            env=environment,
        )
    assert "**very hot**" not in process.plain
    assert "\x1b[1mvery hot\x1b[0m" in process.text
    assert " • on the surface" in process.plain
    assert "**very hot**" in piped.stdout
    assert "\x1b[" not in piped.stdout


def test_chat_knows_help_and_quit_and_asks_neither(own_folder):
    with ScriptedServer(default="Very hot [1].") as server:
        result = CliRunner().invoke(
            app,
            ["chat", "--library", str(own_folder), "--route", "plain"],
            input="/help\n/stop now\n/quit\nHow hot is Venus?\n",
            env={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:m"},
        )
        assert server.count() == 0
    assert result.exit_code == 0
    assert "/quit   end the conversation" in result.stderr
    assert "There is no '/stop'" in result.stderr
    assert "Very hot" not in result.stdout


def test_without_a_model_neither_route_nor_calls_are_shown_unless_asked_for(own_folder, run):
    asked = ("ask", "How hot is the planet Venus?", "--library", own_folder, "--model", "offline")
    assert not re.search(r"^(route|model):|calls|tokens", run(*asked).stdout, re.MULTILINE)
    assert "route: read in one go" in run(*asked, "--explain").stdout


def test_a_source_that_is_cited_twice_is_listed_once_by_its_name(own_folder, run):
    with ScriptedServer(default="It is very hot [1]. It is the second planet [1]. Mercury is near [2].") as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:m"}
        asked = ("ask", "How hot is the planet Venus?", "--library", own_folder, "--route", "plain")
        text = run(*asked, **environment).stdout
        found = json.loads(run(*asked, "--json", **environment).stdout)
    listed = re.findall(r"^(?:\[\d+\])+ .* - (.*)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed)) >= 1
    assert not any("/" in place for place in listed)
    for cited in found["citations"]:
        assert (cited["name"], cited["document_id"]) == (Path(cited["document_id"]).name, cited["source"])


def test_explain_reads_by_itself(own_folder, run):
    text = run("ask", "How hot is the planet Venus?", "--library", own_folder, "--model", "offline", "--explain").stdout
    for heading in ("What was searched", "Why it was read this way", "The numbers behind it", "What it took"):
        assert f"\n{heading}\n" in text
    assert "risk of a lost key passage" in text
    assert "understanding the question" in text
    assert not re.search(r"\b[a-z]+_[a-z_]+\b", text.split("What was searched")[1])


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("ask", "x y", "--where", "foo=1"), "--where"),
        (("ask", "x y", "--where", "title>abc"), "--where"),
        (("ask", "x y", "--since", "abc"), "--since"),
        (("ask", "x y", "--k", "0"), "--k"),
        (("ask", "x y", "--preset", "foo"), "--preset"),
        (("ask", "x y", "--option", "a"), "--option"),
        (("ask", "x y", "--model", "foo:bar"), "--model"),
        (("ask", "x y", "--alpha", "0.3"), "--diversity"),
        (("ask", "x y", "--embedder", "no/such"), "--embedder"),
        (("ask", "x y", "--subtree", "D12"), "--mesh"),
        (("library", "rebuild", "--index", "foo"), "--index"),
        (("summarize", "FILE", "--tokens", "1"), "--tokens"),
        (("calibrate", "--count", "1", "--try"), "--count"),
        (("ingest", "FILE", "--splitter", "foo"), "--splitter"),
    ],
)
def test_a_hint_names_the_option(offices, run, arguments, option):
    library, folder, _ = offices
    file = folder / "tides.odt"
    result = run(*(file if each == "FILE" else each for each in arguments), "--library", library)
    assert result.exit_code in (1, 2), result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("preflight: ")]
    assert option in line.split(". ", 1)[1], line
