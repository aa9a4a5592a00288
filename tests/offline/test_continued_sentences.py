"""Quotes with the sentence that goes on about the same thing."""

import pytest

from preflight_rag.offline.continued_sentences import extend_to_all_steps, find_following_remedy, with_neighbour
from preflight_rag.state.reading import Source
from preflight_rag.text.quotes import plain

BUILT = "Fourteen new parking spaces will be built behind hall 3."
READY = "They will not be ready before September."
NEXT = "Charging points are planned for two of them."
QUESTION = "When will the parking spaces be ready?"


def quote_of(text, quote, question=QUESTION, title="Minutes"):
    return with_neighbour(question, quote, Source(1, "a", title, text))


def test_the_sentence_behind_is_shown_with_its_subject():
    assert quote_of(f"{BUILT} {READY} {NEXT}", BUILT) == f"{BUILT} {READY}"


def test_the_sentence_behind_is_shown_if_it_has_all_that_is_missing():
    kept, store = "Humidity in the galleries is kept at 45 to 60 %.", "In the Net Store it is kept at 40 to 55 %."
    asked = "What is the humidity in the Net Store?"
    assert quote_of(f"{kept} {store}", kept, asked) == f"{kept} {store}"
    assert quote_of(f"{kept} In the shop it is warm.", kept, asked) == kept


def test_the_value_of_a_setting_is_shown_with_what_it_sets():
    sets, value = "Change the volume size to a number of MB.", "Default is 200MB."
    assert quote_of(f"{sets} {value} Use with care.", sets, "What is the default volume size?") == f"{sets} {value}"
    assert quote_of(f"{sets} Use with care.", sets, "What is the default volume size?") == sets


def test_the_bound_of_a_rise_is_shown_with_the_rise():
    rise = "The Landlord may increase the rent once in each year with effect from 1 April."
    bound = "No increase shall be more than 3% of the rent."
    assert quote_of(f"{rise} {bound}", rise, "By how much can the rent go up each year?") == f"{rise} {bound}"


def test_a_sentence_that_begins_with_a_pronoun_is_shown_with_the_one_before():
    assert quote_of(f"{BUILT} {READY} {NEXT}", READY) == f"{BUILT} {READY}"


@pytest.mark.parametrize(
    ("quote", "behind", "question"),
    [
        ("The supper is on Saturday at the Swan.", "Two courses are £18.", "How much is the supper?"),
        ("A motion to sell the organ needed two thirds.", "It received 12 votes and fell.", "Was the organ sold?"),
        (
            "Mr Ode asked why the fair made a loss.",
            "The marquee had cost twice as much.",
            "Why did the fair lose money?",
        ),
        ("Cider is suitable for vegans.", "Ale is fined with isinglass.", "Is the ale suitable for vegans?"),
        (
            "Heat the milk for ten minutes.",
            "For large copper pans make it 15.",
            "How long is milk in large copper pans?",
        ),
        ("The organ came late.", "A fire had stopped the builder's work.", "Why did the organ come late?"),
    ],
)
def test_the_sentence_behind_is_shown_if_it_has_what_is_asked_for(quote, behind, question):
    assert quote_of(f"{quote} {behind} {NEXT}", quote, question) == f"{quote} {behind}"


@pytest.mark.parametrize(
    ("quote", "behind", "question"),
    [
        ("The supper is £18 at the Swan.", "Wine is £4 a glass.", "How much is the supper?"),
        ("A motion to sell the organ needed two thirds.", "Rain fell all evening.", "Was the organ sold?"),
        ("The organ came late because of a fire.", "It was tuned in May.", "Why did the organ come late?"),
        ("Mr Ode asked for a recount.", "The marquee had cost twice as much.", "Did Mr Ode ask for a recount?"),
    ],
)
def test_a_quote_that_has_what_is_asked_for_stays_alone(quote, behind, question):
    assert quote_of(f"{quote} {behind}", quote, question) == quote


