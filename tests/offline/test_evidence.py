"""Sentences that may be quoted, and where long ones are cut."""

import pytest

from preflight_rag.offline.evidence import SentenceReader, sentences_of, unread_quotes
from preflight_rag.state.reading import Source


def quotes(title: str, text: str) -> list[str]:
    return [sentence.text for sentence in sentences_of([Source(1, "p", title, text)])]


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
