"""Questions that a document answers, made by rule of its own words: sentences, cells of tables, fields, its card.

Each comes with the words that its answer has to have, so that whoever offers it can ask it first and see whether the
reader finds them. Nothing here says that a question is answered; `is_answered` judges what came of asking.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice, zip_longest

from preflight_rag.conversation.suggestions import sections_of, topic_of
from preflight_rag.library.storage.cards import card_id
from preflight_rag.state.values import Answer, Passage
from preflight_rag.text.inert import inert_line
from preflight_rag.text.overlap import compared_words, holds_words
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import Cell, is_figure, is_row, parse_row

LONGEST_QUESTION = 170
"""Characters of a question that a person reads at a glance; a guess."""
LONGEST_SENTENCE = 300
"""Characters of a sentence that one question can be made of; a guess."""
LEAST_FORM_FIELDS = 4
"""Number of fields from which a document is a form, whose fields are asked for first; a guess."""
MOST_PER_KIND = 6
"""Candidates of each kind, each of which is asked before it is shown, in a fraction of a second; a guess."""

_MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul"
    "|Aug|Sept?|Oct|Nov|Dec)"
)
_DATE = rf"(?P<value>(?:\d{{1,2}} )?(?:{_MONTH} )?(?:\d{{1,2}}, )?(?:1\d|20)\d\d)(?![\d–-])"
_NAME = r"^(?P<name>[A-Z][^,;:()\[\]|\"“”\n]{1,60}?)"
_BE = r"(?P<be>is|are|was|were)"
_ABOUT = r"(?:about |around |nearly |roughly |approximately |over |more than |at least |only )?"
_AMOUNT = r"(?P<value>(?:[$€£¥]|US\$|EUR |USD |GBP )?\d(?:[\d.,]*\d)?(?: ?%)?)"
_COUNT = (
    r"(?P<value>\d(?:[\d.,]*\d)?(?: (?:million|billion|thousand))?|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|fifteen|twenty|thirty|forty|fifty|sixty)"
)
_PARTICIPLE = (
    r"(?P<verb>(?:(?:first|officially|originally|finally) )?(?:[a-z]+ed|built|born|founded|made|held|sold|sent|lit|won"
    r"|begun|written|given|taken|set|found|left|lost|paid|drawn|grown|broken|put|cut|hit|shot|laid|bought|brought))"
)
_EVENT_VERBS = {
    "opened": "open", "closed": "close", "began": "begin", "started": "start", "ended": "end", "died": "die",
    "expired": "expire", "launched": "launch", "appeared": "appear", "arrived": "arrive", "retired": "retire",
    "closes": "close", "expires": "expire", "begins": "begin", "starts": "start", "ends": "end",
}  # fmt: skip
"""Verbs of dated events, with their base forms."""
_CONTAINING_VERBS = {
    "has": "have", "have": "have", "had": "have", "contains": "contain", "contain": "contain", "holds": "hold",
    "hold": "hold", "employs": "employ", "employ": "employ", "employed": "employ", "comprises": "comprise",
    "included": "include", "includes": "include", "carries": "carry", "seats": "seat", "covers": "cover",
}  # fmt: skip
"""Verbs of which a number of things is the object, with their base forms."""
_SINGULAR_VERBS = frozenset(word for word in _CONTAINING_VERBS if word.endswith("s") and word != "seats") | {
    "seats",
    "has",
}
_WHEN_DONE = re.compile(rf"{_NAME} (?P<be>was|were) {_PARTICIPLE}(?P<rest> [^,;:]{{0,40}}?)? (?:on|in) {_DATE}")
_WHEN_DID = re.compile(rf"{_NAME} (?P<verb>{'|'.join(_EVENT_VERBS)}) (?:on|in) {_DATE}")
_WHEN_IS = re.compile(rf"{_NAME} {_BE} (?:on )?(?P<value>(?:\d{{1,2}} )?{_MONTH} (?:\d{{1,2}}, )?(?:1\d|20)\d\d)\b")
_HOW_LARGE = re.compile(
    rf"{_NAME} {_BE} {_ABOUT}{_AMOUNT} (?:\w+ ){{1,2}}(?P<verb>long|high|tall|wide|deep|old|thick|heavy)\b"
)
_HOW_MANY = re.compile(
    rf"{_NAME} (?P<verb>{'|'.join(_CONTAINING_VERBS)}) {_ABOUT}{_COUNT}"
    r" (?P<rest>(?:[a-z-]+ ){0,2}[a-z]{3,}s)\b(?! of\b)"
)
_HOW_MUCH = re.compile(rf"{_NAME} (?P<verb>costs?) {_ABOUT}{_AMOUNT}")
_AMOUNTS_TO = re.compile(
    rf"{_NAME} {_BE} {_ABOUT}{_AMOUNT}(?=[ .])(?! (?:\w+ ){{1,2}}(?:long|high|tall|wide|deep|old)\b)"
    r"(?! (?:[\w.-]+ ){0,2}(?:[a-z]{3,}er|more|less|worse|above|below|than|ahead|behind|up|down)\b)"
)
"""Matches "The monthly rent is 1,850 EUR."; not "Sales were 3% lower than last year.", whose figure is a difference."""
_PLACE = r"(?:in|on|at|near) (?P<value>(?:the )?[A-Z][^,;.]{2,60})"
_WHERE_DONE = re.compile(rf"{_NAME} {_BE} (?P<verb>located|situated|based|headquartered) {_PLACE}")
_WHERE_DOES = re.compile(rf"{_NAME} (?P<verb>stands?|lies?) {_PLACE}")
_WHY = re.compile(rf"{_NAME} {_BE} (?P<verb>[a-z]+(?: [a-z]+){{0,3}}) because (?P<value>[^,;.]{{8,120}})")
_WHAT = re.compile(rf"{_NAME} {_BE} (?P<value>(?:an?|the|one of) [^.]{{10,}})")
_STARTS_WITHOUT_NAME = re.compile(
    r"^(?:it|they|he|she|we|i|you|this|these|those|that|there|here|what|who|when|where|why|how|if|in|on|at|for|after"
    r"|before|since|while|during|as|by|with|from|to|one|some|many|most|each|both|all|no|our|my|its|his|her|their|your"
    r"|another|other|such|so|but|and|or|yet|not|then|also|because|although|though|however|figure|table|fig|section|note"
    r"|only|every|any|either|neither|none|nothing|today|now|once|first|last|next|again|between|indicate|please|see|two|three|four|five"
    r"|the (?:first|second|third|last|next|other|others|former|latter|same|rest|result|results|reason|aim)$|lanes?\b"
    r"|below|above|thus|hence|therefore|moreover|furthermore|consequently|indeed|instead|finally|additionally|similarly"
    r"|likewise|overall|typically|generally|usually|often|sometimes|recently|currently|\w+ing (?:the|a|an)\b|.*\bthere$"
    r")\b",
    re.IGNORECASE,
)
"""A subject of a sentence that names nothing a person would ask about by itself: "It", "The other", "Lanes 1 and 2",
"Mitigating the spread", "Between May and June there", "Thus f"; not "The other branch"."""
_STARTS_WITH_JUDGEMENT = re.compile(
    r"(?:(?:the|one of (?:the|its|our|their)) (?:most|least|first|second|third|last|next|only|same|main|key|best|worst"
    r"|mainstay|result|cause|reason|(?!forest|harvest|interest|request|contest|conquest|protest|priest|guest|chest)"
    r"[a-z]{3,}est)"
    r"|the \d|an? (?:[a-z]+ly )?(?:important|major|effective|key|bold|fine|national|popular|common|critical|significant"
    r"|useful|promising|good|valuable|serious|great|big|potent|strong|likely|possible|potential|better|practical|simple"
    r"|new|novel|attractive|suitable|reliable|powerful|rare|frequent))\b"
)
"""A predicate that judges a thing, and does not define it: "the most common site", "the softest with 1", "an important
cause"; not "the study of rocks"."""
_JUDGING_NOUN = re.compile(
    r"(?:advantage|alternative|answer|attempt|benefit|breakthrough|candidate|case|cause|challenge|choice|combination|concern"
    r"|consequence|contributor|coup|difference|disappointment|discovery|example|exception|factor|failure|favou?rite|focus|goal|idea"
    r"|improvement|increase|issue|lot|matter|measure|member|mistake|mystery|need|number|objective|option|part|pity|place"
    r"|predictor|priority|problem|question|reason|response|result|sign|source|step|success|surprise|target|threat|time|way"
    r"|winner|wonder)s?$"
)
"""A noun that judges a thing or tells its part in something: "a discovery made by chance" defines no thing."""
_DEFINING_PHRASE = re.compile(
    r"(?:an?|the|one of(?: the| its)?) (?P<head>[^,;()]*?)"
    r"(?= (?:of|for|that|which|who|whose|in|on|at|with|to|by|from|where|when|and|or|between|among|used|made|\w{3,}ed)\b"
    r"|[,;().]|$)"
)
"""The phrase that defines a thing, up to its noun: "a chronic skin disorder" of "… that is incurable"."""
_ACT_OR_AMOUNT = re.compile(
    r"(?:application|use|introduction|addition|lack|presence|absence|amount|number|aim|purpose|goal) of\b"
)
"""The beginning of a name for an act or an amount, of which nobody asks what it is: "lack of"."""
_METHOD_STEP = re.compile(r"(?:chosen|used|selected|taken|made|given|included|excluded|omitted|shown|noted|done)$")
"""A step of a method, whose reason only those ask for who have read of it: "Rats were chosen because …"."""
MOST_NAME_WORDS = 4
"""Words up to which a name, without its article, is asked about in "What is …?"; a guess."""
MOST_VALUE_WORDS = 8
"""Words up to which the text behind a label is the value of a field; longer text is prose. A guess."""
MOST_SUBJECT_WORDS = 8
"""Words up to which the subject of a sentence may be a name; a guess."""
DEFINITION_WORDS = 5
"""First words of a definition that an answer has to contain; a guess."""
PROFESSION_CHARACTERS = 60
"""First characters of a definition in which a profession shows that the name is a person's; a guess."""
_CLAUSE_WORD = re.compile(
    r"\b(?:that|which|who|whom|whose|where|whether|if|when|while|because|said|says|is|are|was|were|has|have|had|can|may|will|must"
    r"|but|than|not)\b"
)
_PROFESSION = re.compile(
    r"\b(?:actor|actress|artist|author|chemist|composer|director|doctor|economist|engineer|explorer|king|lawyer|manager"
    r"|mathematician|minister|musician|nurse|painter|philosopher|physician|physicist|poet|politician|president|professor"
    r"|queen|scientist|singer|surgeon|teacher|writer)\b"
)
_FORM_FIELD = re.compile(
    r"^[ \t]*(?P<label>[A-Z][A-Za-z]*(?: [A-Za-z]+){0,3}): {1,3}(?P<value>\S[^\n]{0,79})$", re.MULTILINE
)
_UNSUITABLE_LABEL = re.compile(
    r"^(?:note|warning|example|description|remark|caution|tip|important|source|figure|table|abstract|keyword|background"
    r"|method|result|conclusion|objective|question|answer|appendix|chapter|section|part|step)s?\b"
    r"|^(?:name|number|period|size|limit|most|least|last|completed|checked|signed)$"
    r"|^(?:most|least|completed|checked|signed|please|see|also|not)\b|\b(?:earned|updated|modified|used|attached|online)$"
    r"|^(?:it|he|she|we|they|you|this|that)\b"
    r"|\b(?:by|to|from|of|for|in|on|at|and|or|the|no|nr|ref|qty|amt|desc|is|are|was|were)$",
    re.IGNORECASE,
)
"""A label that opens prose, or of which no question can be made: "Appendix A", "Most recently updated", "Name"."""
_LABEL_ASKED_FOR = re.compile(
    r"\b(?:total|subtotal|amount|price|cost|rent|fee|due|balance|deposit|date|deadline|number|name|address|period|term"
    r"|venue|vehicle|diagnosis|manufacturer|supplier|customer|doctor|chair|owner|speed|weight|size|pressure|limit)\b",
    re.IGNORECASE,
)
"""A label that people ask for before others; set by reading twenty forms made for it."""
_UNIT_AT_END = re.compile(r"[_ ](?:eur|usd|gbp|chf|kg|km|cm|mm|pct|percent)$", re.IGNORECASE)
_MAIL_EXTENSIONS = frozenset({"eml", "msg", "mbox"})
"""Extensions of mails, whose author is the sender."""
_OFFICE_EXTENSIONS = frozenset(
    {"pdf", "docx", "docm", "odt", "rtf", "pptx", "odp", "xlsx", "xlsm", "xls", "ods", "ppsx", "fodt", "fods", "fodp"}
)
"""Extensions of files whose single author may only be the person, or the program, that saved the file."""
_PERSON_NAME = re.compile(r"(?!.*\.(?:com|org|net|io)\b)(?!.* - )[^\W\d_][\w.'’-]*,? [\w.,'’ -]{1,60}")
"""Matches "Ada B. Thorne"; not "GitHub", "Kaleidoscope - kscope.io"."""
_LONG_TOKEN = re.compile(r"\S{25}")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_COLUMN_NAME = re.compile(r"(?=.*[A-Za-z]{3})[A-Za-z][\w /-]{1,30}|(?:1\d|20)\d\d")
_MEASURE_AT_END = re.compile(
    r"(?:age|amount|area|assets|balance|budget|capacity|cost|costs|deposit|depth|distance|dose|duration|earnings|expenses|fee"
    r"|frequency|half-life|height|income|length|limit|mass|population|power|premium|pressure|price|profit|rate|rent"
    r"|revenue|revenues|salary|salaries|sales|score|size|speed|temperature|time|turnover|(?<!p-)(?<!p )value|version"
    r"|voltage|volume|wage|weight|width|yield)$",
    re.IGNORECASE,
)
"""The last word of a column of which a thing has one value: "the list price of" it; not "votes for"."""
_NUMERAL = re.compile(r"[ivxlc]+|[a-z]|\w{0,3}\d\w*", re.IGNORECASE)
_TOTAL_ROW = re.compile(r"(?:sub-?|grand )?totals?\b|other\b|all\b", re.IGNORECASE)
"""The label of a row that is about no thing of its own: nobody asks for "the cost of Subtotal"."""
_STANDARD_HEADING = re.compile(
    r"(?:(?:the|and|study|patients?|participants?|subjects|materials?|methods?|data|statistical|statistics?|analys[ie]s"
    r"|procedures?|conclusions?|significance|abbreviations?|outcomes?|setting|design|sample|sheet\d*|collection"
    r"|measures?|variables|studied|results?|limitations|chemicals|ethics|population|principal|findings|test(?:ing|s)?"
    r"|chapter|content|\d+)\b[ ,/&:-]*)+",
    re.IGNORECASE,
)
"""A heading that all papers or sheets have: "Materials and Methods", "sheet1"; not "patients with asthma"."""
_ROW_LABEL = re.compile(r"[^\W\d_][\w .'’/&-]{1,50}")
_CELL_TEXT = re.compile(r"(?=[^\n()\[\]]{1,60}$)[^\w\n]*\w.*")


