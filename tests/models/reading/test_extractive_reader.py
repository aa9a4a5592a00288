"""Decoding: which stretches of a passage a model's scores stand for; and reading each pair once."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.bundled_reader import TOKENIZER
from preflight_rag.models.reading.extractive_reader import (
    EVEN,
    MAX_SPAN_TOKENS,
    MAX_SPANS,
    SCORES,
    CachedReader,
    ExtractiveReader,
    PassageReading,
    decode,
    join_title_and_text,
    load_tokenizer,
    sigmoid,
    softmax,
    windows,
    without_overlaps,
)
from preflight_rag.state.errors import ExtractiveReaderError

TOKENS = load_tokenizer(TOKENIZER)
QUIET = dict.fromkeys(SCORES, 0.0)


def marked(window, peaks):
    """Scores of starts and ends: -8 everywhere, 0 for no answer, and for (start, end, score) characters half each."""
    start, end = (np.full(len(window.ids), -8.0, dtype=np.float32) for _ in "se")
    start[0] = end[0] = 0.0
    for first, last, score in peaks:
        inside = [i for i, (a, b) in enumerate(window.offsets) if a < b and first < b and a < last]
        if inside:
            start[inside[0]] = end[inside[-1]] = score / 2
    return start, end


def read(text, peaks, *, title="", described=(), scores=QUIET):
    """What is decoded for a passage; `peaks` are (words, score), in the text, `described` likewise, anywhere."""
    whole, shift = join_title_and_text(title, text), len(join_title_and_text(title, ""))
    found = windows([("what is it?", title, text)], TOKENS)
    answers = [(shift + text.index(at), shift + text.index(at) + len(at), score) for at, score in peaks]
    telling = [(whole.index(at), whole.index(at) + len(at), score) for at, score in described]
    pooled = np.array(list(scores.values()), dtype=np.float32)
    outputs = [(*marked(w, answers), *marked(w, telling), pooled) for w in found]
    return decode(title, text, found, outputs)


@pytest.mark.parametrize(
    ("text", "peak", "answer"),
    [
        ("The kite rose to great heights.", "great heights", "great heights"),
        ("An unbelievably tall kite.", "believ", "unbelievably"),
        ("It flew 1,234,567 metres.", "234", "1,234,567"),
        ("A dose of 3.5 mg a day.", "5 mg", "3.5 mg"),
        ("It was raised by 50% then.", "50%", "50%"),
        ("He said “Paris,” and left.", "“Paris,”", "Paris"),
        ("It ended in 1990.", "1990.", "1990"),
        ("Café Zoë was open.", "Zoë", "Zoë"),
        ("It was Ødegårdsåsen, a hill.", "degård", "Ødegårdsåsen"),
        ("The strain is COVID-19.", "19", "19"),
        ("首都是东京。", "东京", "东京"),
        ("A " + "x" * 60 + " of it", "x" * 60, "x" * 60),
    ],
)
def test_a_span_is_whole_words_without_marks(text, peak, answer):
    spans, _, _ = read(text, [(peak, 6.0)])
    assert spans[0].text == answer
    assert text[spans[0].start : spans[0].end] == answer


def test_a_margin_is_the_score_above_no_answer():
    (best, *others), _, _ = read("A red kite and a blue one.", [("red", 6.0), ("blue", -3.0)])
    assert (best.text, best.margin) == ("red", 6.0)
    assert others[0].text == "blue"
    assert others[0].margin == -3.0


def test_several_answers_stand_side_by_side_best_first():
    spans, _, _ = read("Rome, Oslo, Bern, Lima and Cork.", [("Oslo", 5.0), ("Lima", 7.0), ("Rome", 3.0)])
    assert [span.text for span in spans[:1]] == ["Lima"]
    assert all(a.end <= b.start or b.end <= a.start for a in spans for b in spans if a is not b)
    assert [span.margin for span in spans] == sorted((span.margin for span in spans), reverse=True)


def test_places_count_from_the_texts_beginning():
    text = "It stands in Cork."
    spans, _, _ = read(text, [("Cork", 4.0)], title="The tower of Lima")
    assert (spans[0].text, spans[0].start) == ("Cork", text.index("Cork"))


def test_a_title_answers_nothing_but_may_tell_things_apart():
    spans, descriptor, _ = read("It stands in Cork.", [], title="The tower of Lima", described=[("Lima", 4.0)])
    assert descriptor == "Lima"
    assert all(span.text in "It stands in Cork." for span in spans)


def test_a_descriptor_does_not_reach_from_the_title_into_the_text():
    title, text = "The tower of Lima", "Lima has one tower."
    _, descriptor, _ = read(text, [], title=title, described=[("Lima\nLima", 4.0), ("one tower", 1.0)])
    assert descriptor == "one tower"


@pytest.mark.parametrize(("score", "descriptor"), [(2.0, "in children"), (0.0, None), (-2.0, None)])
def test_a_descriptor_scores_above_nothing(score, descriptor):
    assert read("It helps in children.", [], described=[("in children", score)])[1] == descriptor


def test_a_long_passage_is_read_in_windows():
    text = "The old tower stands. " * 90 + "It was built by Ada. " + "It is made of stone. " * 90
    assert len(windows([("what is it?", "", text)], TOKENS)) > 3
    spans, _, _ = read(text, [("Ada", 6.0)])
    assert (spans[0].text, spans[0].start) == ("Ada", text.index("Ada"))


def test_the_scores_are_those_of_the_window_most_likely_to_answer():
    found = windows([("what is it?", "", "The old tower stands. " * 200)], TOKENS)
    outputs = [
        (*(np.zeros(len(w.ids)) for _ in range(4)), np.array([-abs(i - 1), i, 0.12345, 0, 0]))
        for i, w in enumerate(found)
    ]
    assert decode("", "The old tower stands. " * 200, found, outputs)[2] == {
        "answerable": 0.0, "relevant": 1.0, "yes": 0.123, "no": 0.0, "neither": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", " ", "?!", "... --- ***", "\n\n"])
def test_where_there_is_no_word_there_is_no_span(text):
    assert read(text, [])[0] == ()


def test_where_the_best_ends_stand_before_the_best_starts_there_is_still_a_span():
    text = "It stands in Cork, " + "and so on, " * 30
    (found,) = windows([("where?", "", text)], TOKENS)
    start, end = np.full(len(found.ids), -9.0), np.full(len(found.ids), -9.0)
    first = [i for i, (a, b) in enumerate(found.offsets) if a < b]
    start[first[-12:]], end[first[:12]] = 5.0, 5.0
    spans, _, _ = decode("", text, [found], [(start, end, start, end, np.zeros(5))])
    assert spans
    assert text[spans[0].start : spans[0].end] == spans[0].text


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(st.sampled_from("ab1 .,?%-é东\n"), max_size=120),
    title=st.text(st.sampled_from("xy. "), max_size=12),
    seed=st.integers(0, 1000),
)
def test_spans_are_stretches_of_the_text_apart_and_in_order(text, title, seed):
    rng = np.random.default_rng(seed)
    found = windows([("what is it?", title, text)], TOKENS)
    outputs = [(*(rng.normal(size=(4, len(w.ids))) * 3), rng.normal(size=5)) for w in found]
    spans, descriptor, scores = decode(title, text, found, outputs)
    assert all(text[span.start : span.end] == span.text for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(sorted(spans, key=lambda span: span.start)))
    assert [span.margin for span in spans] == sorted((span.margin for span in spans), reverse=True)
    assert len(spans) <= MAX_SPANS
    assert bool(spans) == bool(re.search(r"\w", text))
    assert descriptor is None or descriptor in join_title_and_text(title, text)
    assert scores.keys() == QUIET.keys()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_no_span_is_longer_than_the_limit(seed):
    text = " ".join(["ox"] * 150)
    found = windows([("what is it?", "", text)], TOKENS)
    rng = np.random.default_rng(seed)
    outputs = [(*(rng.normal(size=(4, len(w.ids))) * 3), np.zeros(5)) for w in found]
    assert all(len(span.text.split()) <= MAX_SPAN_TOKENS for span in decode("", text, found, outputs)[0])


def test_apart_keeps_the_better_of_two_that_overlap():
    spans, _, _ = read("A red kite flew.", [("red", 4.0), ("red kite", 3.0)])
    assert without_overlaps([*spans, *spans]) == spans


@pytest.mark.parametrize(("logit", "probability"), [(0, 0.5), (1e9, 1.0), (-1e9, 0.0), (1, 0.7311)])
def test_sigmoid_is_rounded_and_never_overflows(logit, probability):
    assert sigmoid(logit) == probability


def test_softmax_sums_to_one():
    assert softmax([1000.0, 1000.0, -1000.0]) == (0.5, 0.5, 0.0)


class Recorder:
    """A reader that writes down what it is asked to read."""

    name = "recorder"
    threshold = EVEN

    def __init__(self):
        self.asked = []

    def read(self, pairs):
        self.asked.append(list(pairs))
        return [PassageReading((), answerable=len(text) / 10) for _, _, text in pairs]


def pair(text):
    return ("what?", "", text)


def test_each_pair_is_read_once():
    reader = CachedReader(inner := Recorder())
    first = reader.read([pair("a"), pair("bb"), pair("a")])
    second = reader.read([pair("bb"), pair("ccc")])
    assert inner.asked == [[pair("a"), pair("bb")], [pair("ccc")]]
    assert [reading.answerable for reading in first + second] == [0.1, 0.2, 0.1, 0.2, 0.3]
    assert reader.read([]) == []


def test_what_no_longer_has_room_is_read_again():
    reader = CachedReader(inner := Recorder(), most=2)
    texts = ["a" * n for n in range(1, 6)]
    readings = reader.read([pair(text) for text in texts])
    assert [reading.answerable for reading in readings] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert reader.read([pair(texts[0])]) == readings[:1]
    assert len(inner.asked) == 2


def test_threads_share_what_was_read():
    reader, failures = CachedReader(Recorder(), most=8), []

    def work(offset):
        for i in range(60):
            texts = ["x" * ((offset + i + j) % 12) for j in range(4)]
            if [r.answerable for r in reader.read([pair(t) for t in texts])] != [len(t) / 10 for t in texts]:
                failures.append(texts)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


class Waiting(Recorder):
    """A reader whose first reading waits until it is let go, and may fail then."""

    def __init__(self, fails):
        super().__init__()
        self.fails, self.begun, self.go_on = fails, threading.Event(), threading.Event()

    def read(self, pairs):
        if not self.begun.is_set():
            self.begun.set()
            assert self.go_on.wait(10)
            if self.fails:
                raise ExtractiveReaderError("no memory")
        return super().read(pairs)


@pytest.mark.parametrize("fails", [False, True])
def test_what_another_thread_is_reading_is_waited_for(fails):
    """Where that one fails, this one reads for itself."""
    reader = CachedReader(inner := Waiting(fails))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(reader.read, [pair("a"), pair("bb")])
        assert inner.begun.wait(10)
        second = pool.submit(reader.read, [pair("bb"), pair("ccc")])
        while [pair("ccc")] not in inner.asked:  # it does not wait before it reads what is its own
            assert not second.done()
        inner.go_on.set()
        assert [reading.answerable for reading in second.result(10)] == [0.2, 0.3]
        assert (type(first.exception(10)) is ExtractiveReaderError) is fails
    assert inner.asked == [[pair("ccc")], [pair("bb")] if fails else [pair("a"), pair("bb")]]


def test_readers_by_name():
    assert open_extractive_reader("none") is None
    own = open_extractive_reader()
    assert isinstance(own, ExtractiveReader)
    assert own.name == "preflight reader"
