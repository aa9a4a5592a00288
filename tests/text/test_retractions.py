"""What marks a retracted publication."""

import pytest

from preflight_rag.text.retractions import is_retracted, marked_title


@pytest.mark.parametrize(
    ("title", "retracted"),
    [
        ("RETRACTED: Statins cure gout", True),
        ("Retracted: Statins cure gout", True),
        ("[Retracted] Statins cure gout", True),
        ("RETRACTED ARTICLE: Statins cure gout", True),
        ("Retracted publications in oncology: a survey", False),
        ("Retraction: Statins cure gout", False),
        ("A retracted: test", False),
        ("", False),
    ],
)
def test_a_title_says_so(title, retracted):
    assert is_retracted(title) is retracted


def test_the_mark_is_set_once():
    assert marked_title("Statins", True) == marked_title("RETRACTED: Statins", True) == "RETRACTED: Statins"
    assert marked_title("Statins", False) == "Statins"
