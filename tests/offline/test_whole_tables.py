"""Rows of whole tables in the order of a column: none is left out, and no order is claimed of an unsure table."""

from __future__ import annotations

import pytest

from preflight_rag.offline.whole_tables import extreme_of_whole_tables, has_tables_to_order
from preflight_rag.state.reading import Source

PRICES = [
    f"Article: KF-{number} | Name: {name} | Price EUR: {price} | Stock: {stock}"
    for number, name, price, stock in (
        (101, "Honey Crunch", "10,5", "420"),
        (102, "Almond Bite", "9,25", "1.250"),
        (103, "Oat Classic", "9,1", "80"),
    )
]
FAQ = Source(2, "f", "Questions of customers", "All bars but Honey Crunch are vegan.", document_id="f")
TOOLS = [
    "Tools. | Tool: Saw | Price: 40 | Where: shed",
    "Tool: Drill | Price: 90 | Where: cellar",
    "Tools. | Tool: Crane | Price: 900 | Where: yard",
    "Tool: File | Price: 7 | Where: shed",
    "Tools. | Tool: Awl | Price: 5 | Where: shed",
]
PETS = ["Fees. | Item: Nails | Dog: 17 | Cat: 15", "Item: Chip | Dog: 24 | Cat: –", "Item: Bath | Dog: 30 | Cat: 40"]


def source(lines, *, n=1, document="d", title="stock", file="", start=0):
    text = "\n".join(lines)
    return Source(n, f"{document}{n}", title, text, source=file, document_id=document, start=start)


def ordered(question, *tables):
    draft = extreme_of_whole_tables(question, tables, tables, "LEAD")
    return draft and [quote for _, quote in draft.quotes]


def lead(question, *tables):
    return extreme_of_whole_tables(question, tables, tables, "LEAD").text.split("\n")[0]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Which article is the cheapest?", "Oat Almond Honey"),
        ("What is the most expensive article?", "Honey Almond Oat"),
        ("Which article costs the most?", "Honey Almond Oat"),
        ("Which article is the second cheapest?", "Oat Almond Honey"),
        ("Which article is the second most expensive?", "Honey Almond Oat"),
        ("Which article has the highest stock?", "Almond Honey Oat"),
        ("Which product has the lowest price?", "Oat Almond Honey"),
        ("Which bar is the cheapest?", "Oat Almond Honey"),
    ],
)
def test_rows_are_ordered_by_the_column_that_is_asked_for(question, order):
    draft = extreme_of_whole_tables(question, [source(PRICES), FAQ], [source(PRICES)], "LEAD")
    assert [quote.split("Name: ")[1].split()[0] for _, quote in draft.quotes] == order.split()
    assert draft.text.startswith("Rows found, the ")
    assert not draft.claims


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_a_row_with_the_caption_before_it_counts_in_whatever_passage_it_stands(cut):
    first, second = source(TOOLS[:cut]), source(TOOLS[cut:], n=2, start=500)
    by_price = [TOOLS[place] for place in (2, 1, 0, 3, 4)]
    assert ordered("Which tool is the most expensive?", second, first) == by_price
    assert ordered("Which tool is the cheapest?", first, second) == by_price[::-1]
    assert lead("Which tool is the cheapest?", first, second) == "Rows found, the lowest “Price” first:"


def test_a_heading_within_a_table_ends_it_not():
    assert len(ordered("Which tool is the cheapest?", source([*TOOLS[:2], "For hire", *TOOLS[3:4]]))) == 3


def test_a_row_without_its_label_belongs_to_the_table():
    assert "Price: 950 | Where: yard" in ordered(
        "Which tool is the cheapest?", source([*TOOLS, "Price: 950 | Where: yard"])
    )


def test_a_sum_of_rows_is_no_row():
    assert ordered("Which tool is the most expensive?", source([*TOOLS, "Tool: Total | Price: 1042"]))[0] == TOOLS[2]


def test_rows_of_another_kind_are_not_shown():
    phones = Source(3, "h", "Handbook", "Private use of the phone is allowed.", document_id="h")
    assert ordered("Which phone is the cheapest?", source(PRICES), phones) is None


@pytest.mark.parametrize("prices", [("1,95", "2.30"), ("1.95 EUR", "2.30 USD"), ("1.95", "on request")])
def test_figures_that_cannot_be_compared_leave_rows_in_their_order(prices):
    rows = [f"Name: {name} | Price: {price}" for name, price in zip("AB", prices, strict=True)]
    assert lead("Which item is the cheapest?", source(rows)) == "LEAD"
    assert ordered("Which item is the cheapest?", source(rows)) == rows


