"""What "it", "he" and "she" of a follow-up stand for."""

import pytest

from preflight_rag.conversation.antecedents import names_no_topic, second_question_refers_to_first
from preflight_rag.conversation.follow_ups import has_unresolved_reference, standalone

FALK = "What did Ingrid Falk find wrong with the figurehead?"
CONSERVATOR = "What did the conservator find when she examined the figurehead?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (FALK, "why did it crack?", "why did the figurehead crack?"),
        (CONSERVATOR, "why did it crack?", "why did the figurehead crack?"),
        ("When did Dr Falk examine the bell?", "How heavy is it?", "How heavy is the bell?"),
        ("Who repaired the clock?", "How old is it?", "How old is the clock?"),
        ("What did we pay for the harbour chart last year?", "Where is it?", "Where is the harbour chart?"),
        ("Did the trustees sell the steam pinnace?", "How long is it?", "How long is the steam pinnace?"),
        ("How much will the treatment cost?", "And how long will it take?", "How long will the treatment take?"),
        ("When does the café lease end?", "Can it be renewed?", "Can the café lease be renewed?"),
        ("How long is the crack in the figurehead?", "Is it new?", "Is the crack in the figurehead new?"),
        ("Where is the oilskin coat kept?", "Who gave it?", "Who gave the oilskin coat?"),
        ("Who was absent at the shanty evening?", "What did it cost?", "What did the shanty evening cost?"),
        ("How many stores did Ulta Beauty close?", "How many did it open?", "How many stores did Ulta Beauty open?"),
    ],
)
def test_it_means_the_thing_of_the_question_before(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("Who is Ingrid Falk?", "why did it crack?"),
        ("Where is Ingrid Falk?", "how large is it?"),
        ("When did Ingrid Falk start?", "why did it crack?"),
        ("How much did Ingrid Falk charge?", "when was it paid?"),
        ("Who is the treasurer?", "how large is it?"),
        ("What did Ingrid say?", "why did it crack?"),
        # Either of two may be meant.
        ("When did the museum buy the chart?", "how large is it?"),
        ("What did Foot Locker pay for the warehouse?", "how large is it?"),
        ("What did the council say about the bridge at the meeting?", "when was it closed?"),
        # An event or an amount, and not the thing.
        (FALK, "when did it happen?"),
        ("How much will the treatment cost?", "why is it so high?"),
        ("How long does it take to repair the roof?", "How much does it cost?"),
    ],
)
def test_it_stays_where_it_may_mean_something_else_and_is_never_a_person(question, message):
    assert standalone(message, [question]) == f"{question} {message}"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("What is the condition of the figurehead?", "why did it crack?", "why did the figurehead crack?"),
        ("What is the figurehead's condition?", "why did it crack?", "why did the figurehead crack?"),
        ("What is the price of the boat?", "How long is it?", "How long is the boat?"),
        ("What is the date of the fair?", "Where is it?", "Where is the fair?"),
        ("What is the name of the ship?", "When was it built?", "When was the ship built?"),
        (
            "What is the condition of the figurehead?",
            "did it improve?",
            "did the condition of the figurehead improve?",
        ),
        ("What is the price of the boat?", "When was it raised?", "When was the price of the boat raised?"),
        ("What is the date of the fair?", "Why was it moved?", "Why was the date of the fair moved?"),
        ("What is the capital of the county?", "How old is it?", "How old is the capital of the county?"),
        ("What is Amcor's rent for the yard?", "When will it be paid?", "When will Amcor's rent for the yard be paid?"),
        ("What is the salary of Tom Brodie?", "Is it taxed?", "Is the salary of Tom Brodie taxed?"),
    ],
)
def test_it_means_what_a_price_or_condition_belongs_to_unless_the_verb_suits_the_price(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("earlier", "message", "expected"),
    [
        ([CONSERVATOR], "When did she write the report?", "When did the conservator write the report?"),
        (
            [FALK, "how much will the treatment cost?", "And how long will it take?"],
            "when did she write the report?",
            "when did Ingrid Falk write the report?",
        ),
        ([CONSERVATOR, "How much is the tour?"], "What did she advise?", "What did the conservator advise?"),
        (["Where does Tom Brodie work?", "How old is the clock?"], "Is he ill?", "Is Tom Brodie ill?"),
    ],
)
def test_she_means_the_last_person_spoken_of(earlier, message, expected):
    assert standalone(message, earlier) == expected


