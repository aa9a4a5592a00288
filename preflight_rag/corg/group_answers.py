"""The answer of one group of contexts: the question's number, the stored draft, and answers shown as evidence."""

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

MAX_QUOTES = 8
"""Largest number of quotes that are shown together; set by hand, as many as a graph of relations shows."""
MIN_RELATIVE_WORTH = 0.75
"""Least weight of the question's words in a version's quote, relative to the best version's quote. A guess."""

_DATE = re.compile(rf"(?i:\d{{1,2}}(?:st|nd|rd|th)? {MONTH}|{MONTH} \d{{1,2}}(?:st|nd|rd|th)?)(?:,? \d{{4}})?")
_ASKS_FOR_DIFFERENCE = re.compile(
    r"\b(?:chang|differ|compar|ris|rose|increas|more than|less than|instead)", re.IGNORECASE
)
"""Matches words of a question for the difference of versions: "What changed in the price list of 2025?"."""


def asked_in_plural(sources: Sequence[Source], settings: Settings) -> bool:
    """Return whether to put the question in the plural: several contexts may be about several entities (COrg, 4).

    False if the settings switch that off.
    """
    return len(sources) > 1 and not settings.no_reformulation


def answered_or_nothing(draft: Draft) -> GroupStatus:
    """Return the status of a group: "answered" if the reader found an answer in its contexts, else "nothing"."""
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
    quotes = _first_quotes(draft.quotes)
    quotes = {n: quote for n, quote in quotes.items() if not is_question(quote)} or quotes
    quotes = _with_quotes_below_question(question, quotes, sources)
    named_documents = asked_documents(question, list(sources.values()))
    quotes = {n: quote for n, quote in quotes.items() if n in named_documents} or quotes
    ordered = newest_first([sources[n] for n in quotes if n in sources])
    if any(supersedes(a, b) for a in ordered for b in ordered):
        # Groups are not in the order of the search: versions of its first result could otherwise come after other
        # documents.
        ordered = newest_first([sources[n] for n in sorted(quotes) if n in sources])
    # The quotes in the order of `ordered`, then those of unknown passages.
    quotes = {source.n: quotes[source.n] for source in ordered} | quotes
    replaced = [other for other in ordered[1:] if supersedes(ordered[0], other)]
    if replaced:
        # Only versions of one document are shown: the line above them would be wrong for other documents.
        quotes = _quotes_of_versions(question, (ordered[0], *replaced), quotes)
        ordered = _asked_versions(question, [source for source in ordered if source.n in quotes])
        quotes = {source.n: quotes[source.n] for source in ordered}
        replaced = ordered[1:]
    else:
        quotes = _most_relevant_quotes(question, quotes, sources)
    usual_lead = SEVERAL if len(quotes) > 1 else CLOSEST
    in_order, lead = by_year(question, sources, list(quotes.items()), usual_lead)
    quotes = quotes if replaced else _first_quotes(in_order)
    shown = []
    for entry in entries:
        quoted_ranks = [rank for rank in entry["ranks"] if rank in quotes]
        if quoted_ranks:
            first = quoted_ranks[0]
            noted, cited = sources.get(entry["ranks"][0]), sources.get(first)
            entity, descriptor = _subject_of_quote(question, entry, noted, cited, quotes[first])
            shown.append(EntryState(entity=entity, descriptor=descriptor, answer=quotes[first], ranks=[first]))
    labels = with_file_names({entry["ranks"][0]: _label(entry) for entry in shown}, sources)
    if replaced:
        labels = {n: _label_with_version(label, sources.get(n)) for n, label in labels.items()}
    lines = [
        f"**{labels[n]}**: {quoted(n, quote)}" if labels.get(n) else quoted(n, quote) for n, quote in quotes.items()
    ]
    of_other_years = is_of_other_years(
        question, [(source, quotes[source.n]) for source in ordered if source.n in quotes]
    )
    newest_answers = replaced and not of_other_years and answers_to(question, ordered[0], quotes[ordered[0].n])
    if newest_answers and lead == usual_lead and len(set(quotes.values())) > 1:
        lead = versions_lead(ordered[0], quotes[ordered[0].n], quotes[replaced[0].n])
    text = "\n\n".join([lead, *lines[:MAX_QUOTES]])
    evidence = Draft(text, tuple(quotes.items()), choice=draft.choice, claims=False)
    evidence = replace(evidence, unclaimed=why_unclaimed("compared"))
    return evidence, shown if len(shown) > 1 else []