@dataclass(frozen=True)
class Candidate:
    """A question that a document may answer.

    Attributes:
        question: The question as a person would ask it.
        passages: The ids of the passages of which the answer has to cite one first.
        expected: Words that the answer, or its first quote, has to contain; "" for a question about a section.
        named: Whether the question names what it is about, so that it can be asked of a whole library, too.
        topic: The heading that the question is about, "" for none; the heading alone is no answer.
    """

    question: str
    passages: frozenset[str]
    expected: str
    named: bool
    topic: str = ""


def candidates(
    title: str, authors: Sequence[str], document_id: str, passages: Sequence[Passage], kind: str = ""
) -> list[Candidate]:
    """Return the questions that a document may answer, the best candidates first, each once.

    A form's fields come first; in other documents sentences, the card and tables. Questions that are too long or have
    markup are left out.

    Args:
        title: The document's title, "" if it has none.
        authors: The document's authors, from its metadata card.
        document_id: The document's id.
        passages: The document's passages, in text order.
        kind: The ending of its file without the dot, such as "pdf"; "" where it came from no file.
    """
    fields = _first_few(_questions_from_fields(passages))
    is_form = len(fields) >= LEAST_FORM_FIELDS
    sentences = list(_alternate_kinds(_questions_from_sentences(passages)))
    cells = _first_few(_questions_from_cells(passages))
    card = list(_questions_from_card(title, authors, document_id, kind))
    if is_form:
        first, fields = fields[:3], fields[3:]
    else:
        # Outside of forms, most text before a colon is no field.
        first, fields = [], [field for field in fields if _LABEL_ASKED_FOR.search(field.question)]
    # Kinds of questions alternate, so that the first few show different sides of the document.
    ordered = [*first, *sentences[:1], *card, *sentences[1:4], *cells[:3], *fields, *sentences[4:], *cells[3:]]
    if not is_form:
        # Of an article nobody asks for "the date"; of an invoice they do.
        ordered = [candidate for candidate in ordered if candidate.question != "What is the date?"]
    ordered += _first_few(_questions_from_headings(title, passages))
    by_question: dict[str, Candidate] = {}
    for candidate in ordered:
        question = candidate.question
        if question == inert_line(question) and len(question) <= LONGEST_QUESTION:
            by_question.setdefault(question.casefold(), candidate)
    return list(by_question.values())


