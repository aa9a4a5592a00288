"""The answer of one group of contexts: whether to ask in the plural, and which parts of the reply are kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePath

from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.schema import EntryState, GroupDraft, GroupStatus, Organisation
from preflight_rag.state.values import Usage
from preflight_rag.text.asked_documents import asked_documents
from preflight_rag.text.asked_headings import is_question, quotes_below
from preflight_rag.text.asked_years import by_year, is_of_other_years, is_titled_by_year
from preflight_rag.text.citations import labelled, quoted
from preflight_rag.text.dates import MONTH
from preflight_rag.text.headers import CLOSEST, SEVERAL, why_unclaimed
from preflight_rag.text.headings import headings_of
from preflight_rag.text.other_things import answers_to
from preflight_rag.text.under_headings import under_headings
from preflight_rag.text.versions import dated, newest_first, supersedes, version_name, versions_lead
from preflight_rag.text.words import STOP_WORDS, words

MAX_SHOWN = 8
"""Most quotes that are shown beside each other; set by hand, as many as a graph of relations shows."""
LEAST_WORTH = 0.75
"""Least share of the question's words in a version's quote, by weight, of that in the best version's quote. A guess."""

_DAY = re.compile(rf"(?i:\d{{1,2}}(?:st|nd|rd|th)? {MONTH}|{MONTH} \d{{1,2}}(?:st|nd|rd|th)?)(?:,? \d{{4}})?")
_COMPARES = re.compile(r"\b(?:chang|differ|compar|ris|rose|increas|more than|less than|instead)", re.IGNORECASE)
"""Words of a question about two versions: "What changed in the price list of 2025?"."""


def asked_in_plural(sources: Sequence[Source], settings: Settings) -> bool:
    """Return whether to put the question in the plural.

    Several contexts may be about several entities (COrg, section 4).
    """
    return len(sources) > 1 and not settings.no_reformulation


def answered_or_nothing(draft: Draft) -> GroupStatus:
    """Return the group's status: whether the reader found an answer in it."""
    return "answered" if draft.found else "nothing"


def unusable(error: ModelError) -> Reply[Draft]:
    """Return an empty draft for a call that failed, with its cost and error message."""
    return Reply(Draft("", found=False), Usage.of_failed(error.spent), (str(error),))


