"""The corg experiment: its measures by hand, what the arms are shown and asked, and whole runs."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import pytest
from broken_bow import QUESTION, documents, relation_calls, script
from paper_files import answers, passages, prompts
from value_reader import ValueReader

from evaluation.bench import given_sources
from evaluation.corg_measures import (
    MEASURES,
    Grader,
    PossibleReferent,
    answer_recall,
    disambiguated,
    entity_recall,
    f1,
    shared_name,
    things,
)
from evaluation.corg_systems import (
    BASE_PLURAL,
    CORG,
    ONE_AT_A_TIME,
    SYSTEMS,
    SystemArms,
    SystemQuestion,
    organised,
    unremembering,
    with_passages,
)
from evaluation.experiments import corg, run
from evaluation.harness.arms import ArmAnswer
from evaluation.harness.asking import open_asking
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from evaluation.stages import MeteredReader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.prompts import answer_group, map_context
from preflight_rag.prompts.fences import material
from preflight_rag.state.errors import BadReply, UsageError
from preflight_rag.testing.scripted_server import Reply, ScriptedServer
from preflight_rag.text.headers import CONTRADICTED

pytestmark = pytest.mark.slow

SPRINGFIELD = "What is the population of Springfield?"
TOWNS = Sample(
    "towns", SPRINGFIELD, "list", answers=(("58,662",), ("61,851",)), wrong=("90,000",), answerable=True,
    given=(
        Context("1", "", "Springfield, Ohio is a city. Its population was 58,662.", role="gold", answer="58,662",
              entity="Springfield, Ohio"),
        Context("2", "", "Springfield, Oregon is a city. Its population was 61,851.", role="gold", answer="61,851",
              entity="Springfield, Oregon"),
        Context("3", "", "Springfield, Ohio is a city. Its population was 90,000.", role="wrong", answer="90,000"),
        Context("4", "", "Yeast gives off carbon dioxide.", role="noise"),
    ),
)  # fmt: skip
AMBIGDOCS = {
    "qid": 12,
    "question": SPRINGFIELD,
    "ambiguous_entity": "Springfield (disambiguation)",
    "documents": [
        {"title": "Springfield, Ohio", "text": "The population of Springfield in Ohio was 58,662.", "pid": 5,
         "answer": "58,662"},
        {"title": "Springfield, Oregon", "text": "The population of Springfield in Oregon was 61,851.", "pid": 9,
         "answer": "61,851"},
    ],
}  # fmt: skip


def passages_in(prompt: str) -> list[str]:
    """The passages of a prompt."""
    return re.findall(r"<passage n=.*?</passage>", prompt, re.DOTALL)


def broken_bow(facts: list[str]) -> Sample:
    """A question with a passage for each fact; the first fact's answer is right."""
    given = tuple(Context(d.id, d.title, d.text, role="gold") for d in documents(facts))
    return Sample("bow", QUESTION, "short", answers=((f"{int(facts[0][1:]) + 1000:,}",),), given=given)


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (["58,662"], "It has 58,662 people [1].", 1.0),
        (["3,559 people"], "There were 3,559.", 0.5),
        (["9 February 1936", "1936"], "in 1936", 1.0),
        (["The Who"], "the who", 1.0),
        (["The Who"], "a band", 0.0),
        (["all-boys"], "It is for all boys.", 0.0),
        (["1"], "58,662 [1]", 0.0),
    ],
)
def test_answer_recall_is_of_words_that_count(names, text, expected):
    assert answer_recall(names, text) == expected


@pytest.mark.parametrize(
    ("entity", "text", "expected"),
    [
        ("Springfield, Ohio", "Springfield: 58,662", 0.0),
        ("Springfield, Ohio", "In Ohio 58,662", 1.0),
        ("Springfield (Clark County, Ohio)", "Springfield in Ohio", 1 / 3),
        ("Springfield", "Springfield has 58,662", 1.0),
        ("Springfield", "It has 58,662", 0.0),
    ],
)
def test_entity_recall_leaves_out_the_shared_name(entity, text, expected):
    assert entity_recall(entity, "Springfield", text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("found", "answer", "expected"),
    [("58,662", "58,662", 1.0), ("58,662 people", "58,662", 2 / 3), ("", "58,662", 0.0), ("Paris", "Rome", 0.0)],
)
def test_f1_is_that_of_squad_without_stop_words(found, answer, expected):
    assert f1(found, answer) == pytest.approx(expected)


