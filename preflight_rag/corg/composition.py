"""Composition of one answer from the groups' drafts.

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

MIN_EDITED_OVERLAP = 0.6
"""Least share of the smaller statement's words in the other one at which two statements, each with words of its own,
count as an edit and not as one answer; a guess."""
MAX_QUOTE_CHARACTERS = 300
"""Largest number of characters of a quote beside an answer; a guess: two sentences."""

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

    def represented_by(self, rank: int) -> list[int]:
        """Return the contexts that a context represents, since they were dropped in its favour."""
        return self.organisation["sources"].get(str(rank), [])

    def text(self, rank: int) -> str:
        """Return a context's text."""
        return self.sources[rank].text if rank in self.sources else ""


def compose(groups: Groups) -> ComposedDraft:
    """Return the composed answer of all groups; its draft is empty, as "not found", if no group has an answer.

    Of failed groups the noted answers are shown, with a note.
    """
    gaps: list[dict[str, str]] = []
    answers = [_answers_of_group(draft, groups, gaps) for draft in groups.drafts]
    items = _without_echoes(list(chain.from_iterable(answers)))
    quotes: dict[tuple[int, str], None] = {}
    for item in items:
        _locate_and_verify(item, groups)
        for rank in item.ranks:
            span = item.span if rank == item.rank else _quote_span(rank, item.answer, [], groups, noted=True)
            if span:
                quotes[rank, groups.text(rank)[slice(*span)]] = None
    entries = [EntryState(entity=i.entity, descriptor=i.descriptor, answer=i.answer, ranks=i.ranks) for i in items]
    text = (_completed_reply(items, groups) or "\n\n".join(_paragraphs(items, groups))).strip()
    if text:
        text = "\n\n".join([text, *undescribed_answers(groups.contexts, groups.relations)])
    failed = sum(draft["status"] in ("failed", "unreadable") for draft in groups.drafts)
    if failed and text:
        parts = f"{failed} of {len(groups.drafts)} groups of passages"
        text += f"\n\nNote: {parts} could not be answered by the model; what their passages say is quoted as it stands."
    quotes_of_drafts = [(rank, quote) for draft in groups.drafts for rank, quote in draft["quotes"]]
    all_quotes = tuple(dict.fromkeys([*quotes, *quotes_of_drafts]))
    claims = not any(_is_uncertain(item, groups) for item in items)
    draft = Draft(text, all_quotes, found=bool(text), choice=groups.choice, claims=claims)
    announced = {frozenset((a.rank, b.rank)) for a, b in combinations(items, 2) if _is_announced(a, b, groups)}
    return ComposedDraft(draft, entries, gaps, announced)


def _answers_of_group(draft: GroupDraft, groups: Groups, gaps: list[dict[str, str]]) -> list[ComposedAnswer]:
    """Return the answers in a group's draft, and for each context that they do not cite, the answer in its note.

    Statements that cite no context of the group come last. An entry is appended to `gaps` for each uncited context with
    a noted answer, and, if there are other answers, for each statement without a context.
    """
    answers: dict[int, ComposedAnswer] = {}
    without_context: list[ComposedAnswer] = []
    for statement, ranks in _statements(draft, groups):
        ranks_of_group = [rank for rank in ranks if rank in draft["ranks"]]
        if not ranks_of_group:
            without_context.append(ComposedAnswer(0, *_common_subject(draft, groups), statement, ranks))
            continue
        first = ranks_of_group[0]
        if first in answers:
            answers[first].answer += f"; {statement}"
            answers[first].ranks += [rank for rank in ranks if rank not in answers[first].ranks]
        else:
            context = groups.contexts[first]
            text = _without_label(statement, context)
            answers[first] = ComposedAnswer(first, context.entity, context.descriptor, text, [first, *ranks])
    cited = set(chain.from_iterable(answer.ranks for answer in answers.values()))
    for rank in draft["ranks"]:
        if rank not in cited and (noted := _noted_answer(rank, draft, groups)):
            answers[rank] = noted
            error = f"context {rank} is missing in the group's answer; what was noted of it stands"
            gaps.append(_failure_entry(draft, error))
    for answer in answers.values():
        represented = chain.from_iterable(map(groups.represented_by, answer.ranks))
        # A context of the same entity may have been left out for another answer that both give.
        agreeing = [rank for rank in represented if _states_figures(answer.answer, groups.text(rank))]
        answer.ranks = list(dict.fromkeys([*answer.ranks, *agreeing]))
    if without_context and answers:
        for answer in without_context:
            gaps.append(_failure_entry(draft, f"{answer.answer[:80]!r} cites no context of its group"))
    return [*answers.values(), *without_context]


