"""Questions with known documents, and what a library learns from them."""

import json

import pytest

from preflight_rag.library import Library
from preflight_rag.routing.calibration import (
    USUAL_ISSUES,
    CalibrationCase,
    calibrate,
    is_absent,
    is_issue,
    turn_passages,
    weights_of_made_questions,
)
from preflight_rag.routing.known_questions import KnownQuestion, make_questions, read_questions
from preflight_rag.routing.library_risk import FILE, risk_model_of, write_model
from preflight_rag.routing.risk import RiskModel, RiskTerm, shipped_model
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryCorrupt, UnreadableDocument, UsageError
from preflight_rag.state.values import Document

TOPICS = ("tea", "oats", "moss", "iron", "salt", "ferns", "owls", "glass", "rain", "maps")
VERBS = ("grows", "breaks", "melts", "travels", "sleeps", "shines", "rusts", "sings")


@pytest.fixture(scope="module")
def many(tmp_path_factory, embedder):
    """A library of 80 short documents that resemble each other."""
    with Library.open(tmp_path_factory.mktemp("many") / "library", embedder=embedder, create=True) as library:
        library.add(
            Document(
                id=f"{topic}-{verb}",
                title=f"On {topic}",
                text=f"In cold winters {topic} often {verb} slowly near old houses, as farmer {n} reports.",
                source="made",
            )
            for n, (topic, verb) in enumerate((topic, verb) for topic in TOPICS for verb in VERBS)
        )
        yield library


@pytest.fixture
def asked():
    """Half of them are easy; the others ask for a document that says nothing of what is asked."""
    easy = [KnownQuestion(f"how {t} {v} in winter", frozenset({f"{t}-{v}"})) for t in TOPICS for v in VERBS[:3]]
    hard = [KnownQuestion(f"warm {t} in summer", frozenset({f"{t}-{VERBS[-1]}"})) for t in TOPICS]
    return easy + hard


def test_made_questions_are_the_same_each_time_and_name_their_document(many):
    first = make_questions(many, 20)
    assert first == make_questions(many, 20)
    assert first != make_questions(many, 20, seed=1)
    assert len({question.question for question in first}) == 20
    for known in first:
        (name,) = known.documents
        assert any(word in name for word in known.question.split()) or len(known.question.split()) < 7


@pytest.mark.slow
def test_a_calibration_sets_the_threshold_and_comes_before_the_shipped_one(own_folder, many, asked, embedder):
    found = calibrate(many, asked)
    assert (found.questions, found.made) == (40, False)
    assert found.model.embedder == embedder.revision
    assert found.model.grounds == "calibrated on 40 questions asked of this library"
    with Library.open(own_folder, embedder=embedder) as library:
        assert risk_model_of(library) == shipped_model()
        write_model(own_folder, found.model)
        assert risk_model_of(library) == found.model
        assert list(own_folder.glob(f".{FILE}*")) == []
        (own_folder / FILE).unlink()
        assert risk_model_of(library) == shipped_model()


def test_made_questions_are_weighed_to_a_usual_share_of_issues():
    cases = [CalibrationCase({}, issue) for issue in [True] * 2 + [False] * 18]
    weights = weights_of_made_questions(cases)
    assert weights.mean() == pytest.approx(1)
    assert weights[:2].sum() / weights.sum() == pytest.approx(USUAL_ISSUES)


@pytest.mark.parametrize(
    ("gold", "issue", "absent"),
    [
        ({3}, False, False),
        ({4}, True, False),
        ({16, 5}, True, False),
        ({2, 9}, False, False),
        (set(), False, True),
    ],
)
def test_an_issue_is_a_document_below_the_first_three_of_the_readers_order(many, gold, issue, absent):
    """Judged by hand, by the places in the prompt, whatever the cosines are."""
    refs, _ = turn_passages(many, Settings())("how tea grows in winter")
    assert [ref["rank"] for ref in refs] == list(range(1, 17))
    documents = frozenset(ref["document_id"] for ref in refs if ref["rank"] in gold) | {"elsewhere"}
    assert (is_issue(refs, documents), is_absent(refs, documents)) == (issue, absent)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"nothing": 1}', "cannot be read|no number|no "),
        ("{", "is no calibration"),
        (json.dumps(RiskModel("x", "another", 0.0, {"uncovered": RiskTerm(1, 0, 1)}, 0.5).to_json()), "'another'"),
    ],
)
def test_a_damaged_calibration_is_named_with_the_way_out(own_folder, embedder, content, words):
    (own_folder / FILE).write_text(content, encoding="utf-8")
    with (
        Library.open(own_folder, embedder=embedder) as library,
        pytest.raises(LibraryCorrupt, match=words) as caught,
    ):
        risk_model_of(library)
    assert "preflight calibrate" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"question": "why?", "documents": ["1", 2]}\n\n{"question": "how?", "documents": "3"}\n'),
        ("a.tsv", "why?\t1,2\n\nhow?\t3\n"),
    ],
)
def test_questions_are_read_from_both_forms(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    first, second = read_questions(tmp_path / name)
    assert first == KnownQuestion("why?", frozenset({"1", "2"}))
    assert second.documents == {"3"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.jsonl", '{"question": "why?", "documents": ["1"]}\n{oops', "line 2 of a.jsonl is not JSON"),
        ("a.jsonl", '{"question": "", "documents": ["1"]}', "line 1 of a.jsonl has no question"),
        ("a.jsonl", '{"question": "why?", "documents": []}', "line 1 of a.jsonl has no question"),
        ("a.jsonl", '["why?"]', "line 1 of a.jsonl has no question"),
        ("a.tsv", "why?", "line 1 of a.tsv has no question"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableDocument, match=words):
        read_questions(tmp_path / name)


def test_files_that_hold_no_question_are_refused(tmp_path):
    (tmp_path / "empty.tsv").write_text("\n", encoding="utf-8")
    (tmp_path / "binary.tsv").write_bytes(b"\xff\xfe\x00")
    for name, words in (("empty.tsv", "no question"), ("binary.tsv", "not UTF-8"), ("none.tsv", "No such file")):
        with pytest.raises(UsageError, match=words):
            read_questions(tmp_path / name)


def test_what_cannot_be_learned_from_is_refused(many, asked):
    easy = [KnownQuestion(f"{t} {v}", frozenset({f"{t}-{v}"})) for t in TOPICS for v in VERBS[:4]]
    stray = [*asked, KnownQuestion("what?", frozenset({"nowhere"}))]
    for questions, words in (
        (asked[:10], "10 questions are too few"),
        (easy, "at least 5 must"),
        (stray, "1 documents of the questions are not in the library, first 'nowhere'"),
    ):
        with pytest.raises(UsageError, match=words):
            calibrate(many, questions)
