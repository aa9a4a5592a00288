"""Verdicts: made of the sentences that answer, told with those that say so, and withheld where none does."""

import pytest

from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import EVEN, PassageReading, Span
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.offline.verdicts import DISAGREE, UNDECIDED
from preflight_rag.state.reading import Source

QUESTION = "Does zinc shorten the common cold?"
DESIGN = "Zinc or placebo was given for the common cold, and the days of it were counted."
ASKED = "We asked whether zinc can shorten the common cold."
SHORTER = "Zinc did shorten the common cold by two days."
NOT = "Zinc did not shorten the common cold."
YES, NO, NEITHER = (0.9, 0.05, 0.05), (0.05, 0.9, 0.05), (0.1, 0.1, 0.8)


class Telling:
    """Reads what a table says: for a text its answerability and its verdict; a longer text is like DESIGN."""

    name = "telling"
    threshold = EVEN

    def __init__(self, **told):
        self.told = {DESIGN: (0.3, NEITHER), SHORTER: (0.9, YES), NOT: (0.9, NO), **told}

    def read(self, pairs):
        return [self._one(text) for _, _, text in pairs]

    def _one(self, text):
        answerable, verdict = self.told.get(text, (0.9, YES))
        return PassageReading((Span(0, 4, text[:4], 2.0),), answerable, 0.9, verdict)


def ask(embedder, reader, *texts, options=("yes", "no", "maybe")):
    sources = [Source(n, f"p{n}", "Zinc", text) for n, text in enumerate(texts, 1)]
    return OfflineReader(embedder, reader)._draft(QUESTION, sources, options)


def test_the_sentence_that_answers_decides_and_not_the_whole_passage(embedder):
    """The passage read as a whole says yes; its conclusion says no."""
    draft = ask(embedder, Telling(), f"{DESIGN} {NOT}")
    assert (draft.short, draft.choice, draft.quotes) == ("No", "no", ((1, NOT),))
    assert draft.text == f"No [1]\n\n{NOT} [1]"
    assert draft.confidence > 0.9


def test_each_passage_that_says_so_is_cited_and_no_other(embedder):
    draft = ask(embedder, Telling(), f"{DESIGN} {SHORTER}", f"{SHORTER} {DESIGN}", NOT)
    assert (draft.short, draft.quotes) == ("Yes", ((1, SHORTER), (2, SHORTER)))


@pytest.mark.parametrize(("options", "choice"), [((), None), (("yes", "no"), "yes"), (("yes", "no", "maybe"), "maybe")])
def test_passages_that_do_not_agree_are_both_told(embedder, options, choice):
    draft = ask(embedder, Telling(), SHORTER, NOT, options=options)
    assert draft.text.startswith(DISAGREE)
    assert (draft.short, draft.choice, set(draft.quotes)) == ("Maybe", choice, {(1, SHORTER), (2, NOT)})


def test_a_passage_that_says_both_is_not_two_passages_that_disagree(embedder):
    draft = ask(embedder, Telling(), f"{SHORTER} {NOT}")
    assert DISAGREE not in draft.text
    assert draft.choice in {"yes", "no"}


def test_where_no_sentence_takes_a_side_it_is_said_so(embedder):
    draft = ask(embedder, Telling(), f"{DESIGN} {DESIGN}")
    assert (draft.choice, draft.text.split("\n")[0]) == ("maybe", UNDECIDED)
    assert not ask(embedder, Telling(), f"{DESIGN} {DESIGN}", options=()).found


def test_a_sentence_that_asks_the_question_does_not_answer_it(embedder):
    reader = Telling(**{ASKED: (0.95, YES)})
    assert ask(embedder, reader, f"{ASKED} {NOT}").choice == "no"
    assert not ask(embedder, reader, ASKED).found


def test_passages_that_do_not_bear_on_the_question_decide_nothing(embedder):
    class Elsewhere(Telling):
        def _one(self, text):
            return PassageReading((Span(0, 4, text[:4], -4.0),), 0.01, 0.01, YES)

    assert not ask(embedder, Elsewhere(), SHORTER).found


def test_the_reader_itself_takes_the_conclusion_for_the_verdict(embedder):
    abstract = (
        "We asked whether drains are needed after thyroid surgery. Of 200 patients half had a drain. Bleeding occurred "
        "in 3 and 2 patients. Drains are not needed after thyroid surgery."
    )
    reader = OfflineReader(embedder, open_extractive_reader())
    draft = reader._draft("Are drains needed after thyroid surgery?", [Source(1, "p1", "", abstract)], ("yes", "no"))
    assert (draft.choice, draft.quotes) == ("no", ((1, "Drains are not needed after thyroid surgery."),))