def is_answered(candidate: Candidate, answer: Answer) -> bool:
    """Return whether an answer's first quote is verified, from the candidate's passages, and has the expected words.

    A short answer must contain the expected words, or be contained in them. A quote of no more than the heading asked
    about is no answer.
    """
    if answer.outcome not in ("answered", "evidence") or not answer.citations:
        return False
    citation = answer.citations[0]
    if not citation.verified or citation.passage_id not in candidate.passages:
        return False
    quote = compared_words(citation.quote)
    if candidate.topic and set(quote) <= set(compared_words(candidate.topic)):
        return False
    expected = compared_words(candidate.expected)
    if answer.outcome == "answered" and answer.short_answer and expected:
        short_answer = compared_words(answer.short_answer)
        return holds_words(expected, short_answer) or holds_words(short_answer, expected)
    return not expected or holds_words(expected, quote)


def _first_few(kind: Iterator[Candidate]) -> list[Candidate]:
    """Return the first candidates of one kind, at most `MOST_PER_KIND`."""
    return list(islice(kind, MOST_PER_KIND))


def _alternate_kinds(kinds: dict[str, list[Candidate]]) -> Iterator[Candidate]:
    """Yield the first candidate of each kind, then the second of each, so that the first few differ in kind."""
    for rank in zip_longest(*kinds.values()):
        yield from (candidate for candidate in rank if candidate is not None)


