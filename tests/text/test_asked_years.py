"""Quotes about another year than the one asked for: their order, and the line above them."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.state.reading import Source
from preflight_rag.text.asked_years import by_year, gives_year, of_another_year
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, not_mentioned, other_years

ROW = "Net income | 2022: 815 | 2023: 1,058"


def source(n, text, title="Results of Acme"):
    return Source(n, f"p{n}", title, text, f"d{n}")


@pytest.mark.parametrize(
    ("question", "lead", "expected"),
    [
        ("What was net income in 1995?", CLOSEST, other_years([1995])),
        ("How is net income of 1995 explained?", ABOUT_THIS, other_years([1995])),
        ("What was net income in 1995 or 1996?", CLOSEST, other_years([1995, 1996])),
        ("What was net income in 2022?", CLOSEST, CLOSEST),
        ("What was net income?", CLOSEST, CLOSEST),
        ("What was net income since 1995?", CLOSEST, CLOSEST),
        ("When after 1995 was net income 815?", CLOSEST, CLOSEST),
        ("What was Acme's net income in 1995?", CLOSEST, other_years([1995])),
        ("What was Zorg's net income in 1995?", CLOSEST, CLOSEST),  # the other years are of somebody else
        ("What was Zorg's net income in 1995?", not_mentioned(["Zorg"]), not_mentioned(["Zorg"])),
    ],
)
def test_the_line_above_quotes_says_that_they_give_other_years(question, lead, expected):
    assert by_year(question, {1: source(1, ROW)}, [(1, ROW)], lead) == ([(1, ROW)], expected)


def test_a_quote_of_the_year_in_question_stands_before_those_of_other_years():
    late, own = "Net income was 815 in 2022.", "Net income was 12 in 1995."
    sources = {1: source(1, late), 2: source(2, own)}
    shown = by_year("What was net income in 1995?", sources, [(1, late), (2, own)], CLOSEST)
    assert shown == ([(2, own), (1, late)], CLOSEST)


def test_a_sentence_of_the_year_elsewhere_in_the_passages_comes_first():
    late = "We aim at 30,000 visitors in 2026."
    sources = {1: source(1, late), 2: source(2, "Prices rose. Visitors numbered 26,310 in 1995.")}
    shown = by_year("How many visitors came in 1995?", sources, [(1, late)], CLOSEST)
    assert shown == ([(2, "Visitors numbered 26,310 in 1995."), (1, late)], CLOSEST)


def test_a_sentence_of_the_year_about_another_name_does_not_come_first():
    late = "Zenith had revenue of 5 in 2022."
    sources = {1: source(1, late), 2: source(2, "In 1995 the revenue of Brewster was 9.")}
    shown = by_year("What was the revenue of Zenith in 1995?", sources, [(1, late)], CLOSEST)
    assert shown == ([(1, late)], other_years([1995]))


def test_nothing_is_missing_for_a_year_that_a_passage_names():
    late = "Net income was 815 in 2022."
    sources = {1: source(1, late), 2: source(2, "In 1995 it rained.")}
    assert by_year("What was net income in 1995?", sources, [(1, late)], CLOSEST) == ([(1, late)], CLOSEST)


def test_rows_of_the_newest_list_come_first_unless_a_year_is_named():
    old, new = "Garage | Per month: £55", "Garage | Per month: £58"
    lists = {
        1: Source(1, "1", "Charges 2024-25", old, document_id="a"),
        2: Source(2, "2", "Charges 2025-26", new, document_id="b"),
    }
    rows = [(1, old), (2, new)]
    assert by_year("How much is a garage?", lists, rows, CLOSEST)[0] == [(2, new), (1, old)]
    assert by_year("How much was a garage in 2024?", lists, rows, CLOSEST)[0] == rows


def test_quotes_of_the_day_in_question_come_first_however_it_is_written():
    rows = [f"Date: 2025-05-{day} | Tour: {name}" for day, name in (("03", "Walter"), ("17", "Ken"), ("31", "Ann"))]
    sources = {n: source(n, row) for n, row in enumerate(rows, 1)}
    shown, _ = by_year("Who leads the tour on 17 May?", sources, list(enumerate(rows, 1)), CLOSEST)
    assert [n for n, _ in shown] == [2, 1, 3]


@pytest.mark.parametrize(
    ("text", "sentence", "title", "given"),
    [
        ("Year ended June 1995.\nNet income | 12", "Net income | 12", "Results", True),
        ("Net income was 12.", "Net income was 12.", "acme_1995_report", True),
        ("In 1995 Acme had 12.", "In 1995 Acme had 12.", "", True),
        ("1995 plan | 2022: 37 | 2023: 40", "1995 plan | 2022: 37 | 2023: 40", "", False),
        ("Net income was 815 in 2022. Acme began in 1995.", "Net income was 815 in 2022.", "", False),
    ],
)
def test_the_year_of_a_quote_is_its_own_or_its_columns_or_that_of_its_passage_and_title(text, sentence, title, given):
    assert gives_year("What was net income in 1995?", source(1, text, title), sentence) is given


def test_a_year_of_something_else_is_not_the_one_in_question():
    other = source(1, "In 2015, Reuters wrote of Microsoft.", "Microsoft")
    assert not gives_year("What was the share price of Amcor in 2015?", other, other.text)
    assert of_another_year("What was the share price of Amcor in 2015?", "Amcor", "It bought shares in 2023.")


YEARS = """# Income of the Harrow mill

In 2021 the net income of the mill was 410,000 euros. In 2022 the net income of the mill was 395,000 euros.

The mill grinds wheat and rye for the bakers of the valley.
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "expected"),
    [("What was the net income of the mill in 1995?", True), ("What was the net income of the mill in 2021?", False)],
)
def test_a_turn_about_a_missing_year_says_so(question, expected, tmp_path):
    (tmp_path / "mill.md").write_text(YEARS, encoding="utf-8")
    with Preflight.open(tmp_path / "lib", model="offline", create=True) as app:
        app.ingest([tmp_path / "mill.md"])
        answer = app.ask(question)
    assert answer.answer.startswith("Nothing was found for 1995. The documents give other years") is expected
    assert not (expected and answer.short_answer)
