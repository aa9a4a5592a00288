"""The judge of what is claimed over real documents, on answers made by hand; the small library that a test searches."""

from __future__ import annotations

import pytest

from evaluation.datasets.trust import TrustDocument, TrustQuestion, TrustSet
from evaluation.experiments import trust
from evaluation.experiments.trust import MEASURES, calibration_error
from evaluation.runs import ExperimentRun
from evaluation.trust_claims import ShownCitations, holds, holds_evidence, judge, says, says_all, verdict_of
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Answer, Citation, Group, Receipt, RouteDecision
from preflight_rag.text.headers import CONTRADICTED

pytestmark = pytest.mark.slow

NAXOS = "The ferry to Naxos takes four hours and costs 38 euros."
PAROS = "The ferry to Paros takes three hours. It leaves at 07:30 from gate E7."


def asked(kind="fact", **about):
    given = {"id": "q", "kind": kind, "question": "How long?", "part": "test", "documents": ("naxos",)}
    return TrustQuestion(**given | about)


def answer(text="", short=None, *, outcome="answered", confidence=None, groups=(), cited=(), title=""):
    """An answer that cites (document, quote) pairs."""
    citations = tuple(
        Citation(n=n, passage_id=f"p{n}", document_id=name, title=title, source="", quote=quote, start=0,
                 end=len(quote), verified=True)
        for n, (name, quote) in enumerate(cited, 1)
    )  # fmt: skip
    return Answer(
        question="", thread_id="", turn=1, standalone_question="", queries=(), answer=text, short_answer=short,
        abstained=outcome == "not_found", outcome=outcome, confidence=confidence, groups=groups, citations=citations,
        route=RouteDecision(name="plain", reason="", top_n=3, threshold=0.2), receipt=Receipt(model="none"),
    )  # fmt: skip


def judged(question, given, shown=()):
    return judge(question, given, tuple(shown))


def counted(item):
    """The measures that an answer counts for."""
    return {name: value for name, measure in MEASURES.items() if (value := measure(item)) is not None}


@pytest.mark.parametrize(
    ("said", "names", "false", "right"),
    [
        ("four hours", ("4 hours", "four hours"), (), True),
        ("about four hours", ("four hours",), (), True),
        ("three hours", ("four hours",), (), False),
        ("2,018 million dollars", ("$2,018 million",), ("2",), True),
        ("2", ("2,018",), (), False),
        ("41% and 59%", ("59%",), ("41%",), False),
        ("Gates and Allen", ("Bill Gates and Paul Allen",), (), True),
        ("India", ("Varanasi, India",), (), False),
        ("the Gates of Hell", ("Bill Gates",), (), False),
        ("500 mg (amoxicillin)", ("400 mg",), ("500 mg",), False),
    ],
)
def test_a_short_answer_is_held_to_the_names_of_the_right_one(said, names, false, right):
    assert says(said, names, false) is right


def test_of_several_answers_each_has_to_be_right():
    hours = ("four hours", "4 hours")
    assert says_all("four hours", [hours], ())
    assert says_all("4 hours; four hours", [hours], ())
    assert not says_all("four hours; 38 euros", [hours], ())
    assert says_all("Rylander and Arnaud", [("Rylander",), ("Arnaud",)], ())
    assert not says_all("Rylander", [("Rylander",), ("Arnaud",)], ())


@pytest.mark.parametrize(
    ("text", "name", "held"),
    [
        ("Sales of 14,694 million", "14694", True),
        ("in 2,018 cases", "2", False),
        ("07:30 from gate E7", "07:30", True),
        ("from -150 °C", "-150", True),
    ],
)
def test_a_number_is_held_as_a_whole(text, name, held):
    assert holds(text, name) is held


@pytest.mark.parametrize(
    ("short", "right", "opposite"), [("Yes", "yes", False), ("No, it does not", "yes", True), ("no", "no", False)]
)
def test_a_verdict_is_right_or_opposite(short, right, opposite):
    item = judged(asked("yes/no", right=right), answer(short=short))
    measures = counted(item)
    assert measures["verdicts opposite to the truth"] is opposite
    assert measures["yes/no questions given a verdict"] is True
    assert measures["headline shown: right"] is not opposite


def test_words_that_are_no_verdict_are_none():
    item = judged(asked("yes/no", right="yes"), answer(short="significantly increased"))
    assert verdict_of(item.answer) is None
    assert (item.claimed, item.right) == (True, False)
    assert "verdicts opposite to the truth" not in counted(item)


@pytest.mark.parametrize("outcome", ["evidence", "not_found", "conversation"])
def test_what_claims_nothing_is_right_where_there_is_no_answer(outcome):
    measures = counted(judged(asked("absent far", documents=()), answer("Closest: …", outcome=outcome)))
    assert measures["no answer there, off topic, false premise: no headline"] is True
    assert "headline shown: right" not in measures


def test_any_headline_is_a_false_claim_where_there_is_no_answer():
    measures = counted(judged(asked("false premise"), answer(short="Rory", confidence=0.93)))
    assert measures["no answer there, off topic, false premise: no headline"] is False
    assert measures["shown at 90 % sure or more: right"] is False
    assert "answerable questions with a right one" not in measures