def test_the_shared_name_gives_way_to_the_things_own():
    population = "What is the population of"
    assert things(TOWNS) == (
        PossibleReferent("Springfield, Ohio", "58,662", f"{population} Springfield, Ohio?"),
        PossibleReferent("Springfield, Oregon", "61,851", f"{population} Springfield, Oregon?"),
    )
    assert shared_name(TOWNS) == "Springfield"
    assert disambiguated(TOWNS, "Springfield, Ohio") == "What is the population of Springfield, Ohio?"
    assert disambiguated(Sample("q", "how many?", "short"), "Ohio") == "how many?"


def test_an_answer_of_the_wrong_thing_earns_recall_and_no_ear():
    grader = Grader()
    right = grader.grade(TOWNS, "Ohio: 58,662 [1]\nOregon: 61,851 [2]")
    half = grader.grade(TOWNS, "Ohio: 61,851 [1]")
    assert (right["answers"], right["entities"], right["both"]) == (1.0, 1.0, 1.0)
    assert (half["answers"], half["entities"], half["both"]) == (0.5, 0.5, 0.0)
    assert grader.grade(TOWNS, "")["disambig"] == 0
    assert grader.ceiling(TOWNS) > 0
    assert grader.name == Grader("none").name


def test_disambig_f1_asks_for_each_thing_by_its_full_name(monkeypatch):
    grader, reader = Grader(), ValueReader()
    monkeypatch.setattr(grader, "_reader", reader)
    told = grader.grade(TOWNS, "Springfield, Ohio: 58,662 [1]")
    asked = [question for question, _, _ in reader.calls[0]]
    assert asked == ["What is the population of Springfield, Ohio?", "What is the population of Springfield, Oregon?"]
    assert {text for _, _, text in reader.calls[0]} == {"Springfield, Ohio: 58,662"}
    assert told["disambig"] == pytest.approx(0.5)


def test_without_things_the_question_itself_is_asked_for_disambig_f1():
    """As of ConflictQA, whose descriptors are not labelled (section 2.4): answer recall and Disambig-F1."""
    asked = Sample("q", "Who wrote the first program?", "short", answers=(("Ada Lovelace",),))
    assert things(asked) == (PossibleReferent("", "Ada Lovelace", asked.question),)
    told = Grader().grade(asked, "Ada Lovelace wrote the first program.")
    assert (told["answers"], told["entities"], told["both"], told["disambig"]) == (1.0, None, None, 1.0)


def test_a_contexts_own_sub_question_is_asked():
    given = (Context("1", "", "It was Ada.", role="gold", answer="Ada", sub_question="who wrote it in 1843?"),)
    asked = Sample("q", "who wrote it?", "short", answers=(("Ada",),), given=given)
    assert [thing.sub_question for thing in things(asked)] == ["who wrote it in 1843?"]


def test_a_question_in_lower_case_has_the_name_that_its_things_share():
    lower = replace(TOWNS, question="what is the population of springfield?")
    assert shared_name(lower) == "springfield"
    assert [thing.sub_question for thing in things(lower)] == [
        "what is the population of Springfield, Ohio?", "what is the population of Springfield, Oregon?"
    ]  # fmt: skip


def test_samples_without_passages_are_refused():
    asked = Sample("q", "Who?", "short", answers=(("Ada",),))
    with pytest.raises(UsageError, match="no question of this data set comes with passages"):
        with_passages([asked])


def test_offline_every_system_runs_on_the_published_file(data_dir):
    (report,) = run("corg", data_dir, ["ramdocs"], ExperimentRun(limit=2))
    assert [row[0] for row in report.tables[0].rows] == list(SYSTEMS)
    assert len(answers(report)) == 2
    assert "offline: " in report.about
    assert set(report.figures["measures"]) == {*SYSTEMS, "ceiling"}
    assert report.plots[0].categories == SYSTEMS