def _without_echoes(items: Sequence[ComposedAnswer]) -> list[ComposedAnswer]:
    """Return the answers without those that cite no context and repeat an answer that does."""
    with_context = [item for item in items if item.rank]
    distinct = []
    for item in items:
        repeats = any(item.answer == other.answer and set(item.ranks) <= set(other.ranks) for other in with_context)
        if item.rank or not repeats:
            distinct.append(item)
    return distinct


def _common_subject(draft: GroupDraft, groups: Groups) -> tuple[str, str | None]:
    """Return the entity and descriptor of a group's contexts; "" and None where they differ."""
    contexts = [groups.contexts[rank] for rank in draft["ranks"]]
    entities = {context.entity for context in contexts}
    descriptors = {context.descriptor for context in contexts}
    if len(entities) != 1:
        return "", None
    return entities.pop(), descriptors.pop() if len(descriptors) == 1 else None


def _statements(draft: GroupDraft, groups: Groups) -> Iterable[tuple[str, list[int]]]:
    """Yield the statements of a group's text, each with the ranks that it cites.

    A line without citation marks gets the rank of the context that supports it best, or of the group's only context;
    else none.
    """
    for line in draft["text"].splitlines():
        cited, position = [], 0
        for marked in MARKS.finditer(line):
            cited.append((line[position : marked.start()].strip(" .;,"), marked[0]))
            position = marked.end()
        if cited:
            for statement, marks in cited:
                if re.search(r"\w", statement):
                    yield re.sub(r"^(?:and|but|while)\s+", "", statement), [int(rank) for rank in MARK.findall(marks)]
        elif re.search(r"\w", line):
            best = strongest(line, [groups.text(rank) for rank in draft["ranks"]])
            ranks = draft["ranks"] if len(draft["ranks"]) == 1 else []
            yield line.strip(" .;,"), ranks if best is None else [draft["ranks"][best]]


def _without_label(statement: str, context: ContextNote) -> str:
    """Return a statement without the label before its colon, if that is the context's or shares a word with it."""
    own_label = re.escape(labelled(context.entity, context.descriptor))
    # The whole label first, since a descriptor may contain a colon, too.
    label_match = re.match(rf"[*_]{{0,2}}{own_label}[*_]{{0,2}}\s*:\s+", statement)
    if context.entity and label_match:
        return statement[label_match.end() :].strip() or statement
    other_label = _LABEL.match(statement)
    names = f"{context.entity} {context.descriptor or ''}".casefold()
    if other_label and set(re.findall(r"\w{3,}", other_label[1].casefold())) & set(re.findall(r"\w{3,}", names)):
        return statement[other_label.end() :].strip() or statement
    return statement


def _noted_answer(rank: int, draft: GroupDraft, groups: Groups) -> ComposedAnswer | None:
    """Return the answer in a context's note as a composed answer; None if the note has none.

    A note made by rule counts only if its context is about the question's subject, and if the reply was unusable or a
    relation says that the context answers.
    """
    context = groups.contexts[rank]
    if not context.answer or not context.relevant:
        return None
    is_known_to_answer = any(
        rank in (relation.a, relation.b) and relation.kind in ("distracting", "counterfactual", "duplicated")
        for relation in groups.relations
    )
    unusable = draft["status"] in ("unreadable", "failed")
    if not context.told and not unusable and not (is_known_to_answer and draft["status"] == "answered"):
        return None
    if not context.told and not _is_on_subject(rank, groups):
        return None
    text = MARK.sub("", context.answer).strip(" .\n")
    return ComposedAnswer(rank, context.entity, context.descriptor, text, [rank], noted=True)


def _is_on_subject(rank: int, groups: Groups) -> bool:
    """Return whether a context is about the name in the question; True if its text is unknown."""
    passage = groups.sources.get(rank)
    return passage is None or speaks_of(surface_name(groups.question), passage.title, passage.text)


