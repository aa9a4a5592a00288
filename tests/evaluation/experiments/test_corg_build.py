"""The corg-build experiment: a corpus written by a scripted model, both filters, and the adapter that reads it."""

from __future__ import annotations

import re

import pytest
from scripted_server import ScriptedServer, prompt_of
from typer.testing import CliRunner

from preflight_rag.cli import app
from preflight_rag.evaluation.datasets import QUESTIONS, open_dataset
from preflight_rag.evaluation.experiments import corg_build
from preflight_rag.evaluation.experiments.corg_build import Written, amiss, parse, seeds
from preflight_rag.evaluation.experiments.corg_factors import RELATIONS
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, Sample
from preflight_rag.prompts import answer_plain, relate_contexts
from preflight_rag.state.errors import UsageError

ASKED = "What is the population of Springfield?"
TEXT = "Springfield, Ohio is a city. It has 58,662 people."
OHIO = Context("1", "", TEXT, role="gold", answer="58,662", entity="Springfield, Ohio")
OREGON = Context("2", "", "In Springfield, Oregon live 61,851 people.", role="gold", answer="61,851",
               entity="Springfield, Oregon")  # fmt: skip
SEED = Written("Springfield, Ohio", "58,662", TEXT)
WRITTEN = {
    "duplicated": "ENTITY: Springfield, Ohio\nANSWER: 58,662\nPASSAGE:\n58,662 people live in Springfield, Ohio.",
    "ambiguous": "ENTITY: Springfield\nANSWER: 58,662\nPASSAGE:\nSpringfield is a city of 58,662 people.",
    "counterfactual": "ENTITY: Springfield, Ohio\nANSWER: 90,000\nPASSAGE:\nSpringfield, Ohio has 90,000 people.",
    "distracting": "ENTITY: Springfield, Utah\nANSWER: 1,200\nPASSAGE:\nSpringfield, Utah has 1,200 people.",
}


def writer(**changed):
    """A model that writes as asked, reads the number of a passage, and relates by what it wrote."""
    replies = WRITTEN | changed

    def reply(body):
        prompt = prompt_of(body)
        if prompt.startswith(corg_build.SYSTEM):
            task = prompt.rpartition("</passage>")[2]
            return next(
                replies[name]
                for name, text in corg_build.TASKS.items()
                if text.format(name="Springfield", answer="58,662") in task
            )
        if prompt.startswith(relate_contexts.SYSTEM):
            made = prompt.split("Context2\nTitle: ")[-1]
            kind = next((name for name in replies if (read := parse(replies[name])) and read.text in made), "None")
            return f"Context2 - {kind}"
        assert prompt.startswith(answer_plain.SYSTEM)
        return re.search(r"\d+,\d+", prompt.split("<passage n=")[1])[0]

    return reply


@pytest.fixture
def build(as_set, scripted):
    """Builds the corpus of one question over a scripted server."""

    def made(script, *given):
        answers = tuple((passage.answer,) for passage in given)
        found = as_set(Sample("q", ASKED, "list", answers=answers, given=given))
        with ScriptedServer(script) as server:
            return corg_build.run(found, scripted(server)), server.count()

    return made


def test_a_corpus_with_all_four_relations_is_what_the_adapter_reads(build, tmp_path, write_lines):
    report, calls = build(writer(), OHIO)
    assert calls == 4 * 3
    assert report.figures["all_four"]["value"] == 1
    write_lines(tmp_path / "ramdocs" / "RAMDocs_test.jsonl", report.rows)
    (read,) = open_dataset("ramdocs", tmp_path, QUESTIONS).samples
    assert read.answers == (("58,662",), ("1,200",))
    assert read.wrong == ("90,000",)
    assert [(given.role, given.answer) for given in read.given] == [
        ("gold", "58,662"), ("gold", "1,200"), ("gold", "58,662"), ("wrong", "90,000"), ("gold", "58,662"),
    ]  # fmt: skip
    assert read.given[1].entity == "Springfield, Utah"


def test_another_thing_of_the_name_needs_no_writing(build):
    report, calls = build(writer(), OHIO, OREGON)
    assert calls == 3 * 3
    assert report.figures["attempts"]["distracting"]["asked"] == 0
    assert report.figures["all_four"]["value"] == 1
    (row,) = report.rows
    assert row["gold_answers"] == ["58,662", "61,851"]
    assert row["disambig_entity"] == ["Springfield, Ohio", "Springfield, Oregon"]


