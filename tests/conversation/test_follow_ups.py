"""Follow-up questions by rule."""

import pytest

from preflight_rag.conversation.follow_ups import (
    continued_documents,
    has_unresolved_reference,
    may_mean_several,
    new_names,
    people_in_last_answer,
    standalone,
)
from preflight_rag.conversation.repeated_answers import adds_nothing, repeats
from preflight_rag.state.reading import Earlier, Rewrite, Source
from preflight_rag.state.values import Citation
from preflight_rag.text.headers import SEVERAL

ADULTS = "What is the normal heart rate of adults?"


@pytest.mark.parametrize(
    ("earlier", "message", "expected"),
    [
        ([], "  Why is\nthe sky blue? ", "Why is the sky blue?"),
        ([ADULTS], "and in children?", "What is the normal heart rate in children?"),
        ([ADULTS, "and in children?"], "and in newborns?", "What is the normal heart rate in newborns?"),
        ([ADULTS], "what about infants?", "What is the normal heart rate of infants?"),
        (
            ["How much was the rent for a half plot in 2022?", "and in 2023?"],
            "and for a full plot?",
            "How much was the rent for a full plot in 2023?",
        ),
        (
            ["Who will be the new CEO of Foot Locker?"],
            "How old is she?",
            "Who will be the new CEO of Foot Locker? How old is she?",
        ),
        (["Who was the wife of John Smith?"], "Was she ill?", "Who was the wife of John Smith? Was she ill?"),
        (["Who is Iwan Roberts?"], "Where was he born?", "Where was Iwan Roberts born?"),
        (["Who is the chair?"], "And Daniel Okafor, what does he do?", "What does Daniel Okafor do?"),
        ([], "Mill Hall, how large is it?", "How large is Mill Hall?"),
        (["How is pneumonia treated?"], "and in children?", "How is pneumonia treated in children?"),
        (["How high is Mount Everest?"], "What about K2?", "How high is K2?"),
        (["What was the mean age in the placebo group?"], "and with naproxen?", "What was the mean age with naproxen?"),
        (["How many recovered in the drug arm?"], "and in the placebo arm?", "How many recovered in the placebo arm?"),
        (
            ["What was the mean age of placebo patients in the etoricoxib trial?"],
            "and with naproxen?",
            "What was the mean age of naproxen patients in the etoricoxib trial?",
        ),
        (["Did pain fall with aspirin?"], "and with placebo?", "Did pain fall with placebo?"),
        (["What are tides?"], "why do they differ?", "What are tides? why do they differ?"),
        (
            ["What are tides?", "why do they differ?"],
            "And why is that?",
            "What are tides? why do they differ? And why is that?",
        ),
        (["What is dengue?"], "What are the symptoms?", "What is dengue? What are the symptoms?"),
        (["What is dengue?"], "side effects", "What is dengue? side effects"),
        (
            ["Does etoricoxib help after surgery?"],
            "And which dose was given?",
            "Does etoricoxib help after surgery? And which dose was given?",
        ),
        (
            ["Does etoricoxib help after surgery?"],
            "How many women were included?",
            "Does etoricoxib help after surgery? How many women were included?",
        ),
        (["What is dengue?"], "How many moons of Saturn were there?", "How many moons of Saturn were there?"),
        (
            ["Where is the hall?"],
            "How many parking spaces are there?",
            "Where is the hall? How many parking spaces are there?",
        ),
        (["How much is the rent a month?"], "And a flat?", "How much is the rent a month? And a flat?"),
        (
            ["Who is the wife of the late John Smith?"],
            "Is she ill?",
            "Who is the wife of the late John Smith? Is she ill?",
        ),
        (["Where is the garden shed?"], "How large is it?", "How large is the garden shed?"),
        (["What is dengue?"], "How many moons were there?", "What is dengue? How many moons were there?"),
        (["What is dengue?"], "How many moons of Saturn were found?", "How many moons of Saturn were found?"),
        (["What is dengue?"], "What year was penicillin discovered?", "What year was penicillin discovered?"),
        (["What is dengue?"], "Which cities were built by the Romans?", "Which cities were built by the Romans?"),
        (["Where was Iwan Roberts born?"], "When?", "When was Iwan Roberts born?"),
        (["At how many sites was it tried?"], "In how many countries?", "In how many countries was it tried?"),
        (
            ["How many women were recruited in Lund?"],
            "In how many clinics?",
            "In how many clinics were women recruited in Lund?",
        ),
        (["What is Ada Byron's book called?"], "When was it published?", "When was Ada Byron's book published?"),
        (["Where was Iwan Roberts born?"], "How tall is he?", "How tall is Iwan Roberts?"),
        (
            ["How many stores did Ulta open in 2022?"],
            "How many did it close?",
            "How many stores did Ulta close in 2022?",
        ),
        (
            ["Who is the chief executive officer of MGM?"],
            "And the chief financial officer?",
            "Who is the chief financial officer of MGM?",
        ),
        (["What was the adjusted EBIT in 2023?"], "And adjusted EPS?", "What was the adjusted EPS in 2023?"),
        (["Which dose of aspirin was given to men?"], "And of naproxen?", "Which dose of naproxen was given to men?"),
        (
            ["What share of patients on etoricoxib recovered?"],
            "And with placebo?",
            "What share of patients with placebo recovered?",
        ),
        (
            ["How many took part in the yoga trial?"],
            "How old were the women?",
            "How many took part in the yoga trial? How old were the women?",
        ),
        (["What were Amcor’s net sales in 2023?"], "And what was net income?", "What was net income of Amcor in 2023?"),
        (["What were Ulta Beauty's net sales?"], "Who is the CFO?", "Who is the CFO of Ulta Beauty?"),
        (["Who is the CEO of Amcor?"], "And who is the auditor?", "Who is the auditor of Amcor?"),
        (["What did Corie Barry say of Best Buy?"], "Who is the CFO?", "Who is the CFO?"),  # one owner, or none
        (
            ["What was net income of Ulta Beauty in 2022?"],
            "How many stores did it operate?",
            "How many stores did Ulta Beauty operate in 2022?",
        ),
        (["What was the weight of the Kestrel?"], "What is its length?", "What is Kestrel’s length?"),
        (["What is the capital of Georgia?"], "How old is it?", "How old is the capital of Georgia?"),
        (
            ["What is the capital of Georgia?"],
            "How many people does it have?",
            "How many people does the capital of Georgia have?",
        ),
        (["How many stores were open?"], "Who is the CEO?", "Who is the CEO?"),
        (["How tall is Mount Everest?"], "And what was the dose?", "How tall is Mount Everest? And what was the dose?"),
        (["Is it safe?"], "What dose of gadobenate was given?", "What dose of gadobenate was given?"),
        (
            ["How many took part in the yoga trial?"],
            "How many of the women were included?",
            "How many took part in the yoga trial? How many of the women were included?",
        ),
        (["What is dengue?"], "What is IFITM?", "What is IFITM?"),
        (["What is dengue?"], "Who discovered penicillin?", "Who discovered penicillin?"),
        (["What is dengue?"], "How do bats find their way?", "How do bats find their way?"),
        (["What is dengue?"], "How long does it take to boil an egg?", "How long does it take to boil an egg?"),
    ],
)
def test_a_follow_up_is_joined_with_the_question_that_it_leans_on(earlier, message, expected):
    assert standalone(message, earlier) == expected


