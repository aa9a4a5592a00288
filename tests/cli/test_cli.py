"""The command line on real files: what it prints, its exit status, and one line for every mistake."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from preflight_rag.cli import app
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How hot is the planet Venus?"
ANSWER_KEYS = {
    "schema",
    "question",
    "thread_id",
    "turn",
    "standalone_question",
    "queries",
    "route",
    "answer",
    "abstained",
    "groups",
    "citations",
    "relations",
    "gaps",
    "receipt",
}


@pytest.fixture
def papers(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is brewed at about 80 degrees Celsius.", encoding="utf-8")
    (folder / "page.html").write_text("<title>Oats</title><p>Oats are sown in early spring.</p>", encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 not really")
    with gzip.open(folder / "records.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": "r1", "title": "Moss", "text": "Moss has no roots.", "year": 2020}) + "\n")
    return folder


def test_ingest_ask_and_change(run, papers, tmp_path):
    library = tmp_path / "library"
    first = json.loads(run("ingest", papers, "--library", library, "--json").stdout)
    assert (first["added"], len(first["failed"])) == (3, 1)
    assert "broken.pdf" in first["failed"][0]["source"]

    (papers / "tea.md").write_text("# Tea\n\nGreen tea is brewed at about 75 degrees Celsius.", encoding="utf-8")
    (papers / "page.html").unlink()
    second = json.loads(run("ingest", papers, "--library", library, "--prune", "--json").stdout)
    assert (second["updated"], second["removed"], second["skipped"]) == (1, 1, 1)

    answer = json.loads(run("ask", "At what temperature is green tea brewed?", "-l", library, "--json").stdout)
    assert set(answer) >= ANSWER_KEYS
    assert "75 degrees" in answer["answer"]
    assert answer["citations"][0]["verified"]
    assert answer["route"]["name"] == "plain"


@pytest.mark.slow
def test_a_path_that_is_not_there_is_listed_and_the_rest_goes_on(run, papers, tmp_path):
    result = run("ingest", papers / "tea.md", papers / "none.pdf", papers / "x.exe", "-l", tmp_path / "l", "--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["added"]) == (1, 1)
    assert "2 failures in 2 files: not all could be taken in; the 1 other document is in" in result.stderr
    assert [Path(failure["source"]).name for failure in report["failed"]] == ["none.pdf", "x.exe"]


def test_an_ingest_that_refuses_a_row_fails_and_keeps_the_others(run, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "text": "Moss has no roots."}\n{"id": 1, "text": "Ferns have."}\n', encoding="utf-8")
    result = run("ingest", rows, "-l", tmp_path / "library")
    assert (result.exit_code, result.stderr.strip().count("\n")) == (1, 0)
    assert "1 failure in 1 file: not all could be taken in" in result.stderr
    assert json.loads(run("library", "stats", "-l", tmp_path / "library", "--json").stdout)["documents"] == 1


def test_how_a_table_was_read_is_shown(run, tmp_path):
    (tmp_path / "parts.csv").write_text("Part;Price\nbolt;0,35\nnut;1,05\n", encoding="utf-8")
    run("ingest", tmp_path / "parts.csv", "-l", tmp_path / "library")
    shown = run("library", "show", "parts.csv", "-l", tmp_path / "library").stdout
    assert 'table: separator ;, quote ", decimal ,, encoding utf-8-sig, header yes' in shown
    (document,) = json.loads(run("library", "show", "parts", "-l", tmp_path / "library", "--json").stdout)["documents"]
    assert document["metadata"]["table"]["decimal"] == ","


@pytest.mark.slow
def test_an_ingest_of_nothing_but_failures_fails(run, papers, tmp_path):
    assert run("ingest", papers / "broken.pdf", "-l", tmp_path / "library").exit_code == 1


@pytest.mark.slow
def test_a_record_keeps_its_own_id(run, papers, tmp_path):
    run("ingest", papers, "--library", tmp_path / "library")
    found = json.loads(run("search", "moss roots", "-l", tmp_path / "library", "--json").stdout)
    assert found["fused"][0]["document_id"] == "r1"
    assert set(found) == {"query", "dense", "lexical", "fused", "selected", "gaps", "preflight"}
    assert {"route", "reason", "iou", "top_n", "threshold", "risk", "signals"} <= set(found["preflight"])


def test_corg_explains_its_answers_and_relations(run, own_folder):
    with ScriptedServer(
        [("Context2\n", "Context2 - Distracting")], default="Broken Bow: 3,559 [1]\nNo: 4,120 [2]"
    ) as s:
        asked = ("How many people live in Broken Bow?", "--library", own_folder, "--route", "corg", "--k", "2")
        result = run("ask", *asked, "--explain", OPENAI_BASE_URL=s.url, OPENAI_API_KEY="k", PREFLIGHT_MODEL="openai:m")
    assert "documents distracting: 1" in result.stdout
    assert "answer for Broken Bow (" in result.stdout
    assert re.search(r"comparing passages +1 ", result.stdout)


def test_ask_shows_sources_route_and_cost(run, own_folder):
    result = run("ask", QUESTION, "--library", own_folder, "--explain")
    assert result.exit_code == 0
    assert "venus.md" in result.stdout
    assert "route: read in one go (plain)" in result.stdout
    assert "IoU of the top 3" in result.stdout
    assert "model: preflight reader" in result.stderr


def test_a_conversation_is_kept_listed_shown_and_deleted(run, own_folder):
    run("ask", QUESTION, "-l", own_folder, "-t", "trip")
    run("ask", "And Mercury?", "-l", own_folder, "-t", "trip")
    assert "trip  2 turns" in run("threads", "list", "-l", own_folder).stdout
    assert "2. And Mercury?" in run("threads", "show", "trip", "-l", own_folder).stdout
    assert run("threads", "prune", "-l", own_folder).exit_code == 0
    assert run("threads", "delete", "trip", "-l", own_folder).exit_code == 0
    assert "no conversations" in run("threads", "list", "-l", own_folder).stdout
    assert run("threads", "show", "trip", "-l", own_folder).exit_code == 1


def chat(folder, lines, *arguments):
    result = CliRunner().invoke(app, ["chat", "-l", str(folder), *arguments], input=lines)
    assert result.exit_code == 0
    return result


@pytest.mark.slow
def test_chat_goes_on_until_an_empty_line(own_folder):
    """What it says at its end is how to go on."""
    result = chat(own_folder, f"{QUESTION}\nAnd Mercury?\n\n")
    assert result.stdout.count("\n> ") == 3
    (begun,) = re.findall(r"a new conversation, thread '(terminal-\w+)'", result.stderr)
    command = result.stderr.rpartition("go on with: preflight chat ")[2].split()
    assert command == ["--library", str(own_folder), "--thread", begun]
    again = chat(own_folder, "And Mars?\n\n", *command[2:])
    assert f"going on with thread '{begun}': 2 turns, the last question was: And Mercury?" in again.stderr
    assert "3 turns" in chat(own_folder, "\n", "-t", begun).stderr


@pytest.mark.slow
def test_chat_begins_a_new_conversation_where_no_thread_is_named(own_folder):
    first, second = (chat(own_folder, f"{question}\n\n") for question in (QUESTION, "show me the first source"))
    assert "venus.md" in first.stdout
    assert "venus.md" not in second.stdout
    named = chat(own_folder, "\n", "-t", "trip")
    assert "a new conversation, thread 'trip'" in named.stderr
    assert "is kept" not in named.stderr


@pytest.mark.slow
def test_chat_streams_a_models_answer_once(own_folder):
    with ScriptedServer(default=Reply('Very hot [1].\nQUOTES\n[1] "x"', chunk_delay=0.001)) as server:
        environment = {"OPENAI_BASE_URL": server.url, "PREFLIGHT_ROUTE": "plain"}
        result = CliRunner().invoke(app, ["chat", "-l", str(own_folder)], input=f"{QUESTION}\n\n", env=environment)
    assert result.stdout.count("Very hot [1].") == 1


@pytest.mark.slow
def test_library_commands(run, own_folder):
    assert json.loads(run("library", "stats", "-l", own_folder, "--json").stdout)["documents"] > 30
    assert "whole" in run("library", "verify", "-l", own_folder).stdout
    next((own_folder / "index").rglob("manifest.json")).write_text("{}", encoding="utf-8")
    assert run("library", "verify", "-l", own_folder).exit_code == 1
    assert run("library", "rebuild", "-l", own_folder).exit_code == 0
    assert "whole" in run("library", "verify", "-l", own_folder).stdout
    assert run("library", "delete-document", "no-such", "-l", own_folder).exit_code == 2


@pytest.mark.slow
def test_doctor_finds_nothing_wrong(run, own_folder):
    result = run("doctor", "--library", own_folder, "--json")
    findings = {finding["what"]: finding for finding in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert findings["model"]["found"] == "offline"
    assert findings["library"]["state"] == "ok"
    assert findings["reader"]["state"] == "ok"
    assert findings["reader"]["found"].startswith("preflight reader found ")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what it finds differs by system")
def test_doctor_says_what_the_reading_of_files_is_kept_from(run, own_folder):
    result = run("doctor", "--library", own_folder, "--json")
    findings = {finding["what"]: finding for finding in json.loads(result.stdout)}
    assert findings["reading: memory and time"]["found"] == "limited"
    own_users = [] if os.geteuid() == 0 else ["--user"]
    permitted = subprocess.run(["unshare", *own_users, "--net", "true"], capture_output=True, check=False)
    assert ("network namespace" in findings["reading: network"]["found"]) == (permitted.returncode == 0)
    assert "Python's hook" in findings["reading: network"]["found"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "says"),
    [("none", 0, "none"), ("no-such/reader", 1, "Cannot load the extractive reader 'no-such/reader'")],
)
def test_doctor_tries_the_reader_of_the_settings(run, own_folder, name, status, says):
    result = run("doctor", "--library", own_folder, "--json", PREFLIGHT_EXTRACTIVE_READER=name)
    found = [f["found"] for f in json.loads(result.stdout) if f["what"] == "reader"]
    assert result.exit_code == status
    assert says in found[0]


@pytest.mark.slow
def test_doctor_names_a_server_that_is_down(run, own_folder):
    result = run("doctor", "--library", own_folder, OPENAI_BASE_URL="http://127.0.0.1:9/v1", PREFLIGHT_MODEL="openai:m")
    assert result.exit_code == 1
    assert "cannot be reached" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["ask", "x", "--library", "nowhere"], 1, "nowhere"),
        (["ask", "", "--library", "LIB"], 2, "question is empty"),
        (["ask", " \n ", "--library", "LIB"], 2, "question is empty"),
        (["ask", "x" * 100_000, "--library", "LIB"], 2, "100,000 characters"),
        (["ask", "x", "--library", "LIB", "--thread", ""], 2, "thread"),
        (["ask", "x", "--library", "LIB", "--route", "fastest"], 2, "fastest"),
        (["ask", "x", "--library", "LIB", "--k", "0"], 2, "setting k = 0"),
        (["ask", "x", "--library", "LIB", "--model", "gpt"], 1, "'gpt' is unknown"),
        (["ask", "x", "--library", "LIB", "--model", "nobody:m"], 1, "nobody"),
        (["ask", "x", "--library", "LIB", "--embedder", "no/such-model"], 1, "no/such-model"),
        (["ask", "x", "--library", "LIB", "--option", "only"], 2, "only"),
        (["ask"], 2, "question"),
        (["search", "", "--library", "LIB"], 2, "question is empty"),
        (["threads", "resume", "none", "--library", "LIB"], 1, "no thread 'none'"),
        (["no-such-command"], 2, "no-such-command"),
    ],
)
def test_a_mistake_is_one_clear_line(run, own_folder, arguments, status, says):
    result = run(*[own_folder if argument == "LIB" else argument for argument in arguments])
    assert (result.exit_code, says in result.stderr) == (status, True), result.stderr
    assert "Traceback" not in result.stderr
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["ask", "Who", "is", "the", "landlord"], 'Put the question in quotation marks: {} ask "Who is the landlord"'),
        (["ask", "Who", "--json", "signed", "it?"], 'Put the question in quotation marks: {} ask "Who signed it?"'),
        (["ask", "Whose", "$5"], "Put the question in quotation marks: {} ask 'Whose $5'"),
        (["search", "boiling", "point"], 'Put the query in quotation marks: {} search "boiling point"'),
    ],
)
def test_words_without_quotation_marks_are_one_clear_line(arguments, line):
    result = CliRunner().invoke(app, arguments, prog_name="preflight")
    assert (result.exit_code, result.stderr) == (2, f"preflight: {line.format('preflight')}\n")


def test_an_argument_too_many_beside_a_text_with_quotation_marks_is_no_part_of_it(run):
    result = run("ask", "Who is the landlord?", "my-library")
    assert (result.exit_code, "unexpected extra argument(s) (my-library)" in result.stderr) == (2, True)


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_an_ingest_that_reads_nothing_and_makes_no_library_fails(run, tmp_path, extra):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/program.exe").write_bytes(b"MZ")
    result = run("ingest", tmp_path / "folder", "--library", tmp_path / "library", *extra)
    assert (result.exit_code, result.stderr.count("nothing could be read: no library was made")) == (1, 1)
    assert not (tmp_path / "library").exists()


@pytest.mark.slow
def test_an_empty_library_is_one_clear_line(run, tmp_path):
    (tmp_path / "empty").mkdir()
    run("ingest", tmp_path / "empty", "--library", tmp_path / "library")
    result = run("ask", "x", "--library", tmp_path / "library")
    assert result.exit_code == 1
    assert "preflight ingest" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply("no", status=401), "refused the key"),
        (Reply(raw="<html>", headers={"Content-Type": "text/html"}), "base URL"),
    ],
)
def test_a_model_that_fails_is_one_clear_line(run, own_folder, reply, says):
    with ScriptedServer(default=reply) as server:
        result = run("ask", QUESTION, "-l", own_folder, OPENAI_BASE_URL=server.url, PREFLIGHT_MODEL="openai:m")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 2)
    assert says in result.stderr


@pytest.mark.slow
def test_the_demo_takes_three_routes_and_claims_no_answer_that_no_document_holds(run, tmp_path):
    result = run("demo", "--library", tmp_path / "demo-library")
    assert result.exit_code == 0
    plain, map_reduce, absent, corg = result.stdout.split("\n> ")[1:]
    assert "about 465 °C" in plain
    assert "route: read in one go (plain): " in plain
    assert "Penicillin was a discovery made by chance" in map_reduce
    assert "This is not in the documents, as far as the search shows." in absent
    assert "route: read in parts (map/reduce): " in map_reduce
    assert re.search(r"Broken Bow \(Oklahoma\)\W+.*4,228", corg)
    assert re.search(r"Broken Bow \(Nebraska\)\W+.*3,506", corg)
    assert "route: compared and grouped (COrg): " in corg
    assert not re.search(r"risk|score|[<>]=?", "".join(re.findall("^route: .*", result.stdout, re.MULTILINE)))


@pytest.mark.slow
def test_help_and_questions_import_nothing_heavy(own_folder):
    code = (
        "import sys; sys.argv = ['preflight', *sys.argv[1:]]\n"
        "from preflight_rag.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "watched = {'torch', 'sentence_transformers', 'langchain_community', 'langgraph', 'numpy'}\n"
        "print(sorted(watched & set(sys.modules)))"
    )

    def loaded(*arguments):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]

    assert loaded("--help") == "[]"
    assert loaded("ask", QUESTION, "--library", str(own_folder)) == "['langgraph', 'numpy']"


@pytest.mark.slow
def test_without_a_name_the_library_is_my_library(run, papers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (papers / "broken.pdf").unlink()
    assert run("ingest", papers).exit_code == 0
    assert (tmp_path / "my-library" / "library.db").exists()
    assert json.loads(run("library", "stats", "--json").stdout)["documents"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("command", [["ingest", "papers"], ["ask", QUESTION], ["threads", "list"]])
def test_a_library_at_the_former_default_is_not_passed_by(run, papers, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (papers / "broken.pdf").unlink()
    assert run("ingest", papers, "--library", "library").exit_code == 0
    unnamed = run(*command)
    assert unnamed.exit_code == 2
    assert unnamed.stderr.strip().endswith("Add: --library library")
    assert len(unnamed.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "my-library").exists()
    assert (
        run(*command, "--library", "library", *(["--model", "offline"] if command[0] == "ask" else [])).exit_code == 0
    )
    assert run("ingest", papers, "--library", "my-library").exit_code == 0
    assert run("threads", "list").exit_code == 0
