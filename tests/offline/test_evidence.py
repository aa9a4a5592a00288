"""Sentences that may be quoted, and where long ones are cut."""

from preflight_rag.offline.evidence import sentences_of
from preflight_rag.state.reading import Source


def quotes(title: str, text: str) -> list[str]:
    return [sentence.text for sentence in sentences_of([Source(1, "p", title, text)])]


def test_a_title_alone_is_no_quote_where_there_is_more() -> None:
    title = "RFP for Construction Management Services"
    assert quotes(title, f"{title}\nThe site is visited in May.") == ["The site is visited in May."]
    assert quotes(title, title) == [title]


def test_a_title_that_is_a_sentence_stays_one() -> None:
    assert quotes("Aspirin lowers fever.", "Aspirin lowers fever.\nIt is cheap to make.")[0] == "Aspirin lowers fever."


def test_a_long_list_is_cut_between_its_entries_and_a_long_row_between_cells() -> None:
    entries = [f"entry {number} of the list has some words of its own" for number in range(40)]
    for end in ("; ", " | "):
        cut = quotes("", f"{end.join(entries)}")
        assert len(cut) > 1
        for piece in cut:
            assert all(part in entries for part in piece.strip("; |").split(end))
