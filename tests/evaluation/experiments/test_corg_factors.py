"""The corg-factors experiment: cases with one relation, what each way of asking shows, and whole runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from paper_files import answers, passages, prompts

from preflight_rag.evaluation.bench import given_sources
from preflight_rag.evaluation.datasets import QUESTIONS, open_dataset
from preflight_rag.evaluation.experiments import run
from preflight_rag.evaluation.experiments.corg_factors import (
    BASE,
    EXAMPLE_REPLY,
    EXTRA,
    RELATIONS,
    cases,
    described,
    factor_arms,
    isolated,
    with_example,
    with_line,
    with_made,
)
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, Sample
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.prompts import answer_plain

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
        "ambiguous": ["1", "1 (made by rule)"],
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
    vague = made()["ambiguous"].given[1]
    assert "Ohio" not in vague.text
    assert "58,662" in vague.text
    assert vague.entity == ""


@pytest.mark.parametrize("gone", [("3", "4"), ("2", "3", "4")])
def test_a_relation_that_the_contexts_do_not_have_is_not_made(gone):
    rest = replace(QUESTION, given=tuple(given for given in QUESTION.given if given.id not in gone))
    names = {alone.relation for alone in isolated(rest)}
    assert "distracting" not in names
    assert "counterfactual" not in names
    assert ("duplicated" in names) is ("2" not in gone)


def test_the_heads_of_changed_contexts_are_all_different():
    sources = given_sources(QUESTION)
    heads = [source.title for source in described(QUESTION, sources)]
    assert heads == ["Springfield, Ohio (account 1)", "Springfield, Ohio (account 2)", "Springfield, Oregon",
                     "Springfield (account 1)", "Springfield (account 2)"]  # fmt: skip
    assert all(source.text.endswith(given.text) for source, given in zip(described(QUESTION, sources), QUESTION.given,
                                                                         strict=True))  # fmt: skip


def test_prompts_differ_from_base_in_one_thing():
    sources = given_sources(QUESTION)
    system, asked = answer_plain.render(question=QUESTION.question, sources=sources)
    first, _, reply, last = with_example(QUESTION.question, sources)
    assert (first, last, reply.text) == (system, asked, EXAMPLE_REPLY)
    assert [message.text for message in with_line(QUESTION.question, sources)] == [
        system.text,
        f"{asked.text}\n{EXTRA}",
    ]
    assert answer_plain.parse(EXAMPLE_REPLY).found


def test_offline_has_no_arm_that_needs_a_prompt(data_dir):
    (report,) = run("corg-factors", data_dir, ["ramdocs"], Run(limit=3))
    assert [row[0] for row in report.tables[0].rows] == [BASE, "plural", "change to distracting", "separation"]
    assert "need a language model and are left out" in report.tables[0].note
    assert {relation for _, relation in answers(report)} <= set(RELATIONS)


def test_every_way_is_shown_the_contexts_of_its_case(data_dir):
    (report,) = run("corg-factors", data_dir, ["ramdocs"], Run(limit=6, model="simulated"))
    assert len(report.tables[0].rows) == 6
    for arms in answers(report).values():
        texts = passages(arms[BASE])
        for row in arms.values():
            assert all(text in "".join(prompts(row)) for text in texts)
        assert arms["separation"].calls == len(texts)
        assert {row.calls for name, row in arms.items() if name != "separation"} == {1}


def test_made_contexts_are_told_to_a_simulated_reader(embedder):
    (told,) = with_made([QUESTION], [*made().values()])
    assert [given.id for given in told.given][-1] == "1 (made by rule)"
    with open_asking(Run(model="simulated"), [told]) as asking:
        arms = {arm.name: arm for arm in factor_arms(asking, asking.reader(embedder), OfflineReader(embedder))}
        case = made()["ambiguous"]
        alone = replace(case, given=case.given[1:])
        found = [asyncio.run(arm.answer(alone, given_sources(alone))).text for arm in arms.values()]
    assert all("58,662" in text for text in found)


def test_the_published_file_has_cases_of_all_relations(data_dir):
    found = {case.label for case in cases(open_dataset("ramdocs", data_dir, QUESTIONS).select("test"))}
    assert found == set(RELATIONS)