def test_a_quote_without_a_short_answer_is_right_when_it_is_the_evidence():
    question = asked("number", answers=(("38 euros",),), evidence=(NAXOS,))
    quoted = [ShownCitations("naxos", "", NAXOS, NAXOS)]
    assert judged(question, answer(NAXOS), quoted).right
    assert not judged(question, answer(PAROS), [ShownCitations("paros", "", PAROS, PAROS)]).right


def test_the_right_passage_is_of_the_right_document_and_holds_the_evidence():
    question = asked(evidence=("The ferry to Naxos takes four hours",))
    assert holds_evidence(question, ShownCitations("naxos", "", "", ""), f"Timetable\n{NAXOS}")
    assert not holds_evidence(question, ShownCitations("paros", "", "", ""), NAXOS)
    assert holds_evidence(question, ShownCitations("naxos", "", "", ""), "ferry to Naxos takes four hours")
    assert not holds_evidence(question, ShownCitations("naxos", "", "", ""), "four hours")


@pytest.mark.parametrize(
    ("row", "found"),
    [("Naxos | 4 | 38", True), ("port: Naxos | hours: 4 | euros: 38", True), ("Paros | 4 | 38", False)],
)
def test_a_row_is_found_with_and_without_the_names_of_its_columns(row, found):
    assert (
        holds_evidence(asked(evidence=("Naxos | 4 | 38",)), ShownCitations("naxos", "", "", ""), f"Table 1 {row}")
        is found
    )


def test_only_the_first_three_quotes_count():
    question = asked(evidence=(NAXOS,))
    others = [ShownCitations("paros", "", PAROS, PAROS)] * 3
    right = ShownCitations("naxos", "", "38 euros", NAXOS)
    name = "right passage among the first three quotes' passages"
    assert counted(judged(question, answer(short="x"), [*others, right]))[name] is False
    measures = counted(judged(question, answer(short="x"), [right, *others]))
    assert (measures[name], measures["right sentence among the first three quotes"]) == (True, False)


def test_documents_that_disagree_are_to_be_set_side_by_side():
    question = asked("disagree", documents=("a", "b"), answers=(("40 minutes",), ("75 minutes",)))
    one = judged(question, answer(short="40 minutes"))
    assert (one.right, one.reason) == (False, "one side alone")
    both = Group(entity="", answer="40 minutes", citations=(1,)), Group(entity="", answer="75 minutes", citations=(2,))
    assert judged(question, answer(groups=both, cited=[("a", "40"), ("b", "75")])).right
    assert judged(question, answer(f"{CONTRADICTED.capitalize()} 40 minutes [1]", short="40 minutes")).right


def test_a_contradiction_that_is_announced_elsewhere_is_false():
    announced = answer(f"**Ferry**: {CONTRADICTED} …", short="four hours")
    alone = counted(judged(asked("alone", answers=(("four hours",),)), announced))
    assert alone["contradictions announced: true"] is False
    assert alone["one document alone: no contradiction announced"] is False
    pair = counted(judged(asked("disagree", given=("a", "b")), announced))
    assert pair["contradictions announced: true"] is True
    assert "headline shown: right" not in pair


def test_a_listing_names_every_document_or_the_count():
    question = asked("collection", documents=("naxos", "paros"))
    both = [ShownCitations("naxos", "Naxos", "", ""), ShownCitations("paros", "Paros", "", "")]
    listing = answer("2 documents: Naxos, Paros", outcome="listing")
    assert judged(question, listing, both).right
    assert not judged(question, listing, both[:1]).right
    assert not judged(question, answer(short="gate E7"), both).right
    count = asked("collection", documents=("naxos", "paros"), answers=(("2", "two"),))
    assert judged(count, listing).right
    assert not judged(count, answer("3 documents", outcome="listing")).right
    assert not judged(count, answer("5 documents of 2 kinds", outcome="listing")).right


def test_calibration_error_is_the_gap_between_confidence_and_share_right():
    assert calibration_error([0.75] * 4, [1.0, 1.0, 1.0, 0.0], seed=0).value == pytest.approx(0.0)
    assert calibration_error([0.95, 0.95, 0.15, 0.15], [0.0, 1.0, 0.0, 0.0], seed=0).value == pytest.approx(0.3)


def test_a_part_is_chosen_and_the_files_are_those_of_its_documents(tmp_path):
    pages = [TrustDocument(f"{name}.txt", text.encode) for name, text in (("naxos", NAXOS), ("paros", PAROS))]
    question = asked("number", id="own 1", documents=("naxos.txt",), answers=(("four hours", "4 hours"),))
    found = TrustSet("trust", "Ferries", "here", "none", (), (question,), (), {"test": tuple(pages), "development": ()})
    report = trust.run(found, ExperimentRun(library_cache=tmp_path))
    assert report.figures["answerable questions with a headline or listing"]["n"] == 1
    assert report.rows[0].details["question"] == "How long?"
    folder = next(path for path in tmp_path.glob("trust-test-*/files") if not path.parent.match("*pairs*"))
    assert sorted(path.name for path in folder.iterdir()) == ["naxos.txt", "paros.txt"]
    with pytest.raises(UsageError, match="a library for each part"):
        trust.run(found, ExperimentRun(part="all", library_cache=tmp_path))
