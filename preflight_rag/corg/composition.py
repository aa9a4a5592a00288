"""Composing one answer from the groups' drafts.

Each answer has its entity and descriptor; contradictions are shown side by side.

Everything here is pure. Answers are never dropped: an answer that a group's reply omits is taken from the comparison of
the contexts. A contradiction is announced only between short answers of different documents about the same thing, each
quoted verbatim and certainly its document's answer; other answers are shown side by side without that word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations

from preflight_rag.corg.agreement import numbers_of, same_answer
from preflight_rag.corg.comparability import Statement, about_different_things, is_short, sentence_around, sure
from preflight_rag.corg.entities import nearest_sentence
from preflight_rag.corg.undescribed import undescribed_answers
from preflight_rag.state.reading import ContextNote, Draft, Source
from preflight_rag.state.schema import EntryState, GroupDraft, Organisation
from preflight_rag.state.values import Relation
from preflight_rag.text.citations import MARK, MARKS, labelled, plain
from preflight_rag.text.headers import CONTRADICTED, DIFFERENT, OF_VERSIONS
from preflight_rag.text.names import speaks_of, surface_name
from preflight_rag.text.numbered_parts import ITEM_NUMBER
from preflight_rag.text.quotes import Span, locate, strongest, support
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import with_digits
from preflight_rag.text.versions import are_versions, dated, newest_first
from preflight_rag.text.words import STOP_WORDS, words

EDITED = 0.6
"""Least share of the shorter statement's words in the other one at which two with words of their own count as an edit;
a guess."""
LONGEST_QUOTE = 300
"""Most characters of a quote beside an answer; a guess: two sentences."""

_LABEL = re.compile(r"^\W*+([^:\n]{1,90}?)[*_]{0,2}\s*:[*_]{0,2}\s+")
_NUMERAL = re.compile(r"\d[\d.,]*")
_DATE = re.compile(r"\d{4}(?:-\d\d){0,2}")


@dataclass
class ComposedAnswer:
    """One answer of a composed reply: context `rank` gives it, and its quote is at `span`.

    `ranks` are all contexts that give this answer. `noted` is set for answers that come from the comparison of
    contexts, not from a group's reply. An answer is `verified` if its quote, or else words that state it, are in the
    passage, and, if the answer has numbers, at least one of them is there, too.
    """

    rank: int
    entity: str
    descriptor: str | None
    answer: str
    ranks: list[int]
    noted: bool = False
    span: Span | None = None
    verified: bool = False


@dataclass
class ComposedDraft:
    """The draft, its entries, the contexts whose answers were missing in a reply, and the announced contradictions."""

    draft: Draft
    entries: list[EntryState]
    gaps: list[dict[str, str]] = field(default_factory=list)
    announced: set[frozenset[int]] = field(default_factory=set)


@dataclass(frozen=True)
class Groups:
    """The input of the composition, once the groups are answered; `sources` are the contexts by number."""

    question: str
    drafts: Sequence[GroupDraft]
    contexts: Mapping[int, ContextNote]
    relations: Sequence[Relation[int]]
    organisation: Organisation
    sources: Mapping[int, Source]
    choice: str | None = None

    @cached_property
    def counterfactual(self) -> set[frozenset[int]]:
        """The pairs of contexts whose relation is counterfactual."""
        return {frozenset((one.a, one.b)) for one in self.relations if one.kind == "counterfactual"}

    def further(self, rank: int) -> list[int]:
        """Return the contexts that this one represents, since they were dropped in its favour."""
        return self.organisation["sources"].get(str(rank), [])

    def text(self, rank: int) -> str:
        """Return a context's text."""
        return self.sources[rank].text if rank in self.sources else ""


def compose(groups: Groups) -> ComposedDraft:
    """Return the answer of all groups; "not found" if no group has one."""
    gaps: list[dict[str, str]] = []
    items = _without_echoes(list(chain.from_iterable(_items(draft, groups, gaps) for draft in groups.drafts)))
    quotes: dict[tuple[int, str], None] = {}
    for item in items:
        _verify(item, groups)
        for rank in item.ranks:
            span = item.span if rank == item.rank else _quote(rank, item.answer, [], groups, noted=True)
            if span:
                quotes[rank, groups.text(rank)[slice(*span)]] = None
    entries = [EntryState(entity=i.entity, descriptor=i.descriptor, answer=i.answer, ranks=i.ranks) for i in items]
    text = (_verbatim(items, groups) or "\n\n".join(_paragraphs(items, groups))).strip()
    if text:
        text = "\n\n".join([text, *undescribed_answers(groups.contexts, groups.relations)])
    failed = sum(draft["status"] in ("failed", "unreadable") for draft in groups.drafts)
    if failed and text:
        parts = f"{failed} of {len(groups.drafts)} groups of passages"
        text += f"\n\nNote: {parts} could not be answered by the model; what their passages say is quoted as it stands."
    kept = [(rank, quote) for draft in groups.drafts for rank, quote in draft["quotes"]]
    claims = not any(_doubted(item, groups) for item in items)
    quoted = tuple(dict.fromkeys([*quotes, *kept]))
    draft = Draft(text, quoted, found=bool(text), choice=groups.choice, claims=claims)
    announced = {frozenset((a.rank, b.rank)) for a, b in combinations(items, 2) if _announced(a, b, groups)}
    return ComposedDraft(draft, entries, gaps, announced)


