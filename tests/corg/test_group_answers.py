"""What is kept of the groups' answers."""

import pytest

from preflight_rag.corg.group_answers import as_evidence, chosen
from preflight_rag.state.reading import Draft, Source


def draft(group, ranks, choice):
    return {"group": group, "ranks": ranks, "text": "x", "quotes": [], "status": "answered", "choice": choice}


@pytest.mark.parametrize(
    ("drafts", "sources", "choice"),
    [
        ([draft(1, [1, 2], "few"), draft(2, [3], "many")], {}, "few"),
        ([draft(1, [1], "few"), draft(2, [3], "many")], {"3": [4, 5]}, "many"),
        ([draft(1, [1], "few"), draft(2, [2], "many")], {}, "few"),
        ([draft(1, [1, 2], None), draft(2, [3], "many")], {}, "many"),
        ([draft(1, [1], None)], {}, None),
    ],
)
def test_the_choice_is_that_of_the_groups_with_the_most_contexts(drafts, sources, choice):
    """Counted by hand: a context stands for itself and for those dropped in its favour; of equals the first group."""
    assert chosen(drafts, {"groups": [], "dropped": [], "sources": sources}) == choice


def test_a_document_that_shares_one_word_of_several_with_the_question_is_not_shown():
    quotes = (
        (1, "The harbour fair of 2025 is on 10 May."),
        (2, "The harbour fair had 148 stalls."),
        (3, "Lessons run from January to March 2025."),
    )
    sources = {n: Source(n, str(n), f"Paper {n}", text, document_id=str(n)) for n, text in quotes}
    found, _ = as_evidence("When is the harbour fair in 2025?", Draft("x", quotes), [], sources)
    assert [n for n, _ in found.quotes] == [1, 2]


FAQ = "1.1 Can I camp on the quay or beach of the island?\n\nNo. The tide covers both.\n\n1.2 Can I fish?\n\nYes."


def test_what_stands_below_the_same_question_comes_first():
    quotes = ((1, "1.1 Can I camp on the quay or beach of the island?"), (2, "Other signs"), (3, "Camp on the quay."))
    texts = {1: FAQ, 2: "Other signs", 3: "Camp on the quay."}
    sources = {n: Source(n, str(n), f"Paper {n}", text, document_id=str(n)) for n, text in texts.items()}
    found, _ = as_evidence("Can I camp on the quay?", Draft("x", quotes), [], sources)
    (first, below), *others = found.quotes
    assert first == 1
    assert below.endswith("No. The tide covers both.")
    assert others == [(3, "Camp on the quay.")]


def test_of_other_questions_no_quote_is_a_question():
    quotes = ((1, "Can I fish?"), (2, "Fish in May."))
    sources = {1: Source(1, "1", "Paper", FAQ), 2: Source(2, "2", "Note", "Fish in May.")}
    found, _ = as_evidence("When may I fish?", Draft("x", quotes), [], sources)
    assert found.quotes == ((2, "Fish in May."),)


def labels(question, *documents):
    """The lines of one answer whose quotes are of several documents: (number, title, file, quote)."""
    quotes = tuple((n, quote) for n, _, _, quote in documents)
    sources = {
        n: Source(n, f"p{n}", title, quote, source=f"/files/{file}", document_id=file)
        for n, title, file, quote in documents
    }
    entry = {"entity": "Boat list May", "descriptor": "Ada Orr", "answer": "two", "ranks": [9, *sources]}
    elsewhere = Source(9, "p9", "Boat list May", "Two oars.", source="/files/boats.csv", document_id="boats.csv")
    made, entries = as_evidence(question, Draft("x", quotes), [entry], {**sources, 9: elsewhere})
    return made.text.split("\n\n")[1:], entries


KEYS = "Up to two keys may be kept."


@pytest.mark.parametrize(
    ("question", "quote", "label"),
    [
        ("How many keys may be kept?", KEYS, "Key rules"),
        ("How many keys may be kept by the boat list May?", KEYS, "Boat list May"),
        (
            "How many keys may be kept?",
            "By the Boat list May of Ada Orr two keys may be kept.",
            "Boat list May (Ada Orr)",
        ),
    ],
)
def test_a_quote_is_labelled_by_its_document_or_by_what_it_or_the_question_names(question, quote, label):
    (line,), _ = labels(question, (1, "Key rules", "keys.docx", quote))
    assert line == f"**{label}**: “{quote}” [1]"


def test_documents_of_one_title_are_told_apart_by_their_files():
    rules = [
        Source(n, f"p{n}", "Key rules", KEYS, source=f"/files/{file}", document_id=file)
        for n, file in ((1, "old.md"), (2, "new.md"))
    ]
    quotes = ((1, KEYS), (2, "Up to four keys may be kept."))
    entries = [{"entity": "Key rules", "descriptor": None, "answer": "two", "ranks": [n]} for n in (1, 2)]
    made, _ = as_evidence("How many keys may be kept?", Draft("x", quotes), entries, {each.n: each for each in rules})
    assert [line.split(":")[0] for line in made.text.split("\n\n")[1:]] == [
        "**Key rules (old)**",
        "**Key rules (new)**",
    ]
