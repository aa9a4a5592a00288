"""A question that names article 5 is about the text below that heading, not about what mentions it."""

from __future__ import annotations

import pytest

from preflight_rag.text.numbered_parts import NumberedPart, asked_parts, asks_for_text, part_of

CHARTER = (
    "Article 4\nThe meeting is held in March. Under article 5 no debtor may vote.\n\n"
    "Article 5\nWhoever has not paid loses the right to the boats.\n\nArticle 6\nThe club is dissolved."
)
TERMS = (
    "7.1 Deposit\nClause 7.2 says when it is returned.\n\n"
    "7.2 Return\nBy six.\n7.2.1 Cleaning\nBy the customer.\n\n7.3 Damage\nNone."
)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What does article 5 say?", [("article", "5")]),
        ("Article 5", [("article", "5")]),
        ("What is due under § 3?", [("§", "3")]),
        ("Does clause 7.2 apply in Annex B?", [("clause", "7.2"), ("annex", "B")]),
        ("What is in Schedule 2 and in chapter IV?", [("schedule", "2"), ("chapter", "IV")]),
        ("Which articles refer to article 5?", []),
        ("What part of 5 boats is lost?", []),
        ("Which section has 3 members?", []),
        ("Is part 50 % lost?", []),
    ],
)
def test_parts_that_a_question_names(question: str, parts: list[tuple[str, str]]) -> None:
    assert [(part.kind, part.number) for part in asked_parts(question)] == parts


@pytest.mark.parametrize(
    ("question", "is_all"),
    [
        ("article 5", True),
        ("What does § 3 say?", True),
        ("Please quote clause 7.2", True),
        ("What does article 5 say about boats?", False),
        ("What do boats cost?", False),
    ],
)
def test_questions_for_the_text_of_a_part(question: str, is_all: bool) -> None:
    assert asks_for_text(question) is is_all


@pytest.mark.parametrize(
    ("text", "part", "found"),
    [
        (CHARTER, ("article", "5"), "Article 5\nWhoever has not paid loses the right to the boats.\n\n"),
        (CHARTER, ("article", "6"), "Article 6\nThe club is dissolved."),
        (CHARTER, ("article", "3"), None),
        (CHARTER, ("section", "5"), None),
        (TERMS, ("clause", "7.2"), "7.2 Return\nBy six.\n7.2.1 Cleaning\nBy the customer.\n\n"),
        (TERMS, ("section", "7.3"), "7.3 Damage\nNone."),
        ("§ 2 stays.\n\n§ 2 Rent\nIt is 900.\n\n§ 3 Notice\nSix months.", ("§", "2"), "§ 2 Rent\nIt is 900.\n\n"),
        ("§ 2 Rent\nIt is 900.", ("section", "2"), "§ 2 Rent\nIt is 900."),
        ("## Article 1\n\nA.\n\n## Rules\n\nB.", ("article", "1"), "## Article 1\n\nA.\n\n"),
        ("ARTICLE 1\nA.", ("article", "1"), "ARTICLE 1\nA."),
        ("Article 5. Whoever owes, pays.\nArticle 6. The end.", ("article", "5"), "Article 5. Whoever owes, pays.\n"),
        ("Article 5 applies to members.", ("article", "5"), None),
        ("Article 55\nOther.", ("article", "5"), None),
        ("5. Oars\nWash and dry them.\n6. Leaving\nBy six.", ("rule", "5"), "5. Oars\nWash and dry them.\n"),
        ("5. Wash the oars;\n6. Leave.", ("rule", "5"), None),
    ],
)  # fmt: skip
def test_part_reaches_from_its_heading_to_the_next(text: str, part: tuple[str, str], found: str | None) -> None:
    place = NumberedPart(*part).find(text)
    assert (text[slice(*place)] if place else None) == found


def test_passage_may_continue_a_part() -> None:
    part = NumberedPart("article", "5")
    assert part_of("The treasurer sends a letter.\n\nArticle 6\nThe end.", "Article 5", part) == (0, 31)
    assert part_of("Article 6\nThe end.", "Article 5", part) is None
    assert part_of("The treasurer sends a letter.", "Article 4", part) is None
