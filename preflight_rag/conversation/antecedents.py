"""What a pronoun of a follow-up may stand for: the thing, or the person, that the question before it speaks of."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOUN_PHRASE_BOUNDARIES = (
    r"(?:in|of|for|at|on|with|after|before|during|among|from|under|to|by|about|into|over|per|through|between|without"
    r"|against|near|behind|because|since|until|if|than"
    r"|the|our|your|my|his|her|its|their|this|that|these|those|an?|all|each|any|some|no"
    r"|is|are|was|were|be|been|do|does|did|has|have|had|can|could|will|would|should|may|must"
    r"|who|whom|whose|what|when|where|which|why|how|and|or|but|as|so|while|not"
    r"|i|we|you|they|he|she|it|us|me|him|them|there|here|wrong|well|first|last)"
)
"""Words that belong to no noun phrase, so that one ends there; "wrong" is what somebody finds with a thing."""
_NOUN = rf"(?:(?!{_NOUN_PHRASE_BOUNDARIES}\b)[\w'’&.-]+)"
_DEFINITE_DETERMINER = re.compile(r"\b(?:the|our|your|my)\s", re.I)
_ANY_DETERMINER = re.compile(r"\b(?:the|our|your|my|his|her|their|this|that|an?)\s", re.I)
_NOUN_PHRASE_CHAIN = re.compile(
    rf"(?:the|our|your|my) (?:(?:first|last) )?{_NOUN}(?: {_NOUN}){{0,4}}"
    rf"(?: (?:of|in) (?:(?:the|our|your|my|an?) )?{_NOUN}(?: {_NOUN}){{0,4}}){{0,2}}",
    re.I,
)
"""A thing with its determiner, and what it belongs to or lies in: "the crack in the figurehead"."""
_REPAIR_OF = re.compile(r"^the (?:repairs?|restoration|renovation|refurbishment|replacement) of (?:the|our) ", re.I)
_TIME_AT_END = re.compile(
    r" (?:(?:in|on|during|since|for|until|at|by) (?:the )?(?:early |late |year )?(?:[A-Z]\w+ )?\d[\w./:-]*"
    r"(?: \w+)?(?: \d{4})?"
    r"|(?:in|on|during|since) (?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"|(?:in |on |at )?(?:(?:last|this|next) (?:year|month|week|time|summer|winter|spring|autumn)|now|today|yesterday)"
    r"|as well|too|again|at the time|at present)$"
)
"""A time at the end of a question: "in June 2024", "last year"."""
_AUXILIARY_AT_END = re.compile(
    r"\b(?P<word>do|does|did|can|could|will|would|should|may|must|is|are|was|were|has|have|had)$", re.I
)
_INFINITIVE_OR_IT = re.compile(r"\bto [a-z]+$|\b(?:it|its)\b", re.I)
_PARTICLE_AT_END = re.compile(r" (?:out|up|off|down|away|back|over|from|to|for|with|at|in|on|about|of)$", re.I)
"""A particle or preposition behind a verb at the end of a question: "run out", "leave from"."""
_BE = re.compile(r"is|are|was|were", re.I)
_PARTICIPLE = re.compile(
    r"(?!(?:shed|seed|feed|speed|need|weed|sled|breed|bed|bleed|reed|steed|creed)$)[a-z]{2,20}ed", re.I
)
_IRREGULAR_PARTICIPLE = re.compile(
    r"(?:kept|sold|built|made|held|found|sent|paid|bought|lost|left|cut|hit|put|set|shut|begun|born|broken|brought"
    r"|caught|chosen|done|drawn|driven|eaten|fallen|given|grown|hidden|hung|known|laid|lent|lit|met|read|said|seen"
    r"|shown|signed|spent|stolen|struck|taken|taught|told|torn|won|worn|written|called|named|located|open|closed|due"
    r"|valid|available|like)",
    re.I,
)
_PLURAL_NOUN = re.compile(r"[\w-]{2,}(?<![sui])s|people|(?:wo)?men|children|staff|police", re.I)
_ROLE = (
    r"(?:conservator|restorer|curator|director|trustee|surveyor|inspector|engineer|architect|doctor|nurse|surgeon"
    r"|dentist|vet|teacher|headmaster|headmistress|professor|lecturer|student|pupil|chair(?:man|woman|person)?"
    r"|president|treasurer|secretary|minister|mayor|author|writer|editor|reporter|journalist|photographer|artist"
    r"|painter|manager|officer|supervisor|foreman|foreperson|caretaker|warden|guide|volunteer|speaker|lawyer|solicitor"
    r"|barrister|judge|witness|plaintiff|defendant|landlord|landlady|tenant|owner|buyer|seller|employee|employer"
    r"|applicant|candidate|accountant|auditor|assessor|consultant|researcher|scientist|patient|donor|visitor|customer"
    r"|client|guest|captain|skipper|pilot|driver|passenger|builder|plumber|electrician|carpenter|gardener|coach"
    r"|player|referee|vicar|priest|bishop|policeman|policewoman|librarian|archivist|apprentice|interviewer|senator"
    r"|representative(?! samples?)|congressman|congresswoman|governor|ambassador|chancellor|delegate|councillor"
    r"|leader)"
)
ROLE_PHRASE = re.compile(
    rf"\b(?P<article>the|an?|each|every) (?:[a-z-]+ ){{0,2}}?{_ROLE}\b(?! (?:of|for|from)\b)(?!['’])", re.I
)
"""A person called by a role: a known one ("the conservator") or any ("a senator")."""
_SUBJECT_OF_CLAUSE = re.compile(
    r"\b(?:do|does|did|has|had|will|would|can|could|should) (?P<who>the [a-z-]+) [a-z-]+\b.{0,100}"
    r"\b(?:when|after|before|while|because|as|that|if|where) (?:he|she)\b",
    re.I,
)
"""The subject that "he" or "she" of its own clause means: "What did the diver find when she went down"."""
_PERSON_VERB = (
    r"(?:find|examine|inspect|write|say|tell|think|recommend|propose|suggest|advise|ask|see|notice|want|believe"
    r"|describe|draw|paint|work|live|learn|teach|marry|die|retire|resign|join|speak|interview|discover|invent|study"
    r"|wear|sing|feel|hear|know|mean|look|observe|conclude|argue|vote|promise|complain|apologi[sz]e|warn|agree|refuse"
    r"|wish|hope|play|sit|stand|eat|drink|sleep|talk|explain|note|check|assess|treat|repair|restore|clean)"
)
"""Verbs whose subject, where its name may be a person's or a firm's, is more likely a person."""
_TITLE = r"(?:Mr|Ms|Mrs|Miss|Dr|Prof|Sir|Dame|Lord|Lady|Canon|Rev)"
_TREATED_AS_PERSON = re.compile(
    rf"\b{_TITLE}\.? @|\b(?:do|does|did|has|had|can|could|will|would|should|must) @ (?:not |also )?{_PERSON_VERB}\b"
    r"|\bwho(?:['’]s| is| was) @|\bhow (?:old|tall) (?:is|was) @|\b(?:by|whom|married|asked|told|interviewed|met) @"
    r"|@ (?:born|married|dead|alive|ill|retired|absent|present|working|employed|elected|appointed)\b"
    r"|@['’]s? (?:wife|husband|son|daughter|mother|father|job|role|salary|age|career|opinion|birthday|mobile)\b"
    r"|@ [^@]{1,100}\b(?:he|she|his|her|him)\b",
    re.I,
)
"""A question that treats the name `@` as a person's: "How old is @"."""
_TREATED_AS_THING = re.compile(
    r"\b(?:what (?:is|was)|the|in|at|on"
    r"|who (?:first |originally )?(?:created|wrote|made|invented|designed|developed|built|published|released|composed"
    r"|programmed|produced|sells|makes|publishes|develops|maintains)) @|@['’]",
    re.I,
)
"""A question that treats the name `@` as a place, firm or work: "in Mill Lane", "Ulta Beauty's sales"."""
_NOUN_OF_OWNER = re.compile(r"(?:the|our|your|my) (?:[\w-]+ ){0,3}?(?P<noun>[\w-]+) (?:of|for) (?P<owner>.+)", re.I)
_OWNERS_NOUN = re.compile(
    r"(?P<owner>(?:the|our|your|my) (?:[\w-]+ ){0,3}?[\w-]+)['’]s (?:[\w-]+ ){0,3}?(?P<noun>[\w-]+)", re.I
)
_ASKS_ABOUT_OBJECT = re.compile(
    r"\b(?:crack\w*|br[eo]ak\w*|broken|open\w*|clos\w+|built?|ma[dk]e|weigh\w*|st[ao]nd\w*|stood|found|locat\w+"
    r"|s[eo]ld?l?|leak\w*|b[uo]y\w*|bought|own\w*|look\w*|use[ds]?|keep|kept|repair\w*|damag\w+|arriv\w+|le(?:ft|ave)"
    r"|how (?:long|big|old|heavy|tall|wide|deep)|where)\b",
    re.I,
)
"""Words of a question about an object, and not about its price or its date: "why did it crack?"."""
_SUITING_WORDS = [
    (
        r"prices?|costs?|rent(?:al)?|fee|charge|deposit|premium|rate|value|salary|budget|pay|wage",
        r"pa(?:y|id|ys|yable)|due|r[io]se[ns]?|fall(?:s|en)?|fell|increas\w+|rais\w+|lower\w*|reduc\w+|chang\w+"
        r"|go(?:ne)? up|went up|includ\w+|refund\w*|charg\w+|calculat\w+|agree\w*|set|negotiat\w+|review\w*"
        r"|compare\w*|differ\w*|much|high|higher|apply|applies|fixed|than",
    ),
    (
        r"date|time|deadline|start|beginning|end|duration|day|year",
        r"chang\w+|mov\w+|postpon\w+|set|fix\w*|agree\w*|extend\w*|when|confirm\w*|announc\w+|decid\w+",
    ),
    (
        r"condition|state|status|history|origin|purpose|cause|reason",
        r"improv\w+|worsen\w*|deteriorat\w+|chang\w+|assess\w*|describ\w+|check\w*|known?|record\w*|matter",
    ),
    (
        r"size|height|length|width|depth|weight|age|colou?r|name|shape|area|volume|capacity|location|position|address",
        r"measur\w+|chang\w+|means?|pronounc\w+|chos\w+|choose|c[ao]me from|calculat\w+",
    ),
    (
        r"report|review|description|account|list|inventory|survey|assessment|records?|photo(?:graph)?|picture|plan",
        r"writ\w+|wrote|publish\w*|sa(?:y|ys|id)|mention\w*|contain\w*|sent|send|sign\w*|dated?|recommend\w*"
        r"|read|pages?|conclu\w+|draft\w*|approv\w+|updat\w+|cover\w*|print\w*|author|made|taken|drawn|long|about|who",
    ),
]
_WORDS_THAT_SUIT_NOUNS = [
    (re.compile(nouns, re.I), re.compile(rf"\b(?:{suiting_words})\b", re.I)) for nouns, suiting_words in _SUITING_WORDS
]
"""`(nouns, words)`: nouns of which "it" means the owner ("the price of the boat"), unless a message has the words."""
_ASKS_ABOUT_EVENT_OR_AMOUNT = re.compile(
    r"\b(?:happen(?:s|ed)?|occur(?:s|red)?|matter|mean|go|(?:so |too |very |that )?(?:high|low)(?:er)?|r[io]se[ns]?"
    r"|fall(?:s|en)?|fell|increas\w+|decreas\w+|decid\w+|agreed?|refused?|approved?|rejected?)\b",
    re.I,
)
"""Words said of an event, an amount or a decision, and not of an object: "why did it happen"."""
_OCCASION = re.compile(
    rf"\b(?:the|our|your|this|that|my) (?:(?:first|last) )?(?:{_NOUN} ){{0,4}}?"
    r"(?:meeting|event|party|talk|evening|visit|drill|inspection|conference|workshop|opening|ceremony|concert|fair"
    r"|festival|match|game|hearing|session|lecture|class|funeral|wedding|election|trip|tour|show|assembly|exercise)\b"
    r"(?P<of>(?: (?:of|in|on|at|about|with|for) (?:the )?[\w'’.-]+(?: [\w'’.-]+){0,5})?)$",
    re.I,
)
"""An occasion that people attend, with its owner and its time: "the meeting of the trustees in March"."""

