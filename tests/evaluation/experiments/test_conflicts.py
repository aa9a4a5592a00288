"""Planted conflicts are counted, resolved ones too, and every arm reads the same passages."""

from __future__ import annotations

import pytest
from paper_files import answers, passages, prompts, report_of

from evaluation.bench import Bench
from evaluation.experiments.conflicts import (
    CONFLICT,
    NO_CONFLICT,
    VOTE,
    PartitionAnswer,
    QuestionNotes,
    by_conflict,
    compared_by_conflict,
    count,
    grid,
    map_reduce_of_two,
    parts_of,
    shuffled,
    stand_of,
    vote,
)
from evaluation.harness.asking import Asking
from evaluation.harness.simulated import ReadingBias, SimulatedChat
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from evaluation.stages import MAP_REDUCE, RAG, plain
from preflight_rag.state.reading import Draft, Source

pytestmark = pytest.mark.slow

PLANTED = {"apart": 5, "together": 4, "alone": 3}
"""Both answers in two partitions, both in one, and the right one alone."""
PLACES = {"apart": ("gold", *["noise"] * 4, "wrong"), "together": ("gold", "wrong"), "alone": ("gold",)}


def planted() -> list[Sample]:
    questions = []
    for kind, times in PLANTED.items():
        for n in range(times):
            roles = [*PLACES[kind], *["noise"] * (8 - len(PLACES[kind]))]
            given = tuple(
                Context(f"{kind}{n}/{i}", "", f"On {kind} {n}, passage {i}.", role=role, answer="morphine")
                for i, role in enumerate(roles)
            )
            question = Sample(f"{kind}{n}", f"What helps {kind} {n}?", "short", answers=(("aspirin",),), given=given)
            questions.append(Sample(**{**vars(question), "wrong": ("morphine",)}))
    return questions


def in_order(question: Sample) -> tuple[Source, ...]:
    return tuple(Source(n, passage.id, "", passage.text) for n, passage in enumerate(question.given, 1))


@pytest.mark.parametrize(("resolves", "resolved"), [(1.0, 5), (0.0, 0)])
def test_it_counts_what_was_planted(resolves: float, resolved: int, as_set) -> None:
    questions = planted()
    bias = ReadingBias(edge=1.0, middle=1.0, resolves=resolves)
    asking = Asking(ExperimentRun(model="simulated"), SimulatedChat.of(questions, bias))
    noted, bench = QuestionNotes(), Bench(as_set(*questions), asking.run, tuple(questions), asking, asking.prompts)
    arms = [plain(asking.prompts), map_reduce_of_two(asking.prompts, noted), vote(noted)]
    rows = by_conflict(bench.ask(arms, in_order), noted)
    assert {row.sample for row in rows if row.condition == CONFLICT} == {f"apart{n}" for n in range(5)}
    compared = compared_by_conflict(rows, 0)
    _, numbers = count(compared, {question.id: question for question in questions}, noted, "here")
    counts = {name: (row["count"], row["of"]) for name, row in numbers["counts"].items()}
    assert counts["partitions disagree"] == (PLANTED["apart"], len(questions))
    assert counts["… and one of them is right by itself"] == (5, 5)
    assert counts[f"… and {MAP_REDUCE} resolves it"] == counts[f"… and {RAG} resolves it"] == (resolved, 5)
    assert counts[f"… and {VOTE} resolves it"] == (5, 5)
    test = compared.tests[f"conflict: {MAP_REDUCE} − {RAG}"]
    assert (test.difference.value, test.wins, test.ties, test.losses) == (0, 0, 5, 0)


@pytest.mark.parametrize(
    ("first", "second", "disagree"),
    [
        (PartitionAnswer("Ada", frozenset({"Ada"})), PartitionAnswer("Ada Lovelace", frozenset({"Ada"})), False),
        (PartitionAnswer("Ada", frozenset({"Ada"})), PartitionAnswer("Babbage", frozenset({"Babbage"})), True),
        (
            PartitionAnswer("Ada and Babbage", frozenset({"Ada", "Babbage"})),
            PartitionAnswer("Babbage", frozenset({"Babbage"})),
            False,
        ),
        (PartitionAnswer("Ada", frozenset({"Ada"})), PartitionAnswer("Turing"), True),
        (PartitionAnswer("in 1843"), PartitionAnswer("1843"), False),
        (PartitionAnswer("yes", frozenset({"yes"})), PartitionAnswer("no", frozenset({"no"})), True),
    ],
)
def test_answers_disagree(first: PartitionAnswer, second: PartitionAnswer, disagree: bool) -> None:
    assert first.disagrees(second) is second.disagrees(first) is disagree