def as_evidence(
    question: str, draft: Draft, entries: Sequence[EntryState], sources: Mapping[int, Source]
) -> tuple[Draft, list[EntryState]]:
    """Return uncertain answers as evidence: quotes with their subjects instead of claims.

    Args:
        question: The standalone question.
        draft: The composed answers, with their quotes.
        entries: The answers. Those without a quote are left out; if none has a quote, the result says "not found".
        sources: The passages by number. Of documents that replace each other, the newest comes first.
    """
    if not draft.quotes:
        return Draft("", found=False), []
    quotes = _first_of_each(draft.quotes)
    quotes = {n: quote for n, quote in quotes.items() if not is_question(quote)} or quotes
    quotes = _with_below(question, quotes, sources)
    named = asked_documents(question, list(sources.values()))
    quotes = {n: quote for n, quote in quotes.items() if n in named} or quotes
    ordered = newest_first([sources[n] for n in quotes if n in sources])
    if any(supersedes(a, b) for a in ordered for b in ordered):
        # Groups are not in the order of the search: versions of its first result could otherwise come after other
        # documents.
        ordered = newest_first([sources[n] for n in sorted(quotes) if n in sources])
    quotes = {source.n: quotes[source.n] for source in ordered} | quotes  # in the order of `ordered`
    replaced = [other for other in ordered[1:] if supersedes(ordered[0], other)]
    if replaced:
        # Other documents are no versions: they would stand under a line that is not so of them.
        quotes = _of_versions(question, (ordered[0], *replaced), quotes)
        ordered = [source for source in ordered if source.n in quotes]
        # A question that names a year asks for the version of that year alone.
        titles = {source.n: f"{source.title} {dated(source)[:4]}" for source in ordered}
        of_year = [source for source in ordered if is_titled_by_year(question, titles[source.n])]
        ordered = ordered if _COMPARES.search(question) else of_year or ordered
        quotes = {source.n: quotes[source.n] for source in ordered}
        replaced = ordered[1:]
    else:
        quotes = _on_the_question(question, quotes, sources)
    lead = SEVERAL if len(quotes) > 1 else CLOSEST
    in_order, of_years = by_year(question, sources, list(quotes.items()), lead)
    quotes = quotes if replaced else _first_of_each(in_order)
    shown = []
    for entry in entries:
        quoted_ranks = [rank for rank in entry["ranks"] if rank in quotes]
        if quoted_ranks:
            first = quoted_ranks[0]
            own = sources.get(entry["ranks"][0]), sources.get(first)
            entity, descriptor = _subject(question, entry, *own, quotes[first])
            shown.append(EntryState(entity=entity, descriptor=descriptor, answer=quotes[first], ranks=[first]))
    labels = told_apart({entry["ranks"][0]: _label(entry) for entry in shown}, sources)
    if replaced:
        labels = {n: _of_version(label, sources.get(n)) for n, label in labels.items()}
    lines = [
        f"**{labels[n]}**: {quoted(n, quote)}" if labels.get(n) else quoted(n, quote) for n, quote in quotes.items()
    ]
    of_other_years = is_of_other_years(
        question, [(source, quotes[source.n]) for source in ordered if source.n in quotes]
    )
    answering = replaced and not of_other_years and answers_to(question, ordered[0], quotes[ordered[0].n])
    if answering and of_years == lead and len(set(quotes.values())) > 1:
        of_years = versions_lead(ordered[0], quotes[ordered[0].n], quotes[replaced[0].n])
    lead = of_years
    found = Draft("\n\n".join([lead, *lines[:MAX_SHOWN]]), draft.quotes, choice=draft.choice, claims=False)
    found = replace(found, quotes=tuple(quotes.items()), unclaimed=why_unclaimed("compared"))
    return found, shown if len(shown) > 1 else []


def _with_below(question: str, quotes: Mapping[int, str], sources: Mapping[int, Source]) -> dict[int, str]:
    """Return quotes, by number, after what stands below the same question in a document.

    Of the others those stay that may answer the question, or are of a newer version of that document.
    """
    below = _first_of_each(quotes_below(question, list(sources.values()), MAX_SHOWN))
    found = dict(below)
    for n, quote in quotes.items():
        source = sources.get(n)
        is_newer = source is not None and any(supersedes(source, sources[each]) for each in below)
        if not below or is_newer or (source is not None and answers_to(question, source, quote)):
            found.setdefault(n, quote)
    return found


def _first_of_each(quotes: Sequence[tuple[int, str]]) -> dict[int, str]:
    """Return the first quote of each passage, by number."""
    found: dict[int, str] = {}
    for n, quote in quotes:
        found.setdefault(n, quote)
    return found


def _on_the_question(question: str, quotes: Mapping[int, str], sources: Mapping[int, Source]) -> dict[int, str]:
    """Return the quotes that share words with the question, if any does; of two, which may contradict, both.

    They have at least half as many as the one with the most: of "the spring regatta of 2025" a roster has "2025" alone.
    """
    if len(quotes) <= 2:
        return dict(quotes)
    asked = frozenset(words(question)) - STOP_WORDS
    shared = {}
    for n, quote in quotes.items():
        heading = sources[n].heading if n in sources else ""
        shared[n] = len(asked & frozenset(words(f"{heading} {quote}")))
    least = max(1, *shared.values()) / 2
    return {n: quote for n, quote in quotes.items() if shared[n] >= least} or dict(quotes)


def _subject(
    question: str, entry: EntryState, noted: Source | None, cited: Source | None, quote: str
) -> tuple[str, str | None]:
    """Return what an answer is about, its name and descriptor, as far as that holds for the document of a quote.

    Args:
        question: The standalone question.
        entry: The answer.
        noted: The passage from which the answer has its name.
        cited: The passage of the quote, which may be another that gives the same answer.
        quote: The quote.
    """
    entity, descriptor = entry["entity"], entry["descriptor"]
    if noted is None or cited is None or noted.document_id == cited.document_id:
        return entity, descriptor
    there = f"{cited.title} {quote}".casefold()
    is_named = bool(entity) and entity.casefold() in f"{question} {there}".casefold()
    if not is_named:
        return cited.title, None
    return entity, descriptor if descriptor and descriptor.casefold() in there else None