_QUESTION_START = (
    r"(?:(?:in|at|for|on|by|from|to|with|of) )?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does"
    r"|did|can|could|will|would|should|has|have|had|may|must)"
)
_JOIN_OF_TWO_QUESTIONS = re.compile(rf"(?:[,;]? (?:and|but|or) (?:also |then )?|; )(?={_QUESTION_START}\b)", re.I)
"""The word between two questions in one sentence: "and" of "When is the fair and what does it cost"."""
_PRONOUN = re.compile(r"\b(?P<word>it|its|they|them|theirs?|he|she|him|his|hers?)\b", re.I)
_ASKS_WHO = re.compile(r"\W*(?:and |but |so )?(?:who|whom|whose|which (?:person|man|woman))\b", re.I)
_NAME_INSIDE_SENTENCE = re.compile(r"(?<=[a-z,] )[A-Z][\w'’-]*[a-z]")
_NOUN_PHRASE = re.compile(rf"\b(?:the|our|your|my|an?) (?:{_NOUN} ){{0,4}}{_NOUN}", re.I)
_SUBJECT_WITHOUT_ARTICLE = re.compile(
    r"(?:when|where|what|why|how (?:much|long|big|old|far|often)) (?:is|was|does|did|will|would) "
    r"(?!(?:any|some|no|every)(?:body|one|thing)?\b)[a-z]{3,}(?: [a-z]+)?$",
    re.I,
)
"""A question about a thing without an article: "When is dinner", "When does training start"."""
_INDEFINITE_PERSON = r"(?:(?:any|some|every)(?:body|one)|nobody|no one)(?: else)?"
_NAMES_NO_TOPIC = re.compile(
    rf"(?:(?:was|were|is|are|has|have|had) {_INDEFINITE_PERSON}(?: been| there)?(?: badly| seriously)?"
    r"(?: (?:\w{2,20}ed|hurt|ill|there|present|to blame|responsible|safe|late|in charge|at fault))?"
    rf"|(?:do|does|did|will|would|can|could) {_INDEFINITE_PERSON}(?: get)? [a-z]+"
    r"|(?:who|how many)(?: was| were| is| are| got| has been| have been)?(?: badly| seriously)?"
    r" (?:\w{2,20}ed|hurt|ill|to blame|responsible|at fault|there)"
    r"|what happened(?: then| next| afterwards| after that)?|how (?:bad|serious) was (?:it|that))",
    re.I,
)
"""A question about what was just spoken of, which names no thing of its own: "Was anybody hurt?"."""
_DOCUMENT_NOUNS = (
    r"(?:agreement|contract|lease|letter|report|review|minutes|policy|plan|notice|leaflet|invoice|receipt|article|paper"
    r"|book|manual|handbook|brochure|list|memo|deed|will|treaty|charter|licen[cs]e|certificate|application|offer)"
)
_ASKS_ABOUT_DOCUMENT_FOR = re.compile(
    rf"(?:who|when) (?:\w{{2,20}}ed|wrote|drew up|made|sent|read) (?P<document>(?:the|our|your|my) (?:{_NOUN} ){{0,3}}"
    rf"{_DOCUMENT_NOUNS}) (?:for|to|with|on|about|between|of) (?:(?:the|our|your|my) )?{_NOUN}(?: {_NOUN}){{0,4}}",
    re.I,
)
"""A question about a document and whom or what it is for: "Who signed the hire agreement for the Club"."""
_VERB_OF_DOCUMENT = re.compile(
    r"\b(?:writ\w+|wrote|publish\w*|sa(?:y|ys|id)|sent|send|sign\w*|dated?|draft\w*|approv\w+|renew\w*|expires?|run out"
    r"|valid|terminat\w+|amend\w*|drawn up|made|agreed|in force|how long is)\b",
    re.I,
)
_ORGANISATION_NOUNS = (
    r"(?:club|museum|council|company|firm|society|charity|school|college|church|parish|association|trust|foundation|union"
    r"|team|band|choir|orchestra|university|hospital|library|business|organi[sz]ation|agency|authority|department"
    r"|committee|board|town|village|theatre|gallery|centre|center|cooperative|league|federation)"
)
_OPTIONAL_ADVERB = r"(?:not |also |ever |finally |actually |eventually |really |then )?"
_ORGANISATION_ACTS = re.compile(
    rf"\b(?i:do|does|did|has|have|had|will|would|can|could) (?P<body>(?:the|our|your|my)"
    rf" (?:[\w'’-]+ ){{0,3}}?{_ORGANISATION_NOUNS}) {_OPTIONAL_ADVERB}(?P<verb>[a-z]+)\b"
    r"(?: (?P<whom>(?:the )?[A-Z][\w'’-]*(?: (?:of |the |for |and )?[A-Z][\w'’-]*){0,6}))?"
)
"""A question about what an organisation does, and to whom: "did the club ask the Ennis Fund"."""
_IT_ACTS = re.compile(
    rf"\b(?:do|does|did|has|have|had|will|would|can|could) it {_OPTIONAL_ADVERB}(?P<verb>[a-z]+)(?P<rest>[^?]*)", re.I
)
_REQUEST_VERB = re.compile(
    r"ask(?:ed)?|appl(?:y|ied)|request(?:ed)?|bid|appeal(?:ed)?|beg|petition(?:ed)?|approach(?:ed)?"
)
_RECEIVING_VERB = re.compile(r"get|got|receiv(?:e|ed)|obtain(?:ed)?|win|won|secured?")
_GIVING_VERB = re.compile(
    r"g[ia]ven?|award(?:ed)?|grant(?:ed)?|offer(?:ed)?|pa(?:y|id)|donate|contribute|provide|lend|refused?|reply|answer|promise"
)


