"""A question that names article 5 is about the text below that heading, not about what mentions it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from preflight_rag.text.numbered_parts import NumberedPart, asked_parts, asks_for_text, find_parts, part_of

CHARTER = (
    "Article 4\nThe meeting is held in March. Under article 5 no debtor may vote.\n\n"
    "Article 5\nWhoever has not paid loses the right to the boats.\n\nArticle 6\nThe club is dissolved."
)
TERMS = (
    "7.1 Deposit\nClause 7.2 says when it is returned.\n\n"
    "7.2 Return\nBy six.\n7.2.1 Cleaning\nBy the customer.\n\n7.3 Damage\nNone."
)
CONTENTS = "Contents\n\nArticle 1 Rent\nArticle 2 Pets\nArticle 3 Notice\n\nThe parties agree as follows."
LEASE = (
    f"{CONTENTS}\n\nArticle 1 Rent\n\nIt is 500 crowns.\n\n"
    "Article 2 Pets\n\nTwo cats may be kept.\n\nArticle 3 Notice\n\nThree months."
)
TASKS = (
    "# Autumn tasks\n\n4. Empty the butts\n5. Rake the leaves\n6. Burn the hedge cuttings\n\n"
    "The rules are sent by post. Rule 5 forbids bonfires."
)
RULES = "4. Boats\nBring them back.\n5. Oars\nWash them.\n6. Leaving\nBy six."


@dataclass(frozen=True)
class Found:
    """A passage that was found."""

    text: str
    title: str
    heading: str = ""

    @property
    def document_id(self) -> str:
        """The passage's document."""
        return self.title


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What does article 5 say?", [("article", "5")]),
        ("Article 5", [("article", "5")]),
        ("What is due under § 3?", [("§", "3")]),
        ("Does clause 7.2 apply in Annex B?", [("clause", "7.2"), ("annex", "B")]),
        ("What is in Schedule 2 and in chapter IV?", [("schedule", "2"), ("chapter", "IV")]),
        ("What does paragraph 2 of article 5 say?", [("article", "5")]),
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
        (LEASE, ("article", "2"), "Article 2 Pets\n\nTwo cats may be kept.\n\n"),
        (LEASE, ("article", "3"), "Article 3 Notice\n\nThree months."),
        (CONTENTS, ("article", "1"), None),
        (CONTENTS, ("article", "2"), None),
        (CONTENTS, ("article", "3"), None),
        ("Article 2 Pets ........ 4\nArticle 3 Notice ..... 5", ("article", "2"), None),
        ("Article 5\nNo dogs.\n\nAnnex\n\nArticle 5\nNo cats.", ("article", "5"), None),
        ("The boats are lent under\nArticle 5. Whoever owes does not row.", ("article", "5"), None),
        (TASKS, ("rule", "5"), None),
        (TASKS, ("rule", "6"), None),
        ("4. Empty it\n5. Rake below the\npear trees.\n6. Burn the wood\nwhen it is dry.", ("rule", "5"), None),
        ("5. Oars\nWash and dry them.", ("rule", "5"), None),
        ("4. Boats\n5. Oars\nWash them.\n7. Leaving\nBy six.", ("rule", "5"), None),
        ("7.1 12\n7.2 Return\n7.3 Damage", ("clause", "7.2"), None),
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


@pytest.mark.parametrize(
    ("question", "passages", "expected"),
    [
        ("What does rule 5 say?", [Found(RULES, "Boat house")], ["5. Oars\nWash them.\n"]),
        ("What does rule 5 say?", [Found(RULES, "Boat house"), Found("Rule 5 forbids fires.", "Letter")], ["", ""]),
        (
            "What does rule 5 say?",
            [Found(RULES, "Rules of the boat house"), Found("Rule 5 forbids fires.", "Letter")],
            ["5. Oars\nWash them.\n", ""],
        ),
        (
            "What does rule 5 say?",
            [Found(RULES, "Boat house"), Found("Rule 5\nNo fires.", "Garden")],
            ["", "Rule 5\nNo fires."],
        ),
        (
            "What does article 5 of the data law require?",
            [Found("Article 5\nDogs are allowed.", "Treaty"), Found("Article 5 of the law asks.", "The data law")],
            ["", ""],
        ),
        (
            "What does article 5 of the treaty allow?",
            [Found("Article 5\nDogs are allowed.", "Treaty"), Found("Article 5\nData are lost.", "The data law")],
            ["Article 5\nDogs are allowed.", ""],
        ),
        (
            "What does article 5 say?",
            [Found("Article 5\nDogs are allowed.", "Treaty"), Found("Article 5\nData are lost.", "The data law")],
            ["Article 5\nDogs are allowed.", "Article 5\nData are lost."],
        ),
        (
            "What does article 5 say?",
            [
                Found("Article 5\nDogs are allowed.", "Treaty"),
                Found("Cats are, too.\n\nArticle 6", "Treaty", "Article 5"),
            ],
            ["Article 5\nDogs are allowed.", "Cats are, too.\n\n"],
        ),
        (
            "What does article 5 say?",
            [Found("Article 5\nDogs are allowed.", "Treaty"), Found("Article 5\nDogs are fed.", "Treaty")],
            ["", ""],
        ),
        ("What does article 3 say?", [Found("The parties agree.", "Lease", "Article 3 Notice")], [""]),
    ],
)
def test_parts_are_found_where_they_surely_are(question: str, passages: list[Found], expected: list[str]) -> None:
    places = find_parts(question, passages)
    found = ["".join(passage.text[slice(*each)] for each in own) for passage, own in zip(passages, places, strict=True)]
    assert found == expected
