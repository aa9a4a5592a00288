"""Natural Questions, TriviaQA, NarrativeQA and GovReport in their published forms, on small files of these forms."""

from __future__ import annotations

import gzip
import json

import pytest

from evaluation.datasets import QUESTIONS, SUMMARIES, UNITS, legal, open_dataset
from evaluation.experiments import run
from evaluation.experiments.summaries import settings_of
from evaluation.runs import ExperimentRun
from preflight_rag.state.errors import UnreadableDocument, UsageError

pytestmark = pytest.mark.slow

PAGE = "<H1> Venus </H1> <P> Venus is a planet . It has 465 degrees on average . </P> <P> No moon circles it . </P>"
SIMPLIFIED = {
    "example_id": 5655493461695504401,
    "question_text": "how hot is venus",
    "document_text": PAGE,
    "annotations": [
        {"yes_no_answer": "NONE", "long_answer": {"start_token": 3, "end_token": 16, "candidate_index": 0},
         "short_answers": [{"start_token": 11, "end_token": 13}]}
    ],
}  # fmt: skip
UNANSWERED = {**SIMPLIFIED, "example_id": 2, "annotations": [{"short_answers": []}]}
ORIGINAL = {
    **{name: value for name, value in SIMPLIFIED.items() if name != "document_text"},
    "example_id": 3,
    "document_tokens": [{"token": word, "html_token": word.startswith("<")} for word in PAGE.split()],
}


@pytest.fixture
def nq(tmp_path):
    folder = tmp_path / "natural_questions"
    folder.mkdir()
    with gzip.open(folder / "v1.0-simplified_simplified-nq-train.jsonl.gz", "wt") as file:
        file.write(f"{json.dumps(SIMPLIFIED)}\n{json.dumps(UNANSWERED)}\n")
    (folder / "nq-dev-00.jsonl").write_text(json.dumps(ORIGINAL))
    return tmp_path


def test_natural_questions_simplified_and_original(nq):
    found = open_dataset("natural_questions", nq, QUESTIONS)
    assert {s.id for s in found.samples} == {"5655493461695504401", "3"}
    texts = {document.id: document.text for document in found.documents()}
    for sample in found.samples:
        assert sample.names == ("465 degrees",)
        (((start, end),),) = sample.spans
        assert texts[sample.document][start:end] == "465 degrees"
        assert "<" not in texts[sample.document]
    units = open_dataset("natural_questions", nq, UNITS)
    shown = {unit.id: unit.text.strip() for unit in units.documents()}
    for sample in units.samples:
        assert [shown[name] for name in units.relevant(sample.id)] == ["It has 465 degrees on average ."]
    assert "No moon circles it ." in shown.values()


@pytest.fixture
def trivia(tmp_path):
    folder = tmp_path / "triviaqa"
    (folder / "qa").mkdir(parents=True)
    (folder / "evidence" / "wikipedia").mkdir(parents=True)
    (folder / "evidence" / "wikipedia" / "Sinclair.txt").write_text("He was born in Minnesota. He won the Nobel Prize.")
    (folder / "evidence" / "wikipedia" / "Prize.txt").write_text("It is given in Stockholm.")
    pages = [{"DocSource": "TagMe", "Filename": f"{name}.txt", "Title": name} for name in ("Prize", "Sinclair", "Lost")]
    asked = {
        "Answer": {
            "Aliases": ["Minnesota, USA", "Minnesota"],
            "NormalizedAliases": ["minnesota"],
            "Value": "Minnesota",
        },
        "EntityPages": pages,
        "Question": "In which state was Sinclair Lewis born?",
        "QuestionId": "tc_1",
        "QuestionSource": "http://www.triviacountry.com/",
    }
    lost = {**asked, "QuestionId": "tc_2", "EntityPages": pages[2:]}
    (folder / "qa" / "wikipedia-dev.json").write_text(
        json.dumps({"Data": [asked, lost], "Domain": "Wikipedia", "VerifiedEval": False, "Version": 1.0})
    )
    return tmp_path


def test_triviaqa_takes_the_page_that_holds_an_answer(trivia):
    found = open_dataset("triviaqa", trivia, UNITS)
    (sample,) = found.samples
    assert (sample.id, sample.document, sample.names) == ("tc_1", "Sinclair.txt", ("Minnesota", "Minnesota, USA"))
    units = {unit.id: unit.text for unit in found.documents()}
    assert [units[name] for name in found.relevant("tc_1")] == ["He was born in Minnesota."]
    assert len(units) == 2


@pytest.fixture
def narrative(tmp_path):
    folder = tmp_path / "narrativeqa"
    (folder / "third_party" / "wikipedia").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "tmp" / "s1.content").write_text("Mark ran home.\nHis dog, Rex, barked at him.")
    (folder / "third_party" / "wikipedia" / "summaries.csv").write_text(
        "document_id,set,summary,summary_tokenized\ns2,valid,Ann loves Paris. She stays.,x\n"
    )
    head = "document_id,set,question,answer1,answer2,question_tokenized,answer1_tokenized,answer2_tokenized\n"
    rows = ("s1,valid,Who barked?,Rex,The dog, w,r,t", "s2,valid,Where is Ann?,Paris,In Paris.,w,p,i",
            "s1,test,Who ran?,Mark,Mark,w,m,m", "s3,valid,Who is lost?,Nobody,Nobody,w,n,n")  # fmt: skip
    (folder / "qaps.csv").write_text(head + "\n".join(rows) + "\n")
    return tmp_path