def second_question_refers_to_first(question: str) -> bool:
    """Return whether the pronoun of a second question in a sentence means what the first one names.

    In "When is the fair and what does it cost?" it is the fair, whatever was spoken of before.
    """
    first, *further = _JOIN_OF_TWO_QUESTIONS.split(question, maxsplit=1)
    pronoun = _PRONOUN.search(further[0]) if further else None
    # A pronoun in the first question, too, points to what was spoken of before.
    if pronoun is None or _PRONOUN.search(first):
        return False
    word, has_name = pronoun["word"].casefold(), _NAME_INSIDE_SENTENCE.search(first) is not None
    if word in ("he", "she", "him", "his", "her", "hers"):
        return has_name or _ASKS_WHO.match(first) is not None or sole_role_in(first) != ""
    phrases = [match[0] for match in _NOUN_PHRASE.finditer(first)]
    if word in ("it", "its"):
        things = [phrase for phrase in phrases if not _is_people_or_plural(phrase)]
        return has_name or bool(things) or _SUBJECT_WITHOUT_ARTICLE.match(first) is not None
    # For "they", any noun phrase or plural behind the question word is enough.
    return has_name or bool(phrases) or any(_PLURAL_NOUN.fullmatch(token) for token in first.split()[1:])


_WHICH_ONE = re.compile(
    r"(?:which|what) (?:[a-z-]+ ){1,2}?(?:has|had|uses|used|won|costs|cost|took|takes|got|gets|sold|sells|holds|held"
    r"|needs|needed|\w{3,20}ed) (?:the|an?|no|any|more|most|least|fewer|less)\b",
    re.I,
)
"""A question which of several things did or has something: "Which house used the most heat?"."""
_STATE_AT_START = re.compile(
    r"(?:not )?(?:available|included|allowed|permitted|provided|offered|possible|necessary|required|needed|important"
    r"|compulsory|forbidden|free|new|open|on offer|on show|good|bad|special|different|planned|best|wrong|missing)"
    r"(?= (?:for|in|at|on|to|with|by|of|about|from)\b|$)",
    re.I,
)
"""A state where a subject would stand: "available for children" of "What is available for children?"."""
_ASKS_WHAT_WORD_IS = re.compile(
    r"[Ww]hat(?:['’]s| is| was) (?P<subject>(?!(?:wrong|new|next|left|missing|best|better|worse|worst|different|this"
    r"|that|there|here|it|known|so|true|allowed|open|free|due|up|on|more|in|out|forbidden"
    r"|written|given|taken|done|sold|urgent|necessary|compulsory|optional|important|valid|late|cheap|safe)\b)"
    r"[a-z][\w-]*[a-z0-9](?<!ing)(?<!ed)(?<!est)(?<!able)(?<!ible))(?: (?:called|named))?"
)
"""A question what a thing named by a single word is: "What is chrony?"."""
_CLAUSE_ABOUT_OWN_SUBJECT = re.compile(
    r" (?:before|after|when|until|while|since|because) it (?:is|was|became|got|had|has)\b", re.I
)
"""The beginning of a clause in which "it" is the question's own subject: "before it was renamed"."""
_WORD_WITHOUT_ARTICLE = (
    r"(?!(?:the|an?|our|your|my|his|her|its|their|this|that|these|those|it|he|she|we|they|you|there|not|no)\b"
    r"|(?:any|some|every|no)(?:one|body|thing)\b)[a-z][\w-]{1,30}(?<!ing)"
)
_WORD_ACTS = re.compile(
    rf"(?:(?i:how|why|when|where|what|how (?:long|much|often)) )?(?:(?i:does|did|can|will|could)"
    rf" (?P<acts>{_WORD_WITHOUT_ARTICLE})"
    r" [a-z]{2,20}(?: (?:in|on|for|with|at|from|to|under|by|as)\b .+)?"
    rf"|(?i:is|was) (?P<is_done>{_WORD_WITHOUT_ARTICLE})"
    r" (?:[a-z]{2,20}ed|made|built|written|called|given|held|kept|sold|known))"
)
"""A question about a thing named by a single word that acts or is acted on: "Does chrony work on Windows"."""
_ASKS_SIZE_OF_IT = re.compile(r"\bhow (?:big|large|deep|far|tall|wide|long) is it\b", re.I)
"""A question that is asked of a place only: after "Does rent control work in Georgia?", Georgia is "it"."""
_ASKS_WHICH_KIND = re.compile(
    r"(?:which|what) (?:[\w'’-]+ ){1,3}?(?:is|was) (?P<subject>(?-i:[A-Z])[\w'’.-]*(?: (?-i:[A-Z0-9])[\w'’.-]*){0,4})",
    re.I,
)
"""A question of which kind a named thing is: "Which release was Hamm"."""