def _questions_from_sentences(passages: Sequence[Passage]) -> dict[str, list[Candidate]]:
    """Return the questions made of sentences by the name of the rule that made them, at most `MOST_PER_KIND` for each.

    The first rule that matches a sentence, and is not full, makes its question.
    """
    by_rule: dict[str, list[Candidate]] = {rule: [] for rule in _RULES}
    lower_case_words = _usually_lower_case_words(passages)
    read_up_to = 0
    for passage in passages:
        for start, end in sentence_spans(passage.text):
            # Passages overlap, and each sentence is read once.
            if passage.start + start < read_up_to:
                continue
            read_up_to = passage.start + end
            sentence = " ".join(passage.text[start:end].split())
            if len(sentence) > LONGEST_SENTENCE or is_row(sentence) or not sentence.endswith("."):
                continue
            for rule, (pattern, _) in _RULES.items():
                match = pattern.match(sentence)
                is_full = len(by_rule[rule]) >= MOST_PER_KIND
                if match is None or is_full or not _is_name(match["name"]):
                    continue
                if candidate := _question_from_match(rule, match, passage.id, lower_case_words):
                    by_rule[rule].append(candidate)
                break
    return by_rule


def _question_from_match(rule: str, match: re.Match[str], passage_id: str, lower_case: Set[str]) -> Candidate | None:
    """Return the question that a rule makes of its match in a sentence; None if it can make none."""
    _, write_question = _RULES[rule]
    name = _name_within_sentence(match["name"], lower_case)
    question = write_question(match, name)
    if not question:
        return None
    is_self_contained = bool(re.search(r"[A-Z]", name)) or " " not in name
    # Of a definition, the first words are enough to recognise it in an answer.
    expected = " ".join(match["value"].split()[:DEFINITION_WORDS]) if rule == "what" else match["value"]
    return Candidate(question, frozenset([passage_id]), expected.strip(), is_self_contained)


