"""Who made a part, or another work, is no answer to who made the work that is asked for."""

from __future__ import annotations

import pytest

from preflight_rag.offline.authorship import is_of_another_work
from preflight_rag.offline.confidence import type_features


@pytest.mark.parametrize(
    ("question", "sentence", "is_another"),
    [
        ("Who wrote the Bad block HOWTO?", "This section was written by Frederic BOITEUX.", True),
        ("Who wrote the section on fire?", "This section was written by Bo Lind.", False),
        ("Who wrote the original NetHack Guidebook?", "Jay Fenlason wrote the original Hack, with Jon Payne.", True),
        ("Who wrote the original NetHack Guidebook?", "The guidebook was written by Eric Raymond.", False),
        ("Who wrote the fire report?", "It was written by Jane Doe in 2020.", False),
        ("Who founded the club?", "Ann Lee founded it in 1923.", False),
        ("Who built the boat?", "Built by Al Roth in 1920, the Petrel is 6 m long.", False),
        ("Who painted the mural?", "The portrait was painted by Al Roth.", True),
        ("Who edited the newsletter in 2020?", "The yearbook was edited by Al Roth.", True),
        ("Who maintains the harbour radio?", "Both bands have good lists maintained by Al Roth.", True),
        ("Who designed the abbey hall?", "The abbey hall, an oak building designed by Al Roth, burnt.", False),
        ("Who wrote Dracula?", "Dracula, a Gothic novel written by Bram Stoker, is long.", False),
        ("Who maintains the harbour radio?", "The radio is maintained by Al Roth.", False),
        ("Who currently maintains the harbour radio?", "Al Roth maintains the lists of both bands.", True),
        ("Who pays for the mural?", "The portrait was painted by Al Roth.", False),
    ],
)
def test_the_author_of_another_work(question, sentence, is_another):
    assert is_of_another_work(question, sentence) is is_another


@pytest.mark.parametrize(
    ("question", "answer", "is_wrong"),
    [
        ("What is the current version of nano?", "bleeding edge", 1.0),
        ("What is the current version of nano?", "7.2", 0.0),
        ("What is the current release of Debian?", "bookworm", 0.0),
        ("Which edition of the plan is in force?", "April 2021", 0.0),
        ("What does the version control do?", "keeps old files", 0.0),
    ],
)
def test_several_plain_words_name_no_version(question, answer, is_wrong):
    assert type_features(question, answer)["wrong_type"] == is_wrong