def names_no_topic(question: str) -> bool:
    """Return whether a question names no thing, being about what was just spoken of: "Was anybody hurt?"."""
    return _NAMES_NO_TOPIC.fullmatch(question.strip(" ?.!")) is not None


def document_meant_by_it(question: str, message: str) -> str:
    """Return the document that "it" of a message means after a question that names one; "" if that is unclear.

    After "Who signed the agreement for the Club?", "When was it sent?" means the agreement. The message must say of
    "it" what is said of documents: the letter to the mayor is sent, and not the mayor.
    """
    stem = _without_time_at_end(question.rstrip(" ?.!"))
    match = _ASKS_ABOUT_DOCUMENT_FOR.fullmatch(stem)
    if match is None or not _VERB_OF_DOCUMENT.search(message):
        return ""
    # In "Who signed the agreement for the Club?", "for the Club" tells who signed, and not which agreement it was.
    names_signing_side = re.match(r"\W*who signed\b", stem, re.I) and stem[match.end("document") :].startswith(" for ")
    return match["document"] if names_signing_side else stem[match.start("document") :]


def _without_time_at_end(stem: str) -> str:
    """Return a question without the times at its end: "in June 2024", "last year"."""
    while (shorter := _TIME_AT_END.sub("", stem)) != stem:
        stem = shorter
    return stem


