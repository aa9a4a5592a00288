"""Documents that replace each other: which is newer, and in which order and under which line they are shown."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.state.reading import Source
from preflight_rag.text.headers import VERSIONS
from preflight_rag.text.sentence_fit import SentenceFit
from preflight_rag.text.versions import change, newest_first, supersedes, version_name

LEAVE = {"2022": 24, "2023": 26, "2024": 28}


def document(name, title, text="", date=None, replaces=()):
    return Source(1, name, title, text, name, date, name, replaces=replaces)


def test_a_year_in_the_files_names_tells_the_editions_of_an_undated_policy_apart():
    old, new = document("leave-2022.docx", "Leave policy"), document("leave 2024.docx", "Leave policy")
    assert supersedes(new, old)
    assert not supersedes(old, new)
    assert version_name(new) == "2024"
    assert not supersedes(document("a.docx", "Leave policy"), document("b.docx", "Leave policy"))
    assert not supersedes(document("invoice-2031.md", "Invoice"), document("invoice-2017.md", "Invoice"))
    assert not supersedes(document("news-2024.md", "Village news"), document("news-2023.md", "Village news"))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (document("a.md", "Leave policy 2024"), document("b.md", "Leave policy 2022")),
        (document("a.md", "Handbook v2.10"), document("b.md", "Handbook v2.9")),
        (document("a.md", "House Rules, fourth edition"), document("b.md", "House Rules, third edition")),
        (document("a.md", "Style guide 12th edition"), document("b.md", "Style guide 9th edition")),
        (document("a.md", "Travel rules", date="2024-01-02"), document("b.md", "Travel rules", date="2021-01-02")),
        (document("a.md", "Fire rules", replaces=("fire.md",)), document("old/fire.md", "In case of fire")),
        (document("a.md", "Fire rules", replaces=("fire",)), document("fire.md", "In case of fire")),
        (document("a.md", "Fire", "This supersedes the Drill rules of May."), document("b.md", "Drill rules")),
    ],
)
def test_a_document_is_newer_by_its_title_its_date_or_what_it_says(newer, older):
    assert supersedes(newer, older)
    assert not supersedes(older, newer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (document("a.md", "Leave policy 2024"), document("b.md", "Travel policy 2022")),
        (document("a.md", "Leave policy"), document("b.md", "Leave policy")),
        (document("a.md", "2024"), document("b.md", "2022")),
        (document("a.md", "Leave policy 2024"), document("a.md", "Leave policy 2022")),
        (document("a.md", "Fire", "Foam replaces water."), document("b.md", "Water")),
    ],
)
def test_other_documents_are_no_versions(one, other):
    assert not supersedes(one, other)
    assert not supersedes(other, one)


def test_the_newest_stands_first_and_the_rest_stay_in_their_order():
    years = [document(f"{year}.md", f"Leave policy {year}") for year in (2022, 2024, 2023)]
    other = document("other.md", "Travel")
    assert [one.document_id for one in newest_first([other, *years])] == ["other.md", "2024.md", "2023.md", "2022.md"]


def test_the_newest_stands_where_the_first_of_its_versions_stood():
    years = [document(f"{year}.md", f"Leave policy {year}") for year in (2023, 2022)]
    other, newest = document("other.md", "Travel"), document("2024.md", "Leave policy 2024")
    found = newest_first([*years, other, newest])
    assert [one.document_id for one in found] == ["2024.md", "2023.md", "2022.md", "other.md"]


def test_nothing_is_claimed_of_an_edition_that_another_one_replaces():
    old, kept = "Dogs are not allowed in the building.", "The yard is locked at ten."
    third = Source(1, "1", "House Rules, third edition", f"{old} {kept}", document_id="third")
    fourth = Source(2, "2", "House Rules, fourth edition", f"Each flat may keep one dog. {kept}", document_id="fourth")
    fit = SentenceFit("Are dogs allowed in the building?", [third, fourth])
    assert fit.is_replaced(1, old)
    assert not fit.may_claim(1, old)
    assert not fit.is_replaced(1, kept), "the new edition says the same"
    assert not fit.is_replaced(2, "Each flat may keep one dog.")
    named = SentenceFit("Were dogs allowed by the third edition?", [third, fourth])
    assert not named.is_replaced(1, old)
    issues = [Source(n, str(n), f"Newsletter, Issue {n}", f"It opens in {n}.", document_id=str(n)) for n in (1, 2)]
    assert not SentenceFit("When does it open?", issues).is_replaced(1, "It opens in 1.")
    # A report of last year still says what was so last year.
    reports = [Source(n, str(n), f"Report {2020 + n}", "Ann won.", document_id=str(n)) for n in (1, 2)]
    assert not SentenceFit("Who won?", reports).is_replaced(1, "Ann won.")


def test_documents_that_say_that_they_replace_each_other_are_all_kept():
    both = [document("a.md", "Fire rules", replaces=("b.md",)), document("b.md", "Drill rules", replaces=("a.md",))]
    assert sorted(one.document_id for one in newest_first(both)) == ["a.md", "b.md"]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    for year, days in LEAVE.items():
        text = f"# Leave policy {year}\n\nEvery employee has {days} days of annual leave. Requests go to the lead.\n"
        (folder / f"leave-{year}.md").write_text(text)
    for name, head, every in (
        ("new", "title: Fire rules\ndate: 2024-03-01\nreplaces: fire-old.md", "three"),
        ("old", "title: Rules in case of fire\ndate: 2021-05-01", "six"),
    ):
        (folder / f"fire-{name}.md").write_text(f"---\n{head}\n---\n\nDrills are held every {every} months.\n")
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as app:
        app.ingest([folder])
        yield app


@pytest.mark.parametrize("question", ["How many days of annual leave does an employee have?",
                                      "How many days of annual leave does an employee have now?"])  # fmt: skip
def test_the_newest_of_three_versions_is_first_and_their_graph_says_the_same(app, question):
    answer = app.ask(question)
    assert answer.answer.startswith(f"{VERSIONS} 28 days since 2024; 26 days before.")
    quotes = [citation.quote for citation in answer.citations if "annual leave" in citation.quote]
    assert quotes == [f"Every employee has {days} days of annual leave." for days in (28, 26, 24)]
    kinds = [relation.kind for relation in answer.relations if "leave" in relation.documents[0] + relation.documents[1]]
    assert kinds.count("counterfactual") == 3
    assert not any(relation.announced for relation in answer.relations)
    assert (answer.outcome, answer.short_answer) == ("evidence", None)


def test_the_version_of_the_year_that_is_asked_for_stands_first(app):
    answer = app.ask("How many days of annual leave did an employee have in 2022?")
    assert answer.citations[0].quote == "Every employee has 24 days of annual leave."


def test_front_matter_says_what_a_document_replaces(app):
    answer = app.ask("How often are drills held?")
    assert answer.citations[0].quote == "Drills are held every three months."
    assert "(2024-03-01)" in answer.answer or answer.route.name == "plain"


def test_who_once_held_an_office_does_not_stand_before_who_holds_it():
    text = "Ole Berg was the mayor of Torvik until 2021. Maria Lund is the mayor of Torvik since 2021."
    fit = SentenceFit("Who is the mayor of Torvik?", [Source(1, "a", "Torvik", text)])
    assert fit.misfits(1, "Ole Berg was the mayor of Torvik until 2021.")
    assert not fit.misfits(1, "Maria Lund is the mayor of Torvik since 2021.")
    was = SentenceFit("Who was the mayor of Torvik in 2020?", [Source(1, "a", "Torvik", text)])
    assert not was.misfits(1, "Ole Berg was the mayor of Torvik until 2021.")


@pytest.mark.parametrize(
    ("newer", "older", "short"),
    [
        ("The daily allowance is 45 euros.", "The daily allowance is 38 euros.", ("45 euros", "38 euros")),
        ("Staff get 28 days of leave.", "Staff get 24 days of leave.", ("28 days", "24 days")),
        ("The fee is 1,250.50 crowns a year", "The fee is 980 crowns a year", ("1,250.50 crowns", "980 crowns")),
        ("It opens at 9.", "It opens at 10.", ("9", "10")),
        ("The chair is Anna Berg.", "The chair is Jon Vale.", None),
        ("Staff get 28 days, of which 5 are free.", "Staff get 24 days, of which 3 are free.", None),
        ("Staff get 28 days.", "Staff get 28 days.", None),
    ],
)
def test_one_figure_that_changed_is_said_in_short(newer: str, older: str, short: tuple[str, str] | None) -> None:
    assert change(newer, older) == short
