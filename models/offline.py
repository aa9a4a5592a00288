"""`OfflineReader`: answers made of the passages' own sentences. No key, no network, no language model.

A sentence's score is a weighted sum of its cosine similarity to the question (embedded under its passage's title) and
of the share of the question's terms that it holds, each term weighted by its inverse document frequency over the
sentences at hand. Position plays no part. Weight, threshold and margin were set on the development half of public
question sets, for the default embedder, all-MiniLM-L6-v2; `python -m preflight_rag.evaluation.abstention` shows what
they do there and on the other half.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..state.reading import Comparison, Draft, Extract, Message, Reply, Rewrite, Source
from .concepts import rewrite_by_rules
from .follow_ups import standalone
from .offline_relations import Contexts
from .sentences import sentence_spans
from .words import words

if TYPE_CHECKING:
    import numpy as np

    from .embedder import Embedder

SIMILARITY_WEIGHT = 0.65
"""Weight of the cosine similarity; the lexical share has the rest."""
ANSWER_THRESHOLD = 0.45
"""Least score of the best sentence at which the passages count as holding the answer."""
EXTRACT_THRESHOLD = 0.30
"""Least score of a sentence that a partition hands on."""
MARGIN = 0.10
"""How far below the best sentence's score a further sentence may lie and still be quoted."""
MAX_QUOTED = 3
MAX_EXTRACTED = 4
MAX_EMBEDDED = 32
"""Sentences that are embedded for one question, chosen by their lexical share."""

LEAST_COLLECTION = 100
"""Number of sentences that document frequencies are taken over at least, so that the few sentences of a partition, or
those handed on to `reduce`, score as they do among all."""

NOT_FOUND = "The documents do not answer this question."