@pytest.mark.parametrize(
    "message",
    [
        "What does insulin do?",
        "What do enzymes do?",
        "How can aspirin be?",
        "Which items are below their reorder level?",
        "Which projects cost more than their budget?",
        "Which branch exceeded its budget?",
        "Are there any items below their reorder level?",
        "How many women kept their weight?",
    ],
)
def test_a_question_that_names_its_own_subject_leaves_the_last_topic(message):
    assert standalone(message, ["What is dengue?"]) == message


@pytest.mark.parametrize(
    "message",
    [
        "And what does insulin do?",
        "What did patients do?",
        "What did the authors do?",
        "What do they do?",
        "What about the side effects?",
        "How old is she?",
        "Which part of their budget was spent?",
        "Which dose did they get of their drug?",
        "What were their results?",
    ],
)
def test_a_question_about_what_was_just_spoken_of_keeps_the_last_topic(message):
    assert standalone(message, ["Who has dengue?"]) == f"Who has dengue? {message}"


def test_the_same_question_again_means_the_same() -> None:
    assert standalone("What does insulin do?", ["What does insulin do?"]) == "What does insulin do?"


def test_the_only_word_of_a_question_is_looked_for_everywhere() -> None:
    assert new_names("What does insulin do?") == ["insulin"]
    assert new_names("How old is she?") == []
    assert new_names("And why?") == []
    # The "and" within a word joins nothing.
    assert new_names("What does sand do?") == ["sand"]


