"""The corg-factors experiment: cases with one relation, what each way of asking shows, and whole runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from langchain_openai import ChatOpenAI
from paper_files import answers, passages, prompts

from evaluation.bench import given_sources
from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import run
from evaluation.experiments.corg_factors import (
    BASE,
    EXAMPLE_REPLY,
    EXTRA,
    RELATIONS,
    cases,
    contexts_by_id,
    described,
    factor_arms,
    growing,
    isolated,
    with_example,
    with_line,
    with_made,
)
from evaluation.harness.asking import PromptReader, open_asking
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.prompts import answer_group
from preflight_rag.prompts.fences import material
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

OHIO = Context("1", "", "Springfield, Ohio is a city. The population of Springfield, Ohio was 58,662 in 2020.",
             role="gold", answer="58,662", entity="Springfield, Ohio")  # fmt: skip
COPY = replace(OHIO, id="2", text="In 2020 there were 58,662 people in Springfield, Ohio.")
OREGON = Context("3", "", "Springfield, Oregon is a city of 61,851 people.", role="gold", answer="61,851",
               entity="Springfield, Oregon")  # fmt: skip
WRONG = Context("4", "", OHIO.text.replace("58,662", "90,000"), role="wrong", answer="90,000")
NOISE = Context("5", "", "Yeast gives off carbon dioxide.", role="noise")
QUESTION = Sample(
    "towns", "What is the population of Springfield?", "list", answers=(("58,662",), ("61,851",)), wrong=("90,000",),
    given=(OHIO, COPY, OREGON, WRONG, NOISE), answerable=True,
)  # fmt: skip


def made() -> dict[str, Sample]:
    return {case.label: case for case in cases([QUESTION])}


def test_each_relation_stands_alone():
    assert {name: [given.id for given in case.given] for name, case in made().items()} == {
        "distracting": ["1", "3"],
        "ambiguous": ["1", "3 (made by rule)"],
        "counterfactual": ["1", "4"],
        "duplicated": ["1", "2"],
    }
    assert tuple(made()) == RELATIONS


def test_a_contradicting_answer_is_wanted_too():
    case = made()["counterfactual"]
    assert case.answers == (("58,662",), ("90,000",))
    assert {given.entity for given in case.given} == {"Springfield, Ohio"}
    assert made()["duplicated"].answers == (("58,662",),)


def test_an_ambiguous_context_lost_what_it_is_about():
    clear, vague = made()["ambiguous"].given
    assert clear == OHIO
    assert "Oregon" not in vague.text
    assert "61,851" in vague.text
    assert vague.entity == ""


def test_ambiguous_contexts_changed_to_distracting_are_the_distracting_ones():
    """The paper's row "Change to Distracting" of Table 3 is the base of Table 2, figure for figure."""
    cases = made()
    known = contexts_by_id([QUESTION])
    changed = described(cases["ambiguous"], given_sources(cases["ambiguous"]), known)
    assert [source.text for source in changed] == [given.text for given in cases["distracting"].given]


def test_a_written_ambiguous_context_is_replaced_by_one_with_its_answer():
    vague = replace(OHIO, id="6", text="Springfield is home to 58,662.", entity="", descriptor=())
    question = replace(QUESTION, given=(*QUESTION.given, vague))
    case = replace(question, given=(OREGON, vague))
    changed = described(case, given_sources(case), contexts_by_id([question]))
    assert [source.text for source in changed] == [OREGON.text, OHIO.text]


@pytest.mark.parametrize("relation", ["distracting", "counterfactual", "duplicated"])
def test_described_contexts_are_not_changed(relation):
    case = made()[relation]
    assert described(case, given_sources(case), contexts_by_id([QUESTION])) == given_sources(case)


def test_contexts_are_added_one_by_one():
    """Figure 2: the answers wanted are those of the contexts shown."""
    grown = {case.label: case for case in growing([QUESTION])}
    assert set(grown) == {f"{relation}, {n}" for relation in RELATIONS for n in (1, 2)}
    assert grown["counterfactual, 1"].answers == (("58,662",),)
    assert grown["counterfactual, 2"].answers == (("58,662",), ("90,000",))