def test_a_partition_without_an_answer_takes_no_side() -> None:
    choice = Sample("c", "?", "yes/no", ("yes", "no"), "yes")
    assert stand_of(choice, Draft("unclear", choice=None)) is None
    assert stand_of(choice, Draft("It is [1].", choice="no")) == PartitionAnswer("no", frozenset({"no"}))
    short = Sample("s", "?", "short", answers=(("Ada", "A. L."),), wrong=("Turing",))
    assert stand_of(short, Draft("", found=False)) is None
    assert stand_of(short, Draft("It was A. L. [2], not Turing.")).known == {"Ada", "Turing"}


@pytest.mark.parametrize(("count", "sizes"), [(2, [1, 1]), (3, [2, 1]), (5, [2, 3]), (8, [4, 4]), (16, [4] * 4)])
def test_there_are_at_least_two_partitions(count: int, sizes: list[int]) -> None:
    assert sorted(map(len, parts_of(count))) == sorted(sizes)
    assert [rank for part in parts_of(count) for rank in part] == list(range(1, count + 1))


def test_the_order_is_drawn_by_the_seed() -> None:
    question = planted()[0]
    assert shuffled(question, 0) == shuffled(question, 0)
    assert {source.passage_id for source in shuffled(question, 1)} == {given.id for given in question.given}
    assert len({tuple(source.text for source in shuffled(question, seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("model", ["offline", "simulated"])
@pytest.mark.parametrize("dataset", ["ramdocs", "conflictqa"])
def test_it_runs_on_sets_with_planted_passages(small, library_cache, dataset, model) -> None:
    report = report_of("conflicts", dataset, small, library_cache, model=model, limit=3)
    found = answers(report)
    assert report.figures["questions"] == len(found) == 3
    for arms in found.values():
        assert list(arms) == [RAG, MAP_REDUCE, VOTE]
        assert passages(arms[RAG]) == passages(arms[MAP_REDUCE]) == passages(arms[VOTE])


def test_where_none_are_planted_the_key_passage_takes_every_place_of_the_papers_table(small, library_cache) -> None:
    report = report_of("conflicts", "mirage-bioasq", small, library_cache, model="simulated", limit=2)
    cells = {at.split(" ")[-1] for _, at in answers(report)}
    assert cells == {f"k={size},{at}%" for size in (8, 16) for at in (0, 25, 50, 75, 100)}
    for (_, at), arms in answers(report).items():
        assert len(passages(arms[VOTE])) == int(at.split("k=")[1].split(",")[0])
        assert prompts(arms[VOTE]) == []
    grid = next(table for table in report.tables if table.title == "Conflicts by the key passage's place")
    assert [row[0] for row in grid.rows] == [*sorted(cells, key=list(row[0] for row in grid.rows).index), "all"]
    paper = next(
        table for table in report.tables if table.title.startswith("Beside BriefContext, Supplementary Table 2")
    )
    assert paper.rows[2][:5] == ("k=8,50%", "28.57", "61.9", "9.52", "16 of 21")


def test_win_tie_and_lose_are_counted_on_the_cases_with_a_conflict() -> None:
    """Three cases at one place: BriefContext alone is right, both are, neither is; a fourth has no conflict."""
    scores = {"a": (1.0, 0.0), "b": (1.0, 1.0), "c": (0.0, 0.0), "d": (0.0, 1.0)}
    rows = [
        ScoreRow(name, f"{CONFLICT if name != 'd' else NO_CONFLICT} k=8,0%", arm, score, details={"wrong": False})
        for name, pair in scores.items()
        for arm, score in zip((MAP_REDUCE, RAG), pair, strict=True)
    ]
    _, numbers, shares = grid(rows, 0)
    assert numbers["k=8,0%"] == numbers["all"] == {"conflicts": 3, "win": 1, "tie": 2, "lose": 0, "resolved": 2}
    assert shares["k=8,0%"]["win"].value == pytest.approx(1 / 3)
    assert numbers["k=16,50%"]["conflicts"] == 0