def _items(draft: GroupDraft, groups: Groups, gaps: list[dict[str, str]]) -> list[ComposedAnswer]:
    """Return the answers of one group, and for each context that none of them cites the answer in its note."""
    items: dict[int, ComposedAnswer] = {}
    loose: list[ComposedAnswer] = []
    for statement, ranks in _statements(draft, groups):
        own = [rank for rank in ranks if rank in draft["ranks"]]
        if not own:
            loose.append(ComposedAnswer(0, *_about(draft, groups), statement, ranks))
        elif own[0] in items:
            items[own[0]].answer += f"; {statement}"
            items[own[0]].ranks += [rank for rank in ranks if rank not in items[own[0]].ranks]
        else:
            context = groups.contexts[own[0]]
            answer = _without_label(statement, context)
            items[own[0]] = ComposedAnswer(own[0], context.entity, context.descriptor, answer, [own[0], *ranks])
    cited = set(chain.from_iterable(item.ranks for item in items.values()))
    for rank in draft["ranks"]:
        if rank not in cited and (noted := _noted(rank, draft, groups)):
            items[rank] = noted
            gaps.append(_gap(draft, f"context {rank} is missing in the group's answer; what was noted of it stands"))
    for item in items.values():
        extra = list(chain.from_iterable(map(groups.further, item.ranks)))
        # A context of the same thing may have been left out for another answer that both give.
        extra = [rank for rank in extra if _states_figures(item.answer, groups.text(rank))]
        item.ranks = list(dict.fromkeys([*item.ranks, *extra]))
    if loose and items:
        gaps += [_gap(draft, f"{item.answer[:80]!r} cites no context of its group") for item in loose]
    return [*items.values(), *loose]


def _without_echoes(items: Sequence[ComposedAnswer]) -> list[ComposedAnswer]:
    """Return the items without repetitions: without those that cite no context and repeat another item's answer."""
    own = [item for item in items if item.rank]
    distinct = []
    for item in items:
        if item.rank or not any(item.answer == o.answer and set(item.ranks) <= set(o.ranks) for o in own):
            distinct.append(item)
    return distinct


def _about(draft: GroupDraft, groups: Groups) -> tuple[str, str | None]:
    """Return the entity and descriptor of a group, as far as all of its contexts agree."""
    contexts = [groups.contexts[rank] for rank in draft["ranks"]]
    entities = {context.entity for context in contexts}
    descriptors = {context.descriptor for context in contexts}
    if len(entities) != 1:
        return "", None
    return entities.pop(), descriptors.pop() if len(descriptors) == 1 else None


def _statements(draft: GroupDraft, groups: Groups) -> Iterable[tuple[str, list[int]]]:
    """Yield the statements of a group's text with the ranks they cite.

    A statement without citation marks gets the rank of the context that states it.
    """
    for line in draft["text"].splitlines():
        cited, at = [], 0
        for marked in MARKS.finditer(line):
            cited.append((line[at : marked.start()].strip(" .;,"), marked[0]))
            at = marked.end()
        if cited:
            for statement, marks in cited:
                if re.search(r"\w", statement):
                    yield re.sub(r"^(?:and|but|while)\s+", "", statement), [int(rank) for rank in MARK.findall(marks)]
        elif re.search(r"\w", line):
            best = strongest(line, [groups.text(rank) for rank in draft["ranks"]])
            ranks = draft["ranks"] if len(draft["ranks"]) == 1 else []
            yield line.strip(" .;,"), ranks if best is None else [draft["ranks"][best]]


