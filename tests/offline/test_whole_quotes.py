"""Quotes with what belongs to them: the list they introduce, what their pronoun stands for, the remedy behind them."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight

DOCUMENTS = {
    "calendar.md": (
        "# Calendar program\n\nThe program shows one week.\n\nOn the date field some key combinations change the day "
        "or month\n\n- arrow up: the next day\n- arrow up with Shift: the next month\n- arrow up with Ctrl: the next "
        "year\n\n# Printing\n\nA printed week takes one sheet of paper.\n"
    ),
    "ferries.md": (
        "# Ferries of Skerrow\n\n## Kittiwake\n\nThis was the first ferry with a diesel engine on the sound, and burnt "
        "oil for thirty years.\n\n## Guillemot\n\nA steam ferry, with two funnels and a bar.\n"
    ),
    "pump.md": (
        "# Pump trouble\n\nThe garden pump howls at night when the tank runs low. The noise is worst in August.\n\n"
        "Air in the inlet pipe makes the sound. Open the bleed valve until water comes.\n\nThe pump was bought "
        "in 2019.\n"
    ),
}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How can I change the month on the date field?", "arrow up with Shift: the next month"),
        ("Which was the first ferry with a diesel engine?", "Kittiwake"),
        ("What can I do about the garden pump that howls at night?", "Open the bleed valve until water comes."),
    ],
)
def test_the_first_quotes_say_what_is_asked_for(app: Preflight, question: str, said: str) -> None:
    found = app.ask(question)
    assert said in " ".join(found.answer.split("\n\n")[1:3])