def test_a_year_and_a_word_for_a_document_are_looked_for_everywhere() -> None:
    assert new_names("and in 2023?") == ["2023"]
    assert new_names("what about in the contract?") == ["contract"]


def test_a_pronoun_becomes_the_person_whom_the_answer_names():
    asked = ["Who will lead the bank?"]
    assert standalone("How old is she?", asked, ["Mary N. Dillon"]) == "How old is Mary N. Dillon?"
    assert standalone("What is her salary?", asked, ["Mary N. Dillon"]) == "What is Mary N. Dillon’s salary?"
    two = standalone("How old is she?", asked, ["Mary N. Dillon", "Ada Byron"])
    assert two == "Who will lead the bank? How old is she?"


def test_people_are_read_off_the_headline_or_else_the_first_quote():
    quote = "Mary N. Dillon, former Chief Executive Officer of Ulta Beauty, Inc., was appointed on Monday."
    quoted = Earlier("Who leads Foot Locker?", "Most relevant passages:", (Source(1, "p", "t", quote),))
    assert people_in_last_answer(quoted) == ["Mary N. Dillon"]
    assert people_in_last_answer(Earlier("Who leads it?", "Ada Byron [1]\n\nAda Byron leads it. [1]")) == ["Ada Byron"]
    titled = "In light of Matthew McKenna’s retirement, the Board named Ms. Nicosia."
    assert people_in_last_answer(Earlier("Who was named?", f"Ms. Nicosia [1]\n\n{titled} [1]")) == ["Nicosia"]
    assert (
        people_in_last_answer(Earlier("Who retired?", "Evidence", (Source(1, "p", "", titled),)))[0]
        == "Matthew McKenna"
    )


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("What is the rent of flat 3B?", "And the deposit?", "What is the deposit of flat 3B?"),
        ("When is the annual meeting?", "And the summer party?", "When is the summer party?"),
        ("What were the sales in 2021?", "And the costs?", "What were the costs in 2021?"),
        ("What does the plan cost?", "And the deposit?", "What does the plan cost? And the deposit?"),
        ("Who works in the week of 17 March?", "And in the week of 24 March?", "Who works in the week of 24 March?"),
        ("When is Mill Lane open on Friday?", "And Thornbury Road?", "When is Thornbury Road open on Friday?"),
        ("When is Mill Lane open on Friday?", "And Sunday?", "When is Mill Lane open on Sunday?"),
        ("What was the rent for Mill Lane in 2023?", "And Kiln Road?", "What was the rent for Kiln Road in 2023?"),
        ("When was order 77120 delivered?", "How much did it cost?", "How much did order 77120 cost?"),
        ("When was the shed?", "How much did it cost?", "How much did the shed cost?"),
        ("How much does it cost to put a cat to sleep?", "And a dog?", "How much does it cost to put a dog to sleep?"),
        ("How much is a consultation?", "And a nail clip?", "How much is a nail clip?"),
        (
            "How much is a consultation for a cat?",
            "And a nail clip?",
            "How much is a consultation for a cat? And a nail clip?",
        ),
    ],
)
def test_another_thing_takes_the_place_of_the_one_that_was_asked_for(question, message, expected):
    assert standalone(message, [question]) == expected


def test_a_firm_of_the_question_is_nobody_whom_the_quote_names():
    source = Source(1, "p", "", "All of Foot Locker’s staff welcomed Mary Dillon.")
    assert people_in_last_answer(Earlier("Who will lead Foot Locker?", "Evidence", (source,))) == ["Mary Dillon"]


RENT, QUOTE = "What does the flat cost?", "The rent is 985 a month."


def cited(quote=QUOTE):
    return [
        Citation(n=1, passage_id="p", document_id="d", title="", source="", quote=quote, start=0, end=1, verified=True)
    ]


@pytest.mark.parametrize(
    ("message", "asked", "answer", "repeated"),
    [
        ("And the deposit?", f"{RENT} And the deposit?", "985 [1]", True),
        ("And in a month?", f"{RENT} And in a month?", "985 a month [1]", False),
        ("What is the rent?", "What is the rent?", "985 [1]", False),
        ("And why?", f"{RENT} And why?", "The rent [1]", True),
    ],
)
def test_an_answer_from_the_last_quote_repeats_it_unless_the_quote_has_what_is_new(message, asked, answer, repeated):
    earlier = {"question": RENT, "answer": "The rent [1]", "citations": [{"quote": QUOTE}], "groups": []}
    assert repeats(message, asked, cited(), answer, earlier) is repeated
    assert not repeats(message, asked, cited("A deposit is due."), answer, earlier)


