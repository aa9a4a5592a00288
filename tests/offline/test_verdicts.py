"""Verdicts: a clear "no" is claimed above the finding that says it; all else is shown as evidence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import EVEN, PassageReading, Span
from preflight_rag.offline.confidence import QuestionTerms
from preflight_rag.offline.found_answers import ReadPassage
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.offline.scored_sentences import ScoredSentence, Sentence
from preflight_rag.offline.verdicts import ReadSentence, VerdictReader, read_sentence, side_of
from preflight_rag.state.reading import Source
from preflight_rag.text.headers import CLOSEST
from preflight_rag.text.sentence_fit import SentenceFit

QUESTION = "Does zinc shorten the common cold?"
DESIGN = "Zinc or placebo was given for the common cold, and the days of it were counted."
ASKED = "We asked whether zinc can shorten the common cold."
SHORTER = "Zinc did shorten the common cold by two days."
NOT = "Zinc did not shorten the common cold."
FITS = SentenceFit(QUESTION, [])
YES, NO, NEITHER = (0.9, 0.05, 0.05), (0.05, 0.9, 0.05), (0.1, 0.1, 0.8)


class Telling:
    """Reads what a table says: for a text its answerability and its verdict; a longer text says yes."""

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
    return OfflineReader(embedder, reader).drafts.draft(QUESTION, sources, options)


def test_the_sentence_that_answers_decides_and_not_the_whole_passage(embedder):
    """The passage read as a whole says yes; its conclusion says no."""
    draft = ask(embedder, Telling(), f"{DESIGN} {NOT}")
    assert (draft.short, draft.choice, draft.quotes) == ("No", "no", ((1, NOT),))
    assert draft.text == f"No [1]\n\n{NOT} [1]"
    assert (draft.claims, draft.confidence) == (True, None)


def test_one_finding_decides_and_it_alone_is_quoted(embedder):
    """Passages that say the same are not cited beside it: one is to see at once what a verdict rests on."""
    draft = ask(embedder, Telling(), f"{DESIGN} {NOT}", f"{NOT} {DESIGN}")
    assert (draft.short, draft.quotes) == ("No", ((1, NOT),))


def test_a_yes_is_not_claimed_however_clear_it_is(embedder):
    """It was right too seldom over whole documents: the finding is shown first, and the option is chosen."""
    draft = ask(embedder, Telling(), f"{DESIGN} {SHORTER}")
    assert (draft.claims, draft.short, draft.confidence, draft.choice) == (False, "", None, "yes")
    assert draft.text.startswith(f"{CLOSEST}\n\n“{SHORTER}” [1]")


@pytest.mark.parametrize("options", [(), ("yes", "no", "maybe"), ("yes", "no")])
def test_passages_that_do_not_agree_are_shown_and_nothing_is_claimed(embedder, options):
    draft = ask(embedder, Telling(), SHORTER, NOT, options=options)
    assert draft.text.startswith(CLOSEST)
    assert (draft.claims, draft.short, draft.confidence) == (False, "", None)
    assert set(draft.quotes) == {(1, SHORTER), (2, NOT)}
    assert draft.choice in (options or {None})


@pytest.mark.parametrize(("options", "choice"), [(("yes", "maybe"), "maybe"), (("No.", "Maybe"), "No.")])
def test_a_verdict_that_is_not_among_the_options_leaves_maybe(embedder, options, choice):
    assert ask(embedder, Telling(), NOT, options=options).choice == choice


def test_where_no_sentence_takes_a_side_nothing_is_claimed(embedder):
    draft = ask(embedder, Telling(), f"{DESIGN} {DESIGN}")
    assert (draft.claims, draft.choice) == (False, "yes")
    assert draft.text == f"{CLOSEST}\n\n“{DESIGN}” [1]"


def test_a_sentence_that_asks_the_question_does_not_answer_it(embedder):
    reader = Telling(**{ASKED: (0.95, YES)})
    assert ask(embedder, reader, f"{ASKED} {NOT}").choice == "no"
    assert not ask(embedder, reader, ASKED).found


def test_passages_that_do_not_bear_on_the_question_decide_nothing(embedder):
    class Elsewhere(Telling):
        def _one(self, text):
            return PassageReading((Span(0, 4, text[:4], -4.0),), 0.01, 0.01, YES)

    assert not ask(embedder, Elsewhere(), SHORTER).found


def test_the_words_of_a_sentence_outweigh_a_reading_that_is_the_reverse(embedder):
    """A reader that says no to "did shorten": the sentence does not decide for it, so nothing is claimed."""
    raised = "Zinc did shorten the common cold by two days, p=0.01."
    draft = ask(embedder, Telling(**{raised: (0.9, NO)}), raised)
    assert (draft.claims, draft.quotes) == (False, ((1, raised),))


def test_the_reader_itself_takes_the_conclusion_for_the_verdict(embedder):
    abstract = (
        "We asked whether drains are needed after thyroid surgery. Of 200 patients half had a drain. Bleeding occurred "
        "in 3 and 2 patients. Drains are not needed after thyroid surgery."
    )
    reader = OfflineReader(embedder, open_extractive_reader())
    draft = reader.drafts.draft(
        "Are drains needed after thyroid surgery?", [Source(1, "p1", "", abstract)], ("yes", "no")
    )
    assert (draft.choice, draft.quotes[0]) == ("no", (1, "Drains are not needed after thyroid surgery."))


class Given(VerdictReader):
    """A reader of verdicts whose sentences are read already."""

    def __init__(self, stated):
        self.stated = stated

    def findings(self, question, read, terms):
        return self.stated

    def most_similar_sentence(self, question, read, findings, fit):
        return []


@st.composite
def read_sentences(draw):
    n = draw(st.integers(1, 6))
    shares = [draw(st.integers(0, 100)) + 0.001 for _ in range(3)]
    verdict = tuple(share / sum(shares) for share in shares)
    score, answerable, covered = (draw(st.floats(0, 1)) for _ in range(3))
    text = draw(st.sampled_from([f"Dose {n} did not shorten the common cold.", "Colds were shorter."]))
    sentence = Sentence(n, text, "", frozenset(), frozenset())
    near = ScoredSentence(sentence, score, score, np.zeros(2))
    reading = PassageReading((), answerable, None, verdict)
    return ReadSentence(near, reading, covered, draw(st.sampled_from([-1, 0, 1])))


@given(stated=st.lists(read_sentences(), min_size=1, max_size=5))
def test_a_verdict_opposite_to_its_own_quote_is_impossible(stated):
    """What is claimed is what reading and words of the finding quoted first say, and what all of them say together."""
    draft = Given(stated).verdict(QUESTION, [], {}, QuestionTerms({}, frozenset(), frozenset()), FITS)
    assert draft is not None
    assert draft.quotes
    if not draft.claims:
        assert (draft.short, draft.confidence) == ("", None)
        return
    turned = {"Yes": 1, "No": -1}[draft.short]
    quoted = [item for item in stated if (item.n, item.near.sentence.text) == draft.quotes[0]]
    assert any(item.support_for(turned) > 0 for item in quoted)
    assert any(turned * (item.verdict[0] - item.verdict[1] + item.direction) > 0 for item in quoted)
    assert turned * side_of(stated) > 0


DENIES, MIXED = (0.02, 0.95, 0.03), (0.3, 0.35, 0.35)


@pytest.mark.parametrize(
    ("document", "verdict", "answerable", "claims"),
    [
        ("other", YES, 0.9, False),
        ("other", MIXED, 0.9, False),
        ("other", DENIES, 0.9, True),
        ("other", YES, 0.3, True),
        ("own", YES, 0.9, True),
    ],
)
def test_no_is_claimed_only_where_no_other_document_answers_otherwise(document, verdict, answerable, claims):
    text = "Zinc does not shorten the common cold."
    near = ScoredSentence(Sentence(1, text, "", frozenset(), frozenset()), 1.0, 1.0, np.zeros(2))
    finding = ReadSentence(near, PassageReading((), 1.0, None, DENIES), 1.0, 0)
    read = [
        ReadPassage(Source(1, "a", "", text, document_id="own"), PassageReading((), 0.9, None, DENIES)),
        ReadPassage(Source(2, "b", "", "It was.", document_id=document), PassageReading((), answerable, None, verdict)),
    ]
    draft = Given([finding]).verdict(QUESTION, read, {}, QuestionTerms({}, frozenset(), frozenset()), FITS)
    assert draft is not None
    assert (draft.claims, draft.short) == ((True, "No") if claims else (False, ""))


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("Zinc did not shorten the common cold.", True),
        ("Colds went up with zinc, which increased them.", True),
        ("The cold went on for nine days with zinc.", False),
        ("Zinc not only shortened colds.", False),
        ("Zinc did not raise the temperature.", False),
        ("With zinc, cold-blooded animals did not differ.", False),
    ],
)
def test_no_is_claimed_only_of_words_that_deny_what_was_asked(sentence, claims):
    """Whatever the reader says: here it is sure of a no."""
    terms = QuestionTerms({}, frozenset(), frozenset())
    near = ScoredSentence(Sentence(1, sentence, "", frozenset(), frozenset()), 1.0, 1.0, np.zeros(2))
    draft = Given([read_sentence(QUESTION, near, PassageReading((), 1.0, None, DENIES), terms)]).verdict(
        QUESTION, [], {}, terms, FITS
    )
    assert draft is not None
    assert draft.claims is claims
    assert draft.quotes == ((1, sentence),)


@pytest.mark.parametrize(("second", "side"), [((0.0, 1.0, 0.0), 0.0), ((0.5, 0.5, 0.0), 0.5), ((1.0, 0.0, 0.0), 1.0)])
def test_the_side_is_the_weighted_mean_of_all_findings(second, side):
    def finding(verdict):
        near = ScoredSentence(Sentence(1, "It is so.", "", frozenset(), frozenset()), 1.0, 1.0, np.zeros(2))
        return ReadSentence(near, PassageReading((), 1.0, None, verdict), 1.0, 0)

    assert side_of([finding((1.0, 0.0, 0.0)), finding(second)]) == side
