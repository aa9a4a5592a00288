"""The experiments on whole turns, `routes` and `citations`, over the passages of two questions of RAMDocs."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest
from paper_files import answers, passages, prompts

from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import citations, routes
from evaluation.experiments.citations import hold
from evaluation.experiments.reading import open_named
from evaluation.experiments.routes import AUTO, ROUTES, judge
from evaluation.harness.budget import Price
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample, passages_as_corpus
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Answer, Citation, Passage, Receipt, RouteDecision
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

TEXT = "Aspirin inhibits cyclooxygenase. It is given against pain."


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return ExperimentRun(limit=2, library_cache=tmp_path_factory.mktemp("turns"))


@pytest.fixture(scope="module")
def ramdocs(data_dir):
    found = open_dataset("ramdocs", data_dir, QUESTIONS)
    chosen = found.select("test", 2)
    return replace(found, samples=chosen, corpus=passages_as_corpus(chosen))


@pytest.fixture(scope="module")
def simulated(ramdocs, settings):
    return routes.run(ramdocs, replace(settings, model="simulated"))


def test_every_route_reads_the_same_passages(simulated):
    for arms in answers(simulated).values():
        assert list(arms) == [AUTO, *ROUTES]
        assert passages(arms[AUTO])
        assert len({tuple(passages(row)) for row in arms.values()}) == 1
        assert [arms[name].details["route"] for name in ROUTES] == ["plain", "map_reduce", "corg"]


def test_each_route_asks_in_its_own_way(simulated):
    for arms in answers(simulated).values():
        assert len(prompts(arms["plain"])) == 1
        assert len(prompts(arms["map/reduce"])) > 1
        assert arms[AUTO].details["route"] in ("plain", "map_reduce", "corg")
    assert simulated.inputs["model"].startswith("simulated")
    assert "simulated" in simulated.tables[0].title


def test_the_router_is_set_beside_the_best_route(simulated):
    costs = simulated.figures["costs"]
    best = costs["best route, the cheapest of equals"]["right"]["value"]
    found = answers(simulated)
    highest = [max(arms[name].score for name in ROUTES) for arms in found.values()]
    assert best == pytest.approx(fmean(highest), abs=1e-6)
    assert simulated.figures["choices"]["all"]["questions"] == len(found) == 2
    assert {arms[AUTO].details["router"]["chosen"] for arms in found.values()} <= {*ROUTES, "abstain"}


def test_routes_run_without_a_model(ramdocs, settings):
    report = routes.run(ramdocs, replace(settings, limit=1))
    costs = report.figures["costs"]
    assert {told["calls"] for told in costs.values()} == {0}
    assert {told["seconds"] for told in costs.values()} == {None}
    assert report.rows[0].details["router"]["best"] in ROUTES


def scored(value, tokens, route="plain", calls=1):
    return ScoreRow("q", score=value, calls=calls, tokens=(tokens, 0), details={"route": route})


@pytest.mark.parametrize(
    ("plain", "mapped", "corg", "best", "right"),
    [
        ((1.0, 10), (1.0, 30), (1.0, 20), "plain", "plain"),
        ((1.0, 40), (1.0, 30), (0.0, 20), "map/reduce", "map/reduce"),
        ((0.0, 10), (0.5, 30), (0.5, 20), "COrg", None),
        ((0.0, 0), (0.0, 0), (0.0, 0), "plain", None),
    ],
)
def test_the_cheapest_of_the_best_routes_is_found(plain, mapped, corg, best, right):
    arms = dict(zip(ROUTES, (scored(*plain), scored(*mapped), scored(*corg)), strict=True))
    found = judge({AUTO: scored(0.5, 30, "map_reduce"), **arms}, Price(1.0, 1.0))
    assert (found.best, found.right, found.chosen) == (best, right, "map/reduce")


def test_a_set_without_questions_to_score_is_refused(ramdocs, settings):
    long = replace(ramdocs, samples=tuple(replace(q, kind="long") for q in ramdocs.samples))
    with pytest.raises(UsageError, match="no question of the kinds"):
        routes.run(long, settings)


def answer(text, *quotes):
    """An answer with citations of the passage `a`, each (quote, start)."""
    cited = tuple(
        Citation(n=n, passage_id="a", document_id="d", title="", source="", quote=quote, start=start,
                 end=start + len(quote), verified=True)
        for n, (quote, start) in enumerate(quotes, 1)
    )  # fmt: skip
    return Answer(
        question="?", thread_id="", turn=1, standalone_question="What does aspirin inhibit?", queries=(), answer=text,
        route=RouteDecision(name="plain", reason="", top_n=3, threshold=0.2), receipt=Receipt(model="none"),
        abstained=False, citations=cited,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "exact", "supported", "uncited"),
    [
        ("Aspirin inhibits cyclooxygenase [1].", 1, 1, 0),
        ("Aspirin inhibits the enzyme cyclooxygenase [1]. It is blue.", 0, 1, 1),
        ("Aspirin is made of cheese and lives on the moon [1].", 0, 0, 0),
        ("Nobody knows.", 0, 0, 1),
    ],
)
def test_statements_are_held_to_their_passage(text, exact, supported, uncited):
    passage = Passage(id="a", document_id="d", text=TEXT)
    found, told = hold(Sample("q", "?", "short"), answer(text, (TEXT[:32], 0)), {1: passage}, open_named("default"))
    assert (found["exact"], found["supported"], found["uncited"]) == (exact, supported, uncited)
    assert len(told) == found["judged"] == int("[1]" in text)


def test_a_quote_at_another_place_is_not_verbatim():
    passage, question = Passage(id="a", document_id="d", text=TEXT), Sample("q", "?", "short", documents={"d"})
    cited = answer("Aspirin inhibits it [1] [2].", (TEXT[:32], 0), (TEXT[:32], 1))
    found, _ = hold(question, cited, {1: passage, 2: passage}, open_named("default"))
    assert (found["verbatim"], found["quotes"], found["gold"], found["cited"]) == (1, 2, 1, 1)


def test_citations_run_offline_and_quote_what_stands_there(ramdocs, settings):
    report = citations.run(ramdocs, settings)
    assert report.figures["all"]["quotes verbatim"]["value"] == 1.0
    judged = [row.details["counts"]["judged"] for row in report.rows if "counts" in row.details]
    assert sum(judged) == report.figures["all"]["statements"] > 0


def test_what_a_server_makes_up_is_not_supported(ramdocs, settings, monkeypatch, tmp_path):
    said = 'The moon is made of green cheese [1].\nQUOTES\n[1] "the moon is made of green cheese"'
    with ScriptedServer(default=said) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run = replace(settings, limit=1, model="openai:scripted", reply_cache=tmp_path / "replies.db")
        report = citations.run(ramdocs, run)
    told = report.figures["all"]
    assert told["answers"] == 1
    assert told["supported"]["value"] == told["quotes verbatim"]["value"] == 0.0
