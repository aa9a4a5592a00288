"""Decisions on the route: the preflight's rule, its numbers and partitions, and the steps to a dearer route."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passage_refs import passage_refs

from preflight_rag.routing.decision import (
    contradicted_answers,
    contradiction,
    decide,
    lexical_order,
    may_escalate,
    partition,
    rank_agreement,
    unread_note,
)
from preflight_rag.routing.expected_value import LOOKS, REACHES
from preflight_rag.routing.model_profile import ModelProfile
from preflight_rag.routing.risk import RiskModel, RiskTerm, shipped_model
from preflight_rag.state.context import Settings
from preflight_rag.state.reading import Draft, Source

NEAR = "the capital of France is Paris, a city on the Seine"
FAR = "bread is baked from flour and water in an oven"


def passages(texts, cosines, tokens=300):
    sources = [Source(i, str(i), "", text) for i, text in enumerate(texts, 1)]
    return passage_refs(sources, cosines, tokens), sources


def with_places(refs, bm25):
    """The passages with places in the collection's rankings, as `retrieve` gives them."""
    dense = sorted(range(len(refs)), key=lambda i: -refs[i]["cosine"])
    lexical = [i for i in sorted(range(len(refs)), key=lambda i: -bm25[i]) if bm25[i]]
    return [
        ref
        | {
            "dense_rank": dense.index(i) + 1,
            "lexical_rank": lexical.index(i) + 1 if bm25[i] else None,
            "bm25": bm25[i] or None,
        }
        for i, ref in enumerate(refs)
    ]


FOUND = passages([NEAR, NEAR, NEAR, FAR, FAR, FAR, FAR, FAR], [0.9, 0.8, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1])
LOST = passages([NEAR, FAR, FAR, FAR, FAR, FAR, FAR, FAR], [0.1, 0.5, 0.48, 0.46, 0.45, 0.44, 0.43, 0.42])


STEEP = ModelProfile("small", "test", {0.0: 0.9, 0.3: 0.9, 0.31: 0.3, 1.0: 0.3}, 0.9, noticed=0.0)


@pytest.mark.parametrize(
    ("case", "bm25", "name"),
    [
        (FOUND, [9, 8, 7, 0, 0, 0, 0, 0], "plain"),
        (LOST, [9, 0, 0, 0, 0, 0, 0, 0], "map_reduce"),
    ],
)
def test_the_calibrated_rule_says_what_parts_bring_and_cost(case, bm25, name):
    """Two parts cost two calls; a model that loses 60 % below the third place gains what the look does not regain."""
    refs, sources = case
    model = shipped_model()
    decision = decide(
        "capital of France", with_places(refs, bm25), sources, Settings(thoroughness=0.5), model, profile=STEEP
    )
    look, wrong = LOOKS[-1], 0.1 + 0.6 * decision.risk
    left, looking = 0.6 * (1 - look.notices * REACHES), 2 * (wrong * look.notices + (1 - wrong) * look.alarms)
    assert decision.name == name
    assert decision.signals["parts_gain"] == pytest.approx(left * decision.risk, abs=1e-3)
    assert decision.signals["parts_calls"] == pytest.approx(2 - looking, abs=0.01)
    event = f"risk {decision.risk:.2g} that the passage that answers stands below the first three, {model.grounds}"
    gain = f"parts are expected to answer {100 * left * decision.risk:.1f} more of 100 questions for "
    gain += f"{2 - looking:.2g} calls each"
    assert decision.reason.startswith(f"{gain} ({event}; small loses 60% of answers below the third place)")
    assert decision.iou is not None
    assert {f"risk_{feature}" for feature in model.terms} <= set(decision.signals)


@pytest.mark.parametrize(("thoroughness", "name"), [(0, "plain"), (1, "map_reduce")])
def test_thoroughness_at_its_ends_never_or_always_reads_in_parts(thoroughness, name):
    settings = Settings(thoroughness=thoroughness)
    for (refs, sources), bm25 in ((FOUND, [9, 8, 7, 0, 0, 0, 0, 0]), (LOST, [9, 0, 0, 0, 0, 0, 0, 0])):
        assert decide("capital of France", with_places(refs, bm25), sources, settings, shipped_model()).name == name


def test_a_library_calibrated_to_the_papers_event_says_so():
    """Files written before the event was recorded count questions without any passage that answers, too."""
    refs, sources = LOST
    old = {name: value for name, value in shipped_model().to_json().items() if name != "event"}
    asked = ("capital of France", with_places(refs, [9, 0, 0, 0, 0, 0, 0, 0]), sources, Settings())
    decision = decide(*asked, RiskModel.from_json(old))
    assert "that none of the three passages nearest in meaning answers, " in decision.reason


