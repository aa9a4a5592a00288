"""Sentences that may be quoted, and where long ones are cut."""

import pytest

from preflight_rag import Preflight
from preflight_rag.offline.evidence import SentenceReader, evidence, joined_quotes, sentences_of, unread_quotes
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Answer


def quotes(title: str, text: str) -> list[str]:
    return [sentence.text for sentence in sentences_of([Source(1, "p", title, text)], "")]


def test_a_title_alone_is_no_quote_where_there_is_more() -> None:
    title = "RFP for Construction Management Services"
    assert quotes(title, f"{title}\nThe site is visited in May.") == ["The site is visited in May."]
    assert quotes(title, title) == [title]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        (
            "社区图书馆借阅规定",
            "社区图书馆借阅规定\n每位读者最多借八本书。借期四周。",
            ["每位读者最多借八本书。", "借期四周。"],
        ),
        (
            "バスの案内",
            "バスの案内\n「土曜は休みです。」と書いてある。予約は必要ですか？",
            ["「土曜は休みです。」と書いてある。"],
        ),
    ],
)
def test_quotes_of_chinese_and_japanese_are_sentences(title: str, text: str, expected: list[str]) -> None:
    assert quotes(title, text) == expected


def test_a_part_of_a_title_is_no_quote_where_nothing_reads_the_language(embedder) -> None:
    source = Source(1, "p", "老茶厂的历史：一九二三年至今", "老茶厂的历史\n工厂最盛时有六百名工人。")
    shown = unread_quotes("老茶厂的历史是什么？", [source], SentenceReader(embedder, 0.3))
    assert shown == [(1, "工厂最盛时有六百名工人。")]


def test_a_title_that_is_a_sentence_stays_one() -> None:
    assert quotes("Aspirin lowers fever.", "Aspirin lowers fever.\nIt is cheap to make.")[0] == "Aspirin lowers fever."


def test_a_long_list_is_cut_between_its_entries_and_a_long_row_between_cells() -> None:
    entries = [f"entry {number} of the list has some words of its own" for number in range(40)]
    for end in ("; ", " | "):
        cut = quotes("", f"{end.join(entries)}")
        assert len(cut) > 1
        for piece in cut:
            assert all(part in entries for part in piece.strip("; |").split(end))


def shown_of(tmp_path, text: str, question: str) -> tuple[Answer, list[str]]:
    """The answer to a question about some files, a text a file, and its quotes."""
    for number, part in enumerate(text.split("\n\n")):
        (tmp_path / f"{number}.md").write_text(f"# Notes {number}\n\n{part}\n")
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest(sorted(tmp_path.glob("*.md")))
        answer = app.ask(question)
    return answer, [citation.quote for citation in answer.citations]


def test_a_quote_with_few_words_of_the_question_is_not_shown_beside_one_with_all(tmp_path) -> None:
    _, found = shown_of(
        tmp_path,
        "The north gate of the harbour is repainted every spring.\n\nThe harbour has a zoo.\n\nA spring feeds a well."
        "\n\nThe gate to the zoo is blue.",
        "Why is the north gate of the harbour repainted?",
    )
    assert found == ["The north gate of the harbour is repainted every spring."]


FERRY = (
    "| Ferry | Builder | Built |\n|---|---|---|\n| Astrid | Lund | 1998 |\n| Berta | Lund | 2004 |"
    "\n\nThe Lund ferry was delivered late, after a strike at the yard."
)


def test_why_something_was_so_is_not_answered_by_rows_that_name_it(tmp_path) -> None:
    _, found = shown_of(tmp_path, FERRY, "Why was the Lund ferry delivered late?")
    assert found[0].startswith("The Lund ferry was delivered late")
    assert not any("Built" in quote for quote in found)


def test_lines_around_a_mail_are_no_quotes_unless_they_are_asked_for() -> None:
    text = "From: Ana Roth\nTo: Jan Brandt\nDate: 2026-03-04\n\nThe kiln is fired on Friday.\n\nMrs A. Roth"
    source = [Source(1, "p", "Kiln", text)]
    assert [each.text for each in sentences_of(source, "When is the kiln fired?")] == ["The kiln is fired on Friday."]
    assert "To: Jan Brandt" in [each.text for each in sentences_of(source, "To whom did Ana Roth write?")]


def test_the_holder_of_another_office_is_neither_claimed_nor_shown_first(tmp_path) -> None:
    answer, found = shown_of(
        tmp_path,
        "Ann Roe joined Zelkova in 2006 and currently serves as Chief Marketing Officer.\n\n"
        "Max Orr currently serves as our Chairman of the Board and Chief Executive Officer.\n\n"
        "Before he joined us, Bo Lund served as Chief Executive Officer of Informatics until 2020.\n\n"
        "Eva Sand is Chief People Officer of Zelkova.",
        "Who is the CEO of Zelkova?",
    )
    assert answer.short_answer in (None, "Max Orr")
    assert "Max Orr" in found[0]
    assert not any(name in quote for name in ("Bo Lund", "Ann Roe", "Eva Sand") for quote in found)


