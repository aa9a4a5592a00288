"""Which abbreviation a question wants spelled out, and where a text does it."""

import pytest

from preflight_rag.text.abbreviations import asked_abbreviation, spelled_out


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What does SEOS stand for?", "SEOS"),
        ("what does seos stand for", "seos"),
        ("What's CPQA short for?", "CPQA"),
        ("What is the abbreviation CPQA short for?", "CPQA"),
        ("What does the acronym “ARDS” mean?", "ARDS"),
        ("What is the full form of mRNA?", "mRNA"),
        ("IL-6 stands for what?", "IL-6"),
        ("What does the fox say?", ""),
        ("What does the term sepsis mean?", ""),
        ("What does it mean?", ""),
    ],
)
def test_a_question_asks_for_a_long_form(question, short):
    assert asked_abbreviation(question) == short


@pytest.mark.parametrize(
    ("short", "text", "long"),
    [
        (
            "ARDS",
            "She died of acute respiratory distress syndrome (ARDS) in May.",
            "acute respiratory distress syndrome",
        ),
        ("ards", "Of acute respiratory distress syndrome (ARDS).", "acute respiratory distress syndrome"),
        ("WHO", "The WHO (World Health Organization) met.", "World Health Organization"),
        ("PCR", "PCR, short for polymerase chain reaction, is quick.", "polymerase chain reaction"),
        ("ROV", "ROV stands for remotely operated vehicle.", "remotely operated vehicle"),
        ("BSL-3", "a biosafety level 3 (BSL-3) laboratory", "biosafety level 3"),
        ("MMR", "of Maximal Marginal 014 Relevance (MMR)", "Maximal Marginal 014 Relevance"),
        ("RTD", "a Real-time Trial Database (RTD)", "Real-time Trial Database"),
        ("DNA", "deoxyribonucleic acid (DNA)", "deoxyribonucleic acid"),
        ("GX-22", "The GX-22 (General Xylem 22) pump", "General Xylem 22"),
    ],
)
def test_a_text_spells_an_abbreviation_out(short, text, long):
    (span,) = spelled_out(short, text)
    assert text[slice(*span)] == long


@pytest.mark.parametrize(
    ("short", "text"),
    [
        ("IT", "The IT department (large) is closed."),
        ("IS", "the insertion element IS (IS481)"),
        ("HEV", "coronavirus (OC43), enterovirus (HEV)"),
        ("BAY", "BAY: the bay has a good view."),
        ("CT", "Figure 7 (CT) was taken."),
    ],
)
def test_what_is_beside_an_abbreviation_may_be_something_else(short, text):
    assert spelled_out(short, text) == []
