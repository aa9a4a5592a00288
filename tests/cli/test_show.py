"""What a person sees of the check of statements and of pruned passages in the terminal."""

import re
from pathlib import Path

import pytest

from preflight_rag import server
from preflight_rag.cli.show import GAPS, way
from preflight_rag.cli.show import answer as show
from preflight_rag.state.values import Answer, Citation, Gap, PrunedPassage, Receipt, RouteDecision, Statement

SUPPORTED = Statement(text="Tea is hot", citations=(1,), supported=True, score=0.91)
UNSUPPORTED = Statement(text="Tea is blue", citations=(1, 2), supported=False, score=0.12)
CONTRADICTED = Statement(text="Tea is cold", citations=(2,), supported=False, score=0.02, contradicted=True)
UNREAD = Statement(text="Tea is old", citations=(9,), supported=None)
PRUNED = PrunedPassage(passage_id="p", document_id="d", title="Oats", rank=7, answerable=0.004, tokens=120)


@pytest.fixture
def shown(capsys):
    def show_it(*, citations=(), gaps=(), **options):
        found = Answer(
            citations=citations,
            question="q",
            thread_id="t",
            turn=1,
            standalone_question="q",
            queries=("q",),
            route=RouteDecision(name="plain", reason="forced", top_n=3, threshold=0.2),
            answer="Tea is hot [1].",
            abstained=False,
            statements=(SUPPORTED, UNSUPPORTED, CONTRADICTED, UNREAD),
            pruned=(PRUNED,),
            gaps=gaps,
            receipt=Receipt(model="m"),
        )
        show(found, **options)
        return capsys.readouterr().out

    return show_it


def test_one_line_for_each_statement_that_is_not_supported(shown):
    lines = shown().splitlines()
    assert "not supported by [1][2]: Tea is blue" in lines
    assert "contradicted by [2]: Tea is cold" in lines
    assert not any("Tea is hot" in line or "Tea is old" in line for line in lines[1:])


def test_explain_shows_every_statement_with_its_score_and_what_was_pruned(shown):
    text = shown(explain=True)
    assert "supported by [1] (0.91): Tea is hot" in text
    assert "not supported by [1][2] (0.12): Tea is blue" in text
    assert "not checked against [9]: Tea is old" in text
    assert "pruned: passage 7, answerability 0.004, 120 tokens: Oats" in text


@pytest.mark.parametrize(
    ("route", "reason", "shown"),
    [
        (
            "plain",
            "risk 0.05 < 0.11 (all collections): the top 3 stand out",
            "read in one go (plain): the top 3 stand out",
        ),
        (
            "corg",
            "COrg score 0.83 >= 0.53: an edited copy: A / B",
            "compared and grouped (COrg): an edited copy: A / B",
        ),
        ("map_reduce", "risk 0.2 >= 0.11 (all collections)", "read in parts (map/reduce)"),
        (
            "plain",
            "the dense top 3 stand out (risk 0.05, below the limit of 0.11, calibrated on six collections)",
            "read in one go (plain): the dense top 3 stand out",
        ),
        (
            "corg",
            "an edited copy: A / B (score 0.83, compared from 0.53 on)",
            "compared and grouped (COrg): an edited copy: A / B",
        ),
        ("plain", "the passages are short (861 tokens)", "read in one go (plain): the passages are short (861 tokens)"),
        ("plain", "only 1 passage: nothing can be lost", "read in one go (plain): only 1 passage: nothing can be lost"),
        ("abstain", "nothing was found in the library", "not answered (abstain): nothing was found in the library"),
        ("conversation", "thanks", "answered from the conversation: thanks"),
    ],
)
def test_how_passages_are_read_is_said_in_words(route, reason, shown):
    assert way(route, reason) == shown


def test_files_of_one_name_stand_with_their_folders(shown):
    sources = ("/docs/north/notes.txt", "/docs/south/notes.txt", "/docs/south/budget.txt")
    common = {"title": "Notes", "quote": "It is so.", "start": 0, "end": 9, "verified": True}
    cited = tuple(
        Citation(n=n, passage_id=f"p{n}", document_id=source, source=source, **common)
        for n, source in enumerate(sources, 1)
    )
    lines = shown(citations=cited).splitlines()
    assert [line for line in lines if line.startswith("[")] == [
        "[1] Notes - north/notes.txt",
        "[2] Notes - south/notes.txt",
        "[3] Notes - budget.txt",
    ]


UNRELATED = [Gap(stage="relate_contexts", item=str(n), error="not compared (relation_prompt_tokens)") for n in (3, 4)]
UNREACHED = Gap(stage="model", item="openai:m", error="not reached")


def test_gaps_of_a_stage_are_one_line_without_names_of_the_program(shown):
    lines = [line for line in shown(gaps=(*UNRELATED, UNREACHED)).splitlines() if line.startswith("gap: ")]
    assert lines == [
        "gap: Some documents could not be compared. (--explain shows why)",
        "gap: model openai:m: not reached",
    ]


def test_explain_shows_each_gap_as_it_is(shown):
    lines = shown(gaps=UNRELATED, explain=True).splitlines()
    assert "gap: relate_contexts 4: not compared (relation_prompt_tokens)" in lines


def test_gaps_are_told_in_the_words_of_the_page():
    page = (Path(server.__file__).parent / "page" / "static" / "route.js").read_text(encoding="utf-8")
    said = dict(re.findall(r'^  (\w+): "([^"\n]+)",$', page, re.MULTILINE))
    assert {stage: said.get(stage) for stage in GAPS} == GAPS
