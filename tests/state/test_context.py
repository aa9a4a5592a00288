"""Settings from flags and the environment."""

import pytest

from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError


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
