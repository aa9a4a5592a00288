"""Sentences that have a question's words as an abbreviation."""

from preflight_rag.offline.evidence import sentences_of
from preflight_rag.offline.shortened_terms import with_long_forms
from preflight_rag.state.reading import Source
from preflight_rag.text.words import words

DEFINED = Source(1, "a", "Trial", "The times to pain relief (PR) and pain freedom (PF) were noted by each patient.")
SHORT = "Median time to PR was shorter for rizatriptan (45 min) than for other triptans (52 min)."
OTHER = "Median time to PF was shorter for rizatriptan (100 min) than for other triptans (124 min)."


def terms_of(question, *sources):
    return {item.text: item.terms for item in with_long_forms(question, sentences_of(sources, question), sources)}


def test_an_abbreviation_that_a_passage_spells_out_has_its_words():
    found = terms_of("What was the time to pain relief?", DEFINED, Source(2, "b", "Trial", f"{SHORT} {OTHER}"))
    assert frozenset(words("pain relief")) <= found[SHORT]
    assert frozenset(words("relief")).isdisjoint(found[OTHER])


def test_letters_that_no_passage_spells_out_mean_nothing():
    found = terms_of("What was the time to pain relief?", Source(2, "b", "Trial", SHORT))
    assert frozenset(words("relief")).isdisjoint(found[SHORT])