def _without_label(statement: str, context: ContextNote) -> str:
    """Return a statement without the context's name before its colon. Descriptors may contain colons, too."""
    own = re.escape(labelled(context.entity, context.descriptor))
    whole = re.match(rf"[*_]{{0,2}}{own}[*_]{{0,2}}\s*:\s+", statement)
    if context.entity and whole:
        return statement[whole.end() :].strip() or statement
    label = _LABEL.match(statement)
    names = f"{context.entity} {context.descriptor or ''}".casefold()
    if label and set(re.findall(r"\w{3,}", label[1].casefold())) & set(re.findall(r"\w{3,}", names)):
        return statement[label.end() :].strip() or statement
    return statement


def _noted(rank: int, draft: GroupDraft, groups: Groups) -> ComposedAnswer | None:
    """Return the answer in a context's note as a composed answer; None if the note has none.

    A note made by rule counts only if the reply was unusable or a relation says that the context answers.
    """
    context = groups.contexts[rank]
    if not context.answer or not context.relevant:
        return None
    answers = any(
        rank in (relation.a, relation.b) and relation.kind in ("distracting", "counterfactual", "duplicated")
        for relation in groups.relations
    )
    unusable = draft["status"] in ("unreadable", "failed")
    if not context.told and not unusable and not (answers and draft["status"] == "answered"):
        return None
    if not context.told and not _on_subject(rank, groups):
        return None
    answer = MARK.sub("", context.answer).strip(" .\n")
    return ComposedAnswer(rank, context.entity, context.descriptor, answer, [rank], noted=True)


def _on_subject(rank: int, groups: Groups) -> bool:
    """Return whether a passage speaks of the question's subject; true if the passage is unknown."""
    passage = groups.sources.get(rank)
    return passage is None or speaks_of(surface_name(groups.question), passage.title, passage.text)


def _verify(item: ComposedAnswer, groups: Groups) -> None:
    """Find the quote that states an answer, and note whether quote and figures confirm it."""
    quotes = []
    for draft in groups.drafts:
        for rank, quote in draft["quotes"]:
            if rank == item.rank:
                quotes.append(quote)
    wanted = numbers_of(item.answer)
    item.ranks = list(dict.fromkeys(item.ranks))
    item.span = _quote(item.rank, item.answer, quotes, groups, noted=item.noted)
    if item.span:
        text = groups.text(item.rank)
        quoted = numbers_of(text[slice(*item.span)])
        # A quote from the model that is nowhere in the text speaks against the answer; a missing quote says nothing.
        given = not quotes or any(locate(quote, text) for quote in quotes)
        item.verified = given and (not wanted or bool(wanted & quoted))


def _quote(rank: int, answer: str, quotes: Sequence[str], groups: Groups, *, noted: bool) -> Span | None:
    """Return where a context states an answer: a quote given for it, else the sentence that supports or contains it.

    An answer that comes from the comparison (`noted`) may also be located by the sentence with the noted words, or by
    the sentence nearest to the question.
    """
    text = groups.text(rank)
    spans = [span for quote in quotes if (span := locate(quote, text))]
    spans += [span for span in (support(answer, text), _sentence_with(answer, text)) if span]
    context = groups.contexts.get(rank)
    if noted and context and context.answer:
        spans += [span for span in (_sentence_with(context.answer, text),) if span]
        if not context.told and not spans:
            spans += [span for span in (locate(nearest_sentence(groups.question, text), text),) if span]
    wanted = numbers_of(answer)
    return next((span for span in spans if wanted <= _stated_numbers(text[slice(*span)])), spans[0] if spans else None)


def _states_figures(answer: str, text: str) -> bool:
    """Return whether one sentence of a text has a number of an answer and a word of it, if the answer has these."""
    wanted = numbers_of(answer)
    named = frozenset(words(_NUMERAL.sub(" ", answer))) - STOP_WORDS
    sentences = (text[slice(*span)] for span in sentence_spans(text)) if wanted else ()
    # A figure alone proves little: "3" is in many sentences, "3" beside "districts" in few.
    return not wanted or any(
        wanted & _stated_numbers(sentence) and (not named or named & frozenset(words(sentence)))
        for sentence in sentences
    )


def _stated_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, in digits or words, without those of a list's items."""
    stated = ITEM_NUMBER.sub(" ", text)
    return numbers_of(stated) | numbers_of(with_digits(stated))


def _sentence_with(answer: str, text: str) -> Span | None:
    """Return the sentence that contains a short answer as whole words."""
    pattern = re.compile(rf"(?<!\w){re.escape(answer.strip(' .'))}(?!\w)", re.IGNORECASE)
    spans = (span for span in sentence_spans(text) if pattern.search(text[slice(*span)]))
    return next(spans, None) if re.search(r"\w", answer) else None


