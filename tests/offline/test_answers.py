"""Answers by an extractive reader: claims, evidence, abstention, lists, explanations, map/reduce, odd input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.protocol import Reader
from preflight_rag.models.reading.extractive_reader import EVEN, PassageReading, Span
from preflight_rag.offline.confidence import confidence_model, question_terms
from preflight_rag.offline.evidence import NOTHING, evidence
from preflight_rag.offline.found_answers import (
    PROBABILITY_MARGIN,
    ReadPassage,
    combine_probabilities,
    distinct_answers,
    group_equal_answers,
)
from preflight_rag.offline.reader import NAME, OfflineReader
from preflight_rag.state.reading import Extract, Source
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, NOT_ANSWERED, UNREAD_LANGUAGE
from preflight_rag.text.quotes import quote_around

QUESTION = "How many people live in Broken Bow?"
NEBRASKA = "Broken Bow is a city. At the census of 2020 it had 3,506 people. It lies on Highway 2."
AGAIN = "In 2020, 3506 people lived there."
OKLAHOMA = "Broken Bow, too, is a city. In 2020 it had a population of 4,228."
BREAD = "Yeast gives off carbon dioxide. The gas makes the dough swell."


class Marked:
    """Reads what a table says: for a text its answerability, and the answers in it with their margins."""

    name = "marked"
    threshold = EVEN

    def __init__(self, table):
        self.table = table

    def read(self, pairs):
        return [self._one(text) for _, _, text in pairs]

    def _one(self, text):
        answerable, *answers = self.table.get(text, (0.02, (text.split()[0], -4.0)) if text.split() else (0.0,))
        spans = [
            Span(text.index(said), text.index(said) + len(said), said, margin)
            for said, margin in answers
            if said in text
        ]
        return PassageReading(tuple(spans), answerable)


TABLE = {
    NEBRASKA: (0.9, ("3,506", 6.0)),
    AGAIN: (0.8, ("3506", 5.0)),
    OKLAHOMA: (0.7, ("4,228", 5.0)),
}


@pytest.fixture
def reader(embedder, hand_made):
    def make(**changes):
        return OfflineReader(embedder, Marked({**TABLE, **changes}))

    return make


@pytest.fixture(scope="module")
def own(embedder) -> OfflineReader:
    return OfflineReader(embedder, open_extractive_reader())


def outcome(draft):
    return "not_found" if not draft.found else "answered" if draft.claims else "evidence"


def sources(*texts):
    return [Source(n, f"p{n}", "", text) for n, text in enumerate(texts, 1)]


def test_is_a_reader_with_the_extractive_readers_name(embedder, own):
    assert isinstance(own, Reader)
    assert own.name == own.extractive.name != NAME
    assert OfflineReader(embedder).name == NAME


async def test_a_short_answer_stands_before_its_sentence(reader):
    draft = (await reader().answer(question=QUESTION, sources=sources(BREAD, NEBRASKA))).value
    assert draft.text == "3,506 [2]\n\nAt the census of 2020 it had 3,506 people. [2]"
    assert (draft.short, draft.confidence, draft.claims) == ("3,506", 0.9, True)
    assert draft.quotes == ((2, "At the census of 2020 it had 3,506 people."),)


async def test_passages_that_agree_are_cited_together(reader):
    draft = (await reader().answer(question=QUESTION, sources=sources(NEBRASKA, BREAD, AGAIN))).value
    assert draft.text.startswith("3,506 [1][3]\n")
    assert [n for n, _ in draft.quotes] == [1, 3]


def test_one_plain_answer_counts_for_more_than_many_doubtful_ones():
    assert combine_probabilities([0.9]) == 0.9 > combine_probabilities([0.6] * 8) > combine_probabilities([0.6])
    assert combine_probabilities([1.0, 1.0]) <= 1


@pytest.mark.parametrize(("first", "second", "short"), [(0.9, 0.89, "3,506"), (0.8, 0.95, "4,228")])
async def test_of_different_answers_the_likeliest_alone_is_claimed(reader, first, second, short):
    marked = reader(**{NEBRASKA: (first, ("3,506", 5.0)), OKLAHOMA: (second, ("4,228", 5.0))})
    draft = (await marked.answer(question=QUESTION, sources=sources(NEBRASKA, OKLAHOMA))).value
    assert (draft.short, draft.confidence, len(draft.quotes)) == (short, max(first, second), 1)


class Supporting(Marked):
    """Says of sentences that are read for a statement how far they support it; `stated` are all such."""

    def __init__(self, table, supports):
        super().__init__(table)
        self.supports, self.stated = supports, []

    def read(self, pairs):
        return [self._stated(text) if question != QUESTION else self._one(text) for question, _, text in pairs]

    def _stated(self, text):
        self.stated.append(text)
        yes = self.supports[text]
        return PassageReading((), 0.5, None, (yes, 1 - yes, 0.0))


SENTENCES = [
    f"In 2020 the {town} of Broken Bow had {n} people." for n, town in ((311, "town"), (48, "city"), (97, "port"))
]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=3), st.booleans())
def test_sentences_are_read_for_their_answers_only_where_that_may_decide(embedder, drawn, several):
    """What is claimed, and whether there is evidence, is what it would be if all of them were read."""
    table = {text: (answers, (text.split()[7], 5.0)) for text, (answers, _) in zip(SENTENCES, drawn, strict=True)}
    supporting = Supporting(table, {text: yes for text, (_, yes) in zip(SENTENCES, drawn, strict=True)})
    answers = OfflineReader(embedder, supporting).drafts._answers
    read, model = answers.read(QUESTION, sources(*SENTENCES)), confidence_model()
    terms = question_terms(QUESTION, None, sources(*SENTENCES))
    whole = answers.judgement(QUESTION, read, terms, several=several)
    features = whole.all_features()
    assert len(supporting.stated) == len(whole.groups)
    judged = [(model.probability(each), group.text) for each, group in zip(features, whole.groups, strict=True)]
    sure = [item for item, each in zip(judged, features, strict=True) if model.claims(each)]
    supporting.stated.clear()
    lazy = answers.judgement(QUESTION, read, terms, several=several)
    assert [(item.confidence, item.group.text) for item in lazy.claims()] == sorted(sure, key=lambda item: -item[0])
    assert lazy.has_evidence() == (max(judged)[0] >= model.evidence)


async def test_of_answers_that_are_far_from_a_claim_no_sentence_is_read(embedder):
    supporting = Supporting({text: (0.3, (text.split()[7], 5.0)) for text in SENTENCES}, {})
    draft = (await OfflineReader(embedder, supporting).answer(question=QUESTION, sources=sources(*SENTENCES))).value
    assert (outcome(draft), supporting.stated) == ("evidence", [])


@pytest.mark.parametrize(
    ("answerable", "expected"),
    [(0.71, "answered"), (0.69, "evidence"), (0.31, "evidence"), (0.29, "evidence")],
)
async def test_what_is_not_likely_enough_is_evidence(reader, answerable, expected):
    text = "Broken Bow lies on Highway 2. In Broken Bow live 3,506 people."
    marked = reader(**{text: (answerable, ("3,506", 5.0))})
    draft = (await marked.answer(question=QUESTION, sources=sources(text, BREAD))).value
    assert outcome(draft) == expected
    if expected == "evidence":
        assert draft.text.startswith(f"{CLOSEST}\n\n“In Broken Bow live 3,506 people.” [1]")
        assert draft.quotes[0] == (1, "In Broken Bow live 3,506 people.")
    if expected != "answered":
        assert (draft.short, draft.confidence) == ("", None)


@pytest.mark.parametrize("question", ["Why is the sky blue?", "Warum ist der Himmel am Tag so blau wie das Meer?"])
async def test_what_two_copies_of_a_document_say_is_shown_once(reader, question):
    sky = "The sky is blue because air scatters blue light most."
    marked = reader(**{sky: (0.9, ("air scatters blue light", 5.0))})
    draft = (await marked.answer(question=question, sources=sources(sky, sky, BREAD))).value
    assert [quote for _, quote in draft.quotes].count(sky) == 1


async def test_sentences_of_the_same_meaning_are_shown_although_the_reader_finds_nothing(reader):
    text = "The inhabitants of the town of Broken Bow were 3,506 at the last count."
    marked = reader(**{text: (0.2, ("last", -1.0))})
    draft = (await marked.answer(question=QUESTION, sources=sources(text, BREAD))).value
    assert (outcome(draft), draft.quotes) == ("evidence", ((1, text),))


async def test_nothing_is_found_where_the_reader_finds_nothing_and_no_sentence_is_near(reader):
    text = "The river Broken Bow carries little water in summer."
    marked = reader(**{text: (0.2, ("little", -1.0))})
    draft = (await marked.answer(question="Who wrote the law on bees?", sources=sources(text, BREAD))).value
    assert (draft.found, draft.text, draft.quotes, draft.short) == (False, NOT_ANSWERED, (), "")


@pytest.mark.parametrize("text", ["", "# Broken Bow", "\n\n"])
async def test_evidence_without_a_sentence_to_quote_is_nothing(own, text):
    assert evidence([], CLOSEST) == NOTHING
    for question in (QUESTION, "Wie viele Menschen leben in der Stadt Broken Bow?"):
        draft = (await own.answer(question=question, sources=sources(text))).value
        assert draft.quotes or not draft.found


@pytest.mark.parametrize(("question", "listed"), [("Which gases does it give off?", True), ("What is it?", False)])
async def test_a_list_shows_all_likely_answers_of_a_passage(reader, question, listed):
    """In a list each span has the passage's probability by itself; else the spans share it, 0.59 to 0.36."""
    text = "It gives off argon, helium and some neon."
    marked = reader(**{text: (0.95, ("argon", 6.0), ("helium", 5.5), ("neon", -3.0))})
    draft = (await marked.answer(question=question, sources=sources(text))).value
    assert draft.quotes == ((1, text),)
    assert (draft.claims, draft.short) == ((True, "argon; helium") if listed else (False, ""))
    assert draft.confidence == (0.9485 if listed else None)