def _locate_and_verify(item: ComposedAnswer, groups: Groups) -> None:
    """Set an answer's quote span, and whether the quote and its numbers verify the answer; make its ranks distinct."""
    quotes = []
    for draft in groups.drafts:
        quotes += [quote for rank, quote in draft["quotes"] if rank == item.rank]
    item.ranks = list(dict.fromkeys(item.ranks))
    item.span = _quote_span(item.rank, item.answer, quotes, groups, noted=item.noted)
    if item.span:
        text = groups.text(item.rank)
        numbers, quoted_numbers = numbers_of(item.answer), numbers_of(text[slice(*item.span)])
        # A quote from the model that is nowhere in the text speaks against the answer; a missing quote says nothing.
        is_quoted = not quotes or any(locate(quote, text) for quote in quotes)
        item.verified = is_quoted and (not numbers or bool(numbers & quoted_numbers))


def _quote_span(rank: int, answer: str, quotes: Sequence[str], groups: Groups, *, noted: bool) -> Span | None:
    """Return where a context states an answer: a quote given for it, else the sentence that supports or contains it.

    The first of these with all numbers of the answer counts, else the first; None if there is none. If the answer comes
    from the comparison of contexts (`noted`), the sentence with the noted words counts as well, and for a note by rule
    the sentence nearest to the question.
    """
    text = groups.text(rank)
    candidates = [locate(quote, text) for quote in quotes]
    candidates += [support(answer, text), _sentence_with(answer, text)]
    context = groups.contexts.get(rank)
    if noted and context and context.answer:
        candidates.append(_sentence_with(context.answer, text))
        if not context.told and not any(candidates):
            candidates.append(locate(nearest_sentence(groups.question, text), text))
    spans = [span for span in candidates if span]
    numbers = numbers_of(answer)
    with_numbers = (span for span in spans if numbers <= _stated_numbers(text[slice(*span)]))
    return next(with_numbers, spans[0] if spans else None)


def _states_figures(answer: str, text: str) -> bool:
    """Return whether one sentence of a text has a number and a word of an answer.

    True for an answer without numbers; of an answer without words the number suffices.
    """
    numbers = numbers_of(answer)
    if not numbers:
        return True
    terms = frozenset(words(_NUMERAL.sub(" ", answer))) - STOP_WORDS
    for span in sentence_spans(text):
        sentence = text[slice(*span)]
        # A figure alone proves little: "3" is in many sentences, "3" beside "districts" in few.
        if numbers & _stated_numbers(sentence) and (not terms or terms & frozenset(words(sentence))):
            return True
    return False


def _stated_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, written in digits or words, without the numbers of list items."""
    stated = ITEM_NUMBER.sub(" ", text)
    return numbers_of(stated) | numbers_of(with_digits(stated))


def _sentence_with(answer: str, text: str) -> Span | None:
    """Return the span of the first sentence with an answer as whole words; None without one, or without a word."""
    pattern = re.compile(rf"(?<!\w){re.escape(answer.strip(' .'))}(?!\w)", re.IGNORECASE)
    spans = (span for span in sentence_spans(text) if pattern.search(text[slice(*span)]))
    return next(spans, None) if re.search(r"\w", answer) else None


def _completed_reply(items: Sequence[ComposedAnswer], groups: Groups) -> str:
    """Return the reply of the only group, completed by the answers and the numbers of sources that it omits.

    "" if there are several groups, if the group is not answered, or if its answers contradict each other.
    """
    if (
        len(groups.drafts) != 1
        or groups.drafts[0]["status"] != "answered"
        or _contradicting_sets(items, groups, least=2)
    ):
        return ""
    text = groups.drafts[0]["text"]
    cited = {int(rank) for rank in MARK.findall(text)}
    lines = [text, *(_line_of_answer(item, groups) for item in items if item.rank and item.rank not in cited)]
    for item in items:
        count = _number_of_documents(item.ranks, groups)
        if item.rank in cited and groups.represented_by(item.rank) and count > 1:
            about = f"{label(item)}: " if len(items) > 1 else ""
            lines.append(f"{about}{count} sources agree {_citation_marks(item.ranks, item, groups)}.")
    return "\n\n".join(lines)


def _paragraphs(items: Sequence[ComposedAnswer], groups: Groups) -> list[str]:
    """Return a paragraph for each uncontradicted answer, and the paragraphs of each set that contradict each other."""
    sets = _contradicting_sets(items, groups, least=2)
    shown_ids: set[int] = set()
    paragraphs = []
    for item in items:
        if id(item) in shown_ids:
            continue
        contradicting = _set_of(item, sets)
        shown_ids |= {id(other) for other in contradicting}
        if len(contradicting) == 1:
            paragraphs.append(_line_of_answer(item, groups))
        else:
            paragraphs += _lines_of_sides(contradicting, groups)
    return paragraphs


def _set_of(item: ComposedAnswer, sets: Sequence[list[ComposedAnswer]]) -> list[ComposedAnswer]:
    """Return the set of contradicting answers that contains an answer; without one, the answer alone."""
    for answers in sets:
        if any(other is item for other in answers):
            return answers
    return [item]


def _contradicting_sets(items: Sequence[ComposedAnswer], groups: Groups, *, least: int) -> list[list[ComposedAnswer]]:
    """Return the sets of answers that are connected by contradictions, those with at least `least` answers."""
    sets: list[list[ComposedAnswer]] = []
    for item in items:
        # An answer may contradict several sides that were apart so far: they become one contradiction.
        touching = []
        for answers in sets:
            if any(_contradict(item, other, groups) for other in answers):
                touching.append(answers)
        joined = list(chain.from_iterable(touching))
        sets = [answers for answers in sets if answers not in touching] + [[*joined, item]]
    return [answers for answers in sets if len(answers) >= least]


def _contradict(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether two answers differ about the same thing, and their contexts are counterfactual."""
    if frozenset((a.rank, b.rank)) not in groups.counterfactual:
        return False
    return not _have_same_answer(a, b, groups) and not about_different_things(
        _statement_of(a, groups), _statement_of(b, groups)
    )