def test_narrativeqa_takes_stories_and_where_there_is_none_their_summary(narrative):
    found = open_dataset("narrativeqa", narrative, UNITS)
    units = {unit.id: unit.text for unit in found.documents()}
    relevant = {sample.question: [units[name] for name in found.relevant(sample.id)] for sample in found.samples}
    assert relevant == {"Who barked?": ["His dog, Rex, barked at him."], "Where is Ann?": ["Ann loves Paris."]}
    assert open_dataset("narrativeqa", narrative, QUESTIONS).samples[0].names == ("Rex", "The dog")


SECTION = {
    "section_title": "Background",
    "paragraphs": ["The bridge is old."],
    "subsections": [{"section_title": "Costs", "paragraphs": ["It costs $5 a day."], "subsections": []}],
}


@pytest.fixture
def reports(tmp_path):
    folder = tmp_path / "gov_report"
    for kind in ("gao", "crs", "split_ids"):
        (folder / kind).mkdir(parents=True)
    gao = {"id": "GAO-1", "title": "Bridges", "highlight": [{**SECTION, "paragraphs": ["Bridges are old."],
           "subsections": []}], "report": [SECTION, {"section_title": "", "paragraphs": ["We agree."]}]}  # fmt: skip
    crs = {"id": "R1", "title": "Bridges", "summary": ["Bridges matter.", "They cost."], "reports": SECTION}
    (folder / "gao" / "GAO-1.json").write_text(json.dumps(gao))
    (folder / "gao" / "GAO-2.json").write_text(json.dumps({**gao, "id": "GAO-2"}))
    (folder / "crs" / "R1.json").write_text(json.dumps(crs))
    (folder / "split_ids" / "gao_test.ids").write_text("GAO-1\n")
    (folder / "split_ids" / "crs_test.ids").write_text("R1\n")
    return tmp_path


def test_reports_have_the_text_of_all_sections_and_the_experts_summary(reports):
    found = {sample.id: sample for sample in open_dataset("gov_report", reports, SUMMARIES).samples}
    assert set(found) == {"GAO-1", "R1"}
    body = "Background\nThe bridge is old.\nCosts\nIt costs $5 a day."
    assert found["GAO-1"].given[0].text == f"{body}\nWe agree."
    assert found["GAO-1"].summaries == {"abstractive": "Background\nBridges are old."}
    assert found["R1"].given[0].text == body
    assert found["R1"].summaries == {"abstractive": "Bridges matter.\nThey cost."}


def test_reports_a_line_each(tmp_path, write_lines):
    write_lines(tmp_path / "gov_report" / "test.jsonl", [{"report": "Long. Text.", "summary": "Short."}])
    (sample,) = open_dataset("gov_report", tmp_path, SUMMARIES).samples
    assert (sample.given[0].text, sample.summaries) == ("Long. Text.", {"abstractive": "Short."})


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("natural_questions", UNITS),
        ("triviaqa", UNITS),
        ("narrativeqa", UNITS),
        ("gov_report", SUMMARIES),
        ("legal", SUMMARIES),
    ],
)
def test_what_is_missing_is_one_line_that_says_where_it_is_published(tmp_path, name, role):
    (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match="there is no") as error:
        open_dataset(name, tmp_path, role)
    assert "published at" in error.value.help


def test_a_damaged_file_is_named(nq, trivia):
    (nq / "natural_questions" / "nq-dev-00.jsonl").write_text('{"example_id": 1, "annotations": 3}')
    with pytest.raises(UnreadableDocument, match="nq-dev-00"):
        open_dataset("natural_questions", nq, QUESTIONS)
    (trivia / "triviaqa" / "qa" / "wikipedia-dev.json").write_text('{"Data": [{"Answer": 1}]}')
    with pytest.raises(UnreadableDocument, match="wikipedia-dev"):
        open_dataset("triviaqa", trivia, QUESTIONS)


def test_diversity_is_measured_on_them_as_in_the_paper(nq):
    (report,) = run("diversity", nq, ["natural_questions"], ExperimentRun(part="all", library_cache=nq / "kept"))
    # Three sentences a page, one of which fits into a fifth of its tokens.
    assert report.figures["answer present"]["means"]["SB"]["c_r 0.2"]["value"] in (0.0, 1.0)
    assert any("Table 1" in table.title for table in report.tables)


def test_judgements_have_their_summaries_beside_them(tmp_path):
    """IN-Abs has one summary a case, UK-Abs keeps the whole ones in full/; both files of a case have one name."""
    for name, text in {
        "IN-Abs/test-data/judgement/1.txt": "The appeal fails.",
        "IN-Abs/test-data/summary/1.txt": "It failed.",
        "IN-Abs/train-data/judgement/2.txt": "Not of the test part.",
        "UK-Abs/test-data/judgement/1.txt": "The appeal is allowed.",
        "UK-Abs/test-data/summary/full/1.txt": "It was allowed.",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = legal.summaries(tmp_path, "legal")
    assert {sample.passage.text: sample.summaries["abstractive"] for sample in found.samples} == {
        "The appeal fails.": "It failed.",
        "The appeal is allowed.": "It was allowed.",
    }
    (tmp_path / "UK-Abs/test-data/summary/full/1.txt").unlink()
    with pytest.raises(UnreadableDocument, match="no summary of its name"):
        legal.summaries(tmp_path, "legal")


def test_the_papers_pair_for_legal_documents_is_taken_for_them():
    """Diversity, section 3.4: α 0.925 and w 300; 0.9 and 10 for GovReport."""
    assert settings_of("legal")["SB+MMR"] == (0.925, 300)
    assert settings_of("gov_report")["SB+MMR"] == (0.9, 10)