def _verbatim(items: Sequence[ComposedAnswer], groups: Groups) -> str:
    """Return a single group's own text, completed by the answers and sources that it omits; "" for anything else."""
    if len(groups.drafts) != 1 or groups.drafts[0]["status"] != "answered" or _sides(items, groups, least=2):
        return ""
    text = groups.drafts[0]["text"]
    cited = {int(rank) for rank in MARK.findall(text)}
    lines = [text, *(_line(item, groups) for item in items if item.rank and item.rank not in cited)]
    for item in items:
        count = _count(item.ranks, groups)
        if item.rank in cited and groups.further(item.rank) and count > 1:
            about = f"{label(item)}: " if len(items) > 1 else ""
            lines.append(f"{about}{count} sources agree {_marks(item.ranks, item, groups)}.")
    return "\n\n".join(lines)


def _paragraphs(items: Sequence[ComposedAnswer], groups: Groups) -> list[str]:
    """Return one paragraph for each uncontradicted answer, and one with all sides for each contradiction."""
    sides = _sides(items, groups, least=2)
    done: set[int] = set()
    out = []
    for item in items:
        if id(item) in done:
            continue
        together = _side_of(item, sides)
        done |= {id(other) for other in together}
        out += [_line(item, groups)] if len(together) == 1 else _contradiction(together, groups)
    return out


def _side_of(item: ComposedAnswer, sides: Sequence[list[ComposedAnswer]]) -> list[ComposedAnswer]:
    """Return the set of contradicting answers that an answer is in; without one, the answer alone."""
    for side in sides:
        if any(other is item for other in side):
            return side
    return [item]


def _sides(items: Sequence[ComposedAnswer], groups: Groups, *, least: int) -> list[list[ComposedAnswer]]:
    """Return sets of at least `least` items whose contexts are counterfactual.

    Items with equal answers never count as opposed.
    """
    found: list[list[ComposedAnswer]] = []
    for item in items:
        # An answer may contradict several sides that were apart so far: they become one contradiction.
        touching = []
        for side in found:
            if any(_against(item, other, groups) for other in side):
                touching.append(side)
        joined = list(chain.from_iterable(touching))
        found = [side for side in found if side not in touching] + [[*joined, item]]
    return [side for side in found if len(side) >= least]


