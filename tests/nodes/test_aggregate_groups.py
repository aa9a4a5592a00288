"""The node `aggregate_groups`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.corg.group_answers import as_evidence
from preflight_rag.nodes.aggregate_groups import aggregate_groups
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import Draft, Source
from preflight_rag.state.schema import EntryState
from preflight_rag.text.headers import CLOSEST, SEVERAL, VERSIONS

WORDS = {1: "One of them.", 2: "Two of them."}


def draft(group, rank, text, status="answered"):
    return {"group": group, "ranks": [rank], "text": text, "quotes": [], "status": status}


def context(rank):
    return {
        "rank": rank, "entity": f"E{rank}", "descriptor": None, "answer": f"{rank}", "told": True, "relevant": True
    }  # fmt: skip


@pytest.fixture
def aggregated(library, retrieved):
    async def make(*drafts, gaps=(), claims=True, question="How many people live in Broken Bow?"):
        state = await retrieved(question, k=4)
        state |= {
            "contexts": [context(rank) for rank in (1, 2)],
            "relations": [],
            "organisation": {"groups": [[1], [2]], "dropped": [], "sources": {}},
            "group_drafts": list(drafts),
            "draft": {"text": "", "quotes": [], "found": False, "choice": None, "claims": claims},
            "gaps": list(gaps),
        }
        return await aggregate_groups(state, Runtime(context=Context(library=library)))

    return make


async def test_groups_stand_in_their_order_with_their_names(aggregated):
    update = await aggregated(draft(2, 2, "Two [2]."), draft(1, 1, "One [1]."))
    assert update["draft"]["text"] == "**E1**: One [1]\n\n**E2**: Two [2]"
    assert [entry["entity"] for entry in update["entries"]] == ["E1", "E2"]
    assert update["onward"] == "cite"


async def test_nothing_in_any_group_is_an_abstention(aggregated):
    update = await aggregated(draft(1, 1, "", "nothing"), draft(2, 2, "", "nothing"))
    assert (update["onward"], update["draft"]["found"], update["entries"]) == ("abstain", False, [])


async def test_all_groups_failed_is_an_error_with_the_first_reason(aggregated):
    gaps = [{"stage": "answer_group", "item": "1", "error": "the server is down"}]
    with pytest.raises(AllPartitionsFailed, match="none of the 2 groups could be answered: the server is down"):
        await aggregated(draft(1, 1, "", "failed"), draft(2, 2, "", "failed"), gaps=gaps)


def unsure(group, *ranks):
    """A group's answers, each with the words of its passage."""
    text = "\n".join(f"E{n}: {WORDS[n]} [{n}]" for n in ranks)
    return {**draft(group, ranks[0], text), "ranks": list(ranks), "quotes": [(n, WORDS[n]) for n in ranks]}


async def test_where_no_answer_is_sure_all_passages_are_read_again(aggregated):
    """What a group's answer stands in is often not what is nearest to the question."""
    update = await aggregated(unsure(1, 1, 2), claims=False, question="How many people live in the town?")
    assert (update["onward"], update["partitions"]) == ("answer_plain", [[1, 2, 3, 4]])
    (step,) = update["escalations"]
    assert (step["from"], step["to"], step["silent"]) == ("corg", "plain", True)
    # They stand where that reading would claim one of them, or finds none.
    assert update["draft"]["text"].startswith(SEVERAL)
    assert [entry["entity"] for entry in update["entries"]] == ["E1", "E2"]


async def test_what_several_things_of_a_name_are_stands_side_by_side(aggregated):
    update = await aggregated(unsure(1, 1, 2), claims=False)
    assert update["draft"]["text"] == f"{SEVERAL}\n\n**E1**: “One of them.” [1]\n\n**E2**: “Two of them.” [2]"
    assert update["onward"] == "cite"


def test_answers_that_are_not_sure_stand_with_their_subjects():
    sources = {n: Source(n, f"p{n}", "", text) for n, text in {1: "One of them.", 2: "Two of them."}.items()}
    drafted = Draft("", ((1, "One of them."), (2, "Two of them.")))
    entries = [EntryState(entity=f"E{n}", descriptor=None, answer="", ranks=[n]) for n in sources]
    made, shown = as_evidence("How many?", drafted, entries, sources)
    assert made.text == f"{SEVERAL}\n\n**E1**: “One of them.” [1]\n\n**E2**: “Two of them.” [2]"
    assert (made.claims, made.short, made.confidence) == (False, "", None)
    assert [(entry["entity"], entry["answer"]) for entry in shown] == [("E1", "One of them."), ("E2", "Two of them.")]
    alone, shown = as_evidence("How many?", Draft("", ((1, "One of them."),)), entries, sources)
    assert (alone.text, shown) == (f"{CLOSEST}\n\n**E1**: “One of them.” [1]", [])


def test_evidence_without_words_to_quote_is_nothing():
    made, entries = as_evidence(
        "Which?", Draft("One [1]."), [{"entity": "E", "descriptor": None, "answer": "One", "ranks": [1]}], {}
    )
    assert (made.found, made.text, entries) == (False, "", [])


RULES = {
    2025: "Bonfires are not allowed.\n\nSheds may be 2.4 m long.\n\nThe rent for a plot is £63.",
    2023: "Cockerels are not allowed.\n\nRabbits may be kept, and four hens.\n\nThe rent for a plot is £54.",
    2022: "No animals may be kept, except rabbits.\n\nDogs are not allowed.\n\nThe rent for a plot is £48.",
}
OTHER = Source(4, "p4", "Waiting list", "There are 23 people who are not allowed a plot yet.", document_id="d4")


def of_rules(question, *quotes):
    """The evidence from one quote of each year's rules, and one of another document."""
    rules = [Source(n, f"p{n}", f"Rules {year}", RULES[year], document_id=f"d{n}") for n, year in enumerate(RULES, 1)]
    sources = {source.n: source for source in (*rules, OTHER)}
    quoted = (*enumerate(quotes, 1), (4, OTHER.text))
    entries = [{"entity": sources[n].title, "descriptor": None, "answer": quote, "ranks": [n]} for n, quote in quoted]
    made, _ = as_evidence(question, Draft("Some.", quoted), entries, sources)
    return made.text.split("\n")[0], [quote for _, quote in made.quotes]


def test_versions_are_compared_by_what_they_say_of_the_question_and_stand_alone():
    quotes = "Bonfires are not allowed.", "Cockerels are not allowed.", "No animals may be kept, except rabbits."
    lead, shown = of_rules("Are rabbits allowed?", *quotes)
    assert lead == VERSIONS
    assert shown == ["Rabbits may be kept, and four hens.", "No animals may be kept, except rabbits."]


def test_versions_of_other_years_are_no_answers_for_a_year():
    rents = [text.split("\n\n")[2] for text in RULES.values()]
    assert of_rules("How much was the rent for a plot in 2023?", *rents) == (CLOSEST, [rents[1]])
    lead, shown = of_rules("How much was the rent for a plot in 2021?", *rents)
    assert lead.startswith("Nothing was found for 2021.")
    assert shown == rents