def test_what_a_price_is_for_may_be_a_column():
    assert ordered("Which item is the cheapest for a cat?", source(PETS)) == [PETS[0], PETS[2]]
    assert ordered("Which item costs the most for a dog?", source(PETS)) == PETS[::-1]


def test_words_that_only_some_rows_have_leave_the_others_out():
    assert ordered("Which shed tool is the most expensive?", source(TOOLS)) == [TOOLS[0], TOOLS[3], TOOLS[4]]


def test_no_order_is_claimed_where_a_word_of_the_question_is_nowhere():
    assert lead("Which plastic tool is the cheapest?", source(TOOLS)) == "LEAD"


def test_the_list_that_a_question_names_is_the_only_one():
    hire = ["Hire. | Machine: Digger | Price: 70", "Machine: Roller | Price: 60"]
    lists = [source(TOOLS, title="Shop"), source(hire, n=2, document="e", title="Shop")]
    assert ordered("What is the cheapest item on the hire list?", *lists) == hire[::-1]
    fees = source(PETS, n=3, document="g", title="Shop")
    assert lead("What is the cheapest item on the fees list?", *lists, fees) == "LEAD"
    assert ordered("What is the cheapest item on the fees list?", *lists, fees) == PETS


def test_two_editions_are_shown_the_newest_first_and_no_order_is_claimed():
    old = source([row.replace("900", "800") for row in TOOLS], title="Tools 2023")
    new = source(TOOLS, n=2, document="e", title="Tools 2024")
    rows = ordered("Which tool is the most expensive?", old, new)
    assert rows.index(TOOLS[2]) < rows.index(TOOLS[2].replace("900", "800"))
    assert lead("Which tool is the most expensive?", old, new) == "LEAD"


@pytest.mark.parametrize(
    ("question", "leads"),
    [
        ("Which device is the cheapest?", "LEAD"),
        ("Which tool is the cheapest?", "Rows found, the lowest “Price” first:"),
    ],
)
def test_an_older_edition_that_calls_the_rows_so_is_not_shown_alone(question, leads):
    old = source([row.replace("Tool:", "Device:").replace("Tools.", "All.") for row in TOOLS], title="Fees 2023")
    new = source(TOOLS, n=2, document="e", title="Fees 2024")
    assert lead(question, old, new) == leads
    assert ordered(question, old, new)[0] == TOOLS[4]  # the newest document's


def test_the_edition_that_a_question_names_is_the_only_one():
    old = source([row.replace("Tool:", "Device:") for row in TOOLS], title="Fees 2023")
    new = source(TOOLS, n=2, document="e", title="Fees 2024")
    assert lead("Which device on the 2023 list is the cheapest?", old, new) == "Rows found, the lowest “Price” first:"


def test_a_column_without_figures_measures_nothing():
    rights = ["Role: Nurse | Prices: read | Drug ledger: read", "Role: Vet | Prices: read | Drug ledger: write"]
    assert ordered("Which drug is the most expensive?", source(rights)) is None


def test_a_list_beside_it_under_the_same_name_is_not_left_out():
    hire = ["Tools. | Machine: Digger | Per day: 70 | Per week: 300", "Machine: Roller | Per day: 60 | Per week: 200"]
    rows = ordered("Which of the tools is the most expensive?", source([*TOOLS, *hire]))
    assert rows == [TOOLS[2], TOOLS[1], TOOLS[0], *hire]
    assert lead("Which of the tools is the most expensive?", source([*TOOLS, *hire])) == "LEAD"


WASHING = [
    "Programme: Wool | Heat: 30 °C | Spin: 4 min | Total time: 58 min",
    "Programme: Quick | Heat: 40 °C | Spin: 6 min | Total time: 17 min",
    "Programme: Linen | Heat: 95 °C | Spin: 5 min | Total time: 90 min",
]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("What is the longest programme?", (2, 0, 1)),
        ("Which programme takes the longest?", (2, 0, 1)),
        ("Which programme is the shortest?", (1, 0, 2)),
    ],
)
def test_the_longest_has_the_highest_of_the_times(question, order):
    assert ordered(question, source(WASHING)) == [WASHING[place] for place in order]


def test_two_columns_of_times_say_not_which_is_meant():
    rows = [row.replace("Total time", "Drying") for row in WASHING]
    assert ordered("What is the longest programme?", source(rows)) is None


@pytest.mark.parametrize("question", ["What is a programme?", "Which city has the highest rents?", "Why?"])
def test_other_questions_are_left_to_others(question):
    assert ordered(question, source(WASHING)) is None


