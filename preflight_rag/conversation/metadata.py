"""Answers from a document's metadata: its authors, where and when it was published, its identifiers.

Which document is meant is decided by its title, its text, or an identifier. Where two fit alike, both are shown; where
none does, or the one that fits does not say, the question is one for the documents' texts.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.conversation.document_kinds import is_of_kind
from preflight_rag.conversation.listing import document_fits
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.cards import card_id, is_card
from preflight_rag.state.errors import LibraryEmpty
from preflight_rag.state.reading import Lookup
from preflight_rag.state.schema import EarlierState
from preflight_rag.state.values import COPY_OF, Passage
from preflight_rag.text.citations import plain
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.search.filters import Filter

DEPTH = 50
"""Passages among which a document is looked for by its subject."""
LEAST_COVER = 0.75
LEAST_TITLE = 0.5
"""Shares of the topic's words that a document's title and passages found, and its title alone, have to hold: what a
paper mentions is not what it is on."""
LEAST_MARGIN = 0.2
"""Least difference between the best and the next document for the best to be meant, as a share of the topic's terms. A
term in the title and one in the text count the same.
"""
WHOLE_TITLE = 4
"""Words of content that a title must have to be taken for a document's where the question does not say document."""
FIRST_PASSAGES = 3
LEAST_PASSAGES = 3
"""Passages at a document's beginning, and in all, in which its own name stands."""
LEAST_NAMED = 2
"""Least number of times that a paper names its own study's acronym in its opening; other papers name a trial once
there."""
MOST_CANDIDATES = 3
"""Documents that are shown where several may be meant; this number and the eight above are guesses."""
_JOINS = frozenset(words("vs versus compared comparison"))
"""Words between the two things that a study compares, for which titles have others."""
_STUDY = re.compile(
    r"(?: \w{1,20})?[- ](?:study|trial|cohort|project|programme|program|registry|investigators|group)\b", re.IGNORECASE
)
"""The text that follows the acronym of a study in the study's own paper."""
_OWN_NAME = re.compile(r"(?<![\w-])(?=[\w-]*[A-Z][\w-]*[A-Z\d])[A-Za-z\d][\w-]{2,40}(?![\w-])")
"""The spelling of a proper name without spaces: an acronym or a code, such as SPRUCE, STEP-UP or AZD3199."""
WHICH = "Which document is meant? Ask with its title, or with what it is about."
_ONE_AUTHOR = {"First author": 0, "Last author": -1}
"""Index of one author in the list of authors, which is in the order of the publication."""
_IDENTIFIER = re.compile(r"\b(?:PMC\d{3,}|(?:PMID:?\s*)\d{4,}|\d{7,9}|10\.\d{4,9}/\S+)", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(\d\d))?)?")
_FILE = re.compile(r"(?<![\w.-])[\w.-]+\.(?:pdf|docx|html?|csv|tsv|txt|md|n?xml|jsonl)\b", re.IGNORECASE)


@dataclass(frozen=True)
class MetadataAnswer:
    """An answer from the metadata of documents; its marks count the places of `cards`.

    Attributes:
        text: The answer's sentence, or the list of documents that may be meant.
        cards: The metadata cards that are cited.
        quotes: The cited line of each card.
        value: The requested value; empty if several documents may be meant.
    """

    text: str
    cards: tuple[Passage, ...]
    quotes: tuple[tuple[int, str], ...]
    value: str = ""