def told_apart(labels: Mapping[int, str], sources: Mapping[int, Source]) -> dict[int, str]:
    """Return the labels of quotes, with the names of the files where documents of one title would have the same."""
    files = {n: PurePath(sources[n].source).stem for n in labels if n in sources}
    found = dict(labels)
    for n, file in files.items():
        alike = {files[other] for other in files if labels[other] == labels[n] and other != n}
        if labels[n] == sources[n].title and alike and file and file not in alike:
            found[n] = labelled(labels[n], file)
    return found


def _label(entry: EntryState) -> str:
    """Return the label of an answer; "" where the question's name is a day, which names no thing of its own."""
    return "" if _DAY.fullmatch(entry["entity"] or "") else labelled(entry["entity"], entry["descriptor"])


def _of_versions(question: str, versions: Sequence[Source], quotes: Mapping[int, str]) -> dict[int, str]:
    """Return what each version says about the question, by number, without versions that say nothing about it.

    A version's quote gives way to a sentence with more of the question's words, rare words counting more: "Rabbits may
    be kept" is nearer to "Are rabbits allowed?" than "Bonfires are not allowed".
    """
    # Words of the title do not choose between sentences: all of them are about what the title names.
    asked = frozenset(words(question)) - frozenset(words(versions[0].title))
    stated: dict[int, list[str]] = {}
    terms: dict[str, frozenset[str]] = {}
    for source in versions:
        headings = [source.heading, *(heading for _, heading in headings_of(source.text))]
        pieces = under_headings(source)
        stated[source.n] = [quotes[source.n], *(piece for piece in pieces if piece not in headings)]
        for text in stated[source.n]:
            terms[text] = asked & (frozenset(words(text)) | pieces.get(text, frozenset()))
    counts = Counter(chain.from_iterable(terms.values()))
    worth = {text: sum(1 / counts[term] for term in sorted(found)) for text, found in terms.items()}
    best = {n: max(texts, key=lambda text: worth[text]) for n, texts in stated.items()}
    most = max(worth[text] for text in best.values())
    saying = {n: text for n, text in best.items() if worth[text] >= LEAST_WORTH * most}
    # Where the newest says nothing by its words, an older version must not stand for it alone.
    return saying if versions[0].n in saying or len(saying) > 1 else {n: quotes[n] for n in best}


def _of_version(label: str, source: Source | None) -> str:
    """Return an answer's label with the year, the number or the date of its document's version."""
    name = version_name(source) if source else ""
    return label if not name or name in label else f"{label} ({name})".lstrip()


def group_draft(
    number: int, sources: Sequence[Source], draft: Draft, status: GroupStatus, *, spared: bool = False
) -> GroupDraft:
    """Return a group's draft as the state stores it; without an answer its text is empty."""
    found: GroupDraft = {
        "group": number,
        "ranks": [source.n for source in sources],
        "text": draft.text if status == "answered" else "",
        "quotes": list(draft.quotes),
        "status": status,
    }
    if status == "failed":
        return {**found, "spared": spared}
    return {**found, "choice": draft.choice} if draft.choice and status == "answered" else found


def chosen(drafts: Sequence[GroupDraft], organisation: Organisation) -> str | None:
    """Return the option that the groups with the most contexts chose; None if no group chose any.

    Contexts that are represented by another context count too. On a tie, the option of the earliest group wins.
    """
    backing: dict[str, int] = {}
    for draft in drafts:
        if option := draft.get("choice"):
            further = organisation.get("sources", {})
            count = sum(1 + len(further.get(str(rank), [])) for rank in draft["ranks"])
            backing[option] = backing.get(option, 0) + count
    return max(backing, key=lambda option: backing[option], default=None)
