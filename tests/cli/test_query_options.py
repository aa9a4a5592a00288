"""Options of the query pipeline on the command line: what they do, and one clear line where they cannot be used."""

from __future__ import annotations

import json

import pytest
from ncbi_server import DOWN, REFUSED, Fault, NcbiServer
from typer.testing import CliRunner

from preflight_rag.cli import app

VENUS = "How hot is the planet Venus?"
METFORMIN = "Is metformin safe in heart failure?"


@pytest.fixture
def run(own_folder):
    def invoke(*arguments, **environment):
        command = [str(argument) for argument in arguments]
        return CliRunner().invoke(app, [*command, "--library", str(own_folder)], env=environment)

    return invoke


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--alpha", "2", "--diversity", "mmr"], "setting alpha = 2.0 is not valid"),
        (["--diversity", "round"], "setting diversity = 'round'"),
        (["--preset", "poetry"], "poetry"),
        (["--window", "0"], "setting window = 0"),
        (["--window", "3"], "window changes nothing without a selector"),
        (["--alpha", "0.5", "--diversity", "fps"], "alpha changes nothing with plain fps"),
        (["--budget-tokens", "1"], "budget"),
        (["--ordering", "5:1"], "setting ordering = '5:1'"),
        (["--where", "colour = red"], "colour"),
        (["--where", "year >> 3"], "not a date in a known form"),
        (["--since", "the day after"], "the day after"),
        (["--subtree", "Neoplasms"], "needs a MeSH file"),
        (["--mesh", "no-such.xml", "--subtree", "Neoplasms"], "no-such.xml"),
        (["--preflight", "dice"], "setting preflight = 'dice'"),
    ],
)
def test_what_cannot_be_used_is_one_line(run, options, says):
    result = run("ask", VENUS, *options)
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("preflight:")]
    assert says in line
    assert "Traceback" not in result.output


def test_an_unknown_reranker_is_one_line(run):
    result = run("ask", VENUS, "--reranker", "no/such-reranker")
    assert result.exit_code == 1
    assert "no/such-reranker" in result.stderr
    assert "Traceback" not in result.output


def test_filters_leave_what_fits(run):
    found = json.loads(run("search", VENUS, "--where", "title ~ venus", "--json").stdout)
    assert {hit["document_id"].rsplit("/", 1)[-1] for hit in found["selected"]} == {"venus.md"}


def test_a_filter_that_nothing_fits_ends_in_abstention_with_the_reason(run):
    answer = json.loads(run("ask", VENUS, "--since", "2999", "--json").stdout)
    assert answer["abstained"]
    assert any("No passage fits the filter" in gap["error"] for gap in answer["gaps"])


def test_a_misspelt_question_is_corrected_and_said(run):
    result = run("ask", "What is the hottset planet?", "--explain")
    assert "spelling: hottset -> hottest" in result.stdout
    assert "465 °C" in result.stdout
    assert "expression in library:" in result.stdout


def test_pubmed_joins_the_answer_and_stays(run):
    with NcbiServer() as server:
        result = run("ask", METFORMIN, "--pubmed", "--json", PREFLIGHT_NCBI_URL=server.url)
    answer = json.loads(result.stdout)
    assert any(citation["source"].startswith(("PMID", "PMC", "https://")) for citation in answer["citations"])
    assert {step["where"] for step in answer["expressions"]} >= {"pubmed", "pmc"}
    later = json.loads(run("ask", METFORMIN, "--json").stdout)
    assert {c["passage_id"] for c in later["citations"]} & {c["passage_id"] for c in answer["citations"]}


@pytest.mark.parametrize("fault", [DOWN, REFUSED])
def test_the_library_answers_when_ncbi_does_not(run, fault):
    with NcbiServer(script=[Fault("", fault)]) as server:
        answer = json.loads(run("ask", VENUS, "--pubmed", "--json", PREFLIGHT_NCBI_URL=server.url).stdout)
    assert not answer["abstained"]
    assert any("Venus" in citation["title"] for citation in answer["citations"])
    assert any(gap["stage"] == "retrieve" and gap["item"] == "pubmed" for gap in answer["gaps"])


def test_doctor_asks_ncbi_where_it_is_wanted(run):
    assert "PubMed" in run("doctor").stdout
    with NcbiServer() as server:
        found = run("doctor", "--pubmed", PREFLIGHT_NCBI_URL=server.url, PREFLIGHT_NCBI_EMAIL="a@example.org")
    assert "3 requests a second" in found.stdout


def test_pubmed_alone_needs_no_library_beforehand(tmp_path):
    arguments = ["ask", METFORMIN, "--pubmed", "--json", "--library", str(tmp_path / "new")]
    with NcbiServer() as server:
        result = CliRunner().invoke(app, arguments, env={"PREFLIGHT_NCBI_URL": server.url})
    assert json.loads(result.stdout)["citations"]
