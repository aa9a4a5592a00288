"""Questions of a document's own words: how sentences, cells and fields become them, and what counts as answered."""

import pytest

from preflight_rag.conversation.document_questions import Candidate, candidates, is_answered
from preflight_rag.state.values import Answer, Citation, Passage, Receipt, RouteDecision


def of(text, title="", authors=(), kind=""):
    found = candidates(title, authors, "d", [Passage(id="p1", document_id="d", text=text, end=len(text))], kind)
    return [(each.question, each.expected) for each in found]


@pytest.mark.parametrize(
    ("sentence", "question", "expected"),
    [
        (
            "The Harrow bridge was opened on 4 May 1931 by Ruth Calder.",
            "When was the Harrow bridge opened?",
            "4 May 1931",
        ),
        ("Ada Thorne was born in Ulm in 1931.", "When was Ada Thorne born in Ulm?", "1931"),
        ("The office closed in March 1984.", "When did the office close?", "March 1984"),
        ("The deadline is 30 June 2026.", "When is the deadline?", "30 June 2026"),
        ("The bridge is about 412 metres long and carries two lanes.", "How long is the bridge?", "412"),
        ("Saturn has 145 known moons.", "How many known moons does Saturn have?", "145"),
        ("Hire of the church is £140 including heating.", "What is the hire of the church?", "£140"),
        ("The yearly pass costs $48.50 for adults.", "How much does the yearly pass cost?", "$48.50"),
        ("The monthly rent is 1,850 EUR, heating included.", "What is the monthly rent?", "1,850"),
        ("The archive is located in Prague.", "Where is the archive located?", "Prague"),
        (
            "The Harrow lighthouse stands on Gull Rock, off the coast.",
            "Where does the Harrow lighthouse stand?",
            "Gull Rock",
        ),
        ("Basalt is dark because it holds much iron.", "Why is Basalt dark?", "it holds much iron"),
        ("AutoGen is an open framework for agents.", "What is AutoGen?", "an open framework for agents"),
        ("Ruth Calder was an engineer of bridges.", "Who was Ruth Calder?", "an engineer of bridges"),
        ("The Silk Road was a network of trade routes.", "What was the Silk Road?", "a network of trade routes"),
        ("Geology is the study of rocks.", "What is Geology?", "the study of rocks"),
        ("Talc is a soft mineral that is used in powders.", "What is Talc?", "a soft mineral that is"),
    ],
)
def test_a_sentence_becomes_the_question_that_it_answers(sentence, question, expected):
    assert of(sentence) == [(question, expected)]


@pytest.mark.parametrize(
    "sentence",
    [
        "It was opened on 4 May 1931.",
        "This is a good idea for everybody.",
        "In 1931 the bridge was opened.",
        "The plan that was made in 1931 is a good one to keep.",
        "Pairs were based on the difference between means.",
        "There are 14 rooms.",
        "The door is open.",
        "White willow is chosen because it grows faster than any other tree here.",
        "The liver is the most common site of distant metastases in these patients.",
        "The other is a rapid communication that researchers wrote.",
        "Hand hygiene is an important measure in all hospitals of the country.",
        "Mitigating the spread is a national matter for all the people of the country.",
        "Lanes 1 and 2 are the results for the control animals of the study.",
        "Between 8 and 18 December 2019 there were 7 patients with a fever.",
        "Pneumonia arising from any infectious agent is a disease of the lungs.",
        "Talc is the softest with 1, followed by gypsum 2.",
        "Diamond is one of the hardest of all minerals that are known.",
        "Penicillin was a discovery made by chance.",
        "Microsoft is a founding member of the alliance for open media.",
        "The use of lag screws is a quick way of treating fractures of the jaw.",
        "Below are the final voting results.",
        "Thus f is the name function for the name n.",
        "Net sales were approximately 5% lower than the same period last year.",
        "Adjusted EBIT was 436 million euros more than in the year before.",
        "The districts where the survey was made were chosen in 2007.",
    ],
)
def test_no_question_is_made_of_what_points_elsewhere(sentence):
    assert of(sentence) == []


def test_a_company_keeps_its_capital_though_an_address_has_it_small():
    text = "Acme is a maker of pumps in Ulm. Write to Acme, or to www.acme.example."
    assert of(text) == [("What is Acme?", "a maker of pumps in")]