@pytest.mark.parametrize(
    ("changed", "steps", "reason"),
    [
        ({"counterfactual": "I cannot do that."}, 0, "the reply has no passage with an answer"),
        ({"counterfactual": WRITTEN["duplicated"]}, 1, "its answer '58,662' is the same"),
        (
            {"counterfactual": "ENTITY: Springfield, Ohio\nANSWER: 90,000\nPASSAGE: In 1,999 Springfield, Ohio had "
             "90,000 people."},
            2, "asked with it alone, the model says '1,999'",
        ),
    ],
)  # fmt: skip
def test_what_a_filter_holds_back_is_not_in_the_corpus(build, changed, steps, reason):
    report, _ = build(writer(**changed), OHIO)
    (row,) = report.rows
    assert reason in row["attempts"]["counterfactual"]["reason"]
    assert list(report.figures["attempts"]["counterfactual"].values()) == [1, *[1] * steps, *[0] * (4 - steps)]
    assert row["wrong_answers"] == []
    assert "counterfactual" not in {document["relation"] for document in row["documents"]}


def test_another_relation_than_the_wanted_one_is_held_back(build):
    told = writer()

    def reply(body):
        related = prompt_of(body).startswith(relate_contexts.SYSTEM)
        return "Context2 - Distracting" if related else told(body)

    report, _ = build(reply, OHIO)
    kept = {name: counts["by its relation"] for name, counts in report.figures["attempts"].items()}
    assert kept == {"distracting": 1, "ambiguous": 0, "counterfactual": 0, "duplicated": 0}
    assert "compared with the original, the model says distracting" in str(report.rows[0]["attempts"])


@pytest.mark.parametrize(
    ("relation", "written", "reason"),
    [
        ("duplicated", Written("Springfield, Ohio", "58,662", TEXT), "word for word"),
        ("duplicated", Written("Springfield", "58,662", "It has 58,662."), "does not name 'Springfield, Ohio'"),
        ("duplicated", Written("Springfield, Ohio", "5", "Springfield, Ohio: 58,662."), "does not hold its answer '5'"),
        ("ambiguous", Written("Springfield", "58,662", "Springfield in Ohio has 58,662."), "still says which"),
        ("counterfactual", Written("Springfield, Ohio", "9", "Ohio: 9, not 58,662."), "still holds the answer"),
        ("distracting", Written("Springfield (Ohio)", "9", "Springfield has 9."), "about the same"),
    ],
)
def test_words_that_are_amiss_are_named(relation, written, reason):
    assert reason in amiss(Sample("q", ASKED, "short"), SEED, written, relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_words_as_asked_pass(relation):
    assert amiss(Sample("q", ASKED, "short"), SEED, parse(WRITTEN[relation]), relation) == ""


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("**ENTITY:** A\n**ANSWER:** 5\n**PASSAGE:**\nIt is 5.\nSo it is.", Written("A", "5", "It is 5. So it is.")),
        ("ANSWER: 5\nPASSAGE: It is 5.", Written("", "5", "It is 5.")),
        ("```\nENTITY: A\nANSWER: 5\nPASSAGE:\nIt is 5.\nAnswer: no\n```", Written("A", "5", "It is 5. Answer: no")),
        ("It is 5.", None),
        ("ANSWER: 5\nPASSAGE:", None),
    ],
)
def test_replies_are_read_as_models_write_them(reply, expected):
    assert parse(reply) == expected


def test_a_triple_needs_no_names_of_things():
    given = Context("1", "Springfield (Ohio)", TEXT, role="gold")
    question = Sample("q", ASKED, "short", answers=(("fifty-eight thousand", "58,662"),), given=(given,))
    assert seeds(question) == [Written("Springfield (Ohio)", "58,662", TEXT)]


def test_without_a_model_it_is_one_line(data_dir, monkeypatch):
    result = CliRunner().invoke(app, ["eval", "corg-build", "--data", str(data_dir), "--model", "offline"])
    assert result.exit_code == 2
    assert result.stderr.strip().splitlines()[-1] == (
        "preflight: this needs a language model. Name one: --model provider:name."
    )


def test_the_simulated_model_writes_nothing(data_dir):
    report = corg_build.run(open_dataset("ramdocs", data_dir, QUESTIONS), Run(limit=2, model="simulated"))
    assert {counts["written"] for counts in report.figures["attempts"].values()} == {0}
    assert all(document["relation"] == "original" for row in report.rows for document in row["documents"])


def test_questions_without_an_answering_passage_are_refused(as_set):
    found = as_set(Sample("q", "Why?", "short"))
    with pytest.raises(UsageError, match="no question of Made comes with a passage that answers it"):
        corg_build.run(found, Run(part="all", model="simulated"))