def test_the_setting_iou_is_the_papers_rule_whatever_is_calibrated():
    refs, sources = LOST
    asked = ("capital of France", with_places(refs, [9, 0, 0, 0, 0, 0, 0, 0]), sources)
    always = RiskModel("test", "e", -9.0, {"uncovered": RiskTerm(0.1, 0.0, 1.0)}, 0.9)
    assert decide(*asked, Settings(thoroughness=0.2), always).name == "plain"
    by_iou = decide(*asked, Settings(preflight="iou"), always)
    assert (by_iou.name, by_iou.threshold, by_iou.risk) == ("map_reduce", 0.2, 1 - by_iou.iou)
    assert by_iou.reason.startswith("on the first 3 passages search by meaning and search by words disagree")


def test_where_the_calibrated_rule_cannot_judge_the_reason_says_why():
    refs, sources = LOST
    unknown = decide("capital of France", refs, sources, Settings())
    assert unknown.reason.startswith(
        "nothing is calibrated for the library's embedder, so the rankings are compared: on"
    )
    bare = decide("capital of France", refs, sources, Settings(), shipped_model())
    assert bare.reason.startswith(
        "the passages come without their places in the collection's rankings, so these are compared"
    )


def test_rankings_that_agree_go_plain():
    refs, sources = passages([NEAR, NEAR, NEAR, FAR, FAR, FAR, FAR, FAR], [0.9, 0.8, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1])
    decision = decide("capital of France", refs, sources, Settings())
    assert (decision.name, decision.iou, decision.risk) == ("plain", 1.0, 0.0)


def test_rankings_that_disagree_go_to_map_reduce():
    refs, sources = passages([NEAR, NEAR, NEAR, FAR, FAR, FAR, FAR, FAR], [0.1, 0.1, 0.1, 0.9, 0.8, 0.7, 0.2, 0.2])
    decision = decide("capital of France", refs, sources, Settings())
    assert (decision.name, decision.iou) == ("map_reduce", 0.0)
    assert "IoU 0, at most 0.2" in decision.reason


@pytest.mark.parametrize(("count", "tokens", "words"), [(3, 300, "only 3 passages"), (8, 100, "fit one map prompt")])
def test_a_short_context_goes_plain_with_its_reason(count, tokens, words):
    refs, sources = passages([NEAR] * count, [0.5] * count, tokens)
    decision = decide("capital of France", refs, sources, Settings())
    assert decision.name == "plain"
    assert words in decision.reason


TOWNS = ["Broken Bow, Oklahoma, had 4,228 people in 2020.", "Broken Bow, Nebraska, had 3,506 people in 2020."]


def test_two_things_of_one_name_go_to_corg_though_the_context_is_short():
    refs, sources = passages(TOWNS, [0.8, 0.8])
    decision = decide("How many people live in Broken Bow?", refs, sources, Settings())
    assert (decision.name, decision.forced) == ("corg", False)
    assert decision.signals["corg"] >= Settings().corg_threshold
    assert decision.signals["corg_names"] > 0
    assert "Broken Bow, Oklahoma; Broken Bow, Nebraska" in decision.reason


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(thoroughness=0), "plain"),
        (Settings(thoroughness=1), "corg"),
        (Settings(thoroughness=0, preflight="iou"), "corg"),
    ],
)
def test_thoroughness_weighs_comparing_too_but_not_beside_the_papers_rule(settings, name):
    refs, sources = passages(TOWNS, [0.8, 0.8])
    decision = decide("How many people live in Broken Bow?", refs, sources, settings)
    assert decision.name == name
    assert ("more of 100 questions for 2.2 calls each" in decision.reason) is (settings.thoroughness == 1)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(), "plain"),
        (Settings(thoroughness=1), "map_reduce"),
        (Settings(thoroughness=1, preflight="iou"), "plain"),
    ],
)
def test_a_context_no_longer_than_a_part_is_read_in_parts_by_the_most_thorough_alone(settings, name):
    refs, sources = passages([NEAR] * 8, [0.5] * 8, 100)
    decision = decide("capital of France", with_places(refs, [1] * 8), sources, settings, shipped_model())
    assert decision.name == name


