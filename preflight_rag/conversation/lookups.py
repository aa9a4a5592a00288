"""Questions about the documents themselves, by rule: which ones mention something, or who wrote one of them, and when.

"How many reports mention ketamine?" asks for documents; "How many patients were treated?" asks what they say, and so
does "How many studies were included?", which a review answers: a word for documents has to be asked for by what they
mention, or by the library that holds them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from preflight_rag.conversation.document_kinds import KINDS
from preflight_rag.state.reading import Lookup
from preflight_rag.text.lazy_patterns import LazyPattern
from preflight_rag.text.words import words

_DOCS = (
    r"(?:documents?|files?|reports?|papers?|articles?|publications?|abstracts?|records?|filings?|memos?|e-?mails?"
    r"|pdfs?)"
)
"""Words for documents that hardly mean anything else."""
_DOCUMENTS = (
    rf"(?:{_DOCS}|stud(?:y|ies)|trials?|texts?|(?:web ?)?pages?|sources?|(?:press )?releases?|reviews?"
    r"|transcripts?|meetings?)"
)
"""Words for documents, also those that may mean something else: "study"."""
_THE = r"(?>(?:(?:the|these|those|this|my|our|your|all|all the|any|any of the|of the|of these|of my|of them) )*)"
_HERE = (
    r"(?:in|within|from|of|across) (?:the|this|my|our|your|these) (?:whole )?"
    rf"(?:library|collection|database|corpus|folder|{_DOCUMENTS})"
)
_MENTION = (
    r"(?:mention(?:s|ed|ing)?|discuss(?:es|ed|ing)?|contain(?:s|ing)?|talk(?:s|ed|ing)? about"
    r"|speak(?:s|ing)? (?:of|about)|refer(?:s|red|ring)? to|names?|naming|cover(?:s|ed|ing)?|deal(?:s|ing)? with"
    r"|(?:is|are|were) (?:about|on)|have (?:something|anything|information) (?:about|on)|report(?:s|ed|ing)? on"
    r"|cites?|citing|about|on|concern(?:s|ing)?|regarding|says? (?:something|anything) about|includes? the words?"
    r"|uses? the words?)"
)
_TOPIC = r"(?P<topic>[^?]+?)"
_TAIL = r"(?>(?:(?<![\s?.!])[\s?.!]++)?)"
"""The punctuation at a question's end. It matches only from its first mark: else each of many marks would be tried."""
_END = rf"(?: {_HERE}| (?:do (?:you|we) have|are there|exist|here)){{0,4}}{_TAIL}"
_HAVE = (
    r"(?:(?:do|can) (?:you|we|i) (?:have|know|search|read|hold|ask about)"
    rf"|(?:are|is) (?:there|available|stored|indexed|loaded|{_HERE}|here|known)|have (?:you|we) (?:got|read|indexed)"
    r"|does (?:the|this) (?:library|collection) (?:have|hold|contain))"
)
_PLEASE = r"(?:please |(?:can|could|would) you (?:please )?)?"
_SHOW = r"(?:list|show(?: me)?|give me|find(?: me)?|name|enumerate|tell me|display|count)"
_LIST_OF = rf"{_PLEASE}{_SHOW} {_THE}(?:list of )?{_THE}"