@pytest.mark.parametrize(
    ("sentence", "lead"),
    [
        ("The sky is blue because air scatters blue light more strongly than red light.", ABOUT_THIS),
        ("Air scatters blue light more strongly than red light.", CLOSEST),
    ],
)
async def test_an_explanation_is_evidence_and_no_claim(reader, sentence, lead):
    """Nothing measures how likely a sentence explains, so none is called an answer; without a reason none is said to be
    about the question."""
    sky = f"It is often asked. {sentence} Painters like it."
    marked = reader(**{sky: (0.9, ("blue light", 5.0))})
    draft = (await marked.answer(question="Why is the sky blue?", sources=sources(BREAD, sky))).value
    assert draft.text.startswith(f"{lead}\n\n“{sentence}” [2]")
    assert (outcome(draft), draft.short, draft.confidence) == ("evidence", "", None)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie viele Menschen leben in der Stadt Broken Bow?", "In der Stadt Broken Bow leben 3.506 Menschen."),
        ("布罗肯鲍有多少人口？", "布罗肯鲍的人口是3506人。"),
        ("Combien de personnes vivent dans la ville de Broken Bow ?", NEBRASKA),
    ],
)
async def test_in_other_languages_passages_are_shown_and_nothing_is_claimed(reader, question, text):
    marked = reader(**{text: (0.99, (text[:4], 8.0))})
    draft = (await marked.answer(question=question, sources=sources(text))).value
    assert (outcome(draft), draft.short, draft.confidence) == ("evidence", "", None)
    assert draft.text.startswith(UNREAD_LANGUAGE)
    assert all(quote in text for _, quote in draft.quotes)


