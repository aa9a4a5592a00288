"""Messages that need no search, told from questions that look alike."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.conversation import intents
from preflight_rag.conversation.intents import is_of_the_conversation, recognise_talk, without_courtesy

TALK = {
    "greeting": ["Hello!", "hi there", "Good morning", "Hey!", "Guten Tag", "Bonjour", "Hola!", "Hi 👋"],
    "thanks": [
        *("Thanks!", "thank you very much", "Thanks a lot for your help."),
        *("Great, thanks!", "Danke schön", "Merci beaucoup"),
        *("That was very helpful.", "thx", "Perfect, thank you so much for the quick answer!"),
    ],
    "goodbye": ["bye", "Goodbye!", "See you later", "Thanks, bye!", "That's all for today", "Tschüss"],
    "wellbeing": ["How are you?", "Hi, how are you doing today?", "How's it going?", "are you there?"],
    "assent": ["ok", "ok thanks", "Got it.", "I see", "Makes sense!", "👍", "Interesting.", "never mind"],
    "identity": ["Who are you?", "What's your name?", "Are you a robot?", "Hello, who made you?", "what model are you"],
    "abilities": ["What can you do?", "help", "How can you help me?", "How does this work?", "What can I ask you?"],
    "source": [
        *("show me the second source", "Open source 3", "source 2"),
        *("What is source 2?", "Can you show me source [1], please?"),
        *("show [2]", "the third citation", "Thanks. Show me the first and the third source.", "Where is [1] from?"),
    ],
    "sources": [
        *("Where did you get that from?", "show me your sources", "Sources?", "How do you know that?", "Are you sure?"),
        *("what are your sources?", "Where does this information come from?", "list the sources of your last answer"),
    ],
    "asked": ["what did I ask first?", "What was my last question?", "what did i just ask", "Repeat my question"],
    "questions": ["What have I asked so far?", "list my questions", "How many questions have I asked?"],
    "repeat": [
        "repeat your last answer",
        "Say that again",
        "Could you repeat that, please?",
        "What did you say?",
        "Pardon?",
    ],
    "summary": [
        *("summarise our conversation", "Summarize this chat so far", "recap", "What have we talked about so far?"),
        *("Please sum up what we discussed.", "give me a short summary of our conversation"),
    ],
    "shorter": [
        "make it shorter",
        "Shorter please",
        "Can you make your last answer more concise?",
        "tl;dr",
        "In one sentence",
    ],
    "restyle": ["rephrase that", "say it in simpler words", "translate your answer into German", "Put that in a table"],
}
QUESTIONS = [
    *("thanks, and what about children?", "Hi, what is dengue?"),
    *("ok, and in pregnant women?", "Hello world programs in C"),
    *("What is open source?", "Which open source licence is the most used?"),
    *("open source 3D printers", "What is a reference range?"),
    *("Who are the authors of the second source?", "what does the second source say about dosage?", "source 2 dosage"),
    *("Who sang Hello?", "Who sang who are you?"),
    *("how are you supposed to take aspirin", "what can you do for a fever?"),
    *("What can you do with a biology degree?", "What was the first question asked on Jeopardy?"),
    *("summarise the paper",),
    *("Summarise the evidence for aspirin in stroke", "make bread shorter"),
    *("how to make it rain", "What is your pulse in shock?"),
    *("Thank You for Smoking director", "when did thank you next come out"),
    *("When was 'Good Morning' written?", "repeat infections"),
    *("What is a short answer test?", "Is a shorter course better?", "Are you sure aspirin is safe?"),
    *("tell me more", "why?"),
    *("And in children?", "why do they differ?"),
    *("Where does coffee come from?", "Where did they get that idea from in 1920?"),
    *("How do you know if you have dengue?", "what are you looking at lyrics"),
    *("who are you wearing", "Help for asthma"),
    *("No, I meant Mercury", "yes but how hot is it", "great barrier reef"),
    *("nice guidelines", "cool flames", "ok boomer meaning"),
    *("What did I. Newton ask first?", "What are citations used for in law?", "bye laws"),
    *("summary of the trial", "The second one?"),
]


@pytest.mark.parametrize(("kind", "message"), [(kind, text) for kind, texts in TALK.items() for text in texts])
def test_talk(kind, message):
    assert (found := recognise_talk(message)) is not None
    assert found.kind == kind


@pytest.mark.parametrize("message", QUESTIONS)
def test_questions_that_look_alike(message):
    assert recognise_talk(message) is None


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("show me the second source", (2,)),
        ("source 12", (12,)),
        ("open [3]", (3,)),
        ("the 1st and 3rd source", (1, 3)),
        ("the last source", (-1,)),
        ("what was my first question?", (1,)),
    ],
)
def test_numbers(message, numbers):
    assert recognise_talk(message).numbers == numbers


@given(
    st.sampled_from([text for texts in TALK.values() for text in texts]), st.sampled_from(["dengue", "tariff", "Mars"])
)
def test_a_word_of_another_subject_makes_it_a_question(message, subject):
    assert recognise_talk(f"{message.rstrip('?!. 👋👍')} {subject}?") is None
    assert recognise_talk(f"{message} And what about {subject}?") is None


@given(st.text(max_size=80))
def test_any_text_is_looked_at(text):
    found = recognise_talk(text)
    assert found is None or found.kind
    assert without_courtesy(text) in text


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("thanks, and what about children?", "and what about children?"),
        ("Hi! What is dengue?", "What is dengue?"),
        ("What is dengue? Thanks!", "What is dengue?"),
        ("Hello, Dolly! premiered when?", "Hello, Dolly! premiered when?"),
        ("What is dengue, and is it a virus?", "What is dengue, and is it a virus?"),
        ("thanks", "thanks"),
    ],
)
def test_courtesy_is_taken_off_a_question(message, question):
    assert without_courtesy(message) == question


@pytest.mark.parametrize(
    "message", ["could you say that in other words", "I did not get your answer", "was that right"]
)
def test_what_a_model_may_call_talk(message):
    assert is_of_the_conversation(message)


@pytest.mark.parametrize("message", ["what about aspirin", "and in children?", "the dose", "summarise the trial"])
def test_what_a_model_may_not_call_talk(message):
    assert not is_of_the_conversation(message)


FILES = {
    "bioasq/questions.jsonl.gz": "body",
    "nq_open/NQ-open.dev.jsonl": "question",
    "scifact/queries.jsonl": "text",
    "medquad/qa_pairs.jsonl.gz": "question",
    "covidqa/questions.jsonl.gz": "question",
}


def texts_of(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            yield from (value for value in record.values() if isinstance(value, str) and len(value) < 600)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_question_of_a_published_set_is_taken_for_talk(data_dir, name):
    paths = list((data_dir / name.split("/")[0]).glob("*.jsonl*"))
    texts = [text for path in paths for text in texts_of(path) if " " in text]
    assert len(texts) > 300
    assert [text for text in texts if recognise_talk(text)] == []
    shortened = [text for text in texts if text.endswith("?") and without_courtesy(text) != text]
    assert all(text.lower().startswith(("hello", "hi")) for text in shortened)


@pytest.mark.parametrize(
    ("kind", "matching", "other"),
    [
        ("greeting", "good morning", "good question"),
        ("thanks", "thank you for the quick answer", "thank you note"),
        ("goodbye", "see you tomorrow", "see table 2"),
        ("wellbeing", "how are you doing", "how are you treated for gout"),
        ("assent", "that makes sense", "that makes insulin"),
        ("identity", "who are you", "who are the authors"),
        ("abilities", "what can you do for me", "what can you do for gout"),
        ("source", "show me the second source", "show me the source of the Nile"),
        ("sources", "where did you get that from", "where did penicillin come from"),
        ("asked", "what did i ask before", "what did Fleming ask before"),
        ("questions", "which questions have i asked so far", "which questions did the trial ask"),
        ("questions", "which questions did i ask", "which questions did i asked wrongly"),
        ("repeat", "say that again", "say that aspirin works"),
        ("summary", "summarize our conversation", "summarize the treatment of gout"),
        ("shorter", "make it shorter", "make blood shorter"),
        ("restyle", "explain it in simple words", "explain gout in simple words"),
    ],
)
def test_a_kind_of_talk_matches_whole_clauses_of_it_alone(kind, matching, other):
    pattern = dict(intents._KIND_PATTERNS)[kind]
    assert pattern.fullmatch(matching)
    assert not pattern.fullmatch(other)


def test_every_kind_of_talk_has_a_pattern():
    assert [kind for kind, _ in intents._KIND_PATTERNS] == [
        *("greeting", "thanks", "goodbye", "wellbeing", "assent", "identity", "abilities"),
        *("source", "sources", "asked", "questions", "repeat", "summary", "shorter", "restyle"),
    ]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("🐶🐱", "other"),
        ("👍🐶", "other"),
        ("😢", "other"),
        ("👍🏽", "assent"),
        ("🙂", "assent"),
        ("❤️", "assent"),
        ("?!", "other"),
    ],
)
def test_only_a_picture_that_agrees_is_assent(message, kind):
    assert recognise_talk(message).kind == kind