_LISTING_QUESTIONS = [
    rf"(?:which|what) {_THE}{_DOCUMENTS} (?:that |which )?{_MENTION} {_TOPIC}{_END}",
    rf"(?:which|what) {_THE}{_DOCUMENTS} (?:is|are) (?:an? )?{_DOCUMENTS}(?: (?:or|and) {_DOCUMENTS})? "
    rf"(?:of|from|by|about) {_TOPIC}{_END}",
    rf"(?:in )?(?:which|what) {_THE}{_DOCS} (?:is|are|was|were|does|do) {_TOPIC} "
    rf"(?:mentioned|discussed|named|covered|described|appear|occur|cited){_END}",
    rf"how many {_THE}{_DOCUMENTS} (?:(?:are there|do (?:you|we) have|{_HERE}|that|which|there are) ){{0,4}}"
    rf"{_MENTION} {_TOPIC}{_END}",
    rf"how many {_THE}{_DOCS} (?:(?:are|is) )?(?:there|{_HAVE}|{_HERE}){_END}",
    rf"how (?:large|big) is (?:the|this|your) (?:library|collection){_END}",
    rf"{_LIST_OF}{_DOCUMENTS} (?:(?:you have|that|which|there are) ){{0,4}}{_MENTION} {_TOPIC}{_END}",
    rf"{_LIST_OF}{_DOCS}(?: (?:you have|there are|{_HERE})){{0,4}}{_TAIL}",
    rf"(?:which|what) {_THE}{_DOCS} {_HAVE}(?: {_MENTION} {_TOPIC})?{_END}",
    rf"(?:do (?:you|we) have|are there|is there|have you) (?:any|a|some) {_DOCS} (?:that )?{_MENTION} {_TOPIC}{_END}",
    rf"(?:do (?:you|we) have|is there|have you) (?:anything|something) (?:about|on) {_TOPIC} {_HERE}{_TAIL}",
    rf"(?:what|which) (?:is|are) (?:in|inside) (?:the|this|your|my) (?:library|collection|folder|database){_TAIL}",
]
_FILTER_QUESTIONS = [
    rf"(?:(?:which|what|how many) {_THE}{_DOCUMENTS}|{_PLEASE}{_SHOW} {_THE}{_DOCUMENTS}) "
    rf"(?:(?:are|were|was|is|have|been) ){{0,4}}"
    rf"(?P<filter>(?:(?:published|written|released|dated|authored|from|since|after|before|in|by)\b.*?)){_END}",
    rf"(?:which|what) {_THE}{_DOCUMENTS} did (?P<author>.+?) (?:write|publish|author){_END}",
]
_ENTITY_LISTING = LazyPattern(
    rf"{_PLEASE}(?:{_SHOW}|what are|which) (?:all )?(?:the )?(?:different )?(?P<asked>[\w-]+(?: [\w-]+){{0,2}}?) "
    r"(?:(?:that )?(?:are|were|is|was) )?(?:studied|tested|used|investigated|mentioned|examined|evaluated|named"
    r"|discussed|reported|described|covered|compared) (?:in|by|across) "
    r"(?>(?:(?:all|the|these|those|my|our|your|any) )*)"
    r"(?:library|collection|documents|files|reports|papers|articles|publications|abstracts|records|filings|studies"
    rf"|trials)(?: (?:{_MENTION}|of|in|for) {_TOPIC})?{_TAIL}",
    re.IGNORECASE,
)
_LISTING_PATTERNS = [LazyPattern(pattern, re.IGNORECASE) for pattern in _LISTING_QUESTIONS]
_FILTER_PATTERNS = [LazyPattern(pattern, re.IGNORECASE) for pattern in _FILTER_QUESTIONS]
_YEAR_LIMIT = re.compile(
    r"\b(?P<how>in|from|since|after|before|of) (?:the year )?(?P<year>(?:19|20)\d\d)\b", re.IGNORECASE
)
_AUTHOR_AT_END = re.compile(r"\b(?:by|from) (?P<author>[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,4})\s*$")
_JOURNAL_AT_END = re.compile(r"\b(?:in|by) (?:the )?(?:journal )?(?P<journal>[A-Z][\w&.,'’ -]{1,200}+)$")
_CONTAINS_VERB = re.compile(r"\S (?:is|are|was|were|has|have|had|did)(?: been)? [a-z]{3,}", re.IGNORECASE)
"""A verb in an apparent topic: "How many studies on smoking were included?" asks what a document says."""
_PRONOUN = re.compile(
    r"\b(?:it|this|that|them|these|those)\b(?: (?:first|originally|initially|last|actually|finally|also))?",
    re.IGNORECASE,
)