def replace_it_with_organisation(message: str, last_question: str) -> str | None:
    """Return a message with the organisation whose act the question before asks about in place of "it".

    Whoever asked a fund for money is the one that got some: "How much did it get?" after "How much did the choir ask
    the Arts Fund for?" means the choir, and from the fund. The result is "" where the organisation or the one it asked
    may be meant, and None if the question is about no such act or the message about no act of "it".
    """
    organisation_acts, it_acts = _ORGANISATION_ACTS.search(last_question), _IT_ACTS.search(message)
    if organisation_acts is None or it_acts is None:
        return None
    verb, other_party = it_acts["verb"].casefold(), organisation_acts["whom"]
    has_requested = _REQUEST_VERB.fullmatch(organisation_acts["verb"]) is not None
    requests_again = has_requested and _REQUEST_VERB.fullmatch(verb) is not None
    is_same_act = verb == organisation_acts["verb"].casefold() or requests_again
    receives = has_requested and _RECEIVING_VERB.fullmatch(verb) is not None
    if not (is_same_act or receives):
        # Who gives after a request is the other party, which other rules find.
        gives = has_requested and _GIVING_VERB.fullmatch(verb) is not None
        return "" if other_party and not gives else None
    it_start = message.lower().index(" it ", it_acts.start()) + 1
    completed = f"{message[:it_start]}{organisation_acts['body']}{message[it_start + len('it') :]}"
    if receives and other_party and not it_acts["rest"].strip():
        completed = f"{completed.rstrip(' ?.!')} from {other_party}?"
    return completed


