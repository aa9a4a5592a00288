"""Plain text, Markdown and encodings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loaded_files import load_one

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.fields import clean, iso_date, people
from preflight_rag.ingest.loaders.layout import paragraphs, vocabulary, with_whole_words
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans


def test_identity_of_a_text_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("Aspirin helps.")
    document = load_one(Path("notes.txt"))
    assert document.id == document.source == document.metadata["path"] == str(tmp_path / "notes.txt")
    assert (document.title, document.text, document.date) == ("notes", "Aspirin helps.", None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Crème brûlée für Zoë, déjà vu à la Saint-Étienne – “voilà”."
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    assert load_one(path).text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "これは日本語で書かれた文章です。東京は日本の首都であり、大阪は第二の都市です。"),
        ("cp1251", "Аспирин помогает от головной боли, но не всем больным."),
        ("cp1250", "Zażółć gęślą jaźń. Proszę przyjść jutro, będziemy świętować."),
    ],
)
def test_encodings_told_by_their_bytes(tmp_path: Path, encoding: str, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    assert load_one(path).text == text


def test_utf8_that_was_cut_off_stays_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(("Zażółć gęślą jaźń. " * 5 + "ż").encode()[:-1])
    assert load_one(path).text == "Zażółć gęślą jaźń. " * 5 + "\ufffd"


def test_a_few_nuls_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"Aspirin\x00 helps" + b" many people" * 20)
    assert load_one(path).text.startswith("Aspirin helps")


def test_first_line_alone_is_the_title(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Pain and aspirin\n\nAspirin helps.")
    assert load_one(path).title == "Pain and aspirin"


@pytest.mark.parametrize(
    ("first", "title"),
    [
        ("TITLE: \nPain and aspirin: does it help?", "Pain and aspirin: does it help?"),
        ("Title: Pain and aspirin.", "Pain and aspirin."),
        (f"Title: {'pain ' * 40}", ("pain " * 40).strip()),
        (f"Title: {'pain ' * 100}", "a"),
        ("Titled land: who owns it,", "a"),
        ("Name: Anna Smith\nTitle: Head of Pain", "a"),
    ],
)
def test_a_first_line_may_say_what_the_title_is(tmp_path: Path, first: str, title: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{first}\n\nAspirin helps.")
    assert load_one(path).title == title
    assert load_one(path).text == "\n".join(line.strip() for line in first.split("\n")) + "\n\nAspirin helps."


def test_wrapped_lines_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "The patients of the first group were seen in the clinic at Oxford by\n"
        "Anna Smith and her colleagues, who found that the drug has a consid-\n"
        "erable effect on blood pressure in those who had taken it each day.\n"
        "Others were not seen.\n\n- a list item\n- another one\n"
    )
    paragraph, items = load_one(path).text.split("\n\n")
    assert "Oxford by Anna Smith" in paragraph
    assert "a considerable effect" in paragraph
    assert items == "- a list item\n- another one"


def test_quotations_below_each_other_stay_apart() -> None:
    comments = [
        '"I came for the clocks and stayed for the tea and the cake."',
        '"The lift is slow. I took the stairs, and then some more."',
        '"Why is the garden closed?" (four people, in other words)',
        '"My son (9) says that he wants to live here in the tower,',
        'with the bats."',
    ]
    joined = f"{comments[3]} {comments[4]}"
    assert paragraphs(comments, vocabulary(comments)) == [*comments[:3], joined]


def test_speech_within_a_wrapped_paragraph_is_joined() -> None:
    lines = [
        "The keeper opened the door of the tower and looked out.",
        '"Nobody is here," he said to the dog, which went back to',
        "sleep. The night was long and the wind did not let up.",
    ]
    assert paragraphs(lines, vocabulary(lines)) == [" ".join(lines)]


def test_wrapped_items_of_nested_lists_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text(
        "  1. Developers\n\n"
        "   Each decision of the project is made by one or more of the bodies\n"
        "   that are named below, and by no other ones.\n\n"
        "    1. Volunteers further the aims of the project and keep packages\n"
        "       for the bodies, or they do other work which the Project\n"
        "       Leader's Delegates (those of the Project and those of others)\n"
        "       value.\n"
        "    2. The term of each of the two oldest members expires on December\n"
        "       31st of that year.\n"
    )
    assert load_one(path).text.split("\n")[-2:] == [
        "1. Developers: Volunteers further the aims of the project and keep packages for the bodies, or they do other "
        "work which the Project Leader's Delegates (those of the Project and those of others) value.",
        "2. Developers: The term of each of the two oldest members expires on December 31st of that year.",
    ]


def test_wrapped_paragraph_that_begins_indented_ends_a_list(tmp_path: Path) -> None:
    path = tmp_path / "licence.txt"
    path.write_text(
        "  We protect the rights of each person who is given a copy in two\n"
        "steps, which are (1) to assert copyright on the whole program, and\n"
        "(2) to offer this licence, by which you may copy the whole program.\n\n"
        "  For the protection of its authors the licence says that there is\n"
        "no warranty, and those who are given a copy must know that.\n\n"
        "  0. Definitions.\n"
    )
    assert load_one(path).text.endswith("\n0. Definitions.")


@pytest.mark.parametrize(
    ("first", "second", "is_joined"),
    [
        ("Now, go to the Hops tab and add 1 oz Cascade at 1 hr, and 1 oz", "Cascade at 5 min. It is green.", True),
        ("this Constitution in the Government of the United Kingdom, or any", "Department or officer thereof.", True),
        ("Client: Alder Wharf Housing Co-operative, Assessor: Gareth Pugh", "Inspection: in this month.", False),
        ("The Housing of the Elderly in Alder Wharf", "Inspections are made in this month.", False),
    ],
)
def test_full_line_of_prose_is_no_title(tmp_path: Path, first: str, second: str, is_joined: bool) -> None:
    path = tmp_path / "a.txt"
    above = "The lines of this text are as long as the other ones that it has,\nand it has a few of them.\n"
    path.write_text(f"{above * 2}It is said in\n\n{first}\n{second}\n")
    assert load_one(path).text.endswith(f"{first} {second}" if is_joined else f"{first}\n{second}")


def test_markdown_front_matter_headings_and_links(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "---\ntitle: On pain\ndate: 2021-03-04\nauthors: [A. One, B. Two]\ntags: [x]\n---\n"
        "# Pain\n\nSee [the page](http://example.org/a_(b)) ![chart](c.png).<!-- no -->\n\n"
        "Aspirin\n-------\n\n```\n[kept](as it is)\n# no heading\n```\n"
    )
    document = load_one(path)
    assert (document.title, document.date, document.authors) == ("On pain", "2021-03-04", ("A. One", "B. Two"))
    assert document.metadata["tags"] == ["x"]
    assert "See the page chart." in document.text
    assert "[kept](as it is)" in document.text
    assert [heading for _, heading in document.metadata["sections"]] == ["Pain", "Aspirin"]
    assert all(document.text[start:].lstrip("# ").startswith(name) for start, name in document.metadata["sections"])


@pytest.mark.parametrize("top", ["---\n: : [\n---\n", "---\na: &x [1]\nb: *x\n---\n", "---\njust words\n---\n"])
def test_odd_front_matter_stays_text(tmp_path: Path, top: str) -> None:
    path = tmp_path / "a.md"
    path.write_text(top + "# Pain\n\nText.")
    assert load_one(path).text.startswith("---")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2021-03-04", "2021-03-04"),
        ("2021-03-04T10:00:00Z", "2021-03-04"),
        ("D:20220403195945+02'00'", "2022-04-03"),
        ("2021", "2021"),
        (2021, "2021"),
        ("2021-03", "2021-03"),
        ("4 March 2021", "2021-03-04"),
        ("March 4, 2021", "2021-03-04"),
        ("2021 Mar", "2021-03"),
        ("Thu, 04 Mar 2021 10:00:00 +0000", "2021-03-04"),
        ("2021-13-45", "2021"),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
    ],
)
def test_dates(value: object, expected: str | None) -> None:
    assert iso_date(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A. One; B. Two", ("A. One", "B. Two")),
        ("A. One and B. Two", ("A. One", "B. Two")),
        (["A. One", {"name": "B. Two"}, None, " "], ("A. One", "B. Two")),
        ("(anonymous)", ()),
        (7, ()),
    ],
)
def test_people(value: object, expected: tuple[str, ...]) -> None:
    assert people(value) == expected


@given(st.text())
def test_clean_text_is_plain_and_stable(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not set(cleaned) & set("\x00\r\x0b\x0c\u2028\ufeff")
    cleaned.encode("utf-8")


def test_the_line_above_a_stack_trace_says_what_was_raised(tmp_path: Path) -> None:
    path = tmp_path / "billing.log"
    path.write_text(
        "2024-05-03 08:15:44,871 ERROR [pool-4] Invoice - invoice 77120 was not booked\n"
        "java.lang.IllegalStateException: account 4711 is frozen\n"
        "\tat com.example.Ledger.book(Ledger.java:212)\n"
        "Caused by: java.sql.SQLException: deadlock on table postings\n"
        "\t... 17 more\n"
        "2024-05-03 08:16:00,312 INFO  [pool-4] Invoice - invoice 77121 was booked\n"
        "2024-05-03 08:17:31,650 ERROR [pool-1] Export - export to Linz failed\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/export.py", line 61, in run\n'
        "    send(batch)\n"
        "TimeoutError: no answer from 10.3.0.9 in 30 s\n"
        "2024-05-03 08:18:00,001 INFO  [main] Start - heartbeat\nErrors of the day: none\n",
        encoding="utf-8",
    )
    (document,) = load(path)
    assert isinstance(document, Document)
    lines = document.text.split("\n")
    assert lines[0].endswith(
        "invoice 77120 was not booked; java.lang.IllegalStateException: account 4711 is frozen; "
        "Caused by: java.sql.SQLException: deadlock on table postings"
    )
    assert "2024-05-03 08:16:00,312 INFO  [pool-4] Invoice - invoice 77121 was booked" in lines
    assert any(line.endswith("Linz failed; TimeoutError: no answer from 10.3.0.9 in 30 s") for line in lines)
    assert lines[-2].endswith("heartbeat")
    assert "java.lang.IllegalStateException: account 4711 is frozen" in lines


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["The options are mutually ex‐", "clusive here."], ["The options are mutually exclusive here."]),
        (["       a job with‐", "       out end"], ["       a job without end"]),
        (["set by the envi‐", "ronment"], ["set by the environment"]),
        (["by Chen‐", "Zhang"], ["by Chen-Zhang"]),
        (["a well‐made clock", "and an old well‐", "made one"], ["a well‐made clock", "and an old well-made one"]),
        (
            ["see <https://example.org/man/", "  pages.html>, too"],
            ["see <https://example.org/man/pages.html>, too"],
        ),
        (["see https://example.org/man/", "and others"], ["see https://example.org/man/", "and others"]),
        (["from 3‐", "and 4"], ["from 3‐", "and 4"]),
    ],
)
def test_words_and_addresses_that_a_typesetter_parted_are_whole(lines: list[str], text: list[str]) -> None:
    assert with_whole_words(lines) == text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["Use --dry‐", "run first."], "Use --dry-run first."),
        (["The X‐", "ray room is closed."], "The X-ray room is closed."),
        (["Hold the re‐", "sign key."], "Hold the re-sign key."),
        (["The cross‐", "country lift runs."], "The cross-country lift runs."),
        (["The long‐", "term and short‐", "term plans."], "The long-term and short-term plans."),
        (["The path lib/x86_64‐", "linux is set."], "The path lib/x86_64‐ linux is set."),
        (["The file my_old‐", "name is read."], "The file my_old-name is read."),
        (["The com‐", "mand is run by ex‐", "actly one user."], "The command is run by exactly one user."),
        (
            ["A long‐", "er cable is slow‐", "ly unrolled, as pre‐", "viously."],
            "A longer cable is slowly unrolled, as previously.",
        ),
        (["Write an e‐", "mail at once."], "Write an e-mail at once."),
        (
            ["It is writ‐", "ten here, and the re‐", "sign is void.", "You resign."],
            "It is written here, and the resign is void. You resign.",
        ),
        (
            ["The steam‐", "boat is old, and any steam", "from the boat is hot."],
            "The steam-boat is old, and any steam from the boat is hot.",
        ),
    ],
)
def test_hyphens_of_words_stay_and_their_sentences_are_whole(lines: list[str], text: str) -> None:
    assert " ".join(with_whole_words(lines)) == text


def test_a_sentence_with_a_parted_word_in_a_short_line_is_whole() -> None:
    text = "\n".join(with_whole_words(["It is old.", "The X‐", "ray room is closed.", "See the desk."]))
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "It is old.",
        "The X-ray room is closed.",
        "See the desk.",
    ]


def test_a_hyphen_of_an_option_or_address_stays_at_the_end_of_a_line() -> None:
    lines = [
        "the pages of the service, among them https://docs.example.com/en-",
        "us/rest, have it",
        "as --s3-use-",
        "new",
    ]
    found = " ".join(paragraphs(lines, vocabulary([*lines, "new uses"])))
    assert "https://docs.example.com/en-us/rest" in found
    assert "--s3-use-new" in found


def test_a_manual_has_its_words_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    line = (
        "       which the program has read before it begins its work of the day, and so ex‐\n       actly {n} times.\n"
    )
    path.write_text("NAME\n       clock - a tool\n\n" + "\n".join(line.format(n=n) for n in range(8)))
    text = load_one(path).text
    assert "so exactly 7 times." in text
    assert "‐" not in text


def test_a_rule_is_no_title(tmp_path):
    path = tmp_path / "faq.txt"
    path.write_text("---------*-indented-text-*---------\n\n    The Converter\n", encoding="utf-8")
    assert "-*-" not in load_one(path).title


def test_dated_entries_stay_on_their_lines(tmp_path):
    """Joined to a paragraph as prose is, each entry would begin with the year of the one before."""
    entries = (
        "04/28\tThe president of the young republic resigns in the capital, 1969",
        "04/29\tZipper patented by an engineer in the north of the country, 1913",
        "04/30\tThe first steam ferry crosses the bay with ninety passengers, 1845",
        "05/01\tBeltaine",
    )
    prose = "The council of the town met for the first time in the new hall and\nelected its chair."
    path = tmp_path / "calendar.txt"
    path.write_text("\n".join(entries) + f"\n\n{prose}\n", encoding="utf-8")
    document = load_one(path)
    assert all(entry in document.text.split("\n") for entry in entries)
    assert prose.replace("\n", " ") in document.text