_DOCUMENT = (
    r"(?:the|this|that|a|an) "
    r"(?:(?:new|old|latest|last|recent|whole|full|same|present|original|published) |(?P<own>\w+) )?"
    r"(?:paper|article|study|trial|report|document|review|abstract|publication|manuscript|file|pdf|preprint|letter"
    r"|guideline|thesis|survey|memo|e-?mail|press release|filing|(?:web ?)?page|meta-analysis|case report)"
)
"""A phrase for a document; the group "own" is a word for its topic: "etoricoxib" of "the etoricoxib trial"."""
_DOCUMENT_WORD_AT_END = re.compile(
    r"(?<=\w) (?:paper|article|study|trial|publication|manuscript|preprint|meta-analysis|case report)$", re.IGNORECASE
)
"""A word for a document behind its topic: "study" of "the AZD3199 vs formoterol study"."""
_PUBLISHED_AT_END = re.compile(
    r"(?:^|(?<=\s))(?:been published|published|printed|appear(?:ed)?)(?: in)?$", re.IGNORECASE
)
_TITLED = r"(?:on|about|of|titled|called|named|entitled|with the title|regarding|concerning|:)"
_WHICH = rf"(?P<noun>{_DOCUMENT})?(?: ?{_TITLED})? ?(?P<which>.*?)"
_OUT = r"(?:published|issued|released|written|dated|appear|come out)"
_GIVE = r"(?:what is|give me|what['’]s) the"
_DATE_FIELDS = ("Published", "Date", "File saved")
_PLACE_FIELDS = ("Journal", "Publisher")
"""Metadata fields that answer "where" for a document. For anything else that is published, "where" means a town."""
_METADATA_QUESTIONS: list[tuple[tuple[str, ...], str]] = [
    (("First author",), rf"(?:who|what) is (?:the name of )?the (?:first|lead) author of {_WHICH}"),
    (("Last author",), rf"(?:who|what) is (?:the name of )?the (?:last|senior) author of {_WHICH}"),
    (("Authors",), rf"who (?:wrote|authored|has written|(?:is|are|was|were) the authors? of) {_WHICH}"),
    (("Authors",), rf"(?:by whom was|who was) {_WHICH} (?:written|authored)(?: by)?"),
    (("Authors",), rf"(?:what|which) (?:is|are) the (?:names? of the )?authors? of {_WHICH}"),
    (
        ("Journal",),
        rf"(?:in )?(?:what|which) journal (?:was|is|were|did|has) {_WHICH}"
        r"(?: (?:published|appear(?:ed)?|printed|been published))?(?: in)?",
    ),
    (_PLACE_FIELDS, rf"where (?:was|is|has|did) {_WHICH} (?:been )?(?:published|appear)"),
    (("Journal",), rf"(?:what|which) journal (?:published|printed) {_WHICH}"),
    (("Journal",), rf"what is the journal of {_WHICH}"),
    (_DATE_FIELDS, rf"(?:when|(?:in |on )?(?:what|which) (?:year|date|day|month)) (?:was|were|is|did) {_WHICH} {_OUT}"),
    (_DATE_FIELDS, rf"what is the (?:(?:publication|release) (?:date|year)|(?:date|year) of publication) of {_WHICH}"),
    (_DATE_FIELDS, rf"what is the (?:date|year) of (?P<noun>{_DOCUMENT})(?: {_TITLED})? ?(?P<which>.*?)"),
    (("DOI",), rf"{_GIVE} (?:doi|digital object identifier) (?:of|for) {_WHICH}"),
    (("PMID",), rf"{_GIVE} (?:pmid|pubmed id(?:entifier)?) (?:of|for) {_WHICH}"),
    (("PMCID",), rf"{_GIVE} (?:pmcid|pmc id(?:entifier)?) (?:of|for) {_WHICH}"),
    (("Title",), rf"what is the (?:full )?title of {_WHICH}"),
    (("Publisher",), rf"who (?:published|is the publisher of) {_WHICH}"),
    (("Number of pages",), rf"how many pages (?:does|do|has|are in|is) {_WHICH}(?: have)?"),
    (("Keywords",), rf"what are the keywords? of {_WHICH}"),
]
_METADATA_PATTERNS = [(fields, LazyPattern(pattern + _TAIL, re.IGNORECASE)) for fields, pattern in _METADATA_QUESTIONS]
_SPEAKS_OF_DOCUMENTS = re.compile(
    r"document|file|report|paper|article|publi|abstract|record|filing|memo|mail|pdf|stud|trial|text|page|source|releas"
    r"|review|transcript|meeting|library|collection|database|corpus|folder"
    r"|author|wr[io]t|journal|issued|date|appear|come out|year|doi\b|identifier|pmid|pubmed|pmc|title|keyword",
    re.IGNORECASE,
)
"""Words of which each pattern above needs one. A question without any is rejected before any pattern is compiled."""
_DOCUMENT_ONLY_FIELDS = ("Journal", "DOI", "PMID", "PMCID")
"""Metadata fields that only documents have. A question for one of them is about a document, whatever noun it uses."""
_SHORT_QUESTIONS = [
    (("Journal",), r"(?:and )?(?:in )?(?:which|what) journal"),
    (("Authors",), r"(?:and )?(?:who (?:are|were) the authors?|who wrote (?:it|that|this)|by whom)"),
    (_DATE_FIELDS, r"(?:and )?(?:when|when was (?:it|that|this) (?:published|written)|(?:in )?(?:which|what) year)"),
    (("DOI",), r"(?:and )?(?:what is |what's )?(?:the|its) doi"),
    (("Title",), r"(?:and )?what is (?:the|its) title"),
]
"""Short questions about the document mentioned just before. Without that document they are incomplete."""
_THAT_KIND = rf"(?:that|this|those|these) (?P<pointed>(?:[\w-]{{1,30}} ){{0,2}}?{KINDS})"
_POINTED_QUESTIONS = [
    (
        ("Authors",),
        rf"who (?:wrote|authored|has written|drew up|compiled|made|prepared|(?:is|was) the author of) {_THAT_KIND}\W*",
    ),
    (("Authors",), r"who sent (?:that|this) (?P<pointed>letter|e?-?mail|message)\W*"),
    (
        _DATE_FIELDS,
        rf"when (?:was|were) {_THAT_KIND} (?:written|made|issued|published|sent|drawn up|compiled|prepared)\W*",
    ),
    (
        _DATE_FIELDS,
        r"when did (?P<author>(?-i:[A-Z])[\w'’.-]{1,30}(?: (?-i:[A-Z])[\w'’.-]{0,30}){0,3}) write "
        rf"(?:the|that|this) (?P<pointed>(?:[\w-]{{1,30}} ){{0,2}}?{KINDS})\W*",
    ),
]
_POINTED_PATTERNS = [(fields, re.compile(pattern, re.I)) for fields, pattern in _POINTED_QUESTIONS]
"""`(fields, pattern)`: questions about a document just cited, called by its kind: "who wrote that list?"."""
_TOPIC_FRAGMENT = re.compile(
    r"(?:(?:and|or|what about|how about)(?: (?:for|about|on|of))? )+(?P<topic>(?!(?:why|how|what|when|where|who|which"
    r"|is|are|was|were|do|does|did|in|with|after|during|it|that|this)\b)[\w'’ -]{2,60})\W*",
    re.IGNORECASE,
)
_QUOTED_TITLE = re.compile(r"^[^\"“„«'‘\n]*+[\"“„«'‘](.{3,}?)[\"”“»'’]", re.MULTILINE)
_QUOTES_AND_PUNCTUATION = " \"“”„«»'‘’.,:;?!"
_LEADING_ARTICLE_OR_TERM = re.compile(
    r"^(?=(?:the|an?|any|some|words?|terms?|phrase|name|use|topic)\b)(?:(?:the|a|an|any|some) )?"
    r"(?:words? |terms? |phrase |name )?(?:(?:the )?(?:use|topic) of )?(?:the |a |an )?",
    re.IGNORECASE,
)