GERMAN = "Die Stadt Broken Bow in Nebraska hat nach der letzten Zählung 3.506 Einwohner und liegt an der Bahn."


async def test_a_passage_in_another_language_is_never_claimed_from(reader):
    """Found first, it is shown; an English one behind it that answers is claimed, as by itself."""
    marked = reader(**{GERMAN: (0.99, ("3.506", 9.0)), NEBRASKA: (0.99, ("3,506", 9.0))})
    alone = (await marked.answer(question=QUESTION, sources=sources(GERMAN, BREAD))).value
    assert (outcome(alone), alone.quotes[0]) == ("evidence", (1, GERMAN))
    assert alone.text.startswith(UNREAD_LANGUAGE)
    both = (await marked.answer(question=QUESTION, sources=sources(GERMAN, NEBRASKA))).value
    by_itself = (await marked.answer(question=QUESTION, sources=sources(BREAD, NEBRASKA))).value
    assert (both.claims, both.short, both.quotes) == (True, by_itself.short, by_itself.quotes)


@pytest.mark.parametrize("question", [QUESTION, "Why is it so?", "Which gases are there?"])
async def test_partitions_give_what_one_answer_gives(reader, question):
    """Each hands on its likeliest sentence, so that what these are worth is judged over all of them."""
    marked, given_ = reader(), sources(BREAD, OKLAHOMA, "It is so.", BREAD, NEBRASKA, AGAIN)
    extracts = [(await marked.extract(question=question, sources=given_[i : i + 2])).value for i in (0, 2, 4)]
    assert all(extract.text for extract in extracts)
    reduced = (await marked.reduce(question=question, extracts=extracts)).value
    assert reduced == (await marked.answer(question=question, sources=given_)).value


