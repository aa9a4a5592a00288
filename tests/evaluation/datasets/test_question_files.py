"""Adapters of questions on small files in the published forms, and what they say of files that are wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.samples import Sample
from preflight_rag.state.errors import UnreadableDocument, UsageError

MIRAGE = {"question": "Which?", "options": {"A": "yes", "B": "no", "C": "maybe"}, "answer": "B", "PMID": [7]}
PUBMEDQA = {"QUESTION": "Does it?", "CONTEXTS": ["It was given.", "It helped."], "LONG_ANSWER": "Yes.", "YEAR": "2011"}
BIOASQ = {
    "id": "q1",
    "type": "factoid",
    "body": "Which factor?",
    "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/34494428"],
    "snippets": [{"document": "http://www.ncbi.nlm.nih.gov/pubmed/34494428", "text": "Factor XIa. "}],
    "exact_answer": [["factor XIa", "FXIa"]],
    "ideal_answer": ["It is factor XIa."],
}
AMBIGDOCS = {
    "qid": 12,
    "question": "When was Michael Ridley born?",
    "ambiguous_entity": "Michael Ridley",
    "documents": [
        {"title": "Michael Ridley (priest)", "text": "He was born in 1937.", "pid": 5, "answer": "1937"},
        {"title": "Michael Ridley (swimmer)", "text": "He was born in 1990.", "pid": 9, "answer": "1990"},
    ],
}
POPQA = {
    "question": "What is Tom's occupation?",
    "ground_truth": ["politician", "pol"],
    "memory_answer": "Tom is a singer.",
    "parametric_memory": "",
    "parametric_memory_aligned_evidence": "Tom sings.",
    "counter_answer": "Tom is a politician.",
    "counter_memory": "Tom governs.",
    "counter_memory_aligned_evidence": "",
}
CONFLICTS = {
    "source": "FreshQA",
    "question": "Who leads?",
    "conflict_type": "Conflict due to outdated information",
    "correct_answer": "Ann",
    "search_results": [
        {"title": "T", "url": "u", "snippet": "s", "short_text": "Ann leads.", "date": "Jun 20, 2023"},
        {"title": "T", "url": "v", "snippet": "Bob leads.", "short_text": "", "date": "NA"},
    ],
}
WIKICONTRADICT = (
    "question_ID,question,context1,context2,answer1,answer2,contradictType,WikipediaArticleTitle,url\n"
    '1,How many?,"There were\nten, he said.",There were nine.,ten,nine,Explicit,Fair,u\n'
)
SQUAD = {
    "data": [
        {
            "title": "Normans",
            "paragraphs": [
                {
                    "context": "The Normans came from Norway.",
                    "qas": [
                        {"id": "a", "question": "Whence?", "answers": [{"text": "Norway", "answer_start": 22}]},
                        {
                            "id": "b",
                            "question": "Why?",
                            "answers": [],
                            "is_impossible": True,
                            "plausible_answers": [{"text": "Norway", "answer_start": 22}],
                        },
                    ],
                }
            ],
        }
    ]
}
COVIDQA = {"data": [{"paragraphs": [{"document_id": 630, "context": "It has spikes.", "qas": [
    {"id": 1, "question": "What has it?", "answers": [{"text": "spikes", "answer_start": 7}], "is_impossible": False}
]}]}]}  # fmt: skip
LOST = {
    "question": "who",
    "answers": ["Ann", "Anna"],
    "ctxs": [
        {"id": "3", "title": "B", "text": "Bob.", "hasanswer": False, "isgold": False},
        {"title": "A", "text": "Ann.", "hasanswer": True, "isgold": True},
    ],
}
MEDQUAD = """<?xml version="1.0" encoding="UTF-8"?>
<Document id="0000001_1" source="CancerGov" url="https://cancer.example/all"><Focus>Leukemia</Focus><QAPairs>
<QAPair pid="1"><Question qid="0000001_1-1" qtype="information">What is Leukemia ?</Question>
<Answer>A cancer
   of blood.</Answer></QAPair>