def read_cards(
    library: Collection, lookup: Lookup, earlier: EarlierState | None = None, where: Filter | None = None
) -> MetadataAnswer | None:
    """Return the answer from the metadata card of the document that the lookup means.

    None if it means no document, or the document's metadata lack the answer.

    Args:
        library: The collection.
        lookup: The requested field, and the document.
        earlier: The last answer; a question that names no document is about its source.
        where: A filter that the documents have to pass.
    """
    if not lookup.topic and not earlier:
        return MetadataAnswer(WHICH, (), ())
    if lookup.topic:
        meant = _by_topic(library, lookup, where)
    else:
        meant = _pointed_at(library, earlier, lookup) if lookup.pointed else _spoken_of(earlier, lookup)
    if where is not None:
        meant = [name for name in meant if document_fits(library, name, where)]
    cards = library.passages([card_id(name) for name in meant])
    lines = [(card, line) for card in cards if (line := _line(card, lookup.fields))]
    if not lines:
        return None
    if len(cards) > 1:
        shown = [f"- **{plain(card.title)}**: {line} [{n}]" for n, (card, line) in enumerate(lines, 1)]
        text = "Several documents may be meant:\n\n" + "\n".join(shown)
        return MetadataAnswer(
            text, tuple(card for card, _ in lines), tuple((n, line) for n, (_, line) in enumerate(lines, 1))
        )
    card, line = lines[0]
    value = line.partition(": ")[2]
    if lookup.fields[0] in _ONE_AUTHOR:
        value = value.split("; ")[_ONE_AUTHOR[lookup.fields[0]]]
        sentence = f"The {lookup.fields[0].lower()} of “{plain(card.title)}” is {value}"
        return MetadataAnswer(_according(sentence), (card,), ((1, line),), value)
    return MetadataAnswer(_sentence(card, line), (card,), ((1, line),), spoken_date(value) or value)


def _spoken_of(earlier: EarlierState | None, lookup: Lookup) -> list[str]:
    """Return the documents that the last answer cites.

    "it" is one of them only where they were spoken of as documents.
    """
    citations = earlier["citations"] if earlier else []
    if not lookup.named and not any(is_card(citation["passage_id"]) for citation in citations):
        return []
    return list(dict.fromkeys(citation["document_id"] for citation in citations))[:MOST_CANDIDATES]


def _pointed_at(library: Collection, earlier: EarlierState | None, lookup: Lookup) -> list[str]:
    """Return the documents of a kind, "list" or "letter", that the last answer cites; only those by its author."""
    kind = lookup.pointed
    cited = list(dict.fromkeys(citation["document_id"] for citation in (earlier["citations"] if earlier else [])))
    if lookup.author:
        cards = {card.document_id: _line(card, ("Authors",)) for card in library.passages([*map(card_id, cited)])}
        cited = [name for name in cited if set(words(lookup.author)) <= set(words(cards.get(name, "")))]
    found = []
    for name in cited:
        passages = library.document_passages(name)
        if not passages:
            continue
        first = passages[0]
        file = str(first.metadata.get("path") or first.source)
        if is_of_kind(kind, first.title, file, [passage.text for passage in passages]):
            found.append(name)
    if not found and kind.casefold() == "report" and len(cited) == 1:
        return cited  # any text may be called a report, and no other was cited
    return found[:MOST_CANDIDATES]


def _by_topic(library: Collection, lookup: Lookup, where: Filter | None) -> list[str]:
    """Return the document that a topic names, or several that match it equally."""
    if named := _by_identifier(library, lookup.topic):
        return named
    try:
        found = library.search(SearchQuery(lookup.topic, k=DEPTH, where=where)).fused
    except LibraryEmpty:
        return []
    passages = library.passages([hit.passage_id for hit in found])
    terms = set(words(lookup.topic)) - _JOINS
    if not terms:
        return []
    texts: dict[str, set[str]] = {}
    titles: dict[str, set[str]] = {}
    for passage in passages:
        name = str(passage.metadata.get(COPY_OF) or passage.document_id)  # of two copies the one that is searched
        titles.setdefault(name, set()).update(words(passage.title))
        texts.setdefault(name, set(words(passage.title))).update(words(passage.text))
    cover = {name: (len(terms & titles[name]) / len(terms), len(terms & texts[name]) / len(terms)) for name in titles}
    if not lookup.named:
        whole = [
            name
            for name, title in titles.items()
            if len(title) >= WHOLE_TITLE and len(terms & title) >= LEAST_COVER * len(terms | title)
        ]
        return whole[:1] if len(whole) == 1 else []
    fitting = [name for name, (title, text) in cover.items() if title >= LEAST_TITLE and text >= LEAST_COVER]
    fitting = [name for name in fitting if terms <= titles[name] | _beginning(library, name)]
    if not fitting:
        return _by_own_name(library, lookup.topic, terms)
    ranked = sorted(fitting, key=lambda name: -sum(cover[name]))
    return [name for name in ranked if sum(cover[name]) > sum(cover[ranked[0]]) - LEAST_MARGIN][:MOST_CANDIDATES]