@pytest.mark.parametrize(
    ("text", "quote", "question", "title"),
    [
        pytest.param(f"{BUILT} {READY}", BUILT, "Where are the parking spaces built?", "Minutes", id="adds nothing"),
        pytest.param(f"{BUILT} {READY}", BUILT, "Which are ready?", "Ready for autumn", id="the title has the word"),
        pytest.param(f"{BUILT}\n\n{READY}", BUILT, QUESTION, "Minutes", id="another paragraph"),
        pytest.param(f"{BUILT} The lifts are ready.", BUILT, QUESTION, "Minutes", id="another subject"),
        pytest.param(f"{BUILT} They {'really ' * 90}are ready.", BUILT, QUESTION, "Minutes", id="too long"),
        pytest.param(READY, "Not in the passage.", QUESTION, "Minutes", id="no quote of the passage"),
    ],
)
def test_any_other_quote_stays_as_it_is(text, quote, question, title):
    assert quote_of(text, quote, question, title) == quote


@pytest.mark.parametrize(
    ("before", "quote", "is_shown"),
    [
        ("The Swan was launched in Hull. ", "It was the first with a steel hull.", True),
        ("Swan 8 (May 1931): named for the inn.\n", "This boat was the first with a steel hull.", True),
        ("## The Swan\n\n", "It was the first with a steel hull.", True),
        ("Oak rots in salt water.\n", "It was the first with a steel hull.", False),  # may be of another section
        ("Oak rots in salt water.\n\n", "It was the first with a steel hull.", False),
        ("Oak rots in salt water. ", "It is recommended to paint a steel hull.", False),  # stands for what follows
        ("Oak rots in salt water. ", "Steel hulls came first in May.", False),
        ("It was built in Hull. ", "It was the first with a steel hull.", False),  # names nothing either
        ("*, so oak it was. ", "It was the first with a steel hull.", False),  # a torn sentence
        ("Swan was built of oak;\n", "it was the first with a steel hull.", True),
    ],
)
def test_what_a_pronoun_stands_for_is_shown_before_it(before, quote, is_shown):
    shown = quote_of(f"{before}{quote}", quote, "Which had a steel hull first?", "Boats")
    assert shown == (f"{before.removeprefix('## ')}{quote}" if is_shown else quote)


def test_what_the_title_names_is_not_named_again():
    quote = "It was the first with a steel hull."
    text = f"The Swan was launched in Hull. {quote}"
    assert quote_of(text, quote, "Was the Swan the first with a steel hull?", "The Swan") == quote


@pytest.mark.parametrize(("behind", "is_shown"), [("Severity: low", False), ("Reason: he was late", True)])
def test_the_next_line_of_a_form_gives_a_reason_only_if_it_says_so(behind, is_shown):
    quote = "Dr Ada Lund was dismissed"
    shown = quote_of(f"{quote}\n{behind}", quote, "Why was Ada Lund dismissed?", "Staff")
    assert shown == (f"{quote}\n{behind}" if is_shown else quote)


def test_a_heading_is_told_from_the_sentence_below_it():
    assert plain("The Swan\n\nIt was the first.") == "The Swan: It was the first."
    assert plain("We saw the Swan.\nIt was the first.") == "We saw the Swan. It was the first."


def test_values_on_one_line_are_shown_with_what_they_are_values_of():
    defined, values = "Density of the metal of your bell in g/ml.", "Typical values are * Tin - 7.3 * Lead - 11.3"
    assert quote_of(f"{defined} {values}", defined, "What is the density of lead?", "Bells") == f"{defined} {values}"
    assert quote_of(f"{defined} {values}", defined, "What is the density of zinc?", "Bells") == defined


LEAKS = "The pump leaks at the lower seal."
FIX = "What can I do about a leaking pump?"


@pytest.mark.parametrize(
    ("behind", "question", "shown"),
    [
        ("Grease the seal.", FIX, "Grease the seal."),
        ("SOLUTION: Old pumps have a weak seal. Get a new one. The shop is shut.", FIX,
         "SOLUTION: Old pumps have a weak seal. Get a new one."),
        ("The shop is shut.", FIX, None),
        ("Grease the seal.", "Which seal of the pump leaks?", None),
    ],
)  # fmt: skip
def test_a_remedy_in_the_next_sentence_is_shown_with_what_goes_wrong(behind, question, shown):
    assert quote_of(f"{LEAKS} {behind}", LEAKS, question, "Pumps") == (f"{LEAKS} {shown}" if shown else LEAKS)


