"""What a person sees over HTTP, without a model: of questions that deny something, of two subjects, and of versions."""

from __future__ import annotations

import pytest
from serving import running

from preflight_rag import Preflight

DOCUMENTS = {
    "campsites.md": "# Campsites of the valley\n\nThe Lake campsite has a shop. "
    "Dogs are allowed on the Lake campsite.\n\n"
    "The Forest campsite has a shop. Dogs are not allowed on the Forest campsite.\n\n"
    "The Mill campsite has no shop. It is closed in winter.\n",
    "ferries.txt": "Ferries of the sound\n\nThe morning ferry carries cars and lorries.\n\n"
    "The Sunday ferry carries no cars. Bicycles travel free on every ferry.\n",
    "hostels.md": "# Hostels\n\nThe Elm hostel does not serve breakfast. It has forty beds.\n\n"
    "The Oak hostel serves breakfast from seven. It has sixty beds.\n",
    "depot-north.md": "# Report of the north depot\n\nThe largest cost was rent. It employs nine people.\n",
    "depot-south.md": "# Report of the south depot\n\nThe largest cost was repairs. It employs four people.\n",
    "travel-2021.md": "# Travel rules 2021\n\nThe daily allowance is 38 euros. Trains are booked in second class.\n",
    "travel-2023.md": "# Travel rules 2023\n\nThe daily allowance is 41 euros. Trains are booked in second class.\n",
    "travel-2025.md": "# Travel rules 2025\n\nThe daily allowance is 45 euros. Trains are booked in first class.\n",
    "alarm-old.md": "---\ntitle: In case of an alarm\ndate: 2020-02-01\n---\n\n"
    "The sirens are tested every six weeks.\n",
    "alarm-new.md": "---\ntitle: Alarm rules\ndate: 2024-03-01\nreplaces: alarm-old.md\n---\n\n"
    "The sirens are tested every two weeks.\n",
    "loans-1.txt": "Rules of the tool loans, version 1.9\n\nA tool may be kept for 14 days.\n",
    "loans-2.txt": "Rules of the tool loans, version 1.10\n\nA tool may be kept for 21 days.\n",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    for name, content in DOCUMENTS.items():
        (folder / name).write_text(content, encoding="utf-8")
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as app:
        assert app.ingest([folder]).added == len(DOCUMENTS)
        with running(app) as url:
            yield url


@pytest.fixture
def ask(url, client_of):
    """What the page is given for a question: the answer, and what it shows."""
    client = client_of(url)
    return lambda question: client.ask(question, html=True).json()


@pytest.mark.parametrize(
    ("question", "sentence", "never"),
    [
        ("Which campsite does not allow dogs?", "Dogs are not allowed on the Forest campsite.", "Lake"),
        ("Which campsite allows dogs?", "Dogs are allowed on the Lake campsite.", "Forest"),
        ("On which campsite are dogs forbidden?", "Dogs are not allowed on the Forest campsite.", "Lake"),
        ("Which campsite has no shop?", "The Mill campsite has no shop.", "Lake"),
        ("Which ferry does not carry cars?", "The Sunday ferry carries no cars.", "morning"),
        ("Which ferry carries cars?", "The morning ferry carries cars and lorries.", "Sunday"),
        ("Which hostel serves breakfast?", "The Oak hostel serves breakfast from seven.", "Elm"),
        ("Which hostel does not serve breakfast?", "The Elm hostel does not serve breakfast.", "Oak"),
        ("What was the largest cost of the south depot?", "The largest cost was repairs.", "rent"),
        ("What was the largest cost of the north depot?", "The largest cost was rent.", "repairs"),
        ("How many people does the south depot employ?", "It employs four people.", "nine"),
    ],
)
def test_the_sentence_of_the_subject_stands_first_and_its_opposite_is_never_claimed(ask, question, sentence, never):
    found = ask(question)
    answer = found["answer"]
    first = answer["citations"][0]
    assert first["quote"].strip() == sentence
    assert first["verified"]
    assert never not in (answer["short_answer"] or "")
    if answer["outcome"] == "answered":
        assert answer["short_answer"] in sentence
    assert sentence.split(" | ")[0] in found["html"]


@pytest.mark.parametrize(
    ("question", "sentence", "short"),
    [
        ("Does the Elm hostel serve breakfast?", "The Elm hostel does not serve breakfast.", "No"),
        ("Does the Oak hostel serve breakfast?", "The Oak hostel serves breakfast from seven.", "Yes"),
        ("Are dogs allowed on the Forest campsite?", "Dogs are not allowed on the Forest campsite.", "No"),
        ("Are dogs allowed on the Lake campsite?", "Dogs are allowed on the Lake campsite.", "Yes"),
    ],
)
def test_yes_or_no_is_said_of_the_subject_alone(ask, question, sentence, short):
    answer = ask(question)["answer"]
    assert answer["citations"][0]["quote"].strip() == sentence
    assert answer["short_answer"] in (None, short)


@pytest.mark.parametrize(
    ("question", "least"),
    [
        ("How much is the daily allowance?", 3),
        ("How much is the daily allowance now?", 3),
        ("What is the current daily allowance?", 2),
    ],
)
def test_of_three_versions_the_newest_is_first_and_says_what_it_was_before(ask, question, least):
    found = ask(question)
    answer = found["answer"]
    quotes = [each["quote"] for each in answer["citations"]]
    versions = [f"The daily allowance is {euros} euros." for euros in (45, 41, 38)]
    assert quotes[:least] == versions[:least]
    assert "45 euros since 2025; 41 euros before." in answer["answer"]
    assert "45 euros since 2025; 41 euros before." in found["html"]
    assert (answer["outcome"], answer["short_answer"]) == ("evidence", None)


@pytest.mark.parametrize(("year", "euros"), [(2021, 38), (2023, 41), (2025, 45)])
def test_the_version_of_the_year_that_is_asked_for_is_first(ask, year, euros):
    answer = ask(f"How much was the daily allowance in {year}?")["answer"]
    assert answer["citations"][0]["quote"] == f"The daily allowance is {euros} euros."
    assert answer["short_answer"] in (None, f"{euros} euros", str(euros))


@pytest.mark.parametrize(
    ("question", "newer", "older"),
    [
        ("How often are the sirens tested?", "The sirens are tested every two weeks.", "six weeks"),
        ("How long may a tool be kept?", "A tool may be kept for 21 days.", "14 days"),
        ("In which class are trains booked?", "Trains are booked in first class.", "second class"),
    ],
)
def test_what_replaces_a_document_stands_before_it(ask, question, newer, older):
    answer = ask(question)["answer"]
    assert answer["citations"][0]["quote"] == newer
    assert older not in (answer["short_answer"] or "")