def occasion_in(question: str) -> str:
    """Return the occasion at a question's end, or before its last word; "" if there is none.

    It is "the last meeting of the trustees" in "Who came to the last meeting of the trustees?".
    """
    stem = question.rstrip(" ?.!")
    without_last_word = " ".join(stem.split()[:-1])
    for match in filter(None, map(_OCCASION.search, [stem, without_last_word])):
        auxiliary = _AUXILIARY_AT_END.search(stem[: match.start()].rstrip())
        has_be = auxiliary is not None and _BE.fullmatch(auxiliary["word"]) is not None
        has_other_auxiliary = auxiliary is not None and not has_be
        if has_other_auxiliary and match.end() == len(stem) and match["of"]:
            continue  # "does the meeting of the trustees start": its last word is the verb
        last_word = match[0].split()[-1]
        if has_be and (_PARTICIPLE.fullmatch(last_word) or _IRREGULAR_PARTICIPLE.fullmatch(last_word)):
            continue  # "was the meeting of the trustees postponed"
        return match[0]
    return ""


def without_final_particle(question: str) -> str:
    """Return a question without the particle at its end: "What is the deposit" of "What is the deposit for?"."""
    return _PARTICLE_AT_END.sub("", question.rstrip(" ?.!"))


def is_treated_as_person(name: str, question: str) -> bool:
    """Return whether a name has a title, or a question treats it as a person's: "What did Ingrid Falk find"."""
    has_title = re.match(rf"{_TITLE}\.? ", name) is not None
    return has_title or _TREATED_AS_PERSON.search(question.replace(name, "@")) is not None