def test_all_systems_are_shown_the_same_contexts(data_dir):
    (report,) = run("corg", data_dir, ["ramdocs"], ExperimentRun(limit=3, model="simulated"))
    assert "simulated" in report.tables[0].title
    for arms in answers(report).values():
        texts = set(passages(arms["Base"]))
        for name in ("Base", "Separate", "Random", "KMeans"):
            asked = "".join(prompts(arms[name]))
            assert passages(arms[name]) == passages(arms["Base"])
            assert all(material(text) in asked for text in texts), name
        assert (arms["Base"].calls, arms["Separate"].calls) == (1, len(texts))
        assert arms["Summarize"].calls in (1, 2)
        assert len(passages_in(prompts(arms["Retrieve"])[0])) == min(5, len(texts))
        assert set(arms["Base"].details["measures"]) == set(MEASURES.values())


def test_ambigdocs_runs_as_it_is_published(tmp_path):
    (tmp_path / "ambigdocs").mkdir()
    (tmp_path / "ambigdocs" / "test.json").write_text(json.dumps([AMBIGDOCS]), encoding="utf-8")
    (report,) = run("corg", tmp_path, ["ambigdocs"], ExperimentRun(part="all"))
    assert report.dataset == "AmbigDocs"
    (arms,) = answers(report).values()
    assert arms["Separate"].details["measures"][MEASURES["answers"]] == 1


def test_conflictqa_runs_as_it_is_published_with_answer_recall_and_disambig_f1(tmp_path):
    """Its PopQA part: the descriptors of its contexts are not labelled (section 2.4)."""
    line = {
        "question": "Who painted the Last Supper?", "popularity": 9, "ground_truth": ["Leonardo da Vinci"],
        "memory_answer": "Leonardo da Vinci", "counter_answer": "Raphael",
        "parametric_memory": "The Last Supper was painted by Leonardo da Vinci.",
        "counter_memory": "The Last Supper was painted by Raphael.",
    }  # fmt: skip
    (tmp_path / "conflictqa").mkdir()
    (tmp_path / "conflictqa" / "conflictQA-popQA-gpt4.json").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (report,) = run("corg", tmp_path, ["conflictqa"], ExperimentRun(part="all"))
    (arms,) = answers(report).values()
    assert set(arms["Separate"].details["measures"]) == {MEASURES["answers"], MEASURES["disambig"]}
    assert arms["Separate"].details["measures"][MEASURES["answers"]] == 1


def test_calls_are_counted_at_the_server(as_set, scripted):
    facts = ["A1", "A2", "B1"]
    with ScriptedServer(script(facts, notes=True)) as server:
        report = corg.run(as_set(broken_bow(facts)), scripted(server))
        related, total = relation_calls(server), server.count()
    (arms,) = answers(report).values()
    calls = {name: row.calls for name, row in arms.items()}
    assert calls[CORG] == related + 2
    assert arms[CORG].details["route"] == "2 groups"
    assert calls["Random"] == calls["KMeans"] == 2
    assert total <= sum(calls.values())
    assert "**Broken Bow (Oklahoma)**: 1,001 [3]" in arms[CORG].details["reply"]


def test_all_systems_are_asked_with_one_prompt(as_set, scripted):
    """What differs is the contexts, and the question where COrg puts it in the plural (section 4)."""
    facts = ["A1", "A2", "B1"]
    with ScriptedServer(script(facts, notes=True)) as server:
        report = corg.run(as_set(broken_bow(facts)), scripted(server))
    (arms,) = answers(report).values()
    asked: dict[str, set[tuple[str, str]]] = {}
    for name, row in arms.items():
        for call in row.details["prompts"]:
            system, user = (message["content"] for message in call["messages"][:2])
            if "<passage n=" in user and system != map_context.SYSTEM:
                question = user.splitlines()[0]
                asked.setdefault(name, set()).add((system, question))
    assert set(asked) == set(SYSTEMS)
    assert {system for prompts in asked.values() for system, _ in prompts} == {answer_group.SYSTEM}
    plural = "Question: How many people live in the Broken Bows?"
    assert {name for name, prompts in asked.items() if plural in {line for _, line in prompts}} == {CORG, BASE_PLURAL}


