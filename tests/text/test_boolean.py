"""Boolean expressions: the parser, the way back to text, and synonyms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.state.errors import UsageError
from preflight_rag.text import boolean
from preflight_rag.text.boolean import Operation, SearchTerm, expand, parse, written

A, B, C = SearchTerm("a"), SearchTerm("b"), SearchTerm("c")


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        ("muscle pain", SearchTerm("muscle pain")),
        ('"muscle  pain"[tiab]', SearchTerm("muscle pain", phrase=True, tag="tiab")),
        ("a AND b AND c", Operation("AND", (A, B, C))),
        ("a OR b AND c", Operation("AND", (Operation("OR", (A, B)), C))),
        ("a OR (b AND c)", Operation("OR", (A, Operation("AND", (B, C))))),
        ("a (b OR c)", Operation("AND", (A, Operation("OR", (B, C))))),
        ("a AND NOT b", Operation("NOT", (A, B))),
        ("IL-6 and rats", SearchTerm("IL-6 and rats")),
    ],
)
def test_parses_as_pubmed_reads(expression, tree):
    assert parse(expression) == tree
    assert parse(written(tree)) == tree


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("", "lacks a term"),
        ("a AND", "lacks a term"),
        ("OR a", "lacks a term"),
        ("NOT a", "lacks a term"),
        ("(a", "not closed"),
        ("a)", "not opened"),
        ('"a', "not closed"),
        ('"" OR a', "empty phrase"),
        ("[tiab]", "without a term"),
        ("(" * 60 + "a" + ")" * 60, "parentheses"),
    ],
)
def test_what_cannot_be_read_is_named(expression, says):
    with pytest.raises(UsageError, match=says):
        parse(expression)


@given(st.text("abAND OR NOT()[]\"'“”x ", max_size=60))
def test_any_text_is_parsed_or_refused(text):
    try:
        tree = parse(text)
    except UsageError:
        return
    assert parse(written(tree)) == tree


def test_many_terms_are_one_operation():
    terms = [f"a{number}" for number in range(5000)]
    tree = parse(" OR ".join(terms))
    assert tree == Operation("OR", tuple(SearchTerm(term) for term in terms))


def test_operators_that_change_again_and_again_are_written_again_or_refused():
    """Each change nests everything before it: beyond some hundreds Python could not read the tree any more."""
    longest = "a AND b OR " * 25 + "c"
    assert parse(written(parse(longest))) == parse(longest)
    with pytest.raises(UsageError, match="more than 50 times"):
        parse("a AND b OR " * 26 + "c")


def test_alternatives_join_each_untagged_term():
    known = {
        "statin": [
            SearchTerm("statins", phrase=True),
            SearchTerm("Statin"),
            SearchTerm("Statins", phrase=True, tag="MeSH Terms"),
        ]
    }
    expanded = expand("statin AND (pain[ti] OR rats)", lambda term: known.get(term, []))
    assert expanded == '(statin OR "statins" OR "Statins"[MeSH Terms]) AND (pain[ti] OR rats)'


def test_tokens_are_words_phrases_tags_and_parentheses_but_no_spaces():
    assert boolean._TOKEN.fullmatch(' "muscle pain"')["phrase"] == "muscle pain"
    assert not boolean._TOKEN.fullmatch("muscle pain")