@pytest.mark.parametrize(
    ("earlier", "people"),
    [
        ([FALK, "Who repaired the clock?"], []),
        ([FALK, "When did Mary Bell and Ada Byron meet?", "How old is the clock?"], []),
        ([FALK, "How old is the clock?"], ["Ada Byron"]),
        ([FALK, *["How old is the clock?", "How large is the hall?"] * 3], []),
    ],
)
def test_she_stays_if_another_person_came_between_or_much_else(earlier, people):
    assert "Falk" not in standalone("When did she come?", earlier, people)


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (
            "When was the last meeting of the trustees?",
            "who was absent?",
            "who was absent at the last meeting of the trustees?",
        ),
        (
            "What did the trustees decide at the meeting in March 2025?",
            "Who was present?",
            "Who was present at the meeting in March 2025?",
        ),
        ("When does the meeting of the trustees start?", "who came?", "who came to the meeting of the trustees?"),
        ("Where was the flood drill held?", "who took part?", "who took part in the flood drill?"),
        ("When was the annual conference?", "And who chaired?", "who chaired the annual conference?"),
        ("When is the shanty evening?", "where?", "Where is the shanty evening?"),
        ("Who was absent at the meeting in March?", "where?", "Where was the meeting in March?"),
    ],
)
def test_people_and_places_are_asked_of_the_occasion_before(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("What is dengue?", "who was absent?"),
        ("Who was elected chair?", "when?"),
        ("Who was napoleon?", "where?"),
    ],
)
def test_without_an_occasion_the_question_before_stays_as_it_is(question, message):
    assert standalone(message, [question]) == f"{question} {message}"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Did the trustees agree to close on Tuesdays?", "Why didn't the trustees agree to close on Tuesdays?"),
        ("Is flash photography allowed?", "Why isn't flash photography allowed?"),
        ("Can dogs enter the galleries?", "Why can't dogs enter the galleries?"),
        ("And will the café open in the evening?", "Why won't the café open in the evening?"),
        ("Was the post filled or not?", "Why wasn't the post filled?"),
        # No yes-no question, or one that denies something already.
        ("When does the hall open?", "When does the hall open? why not?"),
        ("Was the post not filled?", "Was the post not filled? why not?"),
    ],
)
def test_why_not_asks_for_the_reason_of_a_no(question, expected):
    assert standalone("why not?", [question]) == expected


@pytest.mark.parametrize(
    "question",
    [
        "When is the harvest supper and how much is it?",
        "When is dinner and where is it served?",
        "Who is the treasurer and how long has she served?",
        "How old is the organ, and who built it?",
        "Where are the tickets sold and how much are they?",
        "Where is Mill Lane; when was it closed?",
    ],
)
def test_the_second_half_of_a_question_means_what_the_first_half_names(question):
    assert second_question_refers_to_first(question)
    assert not has_unresolved_reference(question)
    # Whatever the conversation spoke of before is not meant.
    assert standalone(question, ["Where is the figurehead of Ingrid Falk?"]) == question


@pytest.mark.parametrize(
    "question",
    [
        "How much is it?",
        "When was it carved and who carved it?",
        "What happened and how did it break?",
        "Who are the trustees and what will it cost?",
        "How old is the organ and what did she say?",
        "When was the organ built?",
    ],
)
def test_a_pronoun_that_the_first_half_does_not_explain_is_sought_before(question):
    assert not second_question_refers_to_first(question)


def test_only_the_first_half_of_a_question_is_completed_where_it_has_the_pronoun():
    asked = standalone("When was it carved and who carved it?", ["Where is the figurehead?"])
    assert asked == "When was the figurehead carved and who carved it?"


@pytest.mark.parametrize(
    ("earlier", "message", "expected"),
    [
        (["What happened to Seagull in May?", "Did anyone get hurt?"], "Who mended it?", "Who mended Seagull?"),
        (["What happened to the organ?", "Was anybody hurt?"], "How old is it?", "How old is the organ?"),
        (["Where is the bell?", "What happened then?", "Who complained?"], "Is it old?", "Is the bell old?"),
    ],
)
def test_it_means_the_thing_before_a_question_that_names_nothing(earlier, message, expected):
    assert standalone(message, earlier) == expected


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        # A person; another thing, or another person, in between; what happened, and not the thing.
        (["What did Ingrid Falk say?", "Was anybody hurt?"], "Who repaired it?"),
        (["What happened to the organ?", "Who is the vicar?"], "Who repaired it?"),
        (["What happened to the organ?", "Did anybody buy tickets?"], "Who made it?"),
        (["What happened to the organ?", "Was anybody hurt?"], "When was it?"),
    ],
)
def test_it_stays_where_what_came_between_may_be_meant(earlier, message):
    assert standalone(message, earlier).endswith(message)