def test_a_short_sentence_that_decides_comes_first(tmp_path) -> None:
    _, found = shown_of(
        tmp_path,
        "Smoking is not allowed in the flat or on the balcony. The tenants may keep one cat. No dogs are permitted.\n\n"
        "A deposit is held and returned after the flat is handed back.\n\nThe rent of the flat is due in May.",
        "Are dogs allowed in the flat?",
    )
    assert found[0] == "No dogs are permitted."


def test_a_sentence_of_another_language_that_is_not_like_the_question_is_not_shown(embedder):
    source = Source(1, "a", "Brief", "Wir kommen im April nach Lindau. Der Eintritt kostet 15 Euro.")
    reader = SentenceReader(embedder, 0.3)
    assert unread_quotes("sdkjfh qweoi zzzx", [source], reader, least=0.35) == []
    shown = unread_quotes("When do they come to Lindau?", [source], reader, least=0.35)
    assert (1, "Wir kommen im April nach Lindau.") in shown


def test_the_same_words_of_several_passages_are_shown_once_with_all_their_numbers() -> None:
    quotes = [
        (1, "Each boat is insured."),
        (2, "No boat is let."),
        (4, "Each boat is insured."),
        (4, "Each boat is new."),
    ]
    quotes.append((5, "Somebody wrote: Each boat is insured."))
    draft = evidence(quotes, "Found:")
    assert draft.text.split("\n\n") == [
        "Found:",
        "“Each boat is insured.” [1][4][5]",
        "“No boat is let.” [2]",
        "“Each boat is new.” [4]",
    ]
    assert draft.quotes == tuple(quotes)


def test_what_a_mail_says_itself_goes_before_what_it_quotes(tmp_path) -> None:
    mail = """From: Gareth Pruett <g@vet.example>
To: Tom Averill <t@vet.example>
Subject: Re: Price of the ear tag
Date: Tue, 11 Mar 2025 12:05:44 +0000
Content-Type: text/plain; charset=utf-8

The list is right, the ear tag is £24 since 1 February. Please bin the old leaflets.

> Mrs Penhallow came with the leaflet. It says 19 pounds for the ear tag, the computer wanted 24.
"""
    (tmp_path / "mail.eml").write_text(mail)
    (tmp_path / "other.txt").write_text("Rota\n\nThe practice opens at 8. Dogs wait in the yard.")
    with Preflight.open(tmp_path / "lib", model="offline", create=True) as library:
        library.ingest([tmp_path / "mail.eml", tmp_path / "other.txt"])
        for question in ("How much does an ear tag cost?", "Which price of the ear tag is right?"):
            answer = library.ask(question).answer
            assert "£24 since 1 February" in answer
            if "earlier message" in answer:
                assert answer.index("£24 since") < answer.index("earlier message")


def test_entries_of_a_table_of_contents_are_no_quote_where_there_is_more() -> None:
    entries = "Integer columns . . . . . . 23 Text columns . . . . . . 24 How text is stored .......... 31"
    menu = "Coffee . . . . . . . 3"
    found = [
        item.text
        for item in sentences_of([Source(1, "p", "", f"{entries}\n\n{menu}\n\nText is stored as it is.")], "q")
    ]
    assert entries not in found
    assert "Text is stored as it is." in found
    assert [item.text for item in sentences_of([Source(1, "p", "", entries)], "q")]


def test_the_total_of_a_receipt_stands_first(tmp_path) -> None:
    text = (
        "HARBOUR STORES\n12 Quay Street\nReceipt 4471\nTill 3\nReturns within 30 days\nRope 6 m\n2 @ $24.99\n$49.98\n"
        "SUBTOTAL $49.98\nSales Tax (8.5%) $4.25\n====================\nTOTAL $54.23\n====================\n"
        "Visa Card ending in 4782\nTotal Points: 3,247\n"
    )
    (tmp_path / "receipt.txt").write_text(text)
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / "receipt.txt"])
        answer = app.ask("How much was the receipt in total?")
    assert answer.citations[0].quote == "TOTAL $54.23"


def test_a_sentence_with_the_name_alone_stands_behind_what_is_asked_of_it(tmp_path) -> None:
    contract = (
        "The Owner lets the Corn Hall, with its foyer and kitchen, to the Hirer for the fair from 2 to 5 October.\n\n"
        "Either party may cancel in writing.\n\nThe Hirer keeps the doors clear.\n\n"
        "No more than 420 persons may be in the building at one time.\n\nThe rent is 7,400 euros.\n\n"
        "A deposit of 30 per cent is due when the contract is signed.\n"
    )
    (tmp_path / "contract.txt").write_text(contract)
    (tmp_path / "faq.txt").write_text("There is no car park at the Corn Hall. Bicycles can be left in the yard.\n")
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / "contract.txt", tmp_path / "faq.txt"])
        crowd, deposit = (
            app.ask(question).citations[0].quote
            for question in (
                "How many people may be in the Corn Hall at once?",
                "What is the deposit for the Corn Hall?",
            )
        )
    assert crowd == "No more than 420 persons may be in the building at one time."
    assert deposit == "A deposit of 30 per cent is due when the contract is signed."