<QAPair pid="2"><Question qid="0000001_1-2" qtype="cause">What causes it ?</Question><Answer/></QAPair>
</QAPairs></Document>"""
SCIFACT = {
    "id": 3,
    "claim": "It helps.",
    "cited_doc_ids": [7, 8],
    "evidence": {"7": [{"sentences": [0], "label": "CONTRADICT"}]},
}


def put(folder: Path, name: str, content: Any) -> None:
    """Write a file as text, or as JSON, which of one object is one line too."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def only(name: str, data: Path) -> Sample:
    (question,) = open_dataset(name, data, QUESTIONS).samples
    return question


def test_mirage_is_read_as_published(tmp_path):
    put(tmp_path / "mirage", "benchmark.json", {"pubmedqa": {"7": MIRAGE}, "medqa": {"0000": {**MIRAGE, "PMID": []}}})
    asked = only("mirage-pubmedqa", tmp_path)
    assert (asked.id, asked.kind, asked.right, asked.key) == ("pubmedqa:7", "yes/no", "no", "7")
    assert asked.documents == {"7"}
    assert [question.label for question in open_dataset("mirage", tmp_path, QUESTIONS).samples] == ["pubmedqa", "medqa"]


def test_pubmedqa_gives_the_abstract_without_its_conclusion(tmp_path):
    put(tmp_path / "pubmedqa", "ori_pqal.json", {"7": {**PUBMEDQA, "final_decision": "maybe"}})
    asked = only("pubmedqa", tmp_path)
    assert (asked.right, asked.answers, asked.key) == ("maybe", (("Yes.",),), "7")
    assert (asked.given[0].text, asked.given[0].date) == ("It was given.\nIt helped.", "2011")


def test_bioasq_is_read_as_the_task_releases_it(tmp_path):
    yes = {**BIOASQ, "id": "q2", "type": "yesno", "exact_answer": "Yes", "ideal_answer": "It is."}
    several = {**BIOASQ, "id": "q3", "type": "list", "exact_answer": [["a", "b"], ["c"]]}
    put(tmp_path / "bioasq", "9B1_golden.json", {"questions": [BIOASQ, yes, several]})
    factoid, verdict, listing = open_dataset("bioasq", tmp_path, QUESTIONS).samples
    assert factoid.answers == (("factor XIa", "FXIa"),)
    assert (factoid.documents, factoid.given[0].text) == ({"34494428"}, "Factor XIa.")
    assert (verdict.right, verdict.answers) == ("yes", (("It is.",),))
    assert (listing.kind, listing.answers) == ("list", (("a", "b"), ("c",)))


def test_ambigdocs_has_a_document_and_an_answer_for_each_thing_of_a_name(tmp_path):
    put(tmp_path / "ambigdocs", "test.json", [AMBIGDOCS])
    asked = only("ambigdocs", tmp_path)
    assert (asked.id, asked.kind, asked.label) == ("12", "list", "Michael Ridley")
    assert asked.answers == (("1937",), ("1990",))
    assert [passage.entity for passage in asked.given] == ["Michael Ridley (priest)", "Michael Ridley (swimmer)"]
    assert asked.documents == {"ambigdocs/12/5", "ambigdocs/12/9"}


def test_conflictqa_tells_the_right_passage_of_names_by_the_ground_truth(tmp_path):
    put(tmp_path / "conflictqa", "conflictQA-popQA-gpt4.json", POPQA)
    asked = only("conflictqa", tmp_path)
    assert (asked.id, asked.kind, asked.answers) == ("popQA-gpt4/0", "short", (("politician", "pol"),))
    assert [(passage.role, passage.text) for passage in asked.given] == [
        ("wrong", "Tom sings."),
        ("gold", "Tom governs."),
    ]
    assert asked.wrong == ("Tom is a singer.",)


@pytest.mark.parametrize(
    ("memory", "counter", "roles"),
    [
        ("It is red.", "It is not red.", ["gold", "wrong"]),
        ("It isn't red.", "It is red.", ["wrong", "gold"]),
        ("It is red.", "It is blue.", ["", ""]),
    ],
)
def test_conflictqa_tells_the_side_of_a_verdict_by_negation(tmp_path, memory, counter, roles):
    row = {**POPQA, "ground_truth": ["True"], "memory_answer": memory, "counter_answer": counter}
    put(tmp_path / "conflictqa", "conflictQA-strategyQA-gpt4.json", row)
    asked = only("conflictqa", tmp_path)
    assert (asked.kind, asked.right) == ("yes/no", "yes")
    assert [passage.role for passage in asked.given] == roles