def _usually_lower_case_words(passages: Sequence[Passage]) -> set[str]:
    """Return the words, in lower case, that sentences write more often in lower case than with a capital.

    A company's name in a web address, which is in lower case, has to stay a name.
    """
    lower_case, capitalised = Counter[str](), Counter[str]()
    for passage in passages:
        lower_case.update(re.findall(r"\b[a-z]+\b", passage.text))
        capitalised.update(word.lower() for word in re.findall(r"(?<=[a-z] )[A-Z][a-z]+\b", passage.text))
    return {word for word, count in lower_case.items() if count > capitalised[word]}


def _is_name(name: str) -> bool:
    """Return whether the subject of a sentence is a short name, rather than a clause or a word such as "this"."""
    is_short = len(name.split()) <= MOST_SUBJECT_WORDS
    return is_short and not _STARTS_WITHOUT_NAME.match(name) and not _CLAUSE_WORD.search(name)


def _name_within_sentence(name: str, lower_case_words: Set[str]) -> str:
    """Return a name from a sentence's beginning as it is written inside a sentence: "the Silk Road" of "The Silk Road".

    A word that the document writes in lower case elsewhere gets a small letter, unless another capital follows.
    """
    first, _, others = name.partition(" ")
    is_common_word = first.lower() in lower_case_words and not re.match(r"[A-Z]", others)
    return f"{first.lower()} {others}".strip() if first in ("The", "A", "An") or is_common_word else name