def recognise_lookup(question: str) -> Lookup | None:
    """Return the lookup for a question about the documents themselves; None for a question about their content."""
    text = re.sub(r"^(?:and|so|ok|okay|then),? ", "", " ".join(question.split()), flags=re.IGNORECASE)
    if not _SPEAKS_OF_DOCUMENTS.search(text):
        return None
    for pattern in _LISTING_PATTERNS:
        if match := pattern.fullmatch(text):
            topic = _clean_topic(match.groupdict().get("topic") or "")
            # A topic with a verb belongs to a question about content: "smoking were included".
            return None if _PRONOUN.fullmatch(topic) or _CONTAINS_VERB.search(topic) else Lookup("listing", topic)
    entities = _ENTITY_LISTING.fullmatch(text)  # "Which drugs are mentioned in the papers?"
    if entities and words(entities["asked"]) and not re.fullmatch(_DOCUMENTS, entities["asked"], re.IGNORECASE):
        return Lookup("listing", _clean_topic(entities["topic"] or ""), asked=entities["asked"])
    return _recognise_filter_question(text) or _recognise_metadata_question(text)


def lookup_after(message: str, last_question: str) -> Lookup | None:
    """Return the lookup for a message that continues a question about documents; None for any other message.

    After "Which papers mention ketamine?", "and naproxen?" lists those about naproxen; after a question for a
    document's metadata, "and when?" asks for its date.
    """
    text = " ".join(message.split())
    previous = recognise_lookup(last_question) or _recognise_short_question(last_question)
    if previous is None:
        return None
    if previous.kind == "listing" and previous.topic and (match := _TOPIC_FRAGMENT.fullmatch(text)):
        return replace(previous, topic=_clean_topic(match["topic"]))
    return _recognise_short_question(text) if previous.kind == "metadata" else None