def test_dragged_is_read_as_its_authors_publish_it(tmp_path):
    put(tmp_path / "dragged_conflicts", "conflicts.jsonl", CONFLICTS)
    found = open_dataset("dragged_conflicts", tmp_path, QUESTIONS)
    assert [passage.text for passage in found.samples[0].given] == ["Ann leads.", "Bob leads."]
    assert found.samples[0].label == "Conflict due to outdated information"
    assert [document.date for document in found.corpus()] == ["Jun 20, 2023", None]


@pytest.mark.parametrize("packed", [False, True])
def test_wikicontradict_wants_both_answers(tmp_path, packed):
    folder, name = tmp_path / "wikicontradict", "WikiContradict_dataset_v1_rag_qa.csv"
    put(folder, name, WIKICONTRADICT)
    if packed:
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    asked = only("wikicontradict", tmp_path)
    assert asked.answers == (("ten",), ("nine",))
    assert [passage.text for passage in asked.given] == ["There were\nten, he said.", "There were nine."]
    assert asked.label == "Explicit"


def test_a_json_file_is_squads_with_unanswerable_questions(tmp_path):
    put(tmp_path, "dev-v2.0.json", SQUAD)
    answered, impossible = open_dataset("dev-v2.0.json", tmp_path, QUESTIONS).samples
    assert (answered.answers, answered.answerable, answered.key) == ((("Norway",),), True, "Normans")
    assert (impossible.answers, impossible.answerable, impossible.wrong) == ((), False, ("Norway",))


def test_covidqa_is_read_in_squads_form(tmp_path):
    put(tmp_path / "covidqa", "COVID-QA.json", COVIDQA)
    found = open_dataset("covidqa", tmp_path, QUESTIONS)
    assert (found.samples[0].documents, found.samples[0].key) == ({"630"}, "630")
    assert [document.text for document in found.corpus()] == ["It has spikes."]


def test_lost_in_the_middle_keeps_the_order_of_its_passages(tmp_path):
    name = "nq-open-10_total_documents_gold_at_1.jsonl.gz"
    (tmp_path / name).write_bytes(gzip.compress(json.dumps(LOST).encode()))
    asked = only(name, tmp_path)
    assert [passage.role for passage in asked.given] == ["noise", "gold"]
    assert (asked.documents, asked.answers) == ({"nq/0/1"}, (("Ann", "Anna"),))


def test_medquad_is_read_from_its_xml(tmp_path):
    put(tmp_path / "medquad" / "1_CancerGov_QA", "0000001_1.xml", MEDQUAD)
    asked = only("medquad", tmp_path)
    assert (asked.question, asked.answers, asked.key) == ("What is Leukemia ?", (("A cancer of blood.",),), "Leukemia")
    assert asked.documents == {"1_CancerGov_QA/0000001_1-1"}


def test_scifact_is_read_as_published(tmp_path, write_lines):
    abstracts = [{"doc_id": i, "title": "T", "abstract": [f"No {i}."]} for i in (7, 8)]
    write_lines(tmp_path / "scifact" / "corpus.jsonl", abstracts)
    write_lines(tmp_path / "scifact" / "claims_train.jsonl", [SCIFACT])
    unknown = {**SCIFACT, "id": 4, "cited_doc_ids": [8], "evidence": {}}
    write_lines(tmp_path / "scifact" / "claims_dev.jsonl", [unknown])
    contradicted, open_ = open_dataset("scifact", tmp_path, QUESTIONS).samples
    assert (contradicted.right, [p.role for p in contradicted.given]) == ("contradicted", ["contradict", "neutral"])
    assert (open_.right, open_.answerable) == ("not enough information", False)


def test_a_folder_in_beirs_form_has_questions_with_documents(beir_data):
    found = open_dataset("small", beir_data, QUESTIONS)
    assert {question.id: set(question.documents) for question in found.samples}["q2"] == {"venus"}
    assert "unjudged" not in {question.id for question in found.samples}
    assert len(list(found.corpus())) == 5


