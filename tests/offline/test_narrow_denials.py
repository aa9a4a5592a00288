"""Denials of less than a question asks about, which are no "No" to it."""

import pytest

from preflight_rag import Preflight
from preflight_rag.library import Library
from preflight_rag.offline.narrow_denials import denies_narrower_case

HOTEL = "Dogs are not allowed in the restaurant."
PLAN = "The plan does not cover: theft of bicycles"


@pytest.mark.parametrize(
    ("question", "sentence", "less"),
    [
        ("Are dogs allowed in the restaurant?", HOTEL, False),
        ("May dogs come into the restaurant?", "No dogs are admitted to the restaurant.", True),
        ("Are dogs permitted in the restaurant?", "Dogs are currently not allowed in the restaurant.", False),
        ("Are dogs allowed?", HOTEL, True),
        ("Are dogs allowed on the terrace?", HOTEL, True),
        ("Is theft of bicycles covered?", PLAN, False),
        ("Does the plan cover theft of bicycles?", PLAN, False),
        ("Are bicycles covered by the plan?", PLAN, True),
        ("Is theft covered?", PLAN, True),
        ("Is storm damage covered?", "The plan does not cover: damage by pets", True),
        ("Is the pool heated?", "The pool is not heated in winter.", True),
        ("Is the pool heated in winter?", "The pool is not heated in winter, since nobody swims.", False),
        ("Is parking free?", "Parking is not free on Sundays.", True),
        ("Can I sublet the flat?", "The tenant may not sublet the flat without consent.", True),
        ("Is the museum open on Monday?", "The museum is not open on Monday.", False),
        ("Is private use of the phone allowed?", "Private use of the phone is allowed; of the laptop it is not.", True),
        ("Is the pool heated?", "The sauna is heated, but the pool is not heated.", False),
        ("Is the sauna heated?", "The sauna is heated, but the pool is not heated.", True),
        ("Did zinc shorten the common cold?", "Colds were not shorter with zinc.", False),
        ("Did the Beatles play at Red Rocks?", "The Beatles played at Red Rocks, but it was not sold out.", True),
        ("Was the proposal accepted?", "The proposal was not accepted by the council.", False),
        ("May we bring candles?", "The show went on, so we cannot refund you; but you may bring a friend.", True),
        ("Does zinc shorten the common cold?", "Zinc was not found to shorten the common cold.", False),
        ("Does zinc shorten the common cold?", "The difference in days was not significant.", False),
        ("Can I raise the number of files?", "The number of files cannot be increased above 125.", True),
        ("How many files are there? Can I raise that?", "No setting raises or lowers the number of groups.", True),
        ("Can the number of files be raised?", "The number of files cannot be raised.", False),
    ],
)
def test_a_denial_counts_only_where_it_speaks_of_all_that_is_asked(question, sentence, less):
    assert denies_narrower_case(question, sentence) is less


def test_that_a_limit_can_be_lowered_is_no_no_to_whether_it_can_be_raised(tmp_path, embedder):
    (tmp_path / "limits.md").write_text(
        "# Limits of the mail server\n\nThe maximum message size can be lowered at any time with the size command.\n",
        encoding="utf-8",
    )
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest([tmp_path / "limits.md"])
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder) as app:
        found = app.ask("Can I raise the maximum message size?")
    assert found.outcome == "evidence"
    assert "can be lowered" in found.answer


def test_the_title_may_name_what_the_question_names():
    asked = "Are dogs allowed in the restaurant of the Hotel Alpenrose?"
    assert denies_narrower_case(asked, HOTEL)
    assert not denies_narrower_case(asked, HOTEL, "Hotel Alpenrose")


@pytest.mark.slow
def test_no_is_claimed_of_what_is_denied_and_of_nothing_wider(tmp_path, embedder):
    plan = (
        "The plan covers:\n- fire\n- storm damage\n\nThe plan does not cover:\n- theft of bicycles\n- damage by cats\n"
    )
    (tmp_path / "plan.md").write_text(f"# Household Plan\n\n{plan}", encoding="utf-8")
    (tmp_path / "hotel.md").write_text(f"# Hotel Alpenrose\n\n{HOTEL} Breakfast ends at ten.\n", encoding="utf-8")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest([tmp_path / "plan.md", tmp_path / "hotel.md"])
    with Preflight.open(tmp_path / "library", "offline", embedder=embedder) as app:
        firsts = {
            question: app.ask(question).answer.split("\n")[0]
            for question in (
                "Is theft of bicycles covered by the plan?",
                "Are dogs allowed in the restaurant of the Hotel Alpenrose?",
                "Are bicycles covered by the plan?",
                "Is storm damage covered by the plan?",
                "Are dogs allowed in the Hotel Alpenrose?",
            )
        }
    assert [line == "No [1]" for line in firsts.values()] == [True, True, False, False, False], firsts