def is_treated_as_thing(name: str, question: str) -> bool:
    """Return whether a question treats a name as that of a place, a firm or another thing: "in Mill Lane"."""
    return _TREATED_AS_THING.search(question.replace(name, "@")) is not None


_RULE_ABOUT_ANYBODY = re.compile(
    r"\b(?:must|may|can|should|shall|does|did|will|would|could) (?P<who>(?:the|an?|each|every)(?: [a-z-]+)? "
    r"(?:member|resident|student|pensioner|adult|child|teenager|trainee|citizen|parent|man|woman|boy|girl|user|borrower"
    r"|lodger|worker|rider|runner|swimmer|holder))"
    r" (?:be|have|get|give|pay|need|take|use|do|wait|leave|become|vote|borrow|bring|return|work|live|wear|ask|apply)\b",
    re.I,
)
"""A question about what a rule says of anybody: "How much notice must a member give?"."""


def speaks_of_people_in_general(question: str) -> bool:
    """Return whether a question is about anybody with a role, and nobody known: "How old must a senator be?"."""
    articles = {match["article"].casefold() for match in ROLE_PHRASE.finditer(question)}
    return "the" not in articles if articles else _RULE_ABOUT_ANYBODY.search(question) is not None


def sole_role_in(question: str) -> str:
    """Return the only person whom a question calls by a role, "the conservator"; "" for none or several.

    A role with "the" comes first: in "What did the conservator tell a visitor?" it is the conservator. Without a role
    it is the subject that "she" means ("the diver" of "What did the diver find when she went down?"), or whoever a rule
    speaks of ("a member").
    """
    phrases = list(ROLE_PHRASE.finditer(question))
    definite = [match for match in phrases if match["article"].casefold() == "the"]
    roles = {match[0].casefold(): match[0] for match in definite or phrases}
    if not roles and (clause := _SUBJECT_OF_CLAUSE.search(question) or _RULE_ABOUT_ANYBODY.search(question)):
        return clause["who"]
    return next(iter(roles.values())) if len(roles) == 1 else ""


def sole_thing_in(question: str, names: list[str], people: list[str]) -> str:
    """Return the only thing with a determiner in a question that "it" can mean; "" if there is none or it is unclear.

    In "What did Ingrid Falk find wrong with the figurehead?" the thing is the figurehead, and in "How much will the
    treatment cost?" it is the treatment. A person who acts is no thing; a firm may be one, so that a question with a
    firm and a thing is unclear.
    """
    stem = without_final_particle(_without_time_at_end(question.rstrip(" ?.!")))
    for match in _DEFINITE_DETERMINER.finditer(stem):
        before, thing = stem[: match.start()].rstrip(), stem[match.start() :]
        auxiliary = _AUXILIARY_AT_END.search(before)
        has_be = auxiliary is not None and _BE.fullmatch(auxiliary["word"]) is not None
        # "did the museum buy the chart": the first of the two acts, and the second is looked at next.
        # "will the repair of the roof cost" has one subject.
        has_two_phrases = len(_ANY_DETERMINER.findall(_REPAIR_OF.sub("the ", thing))) > 1
        acts_on_another = auxiliary is not None and not has_be and has_two_phrases
        if acts_on_another or not _NOUN_PHRASE_CHAIN.fullmatch(thing):
            continue
        if auxiliary:
            thing = _without_final_verb(thing, has_be=has_be)
        asks_who = auxiliary is not None and re.match(r"who\b", before, re.I)
        # "How long does it take to repair the roof?": what is repaired is not what lasts.
        is_acted_on = _INFINITIVE_OR_IT.search(before) is not None
        is_unclear = not thing or asks_who or is_acted_on or _is_people_or_plural(thing)
        return "" if is_unclear or _names_another_candidate(before, thing, names, people) else thing
    return ""