def test_the_reason_is_shown_though_the_quote_has_all_words():
    quote, reason = "The mill does not turn in August.", "POSSIBLE CAUSE: The brook runs dry then."
    assert quote_of(f"{quote} {reason}", quote, "Why does the mill not turn in August?", "Mill") == f"{quote} {reason}"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (f"{LEAKS} It is loud.\n\nSome are old. A new seal may resolve this. It costs £4.\n\nPaint it.",
         "A new seal may resolve this. It costs £4."),
        (f"- {LEAKS}\n  - CAUSE:\n  - Unknown.\n  - Replace the seal.\n- The lamp flickers.", "Replace the seal."),
        (f"- {LEAKS}\n- The lamp flickers. Use another bulb.", None),
        (f"{LEAKS}\n\n# Lamps\n\nUse another bulb.", None),
        (f"{LEAKS} It is loud. It is old.", None),
        (f"{LEAKS}\nReplace the seal. It costs £4.\nMould comes from damp air.\nBeer traps help.",
         "Replace the seal. It costs £4."),
        (f"{LEAKS}\nReplace the seal. It is black. It costs £4. Slugs eat lettuce.",
         "Replace the seal. It is black. It costs £4."),
    ],
)  # fmt: skip
def test_a_remedy_is_found_further_below(text, remedy):
    source = Source(1, "a", "Pumps", text)
    assert find_following_remedy(FIX, LEAKS, source) == remedy
    assert find_following_remedy("Where does the pump leak?", LEAKS, source) is None


def test_a_permission_is_shown_with_the_refusal_before_it():
    refused, allowed = "I am afraid they may not: naked flames are a risk.", "Battery candles are quite all right."
    asked = "Can we light candles in the hall?"
    assert quote_of(f"{refused} {allowed}", allowed, asked) == f"{refused} {allowed}"
    assert quote_of(f"The hall is warm. {allowed}", allowed, asked) == allowed
    assert quote_of(f"{refused}\n\n{allowed}", allowed, asked) == allowed, "another paragraph is about something else"
    assert quote_of(f"{refused} {allowed}", allowed, "Which candles are in the hall?") == allowed
    cards, dogs = "We do not take cards.", "Dogs are welcome in the bar."
    assert quote_of(f"{cards} {dogs}", dogs, "Are dogs allowed in the bar?") == dogs, "it refuses something else"


STEPS = "1. Tack it to cotton.\n2. Soak it for an hour;\n   change the water.\n3. Pat, do not wring."


@pytest.mark.parametrize(
    ("question", "text", "quote", "shown"),
    [
        ("How do I wash lace?", f"How to wash lace\n\n{STEPS}\n\nThe shop is open.", "Soak it for an hour;", STEPS),
        (
            "What should I do with the lace?",
            f"Do I wash it?\n{STEPS}\n\nBylaws\n1. Shut the door.",
            "Tack it to cotton.",
            STEPS,
        ),
        ("How do I leave the club?", f"Statutes\n\n{STEPS}", "Tack it to cotton.", "Tack it to cotton."),
        ("How do I wash lace?", f"How to\n\n{STEPS}\nBylaws\n1. Shut the door.", "Shut the door.", "Shut the door."),
        ("Which cotton is used?", STEPS, "Tack it to cotton.", "Tack it to cotton."),
        ("How do I wash lace?", f"{STEPS}\n\nThe shop is open.", "The shop is open.", "The shop is open."),
        ("How do I wash lace?", "1. Tack it to cotton.\n\nMore below.", "Tack it to cotton.", "Tack it to cotton."),
    ],
)
def test_how_something_is_done_is_shown_with_all_steps(question, text, quote, shown):
    assert extend_to_all_steps(question, quote, Source(1, "a", "Lace", text)) == shown
