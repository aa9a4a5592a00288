"""Profiles of models: the paper's figures, interpolation between places, and what is kept in the user's cache."""

import json
from statistics import fmean

import pytest

from evaluation.papers import tables_of
from preflight_rag.routing.model_profile import (
    UNMEASURED,
    ModelProfile,
    keep_profile,
    profile_of,
    profile_path,
)
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.usefixtures("own_cache")

MEASURED = ModelProfile(
    "openai:small", "60 questions", {0.0: 1.0, 0.5: 0.4, 1.0: 0.8}, 0.9, 0.25, (12, 12, 12), 900, 3.5
)


def test_profile_of_an_unmeasured_model_is_the_mean_of_the_papers_two():
    published = tables_of("brief_context")["positions"][0]
    columns = [name for name in published.columns if ", 16, " in name]
    places = list(published.columns)
    rag, parts = ([places.index(name) for name in columns if name.endswith(arm)] for arm in ("RAG", "BriefContext"))
    rows = list(published.rows.values())
    assert [fmean(row[i] for i in rag) / 100 for row in rows] == pytest.approx(
        list(UNMEASURED.plain.values()), abs=1e-4
    )
    assert fmean(row[i] for row in rows for i in parts) / 100 > UNMEASURED.map_reduce == max(UNMEASURED.plain.values())


def test_shares_between_two_places_are_interpolated():
    assert MEASURED.right_at([1], 5) == 1.0
    assert MEASURED.right_at([2], 5) == pytest.approx(0.7)  # a quarter of the way
    assert MEASURED.right_at([1, 3, 5], 5) == pytest.approx((1.0 + 0.4 + 0.8) / 3)
    assert MEASURED.right_at([1], 1) == 1.0


def test_kept_profile_is_read_back_for_its_model_alone():
    keep_profile(MEASURED)
    assert profile_of("openai:small") == MEASURED
    assert profile_of("openai:large") == UNMEASURED


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({**MEASURED.to_json(), "map_reduce": 2})])
def test_damaged_profile_is_named_with_the_way_out(text):
    path = keep_profile(MEASURED)
    path.write_text(text)
    with pytest.raises(UsageError, match="is not a profile of a model") as raised:
        profile_of("openai:small")
    assert "preflight profile" in raised.value.help
    assert path == profile_path("openai:small")
