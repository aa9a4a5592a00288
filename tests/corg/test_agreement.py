"""Answers that agree, statements that contradict each other."""

import pytest

from preflight_rag.corg.agreement import contradiction, contradicts, same_answer


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("3,559", "3559", True),
        ("about 3,559 people", "3,559", True),
        ("3,559", "4,120", False),
        ("12 May 2001", "2001", True),
        ("2001", "2002", False),
        ("53 in 2009", "62 in 2009", False),
        ("Lynn Tilton", "Tilton", True),
        ("Lynn Tilton", "Mark Tilton", False),
        ("yes", "Yes, it does", True),
        ("yes", "no", False),
        ("the Seine", "Seine.", True),
        ("3", "three moons", True),
        ("53 in 2009", "2009", False),
        ("on 12 May 2001 in Paris", "May 2001", True),
        ("2001-05-12", "12 May 2001", True),
        ("May 2001", "June 2001", False),
        ("Marilyn Monroe", "March 1962", False),
        ("500 mg", "0.5 g", True),
        ("5 mg", "5 g", False),
        ("5 mg", "5", True),
        ("10.7 million people", "10,700,000", True),
        ("20 percent", "20%", True),
        ("about 65 days", "65 days", True),
        ("-5", "5", False),
        ("IL-6", "IL6", True),
        ("Apollo 11", "Soyuz 11", False),
        ("type 2 diabetes", "type 1 diabetes", False),
        ("WHO", "World Health Organization", True),
        ("tumor necrosis factor (TNF)", "tumor necrosis factors", True),
        ("Émile Nouguier", "Emile Nouguier", True),
        ("not aspirin", "aspirin", False),
        ("\ud800", "x", False),
        ("3.5 million", "3,500,000", True),
        ("$3.5m", "3.5 million dollars", True),
        ("14 March 1879", "March 14, 1879", True),
        ("14 March 1879", "1879", True),
        ("14 March 1879", "15 March 1879", False),
        ("March 1879", "14 April 1879", False),
        ("8 February", "February 8, 1900", True),
        ("1990s", "1995", False),
        ("1900", "1,900", True),
        ("8 February", "3,500", False),
        ("1.8.1866", "1866", True),
        ("1/8/1866", "8 January 1867", False),
        ("5 km", "5,000 m", True),
        ("5 km", "5 miles", False),
        ("1.5 kg", "1500 g", True),
        ("12 h", "720 min", True),
        ("$5", "€5", False),
        ("-5 °C", "5 °C", False),
        ("twenty-one", "21", True),
        ("10-12", "10 to 12", True),
        ("No. 5", "5", True),
        ("No. 5", "No. 7", False),
        ("Dr. John Smith", "John Smith", True),
        ("J. Smith", "John Smith", True),
        ("J. Smith", "Mary Smith", False),
        ("John F. Kennedy", "John Fitzgerald Kennedy", True),
        ("J.K. Rowling", "Joanne Rowling", True),
        ("U.S. Navy", "US Navy", True),
        ("The Who", "Who", True),
        ("lawyer", "lawyers", True),
        ("", "x", False),
        ("東京", "東京", True),
    ],
)
def test_same_answer(a, b, same):
    assert same_answer(a, b) is same
    assert same_answer(b, a) is same


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("Saturn has 82 known moons.", "Saturn has 274 known moons [3].", True),
        ("Saturn has 82 known moons.", "Jupiter has 79 known moons.", False),
        ("Saturn has 82 known moons.", "Saturn has 82 known moons, as of 2019.", False),
        ("The dose for adults is 300 mg.", "The dose for children is 100 mg.", False),
        ("Aspirin lowers the risk of stroke.", "Aspirin does not lower the risk of stroke.", True),
        ("The bridge opened in May 1937.", "The bridge opened in June 1938.", True),
        ("Water boils at 100 °C at sea level.", "On Everest water boils at 71 °C.", False),
        ("It is 3 m tall.", "It is 4 m tall.", True),
        ("", "Saturn has 82 moons.", False),
    ],
)
def test_statements_that_contradict_each_other(a, b, found):
    assert contradicts(a, b) is found
    assert contradicts(b, a) is found


def test_only_different_parts_are_compared():
    both = "Saturn has 82 known moons [1]. Saturn has 274 known moons [2]."
    assert contradiction([both, "Rust is iron oxide [3]."]) is None
    assert contradiction([both, "Saturn has 62 known moons [4]."])