def pointed_lookup(message: str) -> Lookup | None:
    """Return the lookup for a message about a document that the last answer cites, "who wrote that list?"; or None."""
    text = re.sub(r"^(?:and|so|ok|okay|but|then),? ", "", " ".join(message.split()), flags=re.IGNORECASE)
    for fields, pattern in _POINTED_PATTERNS:
        if match := pattern.fullmatch(text):
            author = match.groupdict().get("author") or ""
            return Lookup("metadata", fields=fields, pointed=match["pointed"], author=author)
    return None


def _recognise_short_question(text: str) -> Lookup | None:
    """Return the lookup for a short question about the document mentioned before, "who wrote it?"; else None."""
    for fields, pattern in _SHORT_QUESTIONS:
        if re.fullmatch(rf"{pattern}\W*", text, re.IGNORECASE):
            return Lookup("metadata", fields=fields)
    return None


def _recognise_filter_question(text: str) -> Lookup | None:
    """Return the lookup for a question for documents by author, journal or year; None for any other question."""
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _FILTER_PATTERNS)), None)
    if match is None:
        return None
    groups = match.groupdict()
    if groups.get("author"):
        return Lookup("listing", author=_clean_topic(groups["author"]))
    years = _YEAR_LIMIT.search(groups["filter"])
    # "by Ann Lee in 2020": behind the year taken out, the author stands at the end.
    without_years = _YEAR_LIMIT.sub(" ", groups["filter"]).strip()
    author, journal = _AUTHOR_AT_END.search(without_years), _JOURNAL_AT_END.search(without_years)
    if not (years or author or journal):
        return None
    return Lookup(
        "listing",
        author=_clean_topic(author["author"]) if author else "",
        journal=_clean_topic(journal["journal"]) if journal and not author else "",
        years=(years["how"].lower(), years["year"]) if years else (),
    )


def _recognise_metadata_question(text: str) -> Lookup | None:
    """Return the lookup for a question for a document's metadata, such as its author or date; else None.

    The lookup's topic is the document's title or subject; "" where the question says only "the paper" or "it".
    """
    for fields, pattern in _METADATA_PATTERNS:
        if match := pattern.fullmatch(text):
            quoted_title = _QUOTED_TITLE.search(match["which"])
            without_published = _PUBLISHED_AT_END.sub("", match["which"]).rstrip()
            subject = _DOCUMENT_WORD_AT_END.sub("", without_published)
            topic = quoted_title[1] if quoted_title else _clean_topic(f"{match['own'] or ''} {subject}")
            if not topic and not match["noun"]:
                return None
            if _PRONOUN.fullmatch(topic):
                topic = ""
            has_document_word = bool(match["noun"]) or subject != without_published
            is_document = has_document_word or quoted_title is not None
            # "Where was Ada Byron published?" may ask for a town.
            if fields is _PLACE_FIELDS and not is_document:
                return None
            return Lookup("metadata", topic, fields=fields, named=is_document or fields[0] in _DOCUMENT_ONLY_FIELDS)
    return None


def _clean_topic(topic: str) -> str:
    """Return a topic such as "ketamine" for "the word “ketamine” in this library"."""
    text = re.sub(rf" {_HERE}$", "", topic.strip(), flags=re.IGNORECASE).strip(_QUOTES_AND_PUNCTUATION)
    return _LEADING_ARTICLE_OR_TERM.sub("", text).strip(_QUOTES_AND_PUNCTUATION)
