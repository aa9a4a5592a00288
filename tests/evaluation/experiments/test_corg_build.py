"""The corg-build experiment: a corpus written by a scripted model, both filters, and the adapter that reads it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from evaluation.corg_measures import things
from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import corg_build
from evaluation.experiments.corg_build import MOST_TRIES, Seed, parse, seeds, wanted
from evaluation.experiments.corg_stats import labelled
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from preflight_rag.cli import app
from preflight_rag.prompts import answer_plain
from preflight_rag.state.errors import UsageError
from preflight_rag.testing.scripted_server import ScriptedServer, prompt_of

pytestmark = pytest.mark.slow

ASKED = "What is the population of Springfield?"
TOWNS = {"Ohio": "58,662", "Oregon": "61,851", "Utah": "1,200"}
GIVEN = tuple(
    Context(state, "", f"Springfield, {state} has {count} people.", role="gold", answer=count,
            entity=f"Springfield, {state}")
    for state, count in TOWNS.items()
)  # fmt: skip
LIGHT = "who proposed the theory of light?"
RIVALS = (
    Context("1", "", "It was Huygens.", role="gold", answer="Huygens"),
    Context("2", "", "It was Newton.", role="wrong", answer="Newton"),
)


def asked_of(prompt):
    """The last question and answer of a prompt."""
    return [re.findall(rf"^{line}: (.*)$", prompt, re.MULTILINE)[-1] for line in ("Question", "Answer")]


def writer(context="{answer} is the answer to it.", answer="{answer}", subs="{each}"):
    """A model that writes contexts and sub-questions in these forms, and answers with what its context begins with."""

    def reply(body):
        prompt = prompt_of(body)
        if prompt.startswith(corg_build.SUB_SYSTEM):
            answers = re.findall(r"^Answers: (.*)$", prompt, re.MULTILINE)[-1].split("; ")
            each = " // ".join(f"who did it in the year 16{n}0?" for n, _ in enumerate(answers, 1))
            return subs.format(each=each)
        if prompt.startswith(corg_build.SYSTEM):
            question, told = asked_of(prompt)
            return context(prompt) if callable(context) else context.format(answer=told, question=question)
        assert prompt.startswith(answer_plain.SYSTEM)
        said = re.search(r"<passage n.*?>\n(\S+)", prompt)[1]
        return answer.format(answer=said)

    return reply


@pytest.fixture
def build(as_set, scripted):
    """Builds the corpus of one question over a scripted server; gives the report and the prompts."""

    def made(script, *given, question=ASKED):
        answers = tuple((passage.answer,) for passage in given if passage.role == "gold")
        found = as_set(Sample("q", question, "list", answers=answers, given=given))
        with ScriptedServer(script) as server:
            return corg_build.run(found, scripted(server)), [request.prompt for request in server.requests]

    return made


def written(row, relation):
    return sorted((d["sub_question"], d["answer"]) for d in row["documents"] if d["relation"] == relation)


def test_ambigdocs_plus_is_made_as_appendix_a4_says(build):
    """Duplicated: (q'_j, a_j); ambiguous: (q, a_j); counterfactual: (q'_i, a_j) for one i and every other answer."""
    report, prompts = build(writer(), *GIVEN)
    (row,) = report.rows
    sub = {count: f"What is the population of Springfield, {state}?" for state, count in TOWNS.items()}
    assert written(row, "duplicated") == sorted((question, count) for count, question in sub.items())
    assert written(row, "ambiguous") == sorted((ASKED, count) for count in TOWNS.values())
    against = written(row, "counterfactual")
    (chosen,) = {question for question, _ in against}
    own = next(count for count, question in sub.items() if question == chosen)
    assert sorted(answer for _, answer in against) == sorted({*TOWNS.values()} - {own})
    assert written(row, "distracting") == []
    assert len(prompts) == 2 * (3 + 3 + 2)
    assert report.figures["all_four"]["value"] == 1
    assert report.figures["contexts"] == {"11": 1}


def test_conflictqa_plus_has_sub_questions_by_the_model_and_distracting_contexts_of_them(build):
    report, _ = build(writer(), *RIVALS, question=LIGHT)
    (row,) = report.rows
    pairs = [("who did it in the year 1610?", "Huygens"), ("who did it in the year 1620?", "Newton")]
    assert written(row, "distracting") == written(row, "duplicated") == pairs
    assert written(row, "ambiguous") == [(LIGHT, "Huygens"), (LIGHT, "Newton")]
    assert written(row, "counterfactual") == []
    assert row["gold_answers"] == ["Huygens", "Newton"]
    assert report.figures["all_four"]["value"] == 1


def test_the_counterfactual_thing_is_by_chance_and_the_same_for_a_seed():
    originals = [Seed(f"Springfield, {s}", c, "", f"{s}?") for s, c in TOWNS.items()]

    def chosen(seed):
        found = wanted(Sample("q", ASKED), originals, seed)
        return {one.question for one in found if one.relation == "counterfactual"}

    assert {frozenset(chosen(seed)) for seed in range(20)} == {frozenset({f"{state}?"}) for state in TOWNS}
    assert chosen(3) == chosen(3)


def test_the_adapter_reads_the_corpus_with_what_each_context_is_about(build, tmp_path, write_lines):
    report, _ = build(writer(), *GIVEN[:2])
    write_lines(tmp_path / "ramdocs" / "RAMDocs_test.jsonl", report.rows)
    (read,) = open_dataset("ramdocs", tmp_path, QUESTIONS).samples
    assert read.answers == (("58,662",), ("61,851",))
    roles = [(given.role, bool(given.entity), given.descriptor) for given in read.given]
    described, vague = ("gold", True, None), ("gold", False, ())
    assert roles == [described, described, described, described, vague, vague, ("wrong", True, None)]
    assert {thing.sub_question for thing in things(read)} == {
        "What is the population of Springfield, Ohio?", "What is the population of Springfield, Oregon?"
    }  # fmt: skip
    kinds = labelled(read).kinds
    assert set(kinds) == {"distracting", "duplicated", "ambiguous", "counterfactual", "none"}


@pytest.mark.parametrize(
    ("context", "answer", "issue"),
    [
        ("Nobody knows.", "{answer}", "it does not hold the answer '58,662'"),
        ("{answer} people live there.", "I cannot say.", "a reader answers 'I cannot say.', not '58,662'"),
        ("{answer} people live there.", "NOT IN THE PASSAGES", "a reader answers nothing, not '58,662'"),
    ],
)
def test_what_a_filter_turns_down_is_written_anew_with_the_issue_said(build, context, answer, issue):
    report, prompts = build(writer(context, answer), GIVEN[0])
    (row,) = report.rows
    asked = [prompt for prompt in prompts if prompt.startswith(corg_build.SYSTEM)]
    assert "turned down" not in asked[0].rpartition("Question: ")[2]
    assert all(issue in prompt for prompt in asked[1:MOST_TRIES])
    assert len(asked) == 2 * MOST_TRIES
    assert [one["issues"] for one in row["attempts"]] == [[row["attempts"][0]["issues"][0]] * MOST_TRIES] * 2
    assert {document["relation"] for document in row["documents"]} == {"original"}


def test_a_mended_context_is_in_the_corpus(build):
    def context(prompt):
        return "58,662 people live there." if "turned down" in prompt else "Many live there."

    report, _ = build(writer(context), GIVEN[0])
    assert report.figures["attempts"]["duplicated"] == {"asked for": 1, "passed at once": 0, "passed": 1, "written": 2}
    assert written(report.rows[0], "duplicated") == [("What is the population of Springfield, Ohio?", "58,662")]


@pytest.mark.parametrize("subs", ["where was Newton? // who was it? // and who?", "was it Huygens? // was it Newton?"])
def test_sub_questions_that_do_not_fit_fail_the_question(build, subs):
    with pytest.raises(Exception, match="no sub-questions could be had for q"):
        build(writer(subs=subs), *RIVALS, question=LIGHT)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Context: It is 5.\nSo it is.", "It is 5. So it is."),
        ("**Context:** It is 5.", "It is 5."),
        ("```\nIt is 5.\n```", "It is 5."),
        ("<think>Hm.</think>It is 5.", "It is 5."),
        ("Context:", ""),
    ],
)
def test_replies_are_read_as_models_write_them(reply, expected):
    assert parse(reply) == expected


def test_wrong_contexts_are_seeds_only_where_no_context_names_its_thing():
    wrong = replace(RIVALS[1], text="It was Newton.")
    named = Sample("q", ASKED, "list", answers=(("58,662",),), given=(GIVEN[0], wrong))
    rivals = Sample("q", LIGHT, "short", answers=(("Huygens",),), given=RIVALS)
    assert [seed.answer for seed in seeds(named)] == ["58,662"]
    assert [seed.answer for seed in seeds(rivals)] == ["Huygens", "Newton"]


def test_without_a_model_it_is_one_line(data_dir):
    result = CliRunner().invoke(app, ["eval", "corg-build", "--data", str(data_dir), "--model", "offline"])
    assert result.exit_code == 2
    assert result.stderr.strip().splitlines()[-1] == (
        "preflight: this needs a language model. Name one: --model provider:name."
    )


def test_questions_without_an_answering_passage_are_refused(as_set):
    found = as_set(Sample("q", "Why?", "short"))
    with pytest.raises(UsageError, match="no question of Made comes with a passage that answers it"):
        corg_build.run(found, ExperimentRun(part="all", model="simulated"))