def _without_final_verb(subject: str, *, has_be: bool) -> str:
    """Return a subject without the verb behind it: "the treatment" of "the treatment cost"; "" if too little is left.

    Behind a form of "be" (`has_be`) only a participle is taken for a verb: "was the boat sold".
    """
    tokens = subject.split()
    if has_be:
        is_participle = _PARTICIPLE.fullmatch(tokens[-1]) or _IRREGULAR_PARTICIPLE.fullmatch(tokens[-1])
        return " ".join(tokens[:-1] if is_participle and len(tokens) > 2 else tokens)
    if len(tokens) > 3 and tokens[-2].lower() in ("in", "of"):
        tokens = tokens[:-2]  # "the ferry run in winter": the verb stands before the time
    return " ".join(tokens[:-1]) if len(tokens) > 2 else ""


def _names_another_candidate(text_before: str, thing: str, names: list[str], people: list[str]) -> bool:
    """Return whether a question names something else that "it" may mean beside a thing: a firm or another thing."""
    if any(name not in thing and name not in people for name in names):
        return True
    for match in _ANY_DETERMINER.finditer(f"{text_before} "):
        phrase = text_before[match.start() :]
        words_behind_determiner = phrase.split()[1:4]
        is_role = ROLE_PHRASE.match(phrase) is not None or _SUBJECT_OF_CLAUSE.search(text_before) is not None
        is_plural = any(_PLURAL_NOUN.fullmatch(word) for word in words_behind_determiner)
        is_person = any(name in phrase for name in people)
        if not (is_role or is_plural or is_person):
            return True
    return False


def _is_people_or_plural(thing: str) -> bool:
    """Return whether a phrase names a person by role, or several people or things, which "it" does not mean."""
    head_noun = re.split(r" (?:of|in) ", thing, maxsplit=1)[0].split()[-1]
    return ROLE_PHRASE.fullmatch(thing) is not None or _PLURAL_NOUN.fullmatch(head_noun) is not None


def begins_with_state(subject: str) -> bool:
    """Return whether the words behind "What is" begin with a state, and so name no thing: "free for members"."""
    return _STATE_AT_START.match(subject) is not None


def asks_which_one(question: str) -> bool:
    """Return whether a question asks which of several things did or has something, so that "it" may be that one."""
    return _WHICH_ONE.match(question) is not None


def sole_subject_in(question: str, non_person_names: Sequence[str], message: str) -> str:
    """Return the name or single word that is the subject of a question, and that "it" can mean; "" if there is none.

    In "Does chrony work on Windows?" it is chrony, and in "Which Debian release was Hamm?" it is Hamm.
    """
    stem = question.rstrip(" ?.!")
    if (asks_kind := _ASKS_WHICH_KIND.fullmatch(stem)) and asks_kind["subject"] in non_person_names:
        return asks_kind["subject"]
    main_clause = _CLAUSE_ABOUT_OWN_SUBJECT.split(stem, maxsplit=1)[0]
    match = _ASKS_WHAT_WORD_IS.fullmatch(main_clause)
    if match is None and not _ASKS_SIZE_OF_IT.search(message):
        match = _WORD_ACTS.fullmatch(stem)
    word = next(filter(None, match.groupdict().values()), "") if match else ""
    return "" if _PLURAL_NOUN.fullmatch(word) or asks_about_event_or_amount(message) else word


def asks_about_event_or_amount(message: str) -> bool:
    """Return whether a message asks of "it" what is asked of events and amounts: "why did it happen"."""
    return _ASKS_ABOUT_EVENT_OR_AMOUNT.search(message) is not None


def thing_meant_by_it(last_subject: str, message: str) -> str:
    """Return what "it" means after a question about a subject: the subject, or what the subject belongs to.

    After "What is the condition of the figurehead?" nobody asks why the condition cracked, but the figurehead; "why
    did it change?" means the condition.
    """
    match = _NOUN_OF_OWNER.fullmatch(last_subject) or _OWNERS_NOUN.fullmatch(last_subject)
    if match is None:
        return last_subject
    owner = match["owner"]
    owner_is_thing = re.match(r"(?:the|our|your|my) ", owner, re.I) and not _is_people_or_plural(owner)
    for nouns, suiting_words in _WORDS_THAT_SUIT_NOUNS:
        if nouns.fullmatch(match["noun"]):
            if not owner_is_thing or suiting_words.search(message):
                return last_subject
            # A "condition" or "history" is asked about for its owner's sake; a price or date may be meant itself.
            is_condition = nouns.fullmatch("condition") is not None
            return owner if is_condition or _ASKS_ABOUT_OBJECT.search(message) else last_subject
    return last_subject