@pytest.mark.parametrize(
    ("question", "nowhere"),
    [
        ("How old is she?", True),
        ("How old is Ada Byron?", False),
        ("Which items are below their reorder level?", False),
        ("What is its price?", True),
    ],
)
def test_a_pronoun_without_a_name_before_it_points_nowhere(question, nowhere):
    assert has_unresolved_reference(question) is nowhere


@pytest.mark.parametrize(
    ("message", "asked", "quote", "nothing"),
    [
        ("And why?", f"{RENT} And why?", QUOTE, True),
        ("And why?", f"{RENT} And why?", "The rent rose because heating is dearer.", False),
        ("Where?", "Where is the flat?", QUOTE, False),
        ("And the deposit?", f"{RENT} And the deposit?", QUOTE, False),
        ("And that?", f"{RENT} And that?", "The rent rose because heating is dearer.", True),
    ],
)
def test_a_follow_up_adds_nothing_unless_it_is_a_whole_question_or_the_quote_gives_the_reason(
    message, asked, quote, nothing
):
    earlier = {"question": RENT, "answer": "The rent [1]", "citations": [{"quote": quote}], "groups": []}
    assert adds_nothing(message, asked, earlier) is nothing


GARDENER = "Who is the head gardener?"


@pytest.mark.parametrize(
    ("earlier", "message", "expected"),
    [
        ([GARDENER, "What is his phone number?"], "And who was it in 2019?", "Who was the head gardener in 2019?"),
        (["Who is the chair in 2024?"], "Who was it in 2020?", "Who was the chair in 2020?"),
        ([GARDENER], "Who was it before?", "Who was the head gardener before?"),
        (["Who won the prize in 2024?"], "And who was it in 2023?", "Who won the prize in 2023?"),
    ],
)
def test_who_was_it_asks_for_another_holder_of_the_office(earlier, message, expected):
    assert standalone(message, earlier) == expected


@pytest.mark.parametrize("earlier", ["When is the fair?", "Who is her deputy?", "Where is the organ?"])
def test_who_was_it_stays_where_no_office_was_asked_for(earlier):
    assert standalone("And who was it in 2023?", [earlier]) == f"{earlier} And who was it in 2023?"


def plan(year, name):
    text = f"The head gardener is {name}."
    return ("Head gardener (Garden plan)", text), Source(1, "p", "Garden plan", text, f"garden_plan_{year}.pdf")


@pytest.mark.parametrize(
    ("plans", "people"),
    [
        ([plan("2019", "Ada Byron"), plan("2023", "Mary Dillon")], ["Mary Dillon"]),
        ([plan("2023", "Mary Dillon"), plan("2019", "Ada Byron")], ["Mary Dillon"]),
        # One has no year, or both have the same.
        ([plan("old", "Ada Byron"), plan("2023", "Mary Dillon")], ["Ada Byron", "Mary Dillon"]),
        ([plan("2023", "Ada Byron"), plan("2023", "Mary Dillon")], ["Ada Byron", "Mary Dillon"]),
    ],
)
def test_of_several_documents_the_newest_one_names_the_person(plans, people):
    groups, sources = zip(*plans, strict=True)
    assert people_in_last_answer(Earlier(GARDENER, "From several documents", sources, groups)) == people


def test_the_newest_document_does_not_name_who_held_an_office_once():
    groups, sources = zip(plan("2019", "Ada Byron"), plan("2023", "Mary Dillon"), strict=True)
    earlier = Earlier("Who was the head gardener in 2019?", "From several documents", sources, groups)
    assert people_in_last_answer(earlier) == ["Ada Byron", "Mary Dillon"]


def test_she_is_the_holder_of_an_office_for_which_documents_name_several():
    two = ["Ada Byron", "Mary Dillon"]
    asked = standalone("What is her phone number?", [GARDENER], two)
    assert asked == "What is the head gardener’s phone number?"
    # A holder of the past is not asked for by an office that somebody else has now.
    assert "gardener’s" not in standalone("What was her phone number?", ["Who was the head gardener?"], two)