@pytest.mark.parametrize("gone", [("3", "4"), ("2", "3", "4")])
def test_a_relation_that_the_contexts_do_not_have_is_not_made(gone):
    rest = replace(QUESTION, given=tuple(given for given in QUESTION.given if given.id not in gone))
    names = {alone.relation for alone in isolated(rest)}
    assert "distracting" not in names
    assert "counterfactual" not in names
    assert ("duplicated" in names) is ("2" not in gone)


def test_prompts_differ_from_base_in_one_thing():
    sources = given_sources(QUESTION)
    system, asked = base = answer_group.render(question=QUESTION.question, sources=sources)
    first, _, reply, last = with_example(base)
    assert (first, last, reply.text) == (system, asked, EXAMPLE_REPLY)
    assert [message.text for message in with_line(base)] == [system.text, f"{asked.text}\n{EXTRA}"]
    assert answer_group.parse(EXAMPLE_REPLY).found


def test_the_plural_is_another_question_with_and_without_the_extra_prompt(embedder):
    case = made()["distracting"]
    with ScriptedServer(default="58,662 [1]") as server:
        reader = PromptReader(ChatOpenAI(base_url=server.url, api_key="k", model="scripted"))
        asking = SimpleNamespace(chat_model=reader.chat_model, prompts=reader)
        arms = {arm.name: arm for arm in factor_arms(asking, reader, OfflineReader(embedder))}
        for name in (BASE, "plural", "plural & extra prompt"):
            asyncio.run(arms[name].answer(case, given_sources(case)))
    base, plural, both = (request.prompt for request in server.requests)
    assert base.replace("What is the population of", "What are the populations of") == plural != base
    assert both == f"{plural}\n{EXTRA}"


def test_offline_has_no_arm_that_needs_a_prompt(data_dir):
    (report,) = run("corg-factors", data_dir, ["ramdocs"], ExperimentRun(limit=3))
    assert [row[0] for row in report.tables[0].rows] == [BASE, "plural", "change to distracting", "separation"]
    assert "What needs a language model is left out" in report.tables[0].note
    assert {relation for _, relation in answers(report)} <= set(RELATIONS)


def test_every_way_is_shown_the_contexts_of_its_case(data_dir):
    (report,) = run("corg-factors", data_dir, ["ramdocs"], ExperimentRun(limit=6, model="simulated"))
    assert [row[0] for row in report.tables[0].rows] == [
        BASE, "plural", "change to distracting", "one-shot", "extra prompt", "plural by the model",
        "plural & extra prompt", "change to distracting, plural & extra prompt", "separation",
    ]  # fmt: skip
    paper = {table.title: {row[0]: row[1:5] for row in table.rows} for table in report.tables[-3:]}
    both = paper["Beside COrg, Tables 2 and 8"]["plural & extra prompt"]
    assert both == ("65.6", "72.0", "51.5", "30.6")
    for arms in answers(report).values():
        texts = passages(arms[BASE])
        if BASE not in arms or len(arms) == 1:
            continue
        for name, row in arms.items():
            assert "distracting" in name or all(material(text) in "".join(prompts(row)) for text in texts)
        assert arms["separation"].calls == len(texts)
        assert {row.calls for name, row in arms.items() if name != "separation"} <= {1, 2}


def test_made_contexts_are_told_to_a_simulated_reader(embedder):
    (told,) = with_made([QUESTION], [*made().values()])
    assert [given.id for given in told.given][-1] == "3 (made by rule)"
    with open_asking(ExperimentRun(model="simulated"), [told]) as asking:
        arms = {arm.name: arm for arm in factor_arms(asking, asking.reader(embedder), OfflineReader(embedder))}
        case = made()["ambiguous"]
        alone = replace(case, given=case.given[1:])
        found = [asyncio.run(arm.answer(alone, given_sources(alone))).text for arm in arms.values()]
    assert all("58,662" in text for text in found)


def test_the_published_file_has_cases_of_all_relations(data_dir):
    found = {case.label for case in cases(open_dataset("ramdocs", data_dir, QUESTIONS).select("test"))}
    assert found == set(RELATIONS)