def _asked_versions(question: str, versions: Sequence[Source]) -> list[Source]:
    """Return the versions of a document that are titled by the question's year.

    All of them if there is none, and for a question for their difference.
    """
    titles = {source.n: f"{source.title} {dated(source)[:4]}" for source in versions}
    of_year = [source for source in versions if is_titled_by_year(question, titles[source.n])]
    return list(versions) if _ASKS_FOR_DIFFERENCE.search(question) else of_year or list(versions)


def _with_quotes_below_question(
    question: str, quotes: Mapping[int, str], sources: Mapping[int, Source]
) -> dict[int, str]:
    """Return quotes by passage, first what is below a heading that asks the same question.

    If there is such a heading, other quotes stay only if they may answer the question, or are of a newer version of its
    document.
    """
    below = _first_quotes(quotes_below(question, list(sources.values()), MAX_QUOTES))
    result = dict(below)
    for n, quote in quotes.items():
        source = sources.get(n)
        is_newer = source is not None and any(supersedes(source, sources[other]) for other in below)
        if not below or is_newer or (source is not None and answers_to(question, source, quote)):
            result.setdefault(n, quote)
    return result


def _first_quotes(quotes: Sequence[tuple[int, str]]) -> dict[int, str]:
    """Return the first quote of each passage by the passage's number."""
    first: dict[int, str] = {}
    for n, quote in quotes:
        first.setdefault(n, quote)
    return first


def _most_relevant_quotes(question: str, quotes: Mapping[int, str], sources: Mapping[int, Source]) -> dict[int, str]:
    """Return the quotes that share at least half as many words with the question as the quote that shares most.

    Of "the spring regatta of 2025" a roster has "2025" alone. All are returned if none shares a word, and of two both,
    since they may contradict each other.
    """
    if len(quotes) <= 2:
        return dict(quotes)
    question_terms = frozenset(words(question)) - STOP_WORDS
    shared = {}
    for n, quote in quotes.items():
        heading = sources[n].heading if n in sources else ""
        shared[n] = len(question_terms & frozenset(words(f"{heading} {quote}")))
    needed = max(1, *shared.values()) / 2
    return {n: quote for n, quote in quotes.items() if shared[n] >= needed} or dict(quotes)


def _subject_of_quote(
    question: str, entry: EntryState, noted: Source | None, cited: Source | None, quote: str
) -> tuple[str, str | None]:
    """Return the entity and descriptor of an answer, as far as they hold for the document of a quote.

    If that document does not name the entity, its title and None are returned.

    Args:
        question: The standalone question.
        entry: The answer.
        noted: The passage from which the entity was noted.
        cited: The passage of the quote, which may be another one with the same answer.
        quote: The quote.
    """
    entity, descriptor = entry["entity"], entry["descriptor"]
    if noted is None or cited is None or noted.document_id == cited.document_id:
        return entity, descriptor
    quote_text = f"{cited.title} {quote}".casefold()
    is_named = bool(entity) and entity.casefold() in f"{question} {quote_text}".casefold()
    if not is_named:
        return cited.title, None
    return entity, descriptor if descriptor and descriptor.casefold() in quote_text else None