def _statement_of(item: ComposedAnswer, groups: Groups) -> Statement:
    """Return an answer with the sentence that it is quoted from."""
    text = groups.text(item.rank)
    return Statement(item.answer, sentence_around(text, *item.span) if item.span else "")


def _have_same_answer(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether two answers are the same.

    Two statements that share most words, where each has words of its own, are an edit and not one answer. Else the
    short answers of their contexts are compared if both have one: whole statements share words that say nothing.
    """
    if a.answer.casefold() == b.answer.casefold():
        return True
    terms_a, terms_b = frozenset(words(a.answer)), frozenset(words(b.answer))
    needed = MIN_EDITED_OVERLAP * min(len(terms_a), len(terms_b))
    if terms_a - terms_b and terms_b - terms_a and len(terms_a & terms_b) >= needed:
        return False
    noted = [context.answer for rank in (a.rank, b.rank) if (context := groups.contexts.get(rank))]
    first, second = noted if len(noted) == 2 and all(noted) else (a.answer, b.answer)
    return same_answer(first or "", second or "")


def _lines_of_sides(items: Sequence[ComposedAnswer], groups: Groups) -> list[str]:
    """Return the lines of contradicting answers, newest first.

    There is a block for certain contradictions, announced as such, one for versions of one document, and one for other
    differing answers; a single answer of a block is a line of its own.
    """
    # The second sort is stable: with equal dates, the better-ranked answer stays first.
    ordered = sorted(items, key=lambda item: item.rank)
    ordered.sort(key=lambda item: _latest_date(item, groups), reverse=True)
    position = {source.n: i for i, source in enumerate(newest_first(list(groups.sources.values())))}
    # Which version replaces which is also known of documents without a date.
    if any(_are_versions(a, b, groups) for a, b in combinations(ordered, 2)):
        ordered.sort(key=lambda item: position.get(item.rank, len(position)))
    versions = [item for item in ordered if any(_are_versions(item, other, groups) for other in ordered)]
    announced = []
    for item in ordered:
        if any(_is_announced(item, other, groups) for other in ordered):
            announced.append(item)
    announced = [item for item in announced if item not in versions]
    others = [item for item in ordered if item not in announced and item not in versions]
    paragraphs = []
    for answers, heading in ((announced, CONTRADICTED), (versions, OF_VERSIONS), (others, DIFFERENT)):
        if len(answers) == 1:
            paragraphs.append(_line_of_answer(answers[0], groups))
        elif answers:
            lines = [_line_of_side(item, groups) for item in answers]
            paragraphs.append("\n".join([f"**{label(answers[0])}**: {heading}", *lines]))
    return paragraphs


def _is_announced(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether a contradiction of two answers is certain enough to be announced as such.

    Both must be short, verified, of different documents that are no versions of one, and certainly the answer of their
    document; and if both have a descriptor of their entity, the descriptors must share a word.
    """
    described = [frozenset(words(item.descriptor)) for item in (a, b) if item.descriptor]
    documents = [groups.sources[item.rank].document_id for item in (a, b) if item.rank in groups.sources]
    return (
        _contradict(a, b, groups)
        and not _are_versions(a, b, groups)
        and (len(described) < 2 or bool(described[0] & described[1]))
        # Contexts without a document id may be of two documents.
        and (len(documents) < 2 or documents[0] != documents[1] or not documents[0])
        and all(item.verified and is_short(item.answer) and _is_certain(item, groups) for item in (a, b))
    )


def _are_versions(a: ComposedAnswer, b: ComposedAnswer, groups: Groups) -> bool:
    """Return whether two answers come from versions of one document, which differ without a contradiction."""
    both = [groups.sources[item.rank] for item in (a, b) if item.rank in groups.sources]
    return len(both) == 2 and are_versions(*both)


def _is_certain(item: ComposedAnswer, groups: Groups) -> bool:
    """Return whether an answer is certain enough to announce a contradiction with it; not without a note."""
    context = groups.contexts.get(item.rank)
    return context is not None and sure(told=context.told, confidence=context.confidence)


def _is_uncertain(item: ComposedAnswer, groups: Groups) -> bool:
    """Return whether the reader gave an answer no confidence, so that nothing is claimed."""
    context = groups.contexts.get(item.rank)
    return context is not None and context.confidence == 0


def _line_of_side(item: ComposedAnswer, groups: Groups) -> str:
    """Return the line of one side of a contradiction: answer, title, date, number of sources and quote."""
    passage = groups.sources.get(item.rank)
    title = (passage.title or passage.source) if passage else ""
    date = dated(passage) if passage else ""
    details = [part for part in (title, "" if date in title else date) if part]
    count = _number_of_documents(item.ranks, groups)
    details += [f"{count} sources"] if count > 1 else []
    line = f"- {item.answer} {_citation_marks(item.ranks, item, groups)}"
    line += f" ({', '.join(plain(part) for part in details)})" if details else ""
    return line + (f': "{_shortened_quote(groups.text(item.rank)[slice(*item.span)])}"' if item.span else "")


def _line_of_answer(item: ComposedAnswer, groups: Groups) -> str:
    """Return the line of an answer with its label, marks and number of sources."""
    count = _number_of_documents(item.ranks, groups)
    agreed = f" ({count} sources)" if count > 1 else ""
    name = f"**{label(item)}**: " if item.entity else ""
    return f"{name}{item.answer} {_citation_marks(item.ranks, item, groups)}{agreed}".rstrip()


def label(item: ComposedAnswer) -> str:
    """Return the label of an answer: its entity and descriptor."""
    return labelled(item.entity, item.descriptor)


def _citation_marks(ranks: Sequence[int], item: ComposedAnswer, groups: Groups) -> str:
    """Return the citation marks of an answer: of its own context, and of others with a quote for it."""
    cited = [r for r in ranks if r == item.rank or not item.rank or _quote_span(r, item.answer, [], groups, noted=True)]
    return "".join(f"[{rank}]" for rank in cited)


def _number_of_documents(ranks: Sequence[int], groups: Groups) -> int:
    """Return the number of documents of some contexts; two records of one table count once."""
    return len({groups.sources[rank].document_id for rank in ranks if rank in groups.sources})


def _latest_date(item: ComposedAnswer, groups: Groups) -> str:
    """Return the latest date of the sources of an answer; "" if none is dated."""
    dates = [_DATE.match(groups.sources[r].date or "") for r in item.ranks if r in groups.sources]
    return max((date.group() for date in dates if date), default="")


def _shortened_quote(quote: str) -> str:
    """Return a quote as plain text, cut at the end of a word before `MAX_QUOTE_CHARACTERS`."""
    text = plain(quote)
    return text if len(text) <= MAX_QUOTE_CHARACTERS else text[:MAX_QUOTE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def _failure_entry(draft: GroupDraft, error: str) -> dict[str, str]:
    """Return an entry on a group for the state's list of failures."""
    return {"stage": "aggregate_groups", "item": str(draft["group"]), "error": error}