def test_corg_is_the_products_own_answer(as_set, scripted):
    """The aggregator of a turn puts the groups' answers together: it says where sources contradict each other."""
    facts = ["A1", "A2"]
    with ScriptedServer(script(facts, notes=True)) as server:
        report = corg.run(as_set(broken_bow(facts)), scripted(server))
    (arms,) = answers(report).values()
    assert CONTRADICTED in arms[CORG].details["reply"]
    assert CONTRADICTED not in arms["Separate"].details["reply"]
    assert arms[CORG].details["route"] == "2 groups"


def test_what_a_refused_group_says_is_quoted_as_in_a_turn(as_set, scripted):
    facts = ["A1", "A2"]
    told = script(facts, notes=True)

    def reply(body):
        text = told(body)
        withheld = "Context2\n" not in str(body) and "1,002" in text and "1,001" not in text
        return Reply(finish_reason="content_filter") if withheld else text

    with ScriptedServer(reply) as server:
        report = corg.run(as_set(broken_bow(facts)), scripted(server))
    (arms,) = answers(report).values()
    assert "1,001" in arms[CORG].details["reply"]
    assert "1 of 2 groups of passages could not be answered by the model" in arms[CORG].details["reply"]
    assert "1,002" not in arms["Separate"].details["reply"]
    assert "1,002" in arms["Base"].details["reply"]


def test_what_was_refused_throughout_is_an_error(as_set, scripted):
    with ScriptedServer(default=Reply(finish_reason="content_filter")) as server:
        report = corg.run(as_set(broken_bow(["A1", "B1"])), scripted(server))
    (arms,) = answers(report).values()
    assert all("content filter" in arms[name].details["error"] for name in ("Base", "Separate"))
    assert "what their passages say is quoted as it stands" in arms[CORG].details["reply"]
    assert report.figures["spent"]["Base"]["refused"] == 1


def test_groups_are_taken_from_corg(embedder):
    systems = SystemArms(OfflineReader(embedder), OfflineReader(embedder), seed=0)
    corg_arm, random_arm = systems.arms(["Random"])
    with pytest.raises(BadReply, match="COrg made no groups"):
        asyncio.run(random_arm.answer(TOWNS, given_sources(TOWNS)))
    told = asyncio.run(corg_arm.answer(TOWNS, given_sources(TOWNS)))
    again = asyncio.run(random_arm.answer(TOWNS, given_sources(TOWNS)))
    assert isinstance(told, ArmAnswer)
    assert told.route == again.route


def test_a_chat_reader_has_no_memory_of_passages(embedder):
    with open_asking(ExperimentRun(model="simulated"), [TOWNS]) as asking:
        reader = asking.reader(embedder)
        assert unremembering(reader) is reader


def test_settings_of_a_turn_change_what_they_say(embedder):
    def made(**settings):
        asked = SystemQuestion(MeteredReader(OfflineReader(embedder)), TOWNS.question, tuple(given_sources(TOWNS)))
        return asyncio.run(organised(asked, ONE_AT_A_TIME.model_copy(update=settings)))

    assert len(made().groups) == 2
    assert len(made(no_grouping=True).groups) == 1
    assert made(no_grouping=True).kept == made().kept


def test_a_meter_counts_what_a_reader_without_receipts_reads(embedder):
    metered = MeteredReader(OfflineReader(embedder))
    sources = given_sources(TOWNS)
    asyncio.run(metered.answer(question=SPRINGFIELD, sources=sources))
    asyncio.run(metered.relate(question=SPRINGFIELD, pivot=sources[0], others=sources[1:]))
    read = sum(metered.reader.count_tokens(text) for text in (SPRINGFIELD, *(source.text for source in sources)))
    assert (metered.usage.calls, metered.usage.input_tokens, metered.usage.estimated) == (2, 2 * read, True)
    assert metered.usage.output_tokens > 0
    assert unremembering(metered.reader) is not metered.reader