@pytest.mark.parametrize(
    "text",
    [
        "Date: 2020-03-05\n\nThe fever was high.",
        "It paid off: Roberts scored 23 goals",
        "School closure ordered: This refers to all schools of Ulm",
        "ACADEMIC CARDIOLOGIST: HEART FAILURE SPECIALIST",
        "Service: Parts | xi: 5",
        "Service: Subtotal | Cost: 2,730",
        "Nominee: Segun Agbaje | For: 1,005,178,935 | Against: 4,200,722",
        "Team: Maple Leafs | Location: TOR | Stanley Cups: 13",
        "BMI | HTEA: 26.9 | Control: 26.7",
        "Goats | Sex | Female | Weight: 345",
        "Plate: IV | Price: 12",
        "Appendix C: Maximum Likelihood Analysis",
        "Most recently updated: January 30, 2020",
        "First Division: 2003–04[97]",
        "Name: Damien Clayton",
        "# Materials and Methods\nAll animals were kept in a dark room for a week.",
    ],
)
def test_no_question_is_made_of_a_field_or_a_cell_that_nobody_would_ask_for(text):
    assert of(text) == []


def test_a_cell_is_asked_for_by_its_column_and_its_row():
    rows = "Plan: Workshop | Price: 39 | Machines: 15\nPlan: Factory | Price: 149 | Machines: 80"
    assert of(rows) == [
        ("What is the Price of Workshop?".replace("Price", "price"), "39"),
        ("What is the price of Factory?", "149"),
    ]
    assert of("sku: GX-2290 | supplier: Ostwald | price_eur: 61.20") == [("What is the price of GX-2290?", "61.20")]
    assert of("Costs. | Rent | 2021: 14 | 2022: 15") == [("What was Rent in 2021?", "14")]


def test_the_fields_of_a_form_are_asked_for_those_that_people_want_first():
    form = "Completed by hand: Yes\nPolicy number: HX-20931\nDate of loss: 14 March 2022\nAmount claimed: 1,850 EUR\n"
    form += "Note: See below"
    assert of(form) == [
        ("What is the policy number?", "HX-20931"),
        ("What is the date of loss?", "14 March 2022"),
        ("What is the amount claimed?", "1,850 EUR"),
    ]


@pytest.mark.parametrize(
    ("kind", "authors", "question"),
    [
        ("", ["Ada Thorne"], "Who wrote “Mosses of the north”?"),
        ("epub", ["E. F. Benson"], "Who wrote “Mosses of the north”?"),
        ("nxml", ["Ada Thorne", "Jon Vale"], "Who are the authors of “Mosses of the north”?"),
        ("pdf", ["Thorne, A. B.", "Vale, J."], "Who are the authors of “Mosses of the north”?"),
        ("pdf", ["Ada Thorne"], None),
        ("pdf", ["Kaleidoscope - kscope.io", "Jon Vale"], None),
        ("docx", ["Ada Thorne"], None),
        ("eml", ["Ada Thorne"], None),
        ("msg", ["Ada Thorne", "Jon Vale"], None),
        ("mbox", ["Ada Thorne"], None),
        ("html", ["GitHub"], None),
    ],
)
def test_who_wrote_it_is_asked_of_papers_books_and_articles(kind, authors, question):
    text = "Nothing that asks."
    expected = [(question, authors[0])] if question else []
    assert of(text, "Mosses of the north", authors, kind) == expected
    assert of(text, "", authors, kind) == []


def answer(outcome="evidence", quote="The rent is 1,850 EUR.", short=None, passage="p1"):
    cited = Citation(
        n=1, passage_id=passage, document_id="d", title="", source="d", quote=quote, start=0, end=1, verified=True
    )
    route = RouteDecision(name="plain", reason="", top_n=3, threshold=0.2)
    text = {"question": "q", "standalone_question": "q", "queries": ("q",), "answer": "x", "thread_id": "t", "turn": 1}
    receipt = Receipt(model="any")
    return Answer(
        **text,
        route=route,
        abstained=outcome == "not_found",
        outcome=outcome,
        short_answer=short,
        citations=(cited,),
        receipt=receipt,
    )


@pytest.mark.parametrize(
    ("given", "right"),
    [
        (answer(), True),
        (answer("answered", short="1,850 EUR"), True),
        (answer("answered", short="2,100"), False),
        (answer(quote="The deposit is 900 EUR."), False),
        (answer(passage="p2"), False),
        (answer("not_found"), False),
    ],
)
def test_a_question_counts_as_answered_by_the_words_that_it_was_made_of(given, right):
    assert is_answered(Candidate("What is the rent?", frozenset(["p1"]), "1,850", False), given) is right


@pytest.mark.parametrize(("quote", "right"), [("4. Side effects", False), ("Side effects are rare.", True)])
def test_a_heading_alone_is_no_answer_to_what_stands_under_it(quote, right):
    about = Candidate("What does the document say about side effects?", frozenset(["p1"]), "", False, "4. Side effects")
    assert is_answered(about, answer(quote=quote)) is right