def test_a_person_is_sought_in_the_document_that_names_her():
    citations = [
        {"document_id": "old", "quote": "The head gardener is Ada Byron."},
        {"document_id": "new", "quote": "The head gardener is Mary Dillon."},
    ]
    earlier = {"question": GARDENER, "answer": "", "citations": citations, "groups": []}
    made = Rewrite("What is Mary Dillon’s phone number?")
    assert continued_documents("What is her phone number?", made, earlier) == ["new"]
    assert continued_documents("Who was it in 2019?", Rewrite("Who was the head gardener in 2019?"), earlier) == []


def test_an_answer_of_several_documents_is_continued_in_none_of_them():
    citations = [{"document_id": "d", "quote": "The hall is old."}]
    earlier = {
        "question": "How old is the hall?",
        "answer": f"{SEVERAL}\n\nOld [1]",
        "citations": citations,
        "groups": [],
    }
    assert continued_documents("Where is it?", Rewrite("Where is the hall?"), earlier) == []
    assert continued_documents("Where is it?", Rewrite("Where is the hall?"), earlier | {"answer": "Old [1]"}) == ["d"]


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (
            "How much does a student pay for the course?",
            "And pensioners?",
            "How much do pensioners pay for the course?",
        ),
        ("How long do staff have to wait?", "And the volunteers?", "How long do the volunteers have to wait?"),
        ("How much does a permit cost?", "And visitors?", "How much does a permit cost? And visitors?"),
    ],
)
def test_others_take_the_place_of_the_people_who_pay(question, message, expected):
    assert standalone(message, [question]) == expected


def test_it_may_be_the_one_of_several_things_that_a_question_asks_for():
    before, message = "Which house used the most heat?", "How much did it use?"
    assert may_mean_several(message, f"{before} {message}", before)
    assert not may_mean_several("And in 2019?", f"{before} And in 2019?", before)
    assert not may_mean_several(message, "How much did house C use?", before)
    assert not may_mean_several(message, f"How old is house C? {message}", "How old is house C?")


def test_a_letter_names_another_thing_and_the_same_question_is_no_riddle():
    earlier = {"question": "How much heat did the house use?", "answer": "", "citations": [], "groups": []}
    asked = f"{earlier['question']} And house A?"
    assert not adds_nothing("And house A?", asked, earlier)
    assert adds_nothing("And the house?", f"{earlier['question']} And the house?", earlier)
    assert not adds_nothing("How much heat did it use?", earlier["question"], earlier)


def test_a_person_has_no_office_and_a_quote_without_the_office_names_no_holder():
    asked = ["How many hours did Bruno work in 2024?"]
    assert standalone("Who is the chair?", asked) == "Who is the chair?"
    row = Source(1, "p", "Repairs", "Bicycle: Gazelle Chamonix")
    assert people_in_last_answer(Earlier("Who is the chair?", "Most relevant passages", (row,))) == []
    rule = Source(1, "p", "Rules", "No Person shall be chair for more than three years.")
    assert people_in_last_answer(Earlier("How old must the chair be?", "Most relevant passages", (rule,))) == []
    chair = Source(1, "p", "Minutes", "In the chair: Ada Byron")
    assert people_in_last_answer(Earlier("Who is the chair?", "Most relevant passages", (chair,))) == ["Ada Byron"]


def test_a_count_without_anything_else_keeps_the_question_before_it_for_the_next_one():
    asked = ["Who is printing the second edition?", "How many copies?"]
    message = "When must the files reach them?"
    assert standalone(message, asked) == " ".join([*asked, message])
    assert standalone(asked[1], asked[:1]) == asked[1]
    assert (
        standalone(message, [asked[0], "How many copies did Holm print?"])
        == f"How many copies did Holm print? {message}"
    )


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (
            "How much was sold in the first half of 2023?",
            "And the year before?",
            "How much was sold in the first half of 2022?",
        ),
        ("What was the rent at the end of 2023?", "And in 2022?", "What was the rent at the end of 2022?"),
        ("What was the price in May 2023?", "And 2021?", "What was the price in May 2021?"),
        ("What were sales in Europe in 2023?", "And in Asia?", "What were sales in Asia in 2023?"),
        ("What did RFC 2026 change?", "And in 2019?", "What did RFC 2026 change in 2019?"),
        ("How much has it grown since 2015?", "And in 2022?", "How much has it grown since 2015 in 2022?"),
    ],
)
def test_a_year_or_a_place_takes_the_place_of_the_one_in_the_question(question, message, expected):
    assert standalone(message, [question]) == expected