_TITLE_SHARE = 0.5
_SAME_WORDS = 0.8
_MAX_QUOTE = 600
_LEAD = re.compile(r"(?:(?:[#>*+|•·‣◦–-]+|\(?\d{1,3}[.)])\s+)+")
_REFERENCE = re.compile(r"\s?\[\d+(?:\s?[,;–-]\s?\d+)*\]")
_EMPHASIS = re.compile(r"\*\*|__|`")
_NEGATION = re.compile(r"\b(?:not?|never|none|neither|nor|without|cannot|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.I)
_DOUBT = re.compile(r"\b(?:unclear|inconclusive|uncertain|controversial)\b", re.I)
_VERDICTS = frozenset({"yes", "no", "maybe"})


@dataclass(frozen=True)
class Sentence:
    """A verbatim stretch of source `n`, with the terms that it and its passage's title hold."""

    n: int
    text: str
    title: str
    terms: frozenset[str]
    title_terms: frozenset[str]


@dataclass(frozen=True)
class Scored:
    """A sentence with its cosine similarity to the question, its lexical share, and both as one score."""

    sentence: Sentence
    similarity: float
    share: float
    vector: np.ndarray

    @property
    def score(self) -> float:
        """Rounded, so that the last bits of a sum never decide an order."""
        return weighted(self.similarity, self.share)


class OfflineReader:
    """Quotes the sentences that answer best, and abstains when none is good enough. Deterministic.

    Args:
        embedder: What sentences are compared with.
        threshold: Least score of the best sentence, in [0, 1], at which it answers; another embedder than the default
            may need another one.
    """

    by_rule = True

    def __init__(self, embedder: Embedder, *, threshold: float = ANSWER_THRESHOLD) -> None:
        self.name = "offline extractive"
        self.embedder = embedder
        self.threshold = threshold
        self.contexts = Contexts(lambda question, source: self.rank(question, sentences_of([source])), threshold)

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """The message, joined by rule with the last question it depends on where it cannot stand alone."""
        question = standalone(message, [turn.text for turn in history if turn.role == "user"])
        return Reply(rewrite_by_rules(question))

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """One to three sentences of the sources, best first."""
        return Reply(await asyncio.to_thread(lambda: self._draft(question, sentences_of(sources), options)))

    async def extract(self, *, question: str, sources: Sequence[Source]) -> Reply[Extract]:
        """The partition's best sentences, one a line under its passage's title."""
        ranked = await asyncio.to_thread(lambda: self.rank(question, sentences_of(sources)))
        kept = [item.sentence for item in ranked[:MAX_EXTRACTED] if item.score >= EXTRACT_THRESHOLD]
        text = "\n".join(_line(sentence) for sentence in kept)
        return Reply(Extract(text, tuple((sentence.n, sentence.text) for sentence in kept)))

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """The extracted sentences of all partitions scored together, then as `answer`."""
        sentences = [sentence for extract in extracts for sentence in _extracted(extract)]
        return Reply(await asyncio.to_thread(lambda: self._draft(question, sentences, options)))

    async def relate(self, *, question: str, pivot: Source, others: Sequence[Source]) -> Reply[Comparison]:
        """Relations by small trained models over features of the contexts; see `offline_relations.py`."""
        return Reply(await asyncio.to_thread(self.contexts.compare, question, pivot, others))

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """The best sentence of each context that answers; with `plural`, behind the name of what it is about."""
        return Reply(await asyncio.to_thread(self._group_draft, question, sources, plural))

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """The sentences themselves, a paragraph a section; of parts, their summaries one after another."""
        if parts:
            quotes = tuple(quote for part in parts for quote in part.quotes)
            return Reply(Draft("\n\n".join(part.text for part in parts), quotes))
        text = "\n\n".join(" ".join(f"{_plain(item.text)} [{item.n}]" for item in section) for section in sections)
        return Reply(Draft(text, tuple((item.n, item.text) for section in sections for item in section)))

    def count_tokens(self, text: str) -> int:
        """Word pieces of the embedder's tokenizer."""
        return self.embedder.count_tokens(_encodable(text))

    def _draft(self, question: str, sentences: Sequence[Sentence], options: Sequence[str]) -> Draft:
        ranked = self.rank(question, sentences)
        if not ranked or ranked[0].score < self.threshold:
            return Draft(NOT_FOUND, found=False)
        groups = _agreeing(ranked, least=max(self.threshold, ranked[0].score - MARGIN))
        choice = self._choose(question, [group[0] for group in groups], options) if options else None
        quotes = {(item.sentence.n, item.sentence.text): None for group in groups for item in group}
        return Draft("\n\n".join(_statement(group) for group in groups), tuple(quotes), choice=choice)

    def _group_draft(self, question: str, sources: Sequence[Source], plural: bool) -> Draft:
        lines: dict[str, list[tuple[Sentence, str]]] = {}
        for source in sources:
            note, reading = self.contexts.note(question, source), self.contexts.read(question, source)
            if note.answer is None or reading.best is None:
                continue
            sentence = reading.best.sentence
            described = f"{note.entity} ({note.descriptor})" if note.descriptor else note.entity
            label = f"{described}: " if plural and described else ""
            alike = (line for line, held in lines.items() if line.startswith(label) and _same(held[0][0], sentence))
            line = next(alike, label + _elided(reading.quote, sentence.text))
            lines.setdefault(line, []).append((sentence, reading.quote))
        if not lines:
            return Draft(NOT_FOUND, found=False)
        marks = {line: "".join(f"[{sentence.n}]" for sentence, _ in held) for line, held in lines.items()}
        quotes = tuple((sentence.n, quote) for held in lines.values() for sentence, quote in held)
        return Draft("\n".join(f"{line} {marks[line]}" for line in lines), quotes)

    def rank(self, question: str, sentences: Sequence[Sentence]) -> list[Scored]:
        """The sentences with the largest lexical shares, scored, best first; ties in their order."""
        if not sentences:
            return []
        shares = _lexical_shares(frozenset(words(question)), sentences)
        order = sorted(range(len(sentences)), key=lambda i: (-shares[i], sentences[i].n, i))
        chosen = sorted(order[:MAX_EMBEDDED], key=lambda i: (sentences[i].n, i))
        vectors = _unit(
            self.embedder.encode_passages(
                [(_encodable(sentences[i].title), _encodable(sentences[i].text)) for i in chosen]
            )
        )
        similarities = (vectors @ _unit(self.embedder.encode_query(_encodable(question)))).tolist()
        scored = [
            Scored(sentences[i], similarity, shares[i], vector)
            for i, similarity, vector in zip(chosen, similarities, vectors, strict=True)
        ]
        return sorted(scored, key=lambda item: -item.score)

    def _choose(self, question: str, evidence: Sequence[Scored], options: Sequence[str]) -> str:
        """The option that agrees best with the quoted sentences; the first of equals."""
        by_name = {option.strip().strip(".").casefold(): option for option in options}
        if len(by_name) > 1 and by_name.keys() <= _VERDICTS:
            return by_name.get(_verdict(question, evidence, by_name), options[0])
        claims = _unit(self.embedder.encode_passages([_encodable(f"{question} {option}") for option in options]))
        held = frozenset[str]().union(*(item.sentence.terms for item in evidence))

        def agreement(i: int) -> float:
            terms = frozenset(words(options[i]))
            share = len(terms & held) / len(terms) if terms else 0.0
            return weighted(max(float(claims[i] @ item.vector) for item in evidence), share)

        return options[max(range(len(options)), key=lambda i: (agreement(i), -i))]


def weighted(similarity: float, share: float, weight: float = SIMILARITY_WEIGHT) -> float:
    """Similarity and lexical share as one score, to four decimals."""
    return round(weight * similarity + (1 - weight) * share, 4)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors divided by their lengths; embedders that are compared by inner product do not return unit vectors."""
    lengths = (vectors**2).sum(axis=-1, keepdims=True) ** 0.5
    unit: np.ndarray = vectors / (lengths + (lengths == 0))
    return unit


def _lexical_shares(question: frozenset[str], sentences: Sequence[Sentence]) -> list[float]:
    """Share of the question's terms that each sentence holds, by inverse document frequency; a title's count half."""
    found = Counter(term for sentence in sentences for term in sentence.terms & question)
    count = max(len(sentences), LEAST_COLLECTION)
    weights = {term: math.log(1 + count / (0.5 + found[term])) for term in sorted(question)}
    total = sum(weights.values()) or 1.0
    shares = []
    for sentence in sentences:
        held = sum(
            weight * (1.0 if term in sentence.terms else _TITLE_SHARE)
            for term, weight in weights.items()
            if term in sentence.terms or term in sentence.title_terms
        )
        shares.append(round(held / total, 6))
    return shares


def sentences_of(sources: Sequence[Source]) -> list[Sentence]:
    """Sentences of all sources; headings, questions and fragments only where a source has nothing else."""
    found: list[Sentence] = []
    for source in sources:
        quotes = [quote for span in sentence_spans(source.text) for quote in _quotable(source.text[slice(*span)])]
        telling = [quote for quote in quotes if not quote.endswith("?") and len(words(quote)) > 2]
        title_terms = frozenset(words(source.title))
        found += [
            Sentence(source.n, quote, source.title, frozenset(words(quote)), title_terms) for quote in telling or quotes
        ]
    return found


def _quotable(sentence: str) -> list[str]:
    """A sentence without the list or heading marks it begins with, cut between words where it is very long."""
    lead = _LEAD.match(sentence)
    rest = sentence[lead.end() :] if lead else sentence
    if lead and lead.group().startswith("#"):
        return []
    pieces = []
    while len(rest) > _MAX_QUOTE:
        at = rest.rfind(" ", _MAX_QUOTE // 2, _MAX_QUOTE)
        pieces.append(rest[: at if at > 0 else _MAX_QUOTE].strip())
        rest = rest[at if at > 0 else _MAX_QUOTE :]
    return [piece for piece in [*pieces, rest.strip()] if piece]


def _line(sentence: Sentence) -> str:
    title = " ".join(sentence.title.split())
    return f"{title}: {_plain(sentence.text)} [{sentence.n}]" if title else f"{_plain(sentence.text)} [{sentence.n}]"


def _extracted(extract: Extract) -> list[Sentence]:
    """The sentences of an extract; the titles are read from its lines where these are as `extract` writes them."""
    lines = extract.text.split("\n")
    found = []
    for i, (n, quote) in enumerate(extract.quotes):
        end = f"{_plain(quote)} [{n}]"
        title = lines[i].removesuffix(end).rstrip(": ") if i < len(lines) and lines[i].endswith(end) else ""
        found.append(Sentence(n, quote, title, frozenset(words(quote)), frozenset(words(title))))
    return found


def _agreeing(ranked: Sequence[Scored], *, least: float) -> list[list[Scored]]:
    """The first sentences that say different things, each with those of other sources that say the same."""
    groups: list[list[Scored]] = []
    for item in ranked:
        group = next((group for group in groups if _same(group[0].sentence, item.sentence)), None)
        if group is not None:
            group.append(item)
        elif len(groups) < MAX_QUOTED and item.score >= least:
            groups.append([item])
    return groups


def _same(a: Sentence, b: Sentence) -> bool:
    """Whether two sentences differ in a few words at most, and in no number and no negation."""
    if len(a.terms & b.terms) < _SAME_WORDS * len(a.terms | b.terms):
        return False
    if any(any(map(str.isdigit, term)) for term in a.terms ^ b.terms):
        return False
    return len(_NEGATION.findall(a.text)) == len(_NEGATION.findall(b.text))


def _statement(group: Sequence[Scored]) -> str:
    numbers = sorted({item.sentence.n for item in group})
    return f"{_plain(group[0].sentence.text)} " + "".join(f"[{n}]" for n in numbers)


def _plain(quote: str) -> str:
    """A quote as running text: without emphasis marks, and without the passage's own reference numbers."""
    return " ".join(_EMPHASIS.sub("", _REFERENCE.sub("", quote)).split())


def _elided(quote: str, sentence: str) -> str:
    """A quote as running text, with an ellipsis where the sentence goes on."""
    before, after = sentence.partition(quote)[::2]
    opens = quote[:1].isupper() or not before
    return f"{'' if opens else '… '}{_plain(quote)}{' …' if after else ''}"


def _encodable(text: str) -> str:
    """Text without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _verdict(question: str, evidence: Sequence[Scored], offered: Collection[str]) -> str:
    """Yes, no or maybe, by words of negation and doubt in the quoted sentences; negation in the question turns it."""
    if "maybe" in offered and any(_DOUBT.search(item.sentence.text) for item in evidence):
        return "maybe"
    negative = bool(_NEGATION.search(evidence[0].sentence.text)) != bool(_NEGATION.search(question))
    return "no" if negative else "yes"