def test_a_row_with_all_groups_as_columns_needs_no_order():
    row = source(["Table 3. | Falls | Drug A: 3 | Drug B: 4"], title="Trial of A")
    assert not has_tables_to_order("Which drug had the most falls?", [row])
    assert has_tables_to_order("Which tool is the cheapest?", [source(TOOLS)])


def test_people_are_in_a_column_of_names():
    staff = ["Name: Ann | Role: Cook | Salary: 20", "Name: Ben | Role: Clerk | Salary: 31"]
    assert ordered("Who has the highest salary?", source(staff)) == staff[::-1]
    assert ordered("Who had the fewest tools?", source(TOOLS)) is None
    assert ordered("Who is the tallest?", source(staff)) is None


WALKS = [
    "Walk: Lake | Distance (km): 12 | Break: 2 hours",
    "Walk: Ridge | Distance (km): 22 | Break: 4 hours",
    "Walk: Mill | Distance (km): 5 | Break: 9 hours",
]
TRIPS = ["Trip: Lake | Distance: 12 km | Days: 3", "Trip: Ridge | Distance: 22 km | Days: 1"]


def test_the_time_of_a_part_measures_no_walk():
    assert ordered("Which walk is the longest?", source(WALKS)) is None
    assert ordered("Which walk takes the longest?", source(WALKS)) is None
    without = [row.split(" | Break")[0] for row in WALKS]
    assert ordered("Which walk is the longest?", source(without)) == [without[1], without[0], without[2]]
    assert ordered("Which walk takes the longest?", source(without)) is None


def test_a_distance_and_a_time_leave_open_what_is_long():
    assert ordered("Which trip is the longest?", source(TRIPS)) is None
    assert ordered("Which trip takes the longest?", source(TRIPS)) == TRIPS
    assert ordered("Which trip lasts the shortest?", source(TRIPS)) == TRIPS[::-1]


def test_the_year_of_a_film_is_not_how_long_it_is():
    films = ["Film: Dawn | Year: 1999", "Film: Dusk | Year: 2004"]
    assert ordered("Which film is the longest?", source(films)) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Flow rate: 30", "Flow rate: 50"),
        ("Rate: 0.5", "Rate: 1.5"),
        ("Interest rate per month: 5", "Interest rate per month: 7"),
        ("Cost centre: 4711", "Cost centre: 4702"),
        ("Price code: 12", "Price code: 11"),
        ("Charge no.: 12", "Charge no.: 11"),
        ("Battery charge: 300", "Battery charge: 400"),
        ("Delivery charge: 3", "Delivery charge: 4"),
    ],
)
def test_figures_that_are_no_price_order_no_rows(first, second):
    assert ordered("Which thing is the cheapest?", source([f"Thing: A | {first}", f"Thing: B | {second}"])) is None


@pytest.mark.parametrize("column", ["Rate per night", "Rate (EUR)", "Nightly fee", "Entrance fee", "Price 2024"])
def test_what_the_thing_itself_costs_orders_rows(column):
    rows = [f"Room: A | {column}: 40 | Heat rate: 1", f"Room: B | {column}: 30 | Heat rate: 2"]
    if "ate" in column.split()[0]:
        rows = [row.split(" | Heat")[0] for row in rows]
    assert ordered("Which room is the cheapest?", source(rows)) == rows[::-1]


def test_a_rate_is_no_price_where_another_column_is():
    rows = ["Account: Basic | Rate: 0.5 | Monthly fee: 9", "Account: Young | Rate: 2.5 | Monthly fee: 3"]
    assert lead("Which account is the cheapest?", source(rows)) == "Rows found, the lowest “Monthly fee” first:"


@pytest.mark.parametrize("word", ["nil", "free", "none", "0", "Free of charge"])
def test_what_is_free_is_the_cheapest(word):
    rows = ["Parking: Morning | Price: £5", "Parking: Noon | Price: £4", f"Parking: Night | Price: {word}"]
    assert ordered("Which parking is the cheapest?", source(rows)) == rows[::-1]
    assert ordered("Which parking is the most expensive?", source(rows)) == rows


@pytest.mark.parametrize("word", ["-", "n/a", "–"])
def test_a_row_without_a_price_may_be_the_cheapest(word):
    rows = ["Parking: Morning | Price: 5", "Parking: Noon | Price: 4", f"Parking: Night | Price: {word}"]
    assert lead("Which parking is the cheapest?", source(rows)) == "LEAD"
    assert ordered("Which parking is the cheapest?", source(rows)) == rows
    assert ordered("Which parking is the most expensive?", source(rows)) == rows[:2]


def test_a_number_of_things_may_be_compared():
    rows = ["Team: Red | Number of goals: 3", "Team: Blue | Number of goals: 7"]
    assert ordered("Which team has the highest number of goals?", source(rows)) == rows[::-1]
