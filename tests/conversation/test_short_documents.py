"""Follow-ups without a model on a document of one or two passages, over made documents."""

import pytest

from preflight_rag import Preflight
from preflight_rag.conversation.repeated_answers import bears_on, new_first
from preflight_rag.library import Library
from preflight_rag.state.reading import Draft
from preflight_rag.text.headers import CLOSEST, UNRESOLVED

LETTER = """# Year 4 visit

Gareth Imlach is the deputy head of Alder Cross Primary School. He would like to bring Year 4 on 20 November.
"""
STONES = """# Birthday : Birth Stone : Birth Flower
January:Garnet:Carnation
February:Amethyst:Violet
March:Aquamarine:Jonquil
April:Diamond:Sweet Pea
May:Emerald:Lily Of The Valley
June:Pearl:Rose
July:Ruby:Larkspur
August:Peridot:Gladiolus
September:Sapphire:Aster
October:Opal:Calendula
November:Topaz:Chrysanthemum
December:Turquoise:Narcissus
"""
ROTA = """Date,Race officer,Rescue boat,Hours
2025-07-05,Oonagh Flint,Harold Pym,7
2025-07-19,Idris Vaughan,Lucy Marsh,7
"""
PHONES = """Name,Telephone
Harold Pym,01632 960183
Oonagh Flint,01632 960139
Lucy Marsh,01632 960155
Gareth Imlach,01632 960188
"""
OUTING = """# Newsletter

The spring outing will be to the glove museum on Saturday 18 April. The coach leaves the cattle market at 8.30.
"""
OTHERS = {
    f"{thing}.md": f"# The {thing}\n\nThe {thing} of the museum was cleaned by Wilma Garrick. The {thing} is old."
    for thing in ("urn", "loom", "stair", "lamp", "clock", "chart", "bell", "press", "desk", "stove", "chair", "map")
}


@pytest.fixture(scope="module")
def chat(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("short")
    files = {"letter.md": LETTER, "stones.txt": STONES, "rota.csv": ROTA, "phones.csv": PHONES, "news.md": OUTING}
    for name, text in {**files, **OTHERS}.items():
        (folder / name).write_text(text)
    with Library.open(folder / "library", embedder=embedder, create=True) as library:
        library.ingest([folder / name for name in (*files, *OTHERS)])
    with Preflight.open(folder / "library", "offline") as app:
        yield lambda *messages: [app.ask(message, thread_id=" ".join(messages)) for message in messages]


def quotes(answer):
    return [" ".join(citation.quote.split()) for citation in answer.citations]


def test_a_pronoun_is_answered_as_the_question_in_full(chat):
    answer = chat("Who is Gareth Imlach?", "What is his telephone number?")[-1]
    full = chat("What is Gareth Imlach’s telephone number?")[-1]
    assert answer.standalone_question == full.standalone_question
    assert "01632 960188" in quotes(full)[0]
    assert "01632 960188" in quotes(answer)[0]


def test_another_month_is_not_answered_with_the_row_of_the_first(chat):
    answer = chat("What is the birth flower for August?", "And for September?")[-1]
    assert "September:Sapphire:Aster" in quotes(answer)[0]


def test_whoever_stands_under_what_was_asked_for_is_she(chat):
    answer = chat("Who is race officer on 5 July?", "What is her phone number?")[-1]
    assert answer.standalone_question == "What is Oonagh Flint’s phone number?"
    assert "01632 960139" in quotes(answer)[0]


@pytest.mark.parametrize("message", ["How much is it?", "Which one did they choose?"])
def test_the_same_quote_without_what_is_asked_for_is_not_shown_again(chat, message):
    answer = chat("Where does the coach leave from?", message)[-1]
    assert (answer.answer, answer.citations) == (UNRESOLVED, ())


def evidence(*quotes):
    lines = [f"“{quote}” [{n}]" for n, quote in enumerate(quotes, 1)]
    return Draft("\n\n".join([CLOSEST, *lines]), tuple(enumerate(quotes, 1)), claims=False)


EARLIER = {
    "question": "Who is race officer?",
    "answer": "",
    "citations": [{"quote": "O. Flint"}, {"quote": "Flint leads it."}],
    "groups": [],
}
PHONE = "What is her phone number?"
NAMED = "What is Oonagh Flint’s phone number?"


@pytest.mark.parametrize(
    ("message", "asked", "first"),
    [
        (PHONE, NAMED, "“Two.” [2]"),
        ("Where did she work?", "Where did Oonagh Flint work?", "“Two.” [2]"),
        # It may say it in other words where nothing tells what the pronoun means.
        (PHONE, f"Who is race officer? {PHONE}", "“O. Flint” [1]"),
        ("Is Flint there?", "Is Oonagh Flint there?", "“O. Flint” [1]"),
    ],
)
def test_a_row_that_was_shown_before_stands_behind_what_was_not(message, asked, first):
    assert new_first(evidence("O. Flint", "Two."), message, asked, EARLIER).text.split("\n\n")[1] == first


def test_a_sentence_that_was_shown_before_may_say_it_in_other_words():
    draft = evidence("Flint leads it.", "Two.")
    assert new_first(draft, PHONE, NAMED, EARLIER) == draft


def test_a_claim_stays_as_it_is():
    claim = Draft("Flint [1].\n\nTwo [2].", ((1, "Flint."), (2, "Two.")))
    assert new_first(claim, PHONE, NAMED, EARLIER) == claim


@pytest.mark.parametrize(
    ("message", "quote", "bears"),
    [
        ("How much is it?", "The coach leaves at 8.30.", False),
        ("How much is it?", "The coach costs £8.", True),
        ("How much is it?", "Coach: yes | Price: 8", True),
        ("Which one did they choose?", "The coach leaves at 8.30.", False),
        ("Which one leaves?", "The coach leaves at 8.30.", True),
        ("Why was it late?", "The road was closed.", True),
    ],
)
def test_a_quote_bears_on_a_follow_up_by_a_word_or_a_figure(message, quote, bears):
    assert bears_on(message, [quote], EARLIER) is bears