def _by_own_name(library: Collection, topic: str, terms: Set[str]) -> list[str]:
    """Return the document whose own name, such as a trial's acronym or a code, occurs in a topic.

    Other papers mention a trial once or twice. A trial's own paper names it from the beginning on: a code
    repeatedly, an acronym with its kind, as in "the SPRUCE study".
    """
    owners: list[set[str]] = []
    for name in _OWN_NAME.findall(topic):
        found = set()
        for document_id, mention in library.mentions(name).items():
            passages = library.document_passages(document_id)
            first = passages[:FIRST_PASSAGES]
            begins = mention.passage_id in {passage.id for passage in first}
            is_code = any(map(str.isdigit, name)) and mention.passages >= min(LEAST_PASSAGES, len(passages))
            text = "\n".join(passage.text for passage in first)
            is_named = text.count(name) >= LEAST_NAMED and _is_called_study(name, text)
            if passages and (name in passages[0].title or (begins and (is_code or is_named))):
                found.add(str(passages[0].metadata.get(COPY_OF) or document_id))
        owners.append(found)
    meant = set.intersection(*owners) if owners else set()
    return list(meant) if len(meant) == 1 and terms <= _beginning(library, *meant) else []


def _is_called_study(name: str, text: str) -> bool:
    """Return whether a text has a word such as "trial" right after a name."""
    at = text.find(name)
    while at >= 0:
        if _STUDY.match(text, at + len(name)):
            return True
        at = text.find(name, at + 1)
    return False


def _beginning(library: Collection, document_id: str) -> set[str]:
    """Return the index terms of a document's title and first passages, which introduce its subject."""
    first = library.document_passages(document_id)[:FIRST_PASSAGES]
    return set(words(" ".join([passage.title for passage in first[:1]] + [passage.text for passage in first])))


def _by_identifier(library: Collection, topic: str) -> list[str]:
    """Return the document whose PMID, PMCID, DOI or file name occurs in a topic."""
    match, file = _IDENTIFIER.search(topic), _FILE.search(topic)
    if not match and not file:
        return []
    asked = re.sub(r"(?i)^pmid:?\s*", "", match[0]).casefold().rstrip(".,;") if match else ""
    found = []
    for row in library.documents():
        metadata = row["metadata"]
        own = {str(metadata.get(key) or "").casefold() for key in ("pmcid", "pmid", "doi")} | {
            re.sub(r"(?i)^pmid:?\s*", "", row["source"]).casefold(),
            row["id"].casefold(),
        }
        path = str(metadata.get("path") or "")
        if (asked and asked in own) or (file and path.casefold().endswith(file[0].casefold())):
            found.append(row["id"])
    return found[:MOST_CANDIDATES]


def _line(card: Passage, fields: Sequence[str]) -> str:
    """Return the line of a card that answers the question; "" where it has none."""
    lines = card.text.split("\n")
    fields = ["Authors" if field in _ONE_AUTHOR else field for field in fields]
    return next((line for field in fields for line in lines if line.startswith(f"{field}: ")), "")


def spoken_date(iso: str) -> str:
    """Return a date as people write it, "23 September 2017"; "" for text that is not an ISO date."""
    match = _ISO.fullmatch(iso)
    if match is None:
        return ""
    year, month, day = match[1], match[2], match[3]
    name = calendar.month_name[int(month)] if month else ""
    return " ".join(part for part in (day.lstrip("0") if day else "", name, year) if part)


def _sentence(card: Passage, line: str) -> str:
    """Return the answer's sentence for a line of the card."""
    field, _, value = line.partition(": ")
    title = f"“{plain(card.title)}”"
    sentence = {
        "Authors": f"The authors of {title} are {value.replace('; ', ', ')}",
        "Journal": f"{title} was published in {value}",
        "Published": f"{title} was published {'on' if len(value) > 7 else 'in'} {spoken_date(value) or value}",
        "Date": f"{title} is dated {spoken_date(value) or value}",
        "File saved": f"{title} does not say when it was written; its file was saved on {spoken_date(value) or value}",
        "Title": f"The title is {title}",
    }.get(field, f"The {field if field.isupper() else field.lower()} of {title}: {value}")
    return _according(sentence)


def _according(sentence: str) -> str:
    """Return the sentence with its citation mark, protected from being read as the document's own mark."""
    return f"{plain(sentence)}, according to its metadata [1]."
