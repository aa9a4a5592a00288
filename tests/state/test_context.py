"""Settings from flags and the environment, and the passages that a turn has read."""

import pytest

from preflight_rag.state.context import Context, PassageCache, Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Passage


def test_flags_win_over_the_environment_and_that_over_defaults():
    settings = Settings.read({"PREFLIGHT_K": "8", "PREFLIGHT_TOP_N": "5"}, k=4, route=None)
    assert (settings.k, settings.top_n, settings.route) == (4, 5, "auto")


@pytest.mark.parametrize(
    ("environ", "flags", "says"),
    [
        ({"PREFLIGHT_K": "many"}, {}, "setting k = 'many'"),
        ({}, {"k": 0}, "setting k = 0"),
        ({}, {"threshold": 1.5}, "PREFLIGHT_THRESHOLD"),
        ({}, {"route": "fastest"}, "setting route = 'fastest'"),
        ({}, {"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_setting_is_one_line_with_its_value(environ, flags, says):
    with pytest.raises(UsageError, match=says) as caught:
        Settings.read(environ, **flags)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


class Shelf:
    """A library of two passages; notes which ones it is asked for."""

    def __init__(self):
        self.asked = []

    def passages(self, ids):
        self.asked.append(ids)
        return [Passage(id=name, document_id="d", text=f"Text of {name}.") for name in ids]


@pytest.mark.parametrize(("cache", "read"), [(PassageCache(), [["a"], ["b"]]), (None, [["a"], ["b", "a"]])])
async def test_a_turn_reads_each_passage_once(cache, read):
    shelf = Shelf()
    context = Context(library=shelf, cache=cache)
    await context.sources([{"id": "a", "rank": 1}])
    found = await context.sources([{"id": "b", "rank": 2}, {"id": "a", "rank": 1}])
    assert [(source.n, source.text) for source in found] == [(2, "Text of b."), (1, "Text of a.")]
    assert shelf.asked == read
