"""Questions about the documents themselves, and ordinary ones that only look like them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight_rag.conversation import lookups
from preflight_rag.conversation.lookups import lookup_after, recognise_lookup

PATTERNS = [
    *(lookups._ENTITY_LISTING, *lookups._LISTING_PATTERNS, *lookups._FILTER_PATTERNS),
    *(pattern for _, pattern in lookups._METADATA_PATTERNS),
]

DATE = ("Published", "Date", "File saved")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Which documents mention ketamine?", "ketamine"),
        ("How many reports mention ketamine?", "ketamine"),
        ("How many reports are there about breast cancer?", "breast cancer"),
        ("how many papers about COPD do you have?", "COPD"),
        ("Which of the documents talk about inflation?", "inflation"),
        ("which files contain the word “warfarin”?", "warfarin"),
        ("List all documents about sleep apnea", "sleep apnea"),
        ("Can you show me the articles that mention etoricoxib?", "etoricoxib"),
        ("Do you have any papers on rizatriptan?", "rizatriptan"),
        ("Is there anything about goiter in the library?", "goiter"),
        ("In which documents is Warren Buffett mentioned?", "Warren Buffett"),
        ("What documents do you have?", ""),
        ("How many documents are there?", ""),
        ("How many documents are in the library?", ""),
        ("What is in the library?", ""),
        ("List all files", ""),
    ],
)
def test_listing(question: str, topic: str) -> None:
    found = recognise_lookup(question)
    assert found is not None
    assert (found.kind, found.topic) == ("listing", topic)


def test_things_in_documents_are_listed_by_document() -> None:
    found = recognise_lookup("List the drugs studied in the trials of depression")
    assert found is not None
    assert (found.kind, found.asked, found.topic) == ("listing", "drugs", "depression")
    found = recognise_lookup("Which companies are mentioned in the documents?")
    assert found is not None
    assert (found.asked, found.topic) == ("companies", "")


@pytest.mark.parametrize(
    ("question", "author", "journal", "years"),
    [
        ("Which papers were published in 2012?", "", "", ("in", "2012")),
        ("How many articles were published since 2015?", "", "", ("since", "2015")),
        ("Which papers are by Maria Smith?", "Maria Smith", "", ()),
        ("Which articles did Smith write?", "Smith", "", ()),
        ("Which papers were published in PLoS ONE?", "", "PLoS ONE", ()),
    ],
)
def test_listing_by_metadata(question: str, author: str, journal: str, years: tuple[str, ...]) -> None:
    found = recognise_lookup(question)
    assert found is not None
    assert (found.author, found.journal, found.years) == (author, journal, years)


@pytest.mark.parametrize(
    ("question", "fields", "topic"),
    [
        ("Who wrote the paper on relaxation after mastectomy?", ("Authors",), "relaxation after mastectomy"),
        ("Who are the authors of the study about rizatriptan?", ("Authors",), "rizatriptan"),
        ("In which journal was the trial of etoricoxib published?", ("Journal",), "etoricoxib"),
        ("When was the article on COPD self-management published?", DATE, "COPD self-management"),
        ('When was "Ten-Year Follow-Up of a Randomized Trial" published?', DATE,
         "Ten-Year Follow-Up of a Randomized Trial"),
        ("What is the DOI of the report on goiter?", ("DOI",), "goiter"),
        ("What is the title of PMC115849?", ("Title",), "PMC115849"),
        ("When was this paper published?", DATE, ""),
    ],
)  # fmt: skip
def test_metadata(question: str, fields: tuple[str, ...], topic: str) -> None:
    found = recognise_lookup(question)
    assert found is not None
    assert (found.kind, found.fields, found.topic) == ("metadata", fields, topic)


@pytest.mark.parametrize(
    "question",
    [
        "How many patients were in the trial?",
        "How many studies were included in the review?",
        "How many trials were stopped early?",
        "How many studies on smoking were included?",
        "Which drug was studied in the trial?",
        "List the side effects of metformin",
        "List the drugs studied in the trial",
        "Which report shows the highest revenue?",
        "What does the report say about inflation?",
        "What do the documents say about ketamine and blood pressure?",
        "Which documents are needed to open an account?",
        "Who discovered penicillin?",
        "When was the Eiffel Tower built?",
        "How many pages did Darwin fill each day?",
        "Which files does the installer need?",
        "What is the date of the annual meeting?",
        "Which studies found no effect of vitamin D?",
        "Does the report mention a recall?",
        "How many people wrote to the editor?",
        "Which article of the constitution protects speech?",
        "How many records were broken at the games?",
        "Name the author's main findings",
    ],
)
def test_ordinary_questions(question: str) -> None:
    assert recognise_lookup(question) is None


@pytest.mark.parametrize(
    ("before", "message", "topic", "fields"),
    [
        ("Which documents mention placebo?", "and naproxen?", "naproxen", ()),
        ("How many reports mention ketamine?", "What about warfarin?", "warfarin", ()),
        ("Who wrote the paper on rizatriptan?", "In which journal?", "", ("Journal",)),
        ("Who wrote the paper on rizatriptan?", "And when?", "", DATE),
    ],
)
def test_what_goes_on_from_such_a_question(before: str, message: str, topic: str, fields: tuple[str, ...]) -> None:
    found = lookup_after(message, before)
    assert found is not None
    assert (found.topic, found.fields) == (topic, fields)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("Which documents mention placebo?", "and why?"),
        ("Which documents mention placebo?", "and in 2020?"),
        ("What is the dose of ketamine?", "and naproxen?"),
        ("What is the dose of ketamine?", "In which journal?"),
    ],
)
def test_what_does_not(before: str, message: str) -> None:
    assert lookup_after(message, before) is None


@pytest.mark.parametrize(
    ("question", "topic", "fields"),
    [
        ("In which journal did the etoricoxib trial in arthritis appear?", "etoricoxib in arthritis", ("Journal",)),
        ("Which journal published the comparison of two nerve blocks?", "comparison of two nerve blocks", ("Journal",)),
        ("Who is the first author of the paper on minnows?", "minnows", ("First author",)),
        ("Who is the senior author of the study of minnows?", "minnows", ("Last author",)),
        ("In which journal was the etoricoxib trial published?", "etoricoxib", ("Journal",)),
        ("Who are the authors of the AZD3199 vs formoterol study?", "AZD3199 vs formoterol", ("Authors",)),
        ("When did the efalizumab arthropathy paper come out?", "efalizumab arthropathy", DATE),
        ("Where was the statin carotid study published?", "statin carotid", ("Journal", "Publisher")),
    ],
)
def test_what_the_document_is_on_stands_before_or_behind_its_noun(question, topic, fields):
    lookup = recognise_lookup(question)
    assert lookup is not None
    assert (lookup.kind, lookup.topic, lookup.fields, lookup.named) == ("metadata", topic, fields, True)


@pytest.mark.parametrize("question", ["Where was Hamlet published?", "Where was the trial held?"])
def test_where_asks_of_a_document_only_where_it_is_called_one(question):
    assert recognise_lookup(question) is None


def test_documents_of_a_kind_are_listed():
    lookup = recognise_lookup("Which documents are filings or releases of Amcor?")
    assert lookup is not None
    assert (lookup.kind, lookup.topic) == ("listing", "Amcor")


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PATTERNS).flatmap(lambda pattern: st.from_regex(pattern.compiled, fullmatch=True)))
def test_nothing_that_a_pattern_fits_is_passed_by_without_trying_it(question: str) -> None:
    assert lookups._SPEAKS_OF_DOCUMENTS.search(question)