def _ask_when_done(match: re.Match[str], name: str) -> str:
    """Return "When was NAME founded in Oslo?" for a matched sentence; "" if another clause stands before the date."""
    details = match["rest"] or ""
    if re.search(r"\b(?:and|that|which|by|but)\b", details):
        return ""
    return f"When {match['be']} {name} {match['verb']}{details}?"


def _ask_when_did(match: re.Match[str], name: str) -> str:
    """Return the question "When did NAME open?", or "When does NAME open?", for a matched sentence."""
    auxiliary = "does" if match["verb"].endswith("s") else "did"
    return f"When {auxiliary} {name} {_EVENT_VERBS[match['verb']]}?"


def _ask_how_many(match: re.Match[str], name: str) -> str:
    """Return the question "How many rooms does NAME have?" for a matched sentence."""
    verb = match["verb"]
    present = "does" if verb in _SINGULAR_VERBS else "do"
    auxiliary = "did" if verb in ("had", "employed", "included") else present
    return f"How many {match['rest']} {auxiliary} {name} {_CONTAINING_VERBS[verb]}?"


def _ask_how_much(match: re.Match[str], name: str) -> str:
    """Return the question "How much does NAME cost?" for a matched sentence."""
    return f"How much {'does' if match['verb'] == 'costs' else 'do'} {name} cost?"


def _add_article(name: str) -> str:
    """Return a name with the article that it needs in a question: "the hire of the hall" for "Hire of the hall"."""
    lacks_article = re.match(r"[A-Z][a-z]+(?= (?:of|for|per) )", name) is not None
    return f"the {name[0].lower()}{name[1:]}" if lacks_article else name