def test_the_threshold_of_corg_is_a_setting():
    refs, sources = passages(TOWNS, [0.8, 0.8])
    decision = decide("How many people live in Broken Bow?", refs, sources, Settings(corg_threshold=1.0))
    assert decision.name == "plain"
    assert decision.signals["corg"] > 0.5


@pytest.mark.parametrize(("route", "name"), [("plain", "plain"), ("map-reduce", "map_reduce"), ("corg", "corg")])
def test_a_forced_route_keeps_the_numbers(route, name):
    refs, sources = passages([NEAR] * 8, [0.5] * 8)
    decision = decide("capital of France", refs, sources, Settings(route=route))
    assert (decision.name, decision.forced) == (name, True)
    assert decision.iou is not None
    assert "corg" in decision.signals


def test_nothing_found_is_a_route_of_its_own():
    assert decide("anything", [], [], Settings()).name == "abstain"


def test_passages_without_a_word_of_the_question_have_no_lexical_rank():
    _, sources = passages([FAR, NEAR, ""], [0, 0, 0])
    assert lexical_order("Paris?", sources) == [2]
    assert lexical_order("?!", sources) == []
    assert lexical_order("Paris", [Source(1, "1", "", "")]) == []


@pytest.mark.parametrize(("shared", "iou"), [(0, 0.0), (1, 0.2), (2, 0.5), (3, 1.0)])
def test_two_top_threes_have_four_possible_ious(shared, iou):
    assert rank_agreement([1, 2, 3], [*range(1, shared + 1), 7, 8, 9], 3) == iou


@given(st.integers(0, 200), st.integers(1, 20))
def test_partitions_are_even_and_whole(count, size):
    parts = partition(count, size)
    assert [rank for part in parts for rank in part] == list(range(1, count + 1))
    assert all(len(part) <= size for part in parts)
    assert not parts or max(map(len, parts)) - min(map(len, parts)) <= 1


def test_partitions_that_could_not_be_read_are_named():
    assert unread_note([{"failed": False}, {"failed": True}]).strip().startswith("Note: 1 of 2 parts")
    assert unread_note([{"failed": False}]) == ""


@pytest.mark.parametrize(
    ("answers", "options", "apart"),
    [
        (["82", "274"], [], ("82", "274")),
        (["82", "", "82 moons"], [], ()),
        (["in 1843", "1843", "1851"], [], ("in 1843", "1843", "1851")),
        (["yes", "no", "yes"], ["yes", "no", "maybe"], ("yes", "no")),
        (["Vitamin B12", "Vitamin B"], ["Vitamin B", "Vitamin B12"], ("Vitamin B12", "Vitamin B")),
        (["yes", "", "yes"], ["yes", "no"], ()),
        ([], [], ()),
    ],
)
def test_partitions_conflict_when_their_answers_are_inconsistent(answers, options, apart):
    """BriefContext, section 5.3, judged by hand; a partition that answers nothing takes no side."""
    assert contradicted_answers(answers, options) == apart


@pytest.mark.parametrize(
    ("draft", "answers", "to"),
    [
        (Draft("82 [1], though [2] says 274.", disputed=True), ["82", "274"], "corg"),
        (Draft("82 in 2019 [1], 274 in 2025 [2]."), ["82", "274"], None),
        (Draft("82 [1].", disputed=True), ["82", "82 moons"], None),
        (Draft("", found=False, disputed=True), ["82", "274"], None),
    ],
)
def test_only_answers_that_differ_for_one_thing_go_on_to_corg(draft, answers, to):
    step = contradiction(draft, answers)
    assert (step and step["to"]) == to
    assert not step or ("“82” and “274”" in step["reason"] and step["from"] == "map_reduce")


def test_without_corg_the_preflight_chooses_between_the_papers_two_ways():
    refs, sources = passages(TOWNS, [0.8, 0.8])
    decision = decide("How many people live in Broken Bow?", refs, sources, Settings(corg=False))
    assert decision.name == "plain"
    assert "corg" not in decision.signals


@pytest.mark.parametrize(
    ("state", "may"),
    [
        ({"decision": {"name": "plain", "forced": False}, "escalations": []}, True),
        ({"decision": {"name": "plain", "forced": True}, "escalations": []}, False),
        ({"decision": {"name": "map_reduce"}, "escalations": []}, False),
        ({"decision": {"name": "plain"}, "escalations": [{"from": "plain", "to": "corg", "reason": ""}]}, False),
        ({}, False),
    ],
)
def test_only_a_route_chosen_freely_is_left_and_only_once(state, may):
    assert may_escalate(state.get("decision", {}), state.get("escalations", []), "plain") is may