ODD = {"text": "t", "type": "odd", "answer": "a"}
NO_ANSWER = {"questions": [{**BIOASQ, "exact_answer": None}]}
NO_QUESTION = {key: value for key, value in AMBIGDOCS.items() if key != "question"}
RAMDOCS = {"question": "q", "documents": [ODD], "gold_answers": ["a"], "disambig_entity": ["e"], "wrong_answers": []}
BAD: dict[str, tuple[str, Any, str]] = {
    "answer is no option": (
        "mirage/benchmark.json",
        {"medqa": {"0": {**MIRAGE, "answer": "E"}}},
        r"benchmark.json: medqa 0: the answer 'E' is no option",
    ),
    "array in place of object": ("pubmedqa/ori_pqal.json", "[]", r"ori_pqal.json holds \[\], not an object"),
    "decision is unknown": (
        "pubmedqa/ori_pqal.json",
        {"7": {**PUBMEDQA, "final_decision": "perhaps"}},
        "'perhaps' is not among the options",
    ),
    "no JSON": ("xquad_en/xquad.en.json", "{", r"xquad.en.json is not JSON: .*line 1"),
    "SQuAD without data": ("xquad_en/xquad.en.json", {"a": 1}, "data is no list of objects"),
    "two of an id": ("ambigdocs/dev.json", [AMBIGDOCS, AMBIGDOCS], r"dev.json entry 2: the id '12' stands twice"),
    "field is missing": ("ambigdocs/train.json", [NO_QUESTION], r"train.json entry 1 has no 'question'"),
    "entry is no object": ("ambigdocs/test.json", [7], "entry 1 holds 7, not an object"),
    "role is unknown": (
        "ramdocs/RAMDocs_test.jsonl",
        RAMDOCS,
        r"RAMDocs_test.jsonl line 1: a document's type is 'odd'",
    ),
    "no question at all": ("ramdocs/RAMDocs_test.jsonl", "\n", r"RAMDocs_test.jsonl holds no question"),
    "row is cut off": (
        "wikicontradict/WikiContradict_dataset.csv",
        f"{WIKICONTRADICT}2,Why?\n",
        r"WikiContradict_dataset.csv line 4 has other columns",
    ),
    "quote is not closed": ("wikicontradict/WikiContradict_dataset.csv", f'{WIKICONTRADICT}2,"Why?\n', "is not CSV"),
    "type is unknown": (
        "bioasq/1B1_golden.json",
        {"questions": [{**BIOASQ, "type": "essay"}]},
        r"1B1_golden.json question 1: type is 'essay'",
    ),
    "no exact answer": ("bioasq/1B1_golden.json", NO_ANSWER, "exact_answer is None"),
    "XML is damaged": ("medquad/1_CancerGov_QA/1.xml", MEDQUAD[:-20], r"1.xml cannot be read"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_is_one_clear_line(tmp_path, case):
    path, content, message = BAD[case]
    put((tmp_path / path).parent, Path(path).name, content)
    with pytest.raises(UnreadableDocument, match=message) as caught:
        open_dataset(path.partition("/")[0], tmp_path, QUESTIONS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\x1f\x8b broken", b"no gzip", gzip.compress(json.dumps(SQUAD).encode())[:-9]])
def test_a_damaged_gzip_is_one_clear_line(tmp_path, content):
    (tmp_path / "squad.json.gz").write_bytes(content)
    with pytest.raises(UnreadableDocument, match=r"squad.json.gz cannot be read"):
        open_dataset("squad.json.gz", tmp_path, QUESTIONS)


def test_conflictqa_without_a_file_names_its_origin(tmp_path):
    (tmp_path / "conflictqa").mkdir()
    with pytest.raises(UsageError, match=r"no conflictQA-.*LLM-Knowledge-Conflict"):
        open_dataset("conflictqa", tmp_path, QUESTIONS)


WriteLines = Callable[[Path, list[Any]], None]
FULL = {
    "id": "1",
    "question": "Which vitamin?",
    "options": {"A": "vitamin C", "B": "vitamin D"},
    "right": "A",
    "wrong": ["vitamin D"],
    "contexts": ["Scurvy is a lack of vitamin C.", {"text": "Rickets.", "title": "R", "role": "noise"}],
    "documents": ["scurvy"],
    "answerable": True,
    "label": "vitamins",
}


def test_ones_own_questions_are_read_with_all_their_fields(tmp_path, write_lines: WriteLines):
    write_lines(tmp_path / "mine" / "questions.jsonl", [FULL])
    write_lines(tmp_path / "mine" / "documents.jsonl", [{"id": "scurvy", "text": "Scurvy.", "date": "2020"}])
    found = open_dataset("mine", tmp_path, QUESTIONS)
    (asked,) = found.samples
    assert (asked.kind, asked.options, asked.right) == ("choice", ("vitamin C", "vitamin D"), "vitamin C")
    assert [(passage.id, passage.title, passage.role) for passage in asked.given] == [
        ("1/0", "", ""),
        ("1/1", "R", "noise"),
    ]
    assert (asked.documents, asked.answerable, asked.label) == ({"scurvy"}, True, "vitamins")
    assert [(document.text, document.date) for document in found.corpus()] == [("Scurvy.", "2020")]


def test_gold_contexts_answer_where_nothing_else_is_named(tmp_path, write_lines: WriteLines):
    contexts = [{"text": "Rickets."}, {"text": "Scurvy.", "role": "gold"}]
    named = [{"id": "1", "question": "?", "contexts": contexts}, {"id": "2", "question": "?", "documents": ["1/0"]}]
    write_lines(tmp_path / "mine" / "questions.jsonl", named)
    found = open_dataset("mine", tmp_path, QUESTIONS)
    assert [set(question.documents) for question in found.samples] == [{"1/1"}, {"1/0"}]
    assert {document.id for document in found.corpus()} == {"1/0", "1/1"}


@pytest.mark.parametrize(
    ("fields", "kind", "answers"),
    [
        ({"answer": "C"}, "short", (("C",),)),
        ({"answers": ["C", ["D", "cholecalciferol"]]}, "list", (("C",), ("D", "cholecalciferol"))),
        ({"options": ["Yes", "No"], "right": "No"}, "yes/no", ()),
        ({"kind": "long", "answer": "It is vitamin C."}, "long", (("It is vitamin C.",),)),
        ({}, "short", ()),
    ],
)
def test_the_kind_of_ones_own_question_is_told_by_its_fields(tmp_path, write_lines, fields, kind, answers):
    write_lines(tmp_path / "mine.jsonl", [{"id": 1, "question": "Which?", **fields}])
    found = open_dataset("mine.jsonl", tmp_path, QUESTIONS)
    assert (found.samples[0].kind, found.samples[0].answers, found.corpus) == (kind, answers, None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"anwser": "C"}, "mine.jsonl line 1 has an unknown field 'anwser'. Known are id, question"),
        ({"options": ["a", "b"], "right": "c"}, "right answer 'c' is not among the options"),
        ({"kind": "essay"}, "the kind 'essay' is unknown. Choose choice"),
        ({"answer": "C", "answers": ["C"]}, "both 'answer' and 'answers'"),
        ({"answers": "C"}, "answers is 'C', not a list"),
        ({"contexts": [7]}, "a context holds 7, not an object"),
        ({"contexts": ["a", {"text": "b", "id": "1/0"}]}, "the passage '1/0' has another text"),
        ({"answerable": "maybe"}, "answerable is 'maybe'"),
        ({"wrong": "D"}, "has no list 'wrong'"),
    ],
)
def test_a_bad_line_of_ones_own_is_named(tmp_path, write_lines, fields, message):
    write_lines(tmp_path / "mine.jsonl", [{"id": 1, "question": "Which?", **fields}])
    with pytest.raises(UnreadableDocument, match=message):
        open_dataset("mine.jsonl", tmp_path, QUESTIONS)


def test_a_document_that_is_not_there_is_named(tmp_path, write_lines):
    write_lines(tmp_path / "mine" / "questions.jsonl", [{"id": 1, "question": "Which?", "documents": ["b"]}])
    write_lines(tmp_path / "mine" / "documents.jsonl.gz", [])
    (tmp_path / "mine" / "documents.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "text": "A."}'))
    with pytest.raises(UnreadableDocument, match=r"line 1: the document 'b' is not in documents.jsonl.gz"):
        open_dataset("mine", tmp_path, QUESTIONS)