def _against(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether two answers contradict each other: by their relation, and about the same thing."""
    if frozenset((a.rank, b.rank)) not in groups.counterfactual:
        return False
    return not _agree(a, b, groups) and not about_different_things(_statement(a, groups), _statement(b, groups))


def _statement(item: ComposedAnswer, groups: Groups) -> Statement:
    """Return an answer with the sentence that it is quoted from."""
    text = groups.text(item.rank)
    return Statement(item.answer, sentence_around(text, *item.span) if item.span else "")


def _agree(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether two answers are equal, judged by the short answers of their contexts.

    Whole statements share many other words. Two statements that are similar except for some words, where each has words
    of its own, are an edit and not one answer.
    """
    if a.answer.casefold() == b.answer.casefold():
        return True
    terms = frozenset(words(a.answer)), frozenset(words(b.answer))
    shared = terms[0] & terms[1]
    if terms[0] - shared and terms[1] - shared and len(shared) >= EDITED * min(map(len, terms)):
        return False
    # If both contexts have a short answer, these are compared: sentences share words that say nothing about it.
    noted = [context.answer for rank in (a.rank, b.rank) if (context := groups.contexts.get(rank))]
    first, second = noted if len(noted) == 2 and all(noted) else (a.answer, b.answer)
    return same_answer(first or "", second or "")


def _contradiction(items: Sequence[ComposedAnswer], groups: Groups) -> list[str]:
    """Return the sides, newest first; sides that contradict each other for certain are announced as such."""
    # The second sort is stable: with equal dates, the better-ranked answer stays first.
    ordered = sorted(items, key=lambda item: item.rank)
    ordered.sort(key=lambda item: _date(item, groups), reverse=True)
    place = {source.n: i for i, source in enumerate(newest_first(list(groups.sources.values())))}
    # Which version replaces which is also known of documents without a date.
    if any(_are_versions(a, b, groups) for a, b in combinations(ordered, 2)):
        ordered.sort(key=lambda item: place.get(item.rank, len(place)))
    versions = [item for item in ordered if any(_are_versions(item, other, groups) for other in ordered)]
    announced = []
    for item in ordered:
        if any(_announced(item, other, groups) for other in ordered):
            announced.append(item)
    announced = [item for item in announced if item not in versions]
    rest = [item for item in ordered if item not in announced and item not in versions]
    out = []
    for sides, says in ((announced, CONTRADICTED), (versions, OF_VERSIONS), (rest, DIFFERENT)):
        if len(sides) == 1:
            out.append(_line(sides[0], groups))
        elif sides:
            out.append("\n".join([f"**{label(sides[0])}**: {says}", *(_side(item, groups) for item in sides)]))
    return out


def _announced(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether the answer announces that these two contradict each other.

    Both must be short, verified, of different documents, and certainly the answer of their document; and if both
    documents describe the entity that they mean, the descriptions must share a word.
    """
    described = [frozenset(words(item.descriptor)) for item in (a, b) if item.descriptor]
    documents = [groups.sources[item.rank].document_id for item in (a, b) if item.rank in groups.sources]
    return (
        _against(a, b, groups)
        and not _are_versions(a, b, groups)
        and (len(described) < 2 or bool(described[0] & described[1]))
        # Contexts without a document id may be of two documents.
        and (len(documents) < 2 or documents[0] != documents[1] or not documents[0])
        and all(item.verified and is_short(item.answer) and _sure(item, groups) for item in (a, b))
    )


def _are_versions(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether two answers come from versions of one document, which differ without a contradiction."""
    both = [groups.sources[item.rank] for item in (a, b) if item.rank in groups.sources]
    return len(both) == 2 and are_versions(*both)


def _sure(item: ComposedAnswer, groups: Groups) -> bool:
    """Return whether an answer is certain enough to announce a contradiction with it."""
    context = groups.contexts.get(item.rank)
    return context is not None and sure(told=context.told, confidence=context.confidence)


def _doubted(item: ComposedAnswer, groups: Groups) -> bool:
    """Return whether the reader rates an answer as uncertain."""
    context = groups.contexts.get(item.rank)
    return context is not None and context.confidence == 0


def _side(item: ComposedAnswer, groups: Groups) -> str:
    """Return the line of one side of a contradiction: answer, place, date, number of sources and quote."""
    passage = groups.sources.get(item.rank)
    title = (passage.title or passage.source) if passage else ""
    when = dated(passage) if passage else ""
    place = [part for part in (title, "" if when in title else when) if part]
    count = _count(item.ranks, groups)
    place += [f"{count} sources"] if count > 1 else []
    line = f"- {item.answer} {_marks(item.ranks, item, groups)}"
    line += f" ({', '.join(plain(part) for part in place)})" if place else ""
    return line + (f': "{_shown(groups.text(item.rank)[slice(*item.span)])}"' if item.span else "")


def _line(item: ComposedAnswer, groups: Groups) -> str:
    """Return the line of an answer with its label, marks and number of sources."""
    count = _count(item.ranks, groups)
    agreed = f" ({count} sources)" if count > 1 else ""
    name = f"**{label(item)}**: " if item.entity else ""
    return f"{name}{item.answer} {_marks(item.ranks, item, groups)}{agreed}".rstrip()


def label(item: ComposedAnswer) -> str:
    """Return the label that says what an answer is about."""
    return labelled(item.entity, item.descriptor)


def _marks(ranks: Sequence[int], item: ComposedAnswer, groups: Groups) -> str:
    """Return the citation marks of an item: its own contexts, and others that contain its words."""
    cited = [r for r in ranks if r == item.rank or not item.rank or _quote(r, item.answer, [], groups, noted=True)]
    return "".join(f"[{rank}]" for rank in cited)


def _count(ranks: Sequence[int], groups: Groups) -> int:
    """Return the number of documents among the contexts; two records of one table count once."""
    return len({groups.sources[rank].document_id for rank in ranks if rank in groups.sources})


def _date(item: ComposedAnswer, groups: Groups) -> str:
    """Return the latest date of the sources of an answer; empty if none is dated."""
    dates = [_DATE.match(groups.sources[r].date or "") for r in item.ranks if r in groups.sources]
    return max((date.group() for date in dates if date), default="")


def _shown(quote: str) -> str:
    """Return a quote as plain text, cut at `LONGEST_QUOTE`."""
    shown = plain(quote)
    return shown if len(shown) <= LONGEST_QUOTE else shown[:LONGEST_QUOTE].rsplit(" ", 1)[0] + " …"


def _gap(draft: GroupDraft, error: str) -> dict[str, str]:
    """Return the entry for the state's list of failures of a group without an answer."""
    return {"stage": "aggregate_groups", "item": str(draft["group"]), "error": error}