def test_a_question_names_nothing_only_if_no_noun_is_left_over():
    assert names_no_topic("Was anybody badly hurt?")
    assert names_no_topic("Who complained?")
    assert not names_no_topic("Was anybody hurt in the hall?")
    assert not names_no_topic("Did anybody see Ingrid?")


ASKED_FOR = "How much did the choir ask the Arts Fund for?"
PAID = "How much did the choir pay Smith Organs?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (ASKED_FOR, "And how much did it get?", "How much did the choir get from the Arts Fund?"),
        (ASKED_FOR, "How much did it give?", "How much did Arts Fund give?"),
        ("How much did the choir ask for?", "How much did it receive?", "How much did the choir receive?"),
        (PAID, "How much did it pay in 2021?", "How much did the choir pay in 2021?"),
    ],
)
def test_who_asks_for_money_is_who_gets_it(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize("message", ["When did it move?", "Why will it close?"])
def test_it_stays_where_either_of_two_bodies_may_be_meant(message):
    assert "did Smith" not in standalone(message, [PAID])
    assert standalone(message, [PAID]).endswith(message)


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("Who signed the lease for the School?", "When was it made?", "When was the lease made?"),
        ("Who wrote the letter to the mayor?", "When was it sent?", "When was the letter to the mayor sent?"),
        ("Who runs the Museum?", "When was it built?", "When was the Museum built?"),
        ("What was wrong with the organ?", "How old is it?", "How old is the organ?"),
        ("What happened to Seagull in May 2023?", "Who built it?", "Who built Seagull?"),
    ],
)
def test_a_common_noun_with_a_capital_is_no_name(question, message, expected):
    assert standalone(message, [question]) == expected


def test_a_document_is_not_meant_where_something_else_is_said_of_it():
    asked = standalone("How old is it?", ["Who signed the lease for the School?"])
    assert asked == "Who signed the lease for the School? How old is it?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("Who created Mole's Maze?", "When was it published?", "When was Mole's Maze published?"),
        ("How many levels does Mole's Maze have?", "When was it sold?", "When was Mole's Maze sold?"),
        ("Which ferry was Seagull?", "How long was it?", "How long was Seagull?"),
        ("What is pewter?", "Does it rust in Norway?", "Does pewter rust in Norway?"),
        ("Does pewter rust in Norway?", "Who uses it?", "Who uses pewter?"),
        ("What was pewter called before it was renamed?", "Who uses it?", "Who uses pewter?"),
        ("Why was pewter banned?", "Who uses it?", "Who uses pewter?"),
    ],
)
def test_it_means_the_name_or_the_single_word_that_a_question_is_about(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        # A house that only the answer names; a day; a word for no thing; what a question in between calls "it".
        (["Which house used the most heat?"], "How much did it use?"),
        (["Who proposed the longer Saturdays?"], "Who was against it?"),
        (["What is new?"], "Who wrote it?"),
        (["How is the bell rung?", "Why is that?", "Does it ring in Norway?"], "Who made it?"),
    ],
)
def test_it_stays_where_no_thing_is_named(earlier, message):
    assert standalone(message, earlier).endswith(message)


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("How old must a senator be?", "When must he resign?", "When must a senator resign?"),
        ("How long is the term of a judge?", "Can she be removed?", "Can a judge be removed?"),
        ("How much notice must a member give?", "When must he pay?", "When must a member pay?"),
        ("What did the vicar tell a visitor?", "Where was she?", "Where was the vicar?"),
        ("How is the Abbey Choir Leader chosen?", "Can he resign?", "Can the Abbey Choir Leader resign?"),
    ],
)
def test_he_is_whoever_holds_the_role_that_was_asked_about(question, message, expected):
    assert standalone(message, [question]) == expected


def test_nobody_of_a_quote_is_meant_by_he_after_a_question_about_anybody():
    assert (
        standalone("How old must he be?", ["When may a senator speak?"], ["Ada Byron"]) == "How old must a senator be?"
    )
    assert "the vicar" not in standalone("How old is he?", ["When may the vicar speak?"], ["Ada Byron"]).split("? ")[1]


def test_two_roles_leave_it_open_whom_he_means():
    assert standalone("How old is he?", ["Can a senator be a judge?"]) == "Can a senator be a judge? How old is he?"


@pytest.mark.parametrize("question", ["What is available for children?", "What is free for members?"])
def test_a_state_is_no_thing_that_it_means(question):
    assert standalone("Does it cost extra?", [question]) == f"{question} Does it cost extra?"


def test_a_kind_of_thing_with_an_adjective_is_what_it_means():
    assert standalone("Does it cost extra?", ["What is special education?"]) == "Does special education cost extra?"