def _ask_what_or_who(match: re.Match[str], name: str) -> str:
    """Return the question "What is NAME?" or "Who is NAME?" for a matched sentence; "" if that does not define NAME."""
    predicate, without_article = match["value"], re.sub(r"^(?:the|an?) ", "", name)
    is_long = len(without_article.split()) > MOST_NAME_WORDS
    if is_long or _STARTS_WITH_JUDGEMENT.match(predicate) or _ACT_OR_AMOUNT.match(without_article):
        return ""
    definition = _DEFINING_PHRASE.match(predicate)
    if definition is None or _JUDGING_NOUN.search(definition["head"]):
        return ""
    if _PROFESSION.search(predicate[:PROFESSION_CHARACTERS]):
        return f"Who {match['be']} {name}?"
    # "Penicillin was a …" tells what happened; only what is gone, as the Silk Road, is defined in the past tense.
    is_definition = match["be"] in ("is", "are") or re.match(r"(?:the|an?) [A-Z]", name)
    return f"What {match['be']} {name}?" if is_definition else ""


def _ask_why(match: re.Match[str], name: str) -> str:
    """Return the question "Why is NAME dark?" for a matched sentence with a reason; "" for a step of a method."""
    return "" if _METHOD_STEP.search(match["verb"]) else f"Why {match['be']} {name} {match['verb']}?"


def _ask_where(match: re.Match[str], name: str) -> str:
    """Return the question "Where does NAME stand?" for a matched sentence."""
    verb = match["verb"]
    return f"Where {'does' if verb.endswith('s') else 'do'} {name} {verb.removesuffix('s')}?"


_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], str]]
_RULES: dict[str, _Rule] = {
    "when done": (_WHEN_DONE, _ask_when_done),
    "when did": (_WHEN_DID, _ask_when_did),
    "when is": (_WHEN_IS, lambda match, name: f"When {match['be']} {name}?"),
    "how large": (_HOW_LARGE, lambda match, name: f"How {match['verb']} {match['be']} {name}?"),
    "how many": (_HOW_MANY, _ask_how_many),
    "how much": (_HOW_MUCH, _ask_how_much),
    "amounts to": (_AMOUNTS_TO, lambda match, name: f"What {match['be']} {_add_article(name)}?"),
    "where done": (_WHERE_DONE, lambda match, name: f"Where {match['be']} {name} {match['verb']}?"),
    "where does": (_WHERE_DOES, _ask_where),
    "why": (_WHY, _ask_why),
    "what": (_WHAT, _ask_what_or_who),
}
"""`(pattern, function)`: the function writes the question for the pattern's match in a sentence and for its subject.
The first match counts, so that the general "What is …?" comes last.
"""


def _questions_from_cells(passages: Sequence[Passage]) -> Iterator[Candidate]:
    """Yield one question for each row of a table, such as "What is the list price of Pump 3?".

    The first cell of a row names its thing, and the first column with a measure or a year is asked for, preferably one
    with a figure. Rows of totals, of numbered things or with a second label yield nothing.
    """
    for passage in passages:
        for line in passage.text.split("\n"):
            row = parse_row(line) if is_row(line) else None
            if row is None or len(row.cells) < 2:
                continue
            label, *others = [cell for cell in row.cells if cell.text.strip()]
            described = [
                cell for cell in others if _COLUMN_NAME.fullmatch(cell.column) and _CELL_TEXT.fullmatch(cell.text)
            ]
            measured = [cell for cell in described if _has_measure_or_year(cell)]
            cell = next((cell for cell in measured if is_figure(cell.text)), measured[0] if measured else None)
            thing = label.text.strip(" .:")
            # A second label, as "Goats | Female", says what the first does not.
            has_one_label = all(cell.column for cell in others) and not _NUMERAL.fullmatch(thing)
            if cell is None or not has_one_label or not _names_thing_of_row(thing):
                continue
            column = _label_within_question(_column_in_words(cell))
            if year := _YEAR.fullmatch(column):
                question = f"What was {thing} in {year[0]}?"
            else:
                question = f"What {_is_or_are(column)} the {column} of {thing}?"
            yield Candidate(question, frozenset([passage.id]), cell.text, True)