def with_file_names(labels: Mapping[int, str], sources: Mapping[int, Source]) -> dict[int, str]:
    """Return the labels of quotes by passage; documents of one title get the names of their files as well."""
    files = {n: PurePath(sources[n].source).stem for n in labels if n in sources}
    result = dict(labels)
    for n, file in files.items():
        files_of_same_label = {files[other] for other in files if labels[other] == labels[n] and other != n}
        is_ambiguous = labels[n] == sources[n].title and files_of_same_label
        if is_ambiguous and file and file not in files_of_same_label:
            result[n] = labelled(labels[n], file)
    return result


def _label(entry: EntryState) -> str:
    """Return the label of an answer: its entity and descriptor; "" if the entity is a date, which names nothing."""
    return "" if _DATE.fullmatch(entry["entity"] or "") else labelled(entry["entity"], entry["descriptor"])


def _quotes_of_versions(question: str, versions: Sequence[Source], quotes: Mapping[int, str]) -> dict[int, str]:
    """Return the sentence of each version nearest to the question, without versions that hardly share its words.

    A version's quote gives way to a sentence with more of the question's words, rare words counting more: "Rabbits may
    be kept" is nearer to "Are rabbits allowed?" than "Bonfires are not allowed".
    """
    # Words of the title do not choose between sentences: all of them are about what the title names.
    question_terms = frozenset(words(question)) - frozenset(words(versions[0].title))
    candidates: dict[int, list[str]] = {}
    shared_terms: dict[str, frozenset[str]] = {}
    for source in versions:
        headings = [source.heading, *(heading for _, heading in headings_of(source.text))]
        pieces = under_headings(source)
        candidates[source.n] = [quotes[source.n], *(piece for piece in pieces if piece not in headings)]
        for text in candidates[source.n]:
            shared_terms[text] = question_terms & (frozenset(words(text)) | pieces.get(text, frozenset()))
    counts = Counter(chain.from_iterable(shared_terms.values()))
    worth = {text: sum(1 / counts[term] for term in sorted(terms)) for text, terms in shared_terms.items()}
    best = {n: max(texts, key=lambda text: worth[text]) for n, texts in candidates.items()}
    highest_worth = max(worth[text] for text in best.values())
    relevant = {n: text for n, text in best.items() if worth[text] >= MIN_RELATIVE_WORTH * highest_worth}
    # If only an older version is relevant by its words, it must not stand for the newest alone.
    return relevant if versions[0].n in relevant or len(relevant) > 1 else {n: quotes[n] for n in best}


def _label_with_version(label: str, source: Source | None) -> str:
    """Return a label with its version's year, number or date in brackets, unless it has that or there is none."""
    name = version_name(source) if source else ""
    return label if not name or name in label else f"{label} ({name})".lstrip()


def group_draft(
    number: int, sources: Sequence[Source], draft: Draft, status: GroupStatus, *, spared: bool = False
) -> GroupDraft:
    """Return a group's draft as the state stores it; its text is empty unless the group is answered.

    The draft's choice is stored only for an answered group. `spared`, stored only for a failed one, says whether the
    turn may continue without the group.
    """
    result: GroupDraft = {
        "group": number,
        "ranks": [source.n for source in sources],
        "text": draft.text if status == "answered" else "",
        "quotes": list(draft.quotes),
        "status": status,
    }
    if status == "failed":
        result["spared"] = spared
    elif status == "answered" and draft.choice:
        result["choice"] = draft.choice
    return result


def chosen(drafts: Sequence[GroupDraft], organisation: Organisation) -> str | None:
    """Return the option that the groups with the most contexts chose; None if no group chose any.

    Contexts that are represented by another context count too. On a tie, the option of the earliest group wins.
    """
    contexts_of_option: dict[str, int] = {}
    represented = organisation.get("sources", {})
    for draft in drafts:
        if option := draft.get("choice"):
            count = sum(1 + len(represented.get(str(rank), [])) for rank in draft["ranks"])
            contexts_of_option[option] = contexts_of_option.get(option, 0) + count
    return max(contexts_of_option, key=lambda option: contexts_of_option[option], default=None)
