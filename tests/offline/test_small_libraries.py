"""Whole turns over small files whose sentences differ in one word: what stands first, and what is claimed."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.text.headers import CLOSEST

HUTS = """# Huts on the ridge

The Alder hut serves breakfast and has running water. Dogs are allowed in the Alder hut.

The Birch hut serves breakfast and has running water. Dogs are not allowed in the Birch hut.

The Cedar hut does not serve breakfast. It has running water, and dogs are allowed.
"""
FOUNDRY = """Alloys of the foundry

Alloy Brenta contains lead. It is used for bearings.

Alloy Cordel contains lead. It is used for weights.

Alloy Durin does not contain lead. It is used for taps.

The Monday ferry carries cars. The Tuesday ferry carries cars. The Sunday ferry does not carry cars.

Tram line 4 stops at the castle. Tram line 9 stops at the castle. Tram line 6 does not stop at the castle.
"""
COUNCIL = """WEBVTT

00:00.000 --> 00:05.000
<v Anna Roth>The bridge will be closed from 3 to 9 June.

00:05.000 --> 00:09.000
<v Karl Simm>Who pays for the detour?

00:09.000 --> 00:12.000
<v Anna Roth>The county pays 40,000 euros.
"""
SAUNA = """# Sauna rules

The sauna is heated for 90 minutes.

Entry costs 7 euros. See [the booking form](https://sauna.example/book?id=77).
"""
BRANCHES = {"north": (410, 12, "rent"), "south": (275, 19, "repairs"), "east": (333, 7, "heating")}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    apps = {}
    texts = {"huts": {"huts.md": HUTS}, "foundry": {"alloys.txt": FOUNDRY}, "council": {"council.vtt": COUNCIL}}
    texts["sauna"] = {"sauna.md": SAUNA}
    texts["branches"] = {
        f"report-{name}.md": f"# Report of the {name} branch\n\nThe {name} branch sold {sold} bicycles in 2023. "
        f"It employs {staff} people. Its largest cost was {cost}.\n"
        for name, (sold, staff, cost) in BRANCHES.items()
    }
    for name, files in texts.items():
        folder = tmp_path_factory.mktemp(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        apps[name] = Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True)
        apps[name].ingest([folder])
    yield lambda name, question: apps[name].ask(question)
    for app in apps.values():
        app.close()


@pytest.mark.parametrize(
    ("library", "question", "first"),
    [
        ("huts", "Which hut does not allow dogs?", "Dogs are not allowed in the Birch hut."),
        ("huts", "Does the Cedar hut serve breakfast?", "The Cedar hut does not serve breakfast."),
        ("huts", "Does the Alder hut serve breakfast?", "The Alder hut serves breakfast and has running water."),
        ("foundry", "Which ferry does not carry cars?", "The Sunday ferry does not carry cars."),
        ("foundry", "Which alloy lacks lead?", "Alloy Durin does not contain lead."),
        ("foundry", "Which tram line does not stop at the castle?", "Tram line 6 does not stop at the castle."),
        ("branches", "What was the largest cost of the south branch?", "Its largest cost was repairs."),
        ("branches", "How many people does the east branch employ?", "It employs 7 people."),
        ("branches", "According to report-south.md, how many bicycles were sold?",
         "The south branch sold 275 bicycles in 2023."),
    ],
)  # fmt: skip
def test_the_sentence_that_answers_stands_first(ask, library, question, first):
    answer = ask(library, question)
    assert answer.citations[0].quote == first
    assert answer.unclaimed is None if answer.outcome == "answered" else answer.unclaimed


def test_which_of_two_has_more_is_claimed_above_both(ask):
    answer = ask("branches", "Which branch sold more bicycles in 2023, north or south?")
    assert (answer.outcome, answer.short_answer) == ("answered", "north")
    assert len(answer.citations) == 2


def test_why_no_answer_is_claimed_is_said(ask):
    answer = ask("huts", "Does the Alder hut serve breakfast?")
    assert answer.answer.startswith(CLOSEST)
    assert answer.unclaimed == "A yes or no is claimed of few sentences only, which surely deny all that is asked."


TRIAL = """# Blocks after hernia repair

Table 1.

| Block | Pain at rest in mm | Pain in motion in mm |
| --- | --- | --- |
| TAP | 6.5 | 39.7 |
| ILI+IHG | 9.1 | 28.6 |

"""
VERDICT = "Pain control after surgery was better with ultrasound-guided ILI+IHG than with a posterior TAP."


def test_the_sentence_that_answers_stands_before_a_row_that_a_question_names(tmp_path):
    filler = " ".join(f"Ward {n} counted the beds that were free on day {n} of the trial." for n in range(60))
    (tmp_path / "blocks.md").write_text(f"{TRIAL}{filler} {VERDICT} {filler}\n", encoding="utf-8")
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / "blocks.md"])
        answer = app.ask("Which block gave better pain control after hernia repair, TAP or ILI+IHG?")
    quotes = [citation.quote for citation in answer.citations]
    assert quotes[0] == VERDICT
    assert any("Block: ILI+IHG" in quote for quote in quotes)
    assert answer.short_answer is None


def test_who_asks_the_same_question_is_no_answer(ask):
    answer = ask("council", "Who pays for the detour?")
    assert answer.outcome != "answered"
    assert "Karl" not in answer.answer.split("\n")[0]


def test_address_of_a_link_is_shown_where_it_is_asked_for_alone(ask):
    assert "https://sauna.example/book" in ask("sauna", "What is the address of the booking form?").answer
    first = ask("sauna", "How much does the sauna entry cost?").answer
    assert "Entry costs 7 euros" in first
    assert "https://" not in first.split("[1]")[0]