async def test_extracts_of_another_process_are_read_themselves(reader):
    sentence = "At the census of 2020 it had 3,506 people."
    marked = reader(**{sentence: (0.9, ("3,506", 6.0))})
    extract = Extract(f"Broken Bow: {sentence} [7]", ((7, sentence),))
    draft = (await marked.reduce(question=QUESTION, extracts=[extract])).value
    assert draft.quotes == ((7, sentence),)


async def test_a_partition_that_nearly_answers_hands_on_its_best_sentence(reader):
    marked = reader(**{BREAD: (EVEN - 0.1, ("carbon dioxide", -0.2))})
    extract = (await marked.extract(question="What makes dough swell?", sources=sources(BREAD))).value
    assert extract.text == "Yeast gives off carbon dioxide. [1]"
    reduced = (await marked.reduce(question="What makes dough swell?", extracts=[extract])).value
    assert (outcome(reduced), reduced.quotes[0][0]) == ("evidence", 1)


async def test_a_group_of_contexts_gives_an_answer_for_each_name(own):
    given_ = [Source(1, "a", "Broken Bow, Nebraska", NEBRASKA), Source(2, "b", "Broken Bow, Oklahoma", OKLAHOMA)]
    draft = (await own.answer_group(question=QUESTION, sources=given_, plural=True)).value
    assert all(quote in given_[n - 1].text for n, quote in draft.quotes)
    assert draft.found is bool(draft.quotes)


def reading(*margins, answerable=0.9):
    text = " ".join(f"word{i}." for i in range(len(margins)))
    spans = tuple(Span(7 * i, 7 * i + 5, f"word{i}", margin) for i, margin in enumerate(margins))
    return ReadPassage(Source(1, "p", "", text), PassageReading(spans, answerable))


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=4), st.floats(0, 1))
def test_the_spans_of_a_passage_share_its_probability(margins, answerable):
    margins = sorted(margins, reverse=True)
    found = distinct_answers(reading(*margins, answerable=answerable))
    assert sum(item.probability for item in found) == pytest.approx(answerable, abs=0.001)
    listed = distinct_answers(reading(*margins, answerable=answerable), several=True)
    assert listed[0].probability == pytest.approx(answerable, abs=0.001)
    assert group_equal_answers(found)[0].confidence == pytest.approx(found[0].probability, abs=PROBABILITY_MARGIN)


@pytest.mark.parametrize(
    ("text", "said", "quote"),
    [
        ("# Bread\n\n- Yeast **gives** off gas.[12]", "gas", "Yeast **gives** off gas.[12]"),
        ("# Bread of Paris\nIt is white.", "Paris", "Bread of Paris"),
        ("One. Two three. Four.", "three. Four", "Two three. Four."),
        ("moss", "moss", "moss"),
        ("あ" * 3000 + "い" + "う" * 3000, "い", None),
        ("word " * 900 + "here " + "word " * 900, "here", None),
        ("a\ud800b c.", "b", "a\ud800b c."),
    ],
)
def test_the_quote_is_the_sentence_around_a_span(text, said, quote):
    start = text.index(said)
    first, last = quote_around(text, start, start + len(said))
    assert first <= start <= last - len(said)
    assert text[first:last] == quote if quote else last - first <= 600


ODD = ["", " ", "x", "?!…", "word " * 900, "あ" * 600, "Der Himmel ist blau.", "# Title", "\ud800 odd", "[1] [2]"]


@pytest.mark.slow
async def test_reads_a_passage_of_ten_thousand_words(own):
    given_ = sources("word " * 9_990 + "Broken Bow has 3,506 inhabitants.")
    draft = (await own.answer(question=QUESTION, sources=given_)).value
    assert all(quote in given_[0].text for _, quote in draft.quotes)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("", ()),
        ("?", ("yes", "no")),
        ("why", ()),
        ("Warum ist der Himmel blau", ("weil", "")),
        ("空はなぜ青いのですか", ()),
        ("\ud800", ("\ud800", "[1]")),
        ("Does it?", ("yes", "no", "maybe")),
        ("list " * 300, ()),
    ],
)
async def test_takes_any_text(own, question, options):
    given_ = [Source(n, f"p{n}", "" if n % 2 else "\ud800 T", text) for n, text in enumerate(ODD, 1)]
    draft = (await own.answer(question=question, sources=given_, options=options)).value
    assert all(quote in given_[n - 1].text for n, quote in draft.quotes)
    assert draft.confidence is None or (draft.claims and 0 <= draft.confidence <= 1)
    assert draft.found is bool(draft.quotes)
    assert draft.choice in (None, *options)
    extracts = [(await own.extract(question=question, sources=given_[i : i + 4])).value for i in (0, 4, 8)]
    told = [extract for extract in extracts if extract.text]
    assert (await own.reduce(question=question, extracts=told, options=options)).value.found == draft.found
    await own.answer_group(question=question, sources=given_, plural=True)


