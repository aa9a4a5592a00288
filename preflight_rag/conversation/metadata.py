"""Answers from a document's metadata: its authors, where and when it was published, its identifiers.

The document meant is found by its title, its text, or an identifier. If several fit equally, all are shown; if none
fits, or the metadata lack the answer, the question is left to the documents' texts.
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

SEARCH_DEPTH = 50
"""Passages of a search among which a document is looked for by its topic."""
LEAST_TEXT_SHARE = 0.75
LEAST_TITLE_SHARE = 0.5
"""Shares of the topic's words that a document's title and found passages, and its title alone, have to contain: a paper
that mentions a topic need not be about it."""
LEAST_MARGIN = 0.2
"""Difference to the best document from which a document is no longer meant, as a share of the topic's terms. A term in
the title and one in the text count the same."""
LEAST_TITLE_WORDS = 4
"""Content words that a title must have to be recognised where the question does not say "document"."""
FIRST_PASSAGES = 3
LEAST_CODE_PASSAGES = 3
"""First passages of a document, one of which has its own name; and passages that have this name if it is a code."""
LEAST_ACRONYM_COUNT = 2
"""Times that a paper names its own study's acronym in its first passages; other papers name a trial once there."""
MOST_DOCUMENTS = 3
"""Maximum number of documents shown where several may be meant; this number and the eight above are guesses."""
_COMPARISON_WORDS = frozenset(words("vs versus compared comparison"))
"""Words between the two things that a study compares, for which its title may have others."""
_STUDY_WORD = re.compile(
    r"(?: \w{1,20})?[- ](?:study|trial|cohort|project|programme|program|registry|investigators|group)\b", re.IGNORECASE
)
"""A word such as "trial", as it follows the acronym of a study in the study's own paper."""
_OWN_NAME = re.compile(r"(?<![\w-])(?=[\w-]*[A-Z][\w-]*[A-Z\d])[A-Za-z\d][\w-]{2,40}(?![\w-])")
"""An acronym or a code: SPRUCE, STEP-UP or AZD3199."""
ASK_WHICH_DOCUMENT = "Which document is meant? Ask with its title, or with what it is about."
_ONE_AUTHOR = {"First author": 0, "Last author": -1}
"""Index of one author in the list of authors, which is in the order of the publication."""
_IDENTIFIER = re.compile(r"\b(?:PMC\d{3,}|(?:PMID:?\s*)\d{4,}|\d{7,9}|10\.\d{4,9}/\S+)", re.IGNORECASE)
_ISO_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(\d\d))?)?")
_FILE_NAME = re.compile(r"(?<![\w.-])[\w.-]+\.(?:pdf|docx|html?|csv|tsv|txt|md|n?xml|jsonl)\b", re.IGNORECASE)


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
    library: Collection, lookup: Lookup, last_answer: EarlierState | None = None, where: Filter | None = None
) -> MetadataAnswer | None:
    """Return the answer from the metadata card of the document that the lookup means.

    A lookup without a topic means the documents of the last answer. If several may be meant, the answer lists the field
    of each; without a topic and a last answer, it asks which document is meant. The result is None if no document that
    passes the filter `where` is meant, or if its metadata lack the answer.
    """
    if not lookup.topic and not last_answer:
        return MetadataAnswer(ASK_WHICH_DOCUMENT, (), ())
    if lookup.topic:
        document_ids = _find_documents_by_topic(library, lookup, where)
    elif lookup.pointed:
        document_ids = _documents_of_kind(library, last_answer, lookup)
    else:
        document_ids = _documents_of_last_answer(last_answer, lookup)
    if where is not None:
        document_ids = [document_id for document_id in document_ids if document_fits(library, document_id, where)]
    cards = library.passages([card_id(document_id) for document_id in document_ids])
    lines = [(card, line) for card in cards if (line := _card_line(card, lookup.fields))]
    if not lines:
        return None
    if len(cards) > 1:
        items = [f"- **{plain(card.title)}**: {line} [{n}]" for n, (card, line) in enumerate(lines, 1)]
        text = "Several documents may be meant:\n\n" + "\n".join(items)
        quotes = tuple((n, line) for n, (_, line) in enumerate(lines, 1))
        return MetadataAnswer(text, tuple(card for card, _ in lines), quotes)
    card, line = lines[0]
    value = line.partition(": ")[2]
    field = lookup.fields[0]
    if field in _ONE_AUTHOR:
        author = value.split("; ")[_ONE_AUTHOR[field]]
        sentence = f"The {field.lower()} of “{plain(card.title)}” is {author}"
        return MetadataAnswer(_with_citation_mark(sentence), (card,), ((1, line),), author)
    return MetadataAnswer(_answer_sentence(card, line), (card,), ((1, line),), date_in_words(value) or value)