def _has_measure_or_year(cell: Cell) -> bool:
    """Return whether the column of a cell is a measure such as "price", or a year."""
    return _MEASURE_AT_END.search(_column_in_words(cell)) is not None or _YEAR.fullmatch(cell.column) is not None


def _names_thing_of_row(label: str) -> bool:
    """Return whether the label of a row names a thing that can be asked about, and no figure or total."""
    return not is_figure(label) and _ROW_LABEL.fullmatch(label) is not None and not _TOTAL_ROW.match(label)


def _column_in_words(cell: Cell) -> str:
    """Return the name of a cell's column in words, without its unit: "price" for "price_eur"."""
    return _UNIT_AT_END.sub("", cell.column).replace("_", " ")


def _questions_from_fields(passages: Sequence[Passage]) -> Iterator[Candidate]:
    """Yield a question for each field of a form, "Policy number: HX-20931"; labels that people ask for come first.

    Of the other labels only those of several words are asked for, and each label once.
    """
    seen: set[str] = set()
    less_asked = []
    for passage in passages:
        for match in _FORM_FIELD.finditer(passage.text):
            label, value = match["label"], match["value"].strip()
            if label in seen or _UNSUITABLE_LABEL.search(label) or not _is_field_value(label, value):
                continue
            seen.add(label)
            noun = _label_within_question(label)
            field = Candidate(f"What {_is_or_are(noun)} the {noun}?", frozenset([passage.id]), value, False)
            if _LABEL_ASKED_FOR.search(label):
                yield field
            elif " " in label:
                less_asked.append(field)
    yield from less_asked


def _is_field_value(label: str, value: str) -> bool:
    """Return whether the text behind a label is a single value with a figure or a name, rather than prose or a row."""
    if ": " in value or value.endswith((":", "-")) or is_row(value):
        return False
    starts_clause = re.match(r"(?:this|these|it|as|if) ", value, re.IGNORECASE) is not None
    is_capital_heading = label.isupper() and value.isupper() and not re.search(r"\d", value)
    is_prose = len(value.split()) > MOST_VALUE_WORDS or starts_clause or is_capital_heading
    return not is_prose and re.search(r"[\dA-Z]", value) is not None


def _questions_from_card(title: str, authors: Sequence[str], document_id: str, kind: str) -> Iterator[Candidate]:
    """Yield the question for the authors of a document with a title, whose first author is a person.

    Nothing is yielded for mails (by `kind`, the file's extension), nor for a single author of an office file, which
    names as author whoever saved it.
    """
    if not title or not authors or kind in _MAIL_EXTENSIONS or not _PERSON_NAME.fullmatch(authors[0]):
        return
    if len(authors) == 1 and kind in _OFFICE_EXTENSIONS:
        return
    quoted_title = f"“{title.rstrip('.*')}”"
    question = f"Who wrote {quoted_title}?" if len(authors) == 1 else f"Who are the authors of {quoted_title}?"
    yield Candidate(question, frozenset([card_id(document_id)]), authors[0], True)


def _questions_from_headings(title: str, passages: Sequence[Passage]) -> Iterator[Candidate]:
    """Yield a question about each section whose heading names a topic; none for the title or standard headings."""
    passages_by_heading: dict[str, set[str]] = {}
    for passage in passages:
        for heading, _, _ in sections_of(passage):
            passages_by_heading.setdefault(heading, set()).add(passage.id)
    for heading, passage_ids in passages_by_heading.items():
        topic = topic_of(heading)
        is_title = heading.strip() == title.strip()
        if not topic or is_title or _LONG_TOKEN.search(topic) or _STANDARD_HEADING.fullmatch(topic):
            continue
        yield Candidate(f"What does the document say about {topic}?", frozenset(passage_ids), "", False, topic)


def _is_or_are(label: str) -> str:
    """Return the verb for a label: "are" if it ends like a plural, else "is"."""
    return "are" if re.search(r"[^su]s$", label) else "is"


def _label_within_question(label: str) -> str:
    """Return a label as it is written inside a question: in lower case, except for acronyms."""
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in label.split())