def test_quotes_of_one_passage_that_meet_are_one_quote():
    text = "Fires are lit after four. Burn dry waste and nothing else.\nNever burn when the wind blows.\n\nSow oats."
    sources = {1: Source(1, "d1", "Rules", text), 2: Source(2, "d2", "Notes", "Burn dry waste and nothing else.")}
    quotes = [
        (1, "Burn dry waste and nothing else."),
        (2, "Burn dry waste and nothing else."),
        (1, "Never burn when the wind blows."),
        (1, "Sow oats."),
        (1, "Fires are lit after four. Burn dry waste"),
    ]
    assert joined_quotes(quotes, sources) == [
        (1, "Fires are lit after four. Burn dry waste and nothing else.\nNever burn when the wind blows."),
        (2, "Burn dry waste and nothing else."),
        (1, "Sow oats."),
    ]


def test_quotes_that_stand_nowhere_stay_as_they_are():
    sources = {1: Source(1, "d1", "Rules", "Burn dry waste.")}
    quotes = [(1, "Age: 8 | Vaccine: L4"), (1, "Age: 9 | Vaccine: L5")]
    assert joined_quotes(quotes, sources) == quotes


def answers_over(folder, text: str, *questions: str) -> list[str]:
    """Return what is said to questions over one document and an unrelated one."""
    (folder / "notes.txt").write_text(text)
    (folder / "cafe.txt").write_text("The café opens at nine. Soup is served until two. Dogs wait outside.\n")
    with Preflight.open(folder / "library", model="offline", create=True) as app:
        app.ingest([folder / "notes.txt", folder / "cafe.txt"])
        return [app.ask(question).answer for question in questions]


def test_the_sentence_beside_the_nearest_one_is_quoted_too(tmp_path) -> None:
    """The first names the prize, the second says who hands it over; a plain label beside them is no quote."""
    press = (
        "Larkspur Prize for poetry\n\n"
        "The Larkspur Prize for poetry goes this year to Mireille Tanaka for her second collection, Tidal Arithmetic. "
        "She receives 5,000 crowns and a residency of three months.\n\n"
        "312 collections were entered, 41 more than in the year before. "
        "The prize will be handed over on 5 December at the Corn Hall by last year's winner, Samir Haddad.\n"
    )
    (answer,) = answers_over(tmp_path, press, "Who hands over the Larkspur Prize?")
    assert "by last year's winner, Samir Haddad" in answer


def test_who_holds_an_office_is_read_from_an_election(tmp_path) -> None:
    minutes = (
        "The committee consists of the commodore, the treasurer and the secretary.\n\n"
        "Elected for two years: commodore Margaret Ash, treasurer Sunita Rao, secretary Philip Ekwu (his consent was "
        "read out).\n\nTwo signatures, one of them the treasurer's, are needed above 400 pounds.\n"
    )
    (answer,) = answers_over(tmp_path, minutes, "Who is the new treasurer?")
    assert answer.split("\n\n")[1].startswith("“Elected for two years: commodore Margaret Ash, treasurer Sunita Rao")


def test_a_field_of_a_table_is_no_way_to_do_something(tmp_path) -> None:
    handbook = (
        "# Rescue boat\n\n## Starting the engine\n\nLower the engine fully and put it in neutral. With a cold engine "
        "pull out the choke.\n\n## Troubleshooting\n\n| Symptom | Likely cause | What to do |\n| --- | --- | --- |\n"
        "| Engine starts and dies | Water in the fuel | Drain the separator |\n"
    )
    (tmp_path / "rescue.md").write_text(handbook)
    with Preflight.open(tmp_path / "library", model="offline", create=True) as app:
        app.ingest([tmp_path / "rescue.md"])
        answer = app.ask("How do I start the engine when it is cold?").answer
    assert "With a cold engine pull out the choke." in answer.split("\n\n")[1]


def test_rows_below_each_other_stay_apart():
    """On one line they would be read as one row."""
    rows = "Section: A | Excess: £500\nSection: B | Excess: £250"
    quotes = [(1, row) for row in rows.split("\n")]
    assert joined_quotes(quotes, {1: Source(1, "p", "", rows)}) == quotes


def test_the_head_of_each_page_is_no_evidence():
    text = "Header: Page 2 Manual of the mill\n\nThe mill needs version 6 of the stone."
    found = sentences_of([Source(1, "p", "Manual", text)], "Which version does the mill need?")
    assert [item.text for item in found] == ["The mill needs version 6 of the stone."]


def test_what_is_said_of_a_relative_goes_before_what_is_said_of_the_person(tmp_path) -> None:
    father = "Her father, Arno Lyle, was shot in 1944."
    text = f"Mina Lyle was arrested in 1943. She was taken to Lyon. {father} Her brother escaped to Spain.\n"
    about_him, about_her = answers_over(
        tmp_path, text, "What happened to Mina Lyle’s father?", "What happened to Mina Lyle?"
    )
    assert about_him.split("\n\n")[1].startswith(f"“{father}")
    assert "arrested" in about_her.split("\n\n")[1]