def _documents_of_last_answer(last_answer: EarlierState | None, lookup: Lookup) -> list[str]:
    """Return the ids of the documents that the last answer cites, at most `MOST_DOCUMENTS`.

    If the question has no word such as "paper", there are none unless the last answer was from a document's metadata:
    else "it" may be the thing that the document is about.
    """
    citations = last_answer["citations"] if last_answer else []
    if not lookup.named and not any(is_card(citation["passage_id"]) for citation in citations):
        return []
    return list(dict.fromkeys(citation["document_id"] for citation in citations))[:MOST_DOCUMENTS]


def _documents_of_kind(library: Collection, last_answer: EarlierState | None, lookup: Lookup) -> list[str]:
    """Return the ids of the documents cited by the last answer that are of the kind, and by the author, of a lookup.

    The kind is "list" or "letter" in "When did Ann Lee write that letter?".
    """
    kind = lookup.pointed
    cited = list(
        dict.fromkeys(citation["document_id"] for citation in (last_answer["citations"] if last_answer else []))
    )
    if lookup.author:
        cards = library.passages([*map(card_id, cited)])
        authors = {card.document_id: set(words(_card_line(card, ("Authors",)))) for card in cards}
        cited = [document_id for document_id in cited if set(words(lookup.author)) <= authors.get(document_id, set())]
    of_kind = []
    for document_id in cited:
        passages = library.document_passages(document_id)
        if not passages:
            continue
        first = passages[0]
        file = str(first.metadata.get("path") or first.source)
        if is_of_kind(kind, first.title, file, [passage.text for passage in passages]):
            of_kind.append(document_id)
    if not of_kind and kind.casefold() == "report" and len(cited) == 1:
        return cited  # any text may be called a report, and no other was cited
    return of_kind[:MOST_DOCUMENTS]


def _find_documents_by_topic(library: Collection, lookup: Lookup, where: Filter | None) -> list[str]:
    """Return the id of the document that a lookup's topic names, or the ids of several that match it equally.

    A question without a word such as "paper" must name nearly a whole title, and of one document only. Any other names
    a document by an identifier or file name in it, by the words of its title and text, or by the name of its study.
    """
    if documents := _find_documents_by_identifier(library, lookup.topic):
        return documents
    try:
        hits = library.search(SearchQuery(lookup.topic, k=SEARCH_DEPTH, where=where)).fused
    except LibraryEmpty:
        return []
    terms = set(words(lookup.topic)) - _COMPARISON_WORDS
    if not terms:
        return []
    titles, texts = _words_by_document(library.passages([hit.passage_id for hit in hits]))
    if not lookup.named:
        with_this_title = [
            document_id
            for document_id, title in titles.items()
            if len(title) >= LEAST_TITLE_WORDS and len(terms & title) >= LEAST_TEXT_SHARE * len(terms | title)
        ]
        return with_this_title if len(with_this_title) == 1 else []
    title_shares = {document_id: len(terms & title) / len(terms) for document_id, title in titles.items()}
    text_shares = {document_id: len(terms & texts[document_id]) / len(terms) for document_id in titles}
    fitting = [
        document_id
        for document_id in titles
        if title_shares[document_id] >= LEAST_TITLE_SHARE
        and text_shares[document_id] >= LEAST_TEXT_SHARE
        and terms <= titles[document_id] | _words_of_beginning(library, document_id)
    ]
    if not fitting:
        return _find_document_by_own_name(library, lookup.topic, terms)
    scores = {document_id: title_shares[document_id] + text_shares[document_id] for document_id in fitting}
    best_first = sorted(fitting, key=lambda document_id: -scores[document_id])
    threshold = scores[best_first[0]] - LEAST_MARGIN
    return [document_id for document_id in best_first if scores[document_id] > threshold][:MOST_DOCUMENTS]


