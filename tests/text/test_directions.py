"""What a sentence says to a question about an effect. Pairs written by hand."""

from __future__ import annotations

import pytest

from preflight_rag.text.directions import direction_of, says, speaks_of_object

PRESSURE = "Does ketamine increase blood pressure?"
SAID = [
    (PRESSURE, "Systolic and diastolic blood pressure (mmHg) increased significantly after the infusion.", 1),
    (PRESSURE, "Blood pressure was higher with ketamine than with placebo (p = 0.01).", 1),
    (PRESSURE, "Ketamine lowered blood pressure.", -1),
    (PRESSURE, "Ketamine did not increase blood pressure.", -1),
    (PRESSURE, "Ketamine failed to raise blood pressure.", -1),
    (PRESSURE, "There was no significant difference in blood pressure.", -1),
    (PRESSURE, "Blood pressure was unchanged.", -1),
    (PRESSURE, "Blood pressure was measured every five minutes.", 0),
    ("Does aspirin reduce mortality?", "Mortality was reduced by a third.", 1),
    ("Does aspirin reduce mortality?", "Mortality was increased by a third.", -1),
    ("Does aspirin reduce mortality?", "Aspirin did not reduce mortality.", -1),
    ("Does aspirin reduce mortality?", "Neither dose reduced mortality.", -1),
    ("Does aspirin reduce mortality?", "Aspirin not only reduced mortality, it was cheap.", 1),
    ("Does aspirin reduce mortality?", "Aspirin not only failed, it did not reduce mortality.", -1),
    ("Does training improve balance?", "Balance was better after training.", 1),
    ("Does training improve balance?", "Balance was worse after training.", -1),
    ("Does training improve balance?", "Balance improved, but the groups were similar (p=0.34).", -1),
    ("Does training improve balance?", "Training failed to improve balance.", -1),
    ("Is coffee associated with gout?", "Coffee was associated with gout.", 1),
    ("Is coffee associated with gout?", "Coffee was not associated with gout.", -1),
    ("Is coffee associated with gout?", "Those who drank coffee had a lower risk.", 1),
    ("Is coffee associated with gout?", "Gout did not differ between the groups (P > 0.2).", -1),
    ("Is aspirin ineffective against gout?", "Aspirin was effective against gout.", -1),
    ("Who wrote Faust?", "Goethe wrote it; sales increased.", 0),
    ("", "", 0),
]


@pytest.mark.parametrize(("question", "sentence", "said"), SAID)
def test_what_a_sentence_says_to_a_question(question, sentence, said):
    assert says(question, sentence) == said


@pytest.mark.parametrize(
    ("sentence", "none"),
    [
        ("The rates were 4 and 5 (p=0.06).", True),
        ("The rates were 4 and 5 (p = .4).", True),
        ("The rates were 4 and 5 (p=NS).", True),
        ("The rates were 4 and 9 (p=0.05).", False),
        ("The rates were 4 and 9 (p=0.01).", False),
        ("The rates were 4 and 9 (p < 0.5).", False),
    ],
)
def test_a_p_value_above_a_twentieth_finds_nothing(sentence, none):
    assert direction_of(sentence).none is none


@pytest.mark.parametrize(
    ("sentence", "claimed", "denied"),
    [
        ("Weight rose and pain fell.", {"up", "down"}, set()),
        ("Weight did not rise, pain fell.", {"down"}, {"up"}),
        ("Weight didn't rise; pain fell.", {"down"}, {"up"}),
        ("It is unlikely to harm.", set(), {"worse"}),
        ("", set(), set()),
        ("\ud800 rose", {"up"}, set()),
    ],
)
def test_a_negation_denies_the_words_of_its_own_clause(sentence, claimed, denied):
    found = direction_of(sentence)
    assert (found.claimed, found.denied) == (claimed, denied)


STEMS = {
    "up": (["increases", "raised", "rose", "up-regulated", "higher"], ["rosemary", "surprise", "highlight"]),
    "down": (["reduction", "lowers", "falls", "fewer", "prevention"], ["lesson", "fellow", "flower"]),
    "better": (["improvement", "effective", "efficacy", "safely", "benefits"], ["ineffective", "unsafe"]),
    "worse": (["worsened", "ineffective", "harmful", "impairs"], ["charm", "effective"]),
    "linked": (["association", "related", "depends", "caused", "risk factor"], ["because", "indifferent", "relative"]),
}


@pytest.mark.parametrize("name", STEMS)
def test_each_group_has_its_words_and_no_others(name):
    matching, others = STEMS[name]
    for word in matching:
        assert name in direction_of(f"the {word} of it").claimed
    for word in others:
        assert name not in direction_of(f"the {word} of it").claimed


@pytest.mark.parametrize(
    ("question", "sentence", "speaks"),
    [
        ("Does it reduce NHS costs compared with visits?", "Visits raised the costs of the NHS.", True),
        ("Does it reduce NHS costs compared with visits?", "It cost-effectively increased review rates.", False),
        ("Does aspirin reduce the risk of death in women?", "Deaths were more frequent.", True),
        ("Does aspirin reduce the risk of death in women?", "Bleeding in women was more frequent.", False),
        ("Does it lower LDL-cholesterol in men?", "LDL-cholesterol did not change.", True),
        ("Does it lower LDL-cholesterol in men?", "Cholesterol-rich food was avoided.", False),
        ("Is zinc effective for colds?", "Zinc was ineffective.", True),
        ("Is the sky blue?", "It is not.", True),
    ],
)
def test_a_sentence_speaks_of_what_the_effect_is_on(question, sentence, speaks):
    assert speaks_of_object(question, sentence) is speaks
