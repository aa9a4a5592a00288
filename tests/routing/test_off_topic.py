"""Whether nothing bears on a question: by nearness, by the reader's word, and where neither can say."""

import pytest

from preflight_rag.models.reading.extractive_reader import PassageReading
from preflight_rag.routing.off_topic import bearing_of
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.state.reading import Source

QUESTION = "Which drug treats malaria in children?"
BREAD = "Bread is baked from flour and water in a hot oven."
HALF = "Some children drink water with their bread."
NEAR = "The drug that treats malaria in children is artemether."


class Says:
    """An extractive reader that says the same of every passage."""

    threshold = 0.36

    def __init__(self, answerable, relevance):
        self.answerable, self.relevance, self.read_pairs = answerable, relevance, []

    def read(self, pairs):
        self.read_pairs += pairs
        return [PassageReading((), self.answerable, self.relevance) for _ in pairs]


class Damaged(Says):
    def read(self, pairs):
        raise ExtractiveReaderError("reader.onnx is damaged", help="Install the package again.")


NOTHING, RELEVANT, ANSWERS = Says(0.1, 0.1), Says(0.1, 0.8), Says(0.8, 0.1)


def bearing(texts, cosine, extractive, *, question=QUESTION, measured=True):
    sources = [Source(n, str(n), "", text) for n, text in enumerate(texts, 1)]
    refs = [{"rank": source.n, "cosine": cosine, "document_id": str(source.n)} for source in sources]
    return bearing_of(question, refs, sources, extractive, measured=measured)


@pytest.mark.parametrize(
    ("text", "cosine", "extractive", "none"),
    [
        (BREAD, 0.2, None, True),  # far, whatever reads
        (BREAD, 0.2, ANSWERS, True),
        (NEAR, 0.8, NOTHING, False),  # near, whatever reads
        (HALF, 0.7, NOTHING, True),  # between: the reader says
        (HALF, 0.7, RELEVANT, False),
        (HALF, 0.7, ANSWERS, False),
        (HALF, 0.7, None, False),
        (HALF, 0.7, Damaged(0, 0), False),
    ],
)
def test_nothing_bears_where_all_is_far_or_hardly_near_and_unread(text, cosine, extractive, none):
    assert bearing([text, BREAD], cosine, extractive).is_none is none


@pytest.mark.parametrize(
    ("question", "text", "none"),
    [
        ("What does ARDS stand for?", "Acute respiratory distress syndrome (ARDS) is dangerous.", False),
        ("what does ards stand for", "They died of ARDS.", False),
        ("Who is Maolin He?", "Maolin He wrote the paper.", False),
        ("What does GX-2290 mean?", "The pump GX 2290 is loud.", False),
        ("What does NASA stand for?", BREAD, True),
        ("What is Bread?", "Much is baked of flour, and little bread.", True),  # a name has its own letters
        ("Who painted the Mona Lisa?", "The Mona Lisa hangs in Paris.", True),  # asks more than who somebody is
    ],
)
def test_a_passage_with_the_name_that_is_all_the_question_asks_about_bears_on_it(question, text, none):
    assert bearing([text], 0.1, NOTHING, question=question).is_none is none


def test_one_near_passage_suffices():
    assert not bearing([BREAD, BREAD, NEAR], 0.6, NOTHING).is_none


@pytest.mark.parametrize(
    ("text", "extractive", "none"),
    [(BREAD, None, False), (BREAD, NOTHING, True), (BREAD, RELEVANT, False), (NEAR, NOTHING, False)],
)
def test_without_known_cosines_the_words_and_the_reader_have_to_agree(text, extractive, none):
    assert bearing([text], 0.0, extractive, measured=False).is_none is none


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Welches Medikament hilft Kindern gegen die Malaria?", BREAD),
        (QUESTION, "Das Brot wird aus Mehl und Wasser in einem heißen Ofen gebacken, und es ist gut."),
    ],
)
def test_nothing_is_said_of_other_languages(question, text):
    assert not bearing([text], 0.1, NOTHING, question=question).is_none


def test_passages_that_are_surely_near_are_not_read():
    reader = Says(0.1, 0.1)
    bearing([NEAR], 0.9, reader)
    assert reader.read_pairs == []