def _words_by_document(passages: Sequence[Passage]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the words of each document's title, and those of its title and passages, by the document's id."""
    titles: dict[str, set[str]] = {}
    texts: dict[str, set[str]] = {}
    for passage in passages:
        document_id = str(
            passage.metadata.get(COPY_OF) or passage.document_id
        )  # of two copies the one that is searched
        titles.setdefault(document_id, set()).update(words(passage.title))
        texts.setdefault(document_id, set(words(passage.title))).update(words(passage.text))
    return titles, texts


def _find_document_by_own_name(library: Collection, topic: str, terms: Set[str]) -> list[str]:
    """Return the id of the document whose own name, such as a trial's acronym or a code, occurs in a topic; else [].

    Other papers mention a trial once or twice. A trial's own paper names it from the beginning on: a code
    repeatedly, an acronym with its kind, as in "the SPRUCE study".
    """
    owners = [_documents_with_own_name(library, name) for name in _OWN_NAME.findall(topic)]
    of_all_names = set.intersection(*owners) if owners else set()
    is_sure = len(of_all_names) == 1 and terms <= _words_of_beginning(library, *of_all_names)
    return list(of_all_names) if is_sure else []


def _documents_with_own_name(library: Collection, name: str) -> set[str]:
    """Return the ids of the documents whose own study or code is a name, and that do not only mention it."""
    documents = set()
    for document_id, mention in library.mentions(name).items():
        passages = library.document_passages(document_id)
        first = passages[:FIRST_PASSAGES]
        is_at_beginning = mention.passage_id in {passage.id for passage in first}
        is_code = any(map(str.isdigit, name)) and mention.passages >= min(LEAST_CODE_PASSAGES, len(passages))
        text = "\n".join(passage.text for passage in first)
        is_study = text.count(name) >= LEAST_ACRONYM_COUNT and _is_followed_by_study_word(name, text)
        if passages and (name in passages[0].title or (is_at_beginning and (is_code or is_study))):
            documents.add(str(passages[0].metadata.get(COPY_OF) or document_id))
    return documents


def _is_followed_by_study_word(name: str, text: str) -> bool:
    """Return whether a text has a word such as "trial" right after a name."""
    position = text.find(name)
    while position >= 0:
        if _STUDY_WORD.match(text, position + len(name)):
            return True
        position = text.find(name, position + 1)
    return False


def _words_of_beginning(library: Collection, document_id: str) -> set[str]:
    """Return the index terms of a document's title and first passages, which introduce its topic."""
    first = library.document_passages(document_id)[:FIRST_PASSAGES]
    return set(words(" ".join([passage.title for passage in first[:1]] + [passage.text for passage in first])))


def _find_documents_by_identifier(library: Collection, topic: str) -> list[str]:
    """Return the ids of the documents whose PMID, PMCID, DOI, id or file name occurs in a topic."""
    identifier_match, file_match = _IDENTIFIER.search(topic), _FILE_NAME.search(topic)
    if not identifier_match and not file_match:
        return []
    identifier = _without_pmid_label(identifier_match[0]).rstrip(".,;") if identifier_match else ""
    documents = []
    for row in library.documents():
        metadata = row["metadata"]
        identifiers = {str(metadata.get(key) or "").casefold() for key in ("pmcid", "pmid", "doi")}
        identifiers |= {_without_pmid_label(row["source"]), row["id"].casefold()}
        path = str(metadata.get("path") or "").casefold()
        is_this_file = file_match is not None and path.endswith(file_match[0].casefold())
        if (identifier and identifier in identifiers) or is_this_file:
            documents.append(row["id"])
    return documents[:MOST_DOCUMENTS]


def _without_pmid_label(text: str) -> str:
    """Return an identifier in lower case, without the "PMID:" before its number."""
    return re.sub(r"(?i)^pmid:?\s*", "", text).casefold()


def _card_line(card: Passage, fields: Sequence[str]) -> str:
    """Return the line of a card with the first of some fields that it has, "Published: 2017-09-23"; "" for none.

    The first and the last author are in the line "Authors".
    """
    lines = card.text.split("\n")
    labels = ["Authors" if field in _ONE_AUTHOR else field for field in fields]
    return next((line for label in labels for line in lines if line.startswith(f"{label}: ")), "")


def date_in_words(iso: str) -> str:
    """Return a date as people write it, "23 September 2017" for "2017-09-23"; "" for what is no ISO date."""
    match = _ISO_DATE.fullmatch(iso)
    if match is None:
        return ""
    year, month, day = match[1], match[2], match[3]
    month_name = calendar.month_name[int(month)] if month else ""
    return " ".join(part for part in (day.lstrip("0") if day else "", month_name, year) if part)


def _answer_sentence(card: Passage, line: str) -> str:
    """Return the answer for a line of a card: "“Title” was published on 23 September 2017, according to …"."""
    field, _, value = line.partition(": ")
    title = f"“{plain(card.title)}”"
    is_whole_date, date = len(value) > len("2017-09"), date_in_words(value) or value
    sentence = {
        "Authors": f"The authors of {title} are {value.replace('; ', ', ')}",
        "Journal": f"{title} was published in {value}",
        "Published": f"{title} was published {'on' if is_whole_date else 'in'} {date}",
        "Date": f"{title} is dated {date}",
        "File saved": f"{title} does not say when it was written; its file was saved on {date}",
        "Title": f"The title is {title}",
    }.get(field, f"The {field if field.isupper() else field.lower()} of {title}: {value}")
    return _with_citation_mark(sentence)


def _with_citation_mark(sentence: str) -> str:
    """Return a sentence with the citation mark [1], its own marks being taken out so that they cite nothing."""
    return f"{plain(sentence)}, according to its metadata [1]."