async def test_an_abbreviation_is_answered_by_the_sentence_that_spells_it_out(reader):
    others, spelled = "Much RTD work is slow.", "We built a Real-time Trial Database (RTD) in May. It is new."
    draft = (await reader().answer(question="What does RTD stand for?", sources=sources(others, spelled))).value
    assert (outcome(draft), draft.short) == ("answered", "Real-time Trial Database")
    assert draft.quotes == ((2, "We built a Real-time Trial Database (RTD) in May."),)


async def test_an_abbreviation_that_is_spelled_out_differently_is_quoted_and_not_claimed(reader):
    texts = (
        "The round trip delay (RTD) grew.",
        "RTD (Real-time Trial Database) is new.",
        "Round Trip Delays (RTD) grow.",
    )
    draft = (await reader().answer(question="What does RTD mean?", sources=sources(*texts))).value
    assert outcome(draft) == "evidence"
    assert [n for n, _ in draft.quotes] == [1, 2]


async def test_a_cut_quote_is_shown_with_an_ellipsis_and_kept_word_for_word(reader):
    long = f"Broken Bow had 3,506 people{', and a mill' * 80}."
    (shown,) = sources(long)
    table = {long: (0.9, ("3,506", 6.0))}
    draft = (await reader(**table).answer(question=QUESTION, sources=[shown])).value
    ((_, quote),) = draft.quotes
    assert quote in long
    assert len(quote) < len(long)
    assert f"{quote} …" in draft.text


async def test_no_prose_stands_under_the_rows_that_lack_something(reader):
    cake = "Item: Chocolate torte | Price: 32.00 | Contains: milk, egg"
    text = f"Item: Country loaf | Price: 4.60 | Contains: gluten\n{cake}"
    prose = "Free fatty acids were released from gluten at a fixed end point of 8.0."
    draft = (await reader().answer(question="What is gluten free?", sources=sources(text, prose))).value
    assert [quote for _, quote in draft.quotes] == [cake]


@pytest.mark.parametrize("answer", ["Mondays", "six until nine", "7am to 9pm", "noon to 4pm"])
async def test_of_the_times_of_several_weekdays_only_that_of_the_question_is_claimed(reader, answer):
    baths = "The baths open on Mondays from six until nine, Tuesdays (7am to 9pm) and Sundays (noon to 4pm)."
    table = {baths: (0.95, (answer, 8.0))}
    draft = (
        await reader(**table).answer(question="What time do the baths open on Sunday?", sources=sources(baths))
    ).value
    assert (outcome(draft) == "answered") is (answer == "noon to 4pm")
    assert draft.quotes


async def test_the_line_asked_for_of_a_document_named_by_its_code_is_shown_before_the_code(reader):
    bill = "BILL\nBill number: KD-2210\nOrder: RB-0415\nWork: Slates | Sum: €540.00\nWork: Tax at 10% | Sum: €54.00"
    draft = (await reader().answer(question="How much tax was on bill KD-2210?", sources=sources(bill))).value
    quotes = [quote for _, quote in draft.quotes]
    assert quotes[:2] == ["Work: Tax at 10% | Sum: €54.00", "Bill number: KD-2210"]
    assert not draft.claims


@pytest.mark.parametrize(
    ("question", "claimed"), [("How many may stand?", True), ("How many may sit? and stand?", False)]
)
async def test_nothing_is_claimed_of_a_fragment_behind_a_question(reader, question, claimed):
    hall = "The hall takes 165 people who sit and 220 who stand."
    table = {hall: (0.95, ("220", 8.0))}
    draft = (await reader(**table).answer(question=question, sources=sources(hall))).value
    assert (outcome(draft) == "answered") is claimed
    assert draft.quotes
