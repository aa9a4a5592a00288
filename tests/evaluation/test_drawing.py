"""Diagrams are opened with matplotlib, or their user is told to install it."""

import sys

import pytest

from preflight_rag.evaluation.drawing import open_figure
from preflight_rag.state.errors import UsageError


def test_a_figure_has_the_size_asked_for():
    pytest.importorskip("matplotlib")
    assert open_figure((3.0, 2.0)).get_size_inches().tolist() == [3.0, 2.0]


def test_without_matplotlib_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match="pip install matplotlib"):
        open_figure()
