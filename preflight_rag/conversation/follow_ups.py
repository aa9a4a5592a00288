"""Follow-up questions by rule: a message that depends on earlier questions becomes one that stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from preflight_rag.conversation import antecedents, counterparts
from preflight_rag.conversation.bare_nouns import add_owner_of_noun, match_bare_noun
from preflight_rag.conversation.ones import ANOTHER_ONE, asks_for_another, complete_which_one, replace_one_with_kind
from preflight_rag.conversation.relative_years import (
    counts_another_group_then,
    group_counted_then,
    question_without_then,
    write_out_years,
)
from preflight_rag.conversation.subjectless import has_no_subject, own_words
from preflight_rag.state.reading import Earlier, Rewrite, Source
from preflight_rag.state.schema import EarlierState
from preflight_rag.text import names
from preflight_rag.text.citations import without_marks
from preflight_rag.text.headers import SEVERAL
from preflight_rag.text.values import QUANTITY
from preflight_rag.text.words import words

_PREPOSITIONS = "in|of|for|at|on|with|after|during|among|from|under|to|by"
_PREPOSITION = re.compile(rf"\b(?:{_PREPOSITIONS})\b", re.I)
_LEADING_CONNECTIVES = re.compile(r"(?:(?:ok(?:ay)?|and|but|so|or|then|also|what about|how about)\b[\s,]*)+", re.I)
_CLAUSE_START = re.compile(
    rf"(?:(?:{_PREPOSITIONS})\s+)?(?:who|whom|whose|what|when|where|which|why|how)\b"
    r"|(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|must)\b"
    r"|(?:tell|explain|describe|list|give|compare|name|define|show|summari[sz]e)\b",
    re.I,
)
_ASKS_DEFINITION = re.compile(
    r"(?:(?:what|who|where)(?:['’]s| is| are| was| were)|define|explain|describe) (?!the\b)", re.I
)
_BACK_REFERENCE = re.compile(
    r"\b(?:its?|they|them|their|theirs|he|she|his|hers?|him|this|these|those|itself|themselves)\b"
    r"|\b(?:is|was|does|did|about|like|than|why) that\b|\bthere\W*$"
    r"|\bthe (?:former|latter|same|others?)\b|\b(?:the|which) (?:\w+ )?ones?\b"
    rf"|{ANOTHER_ONE}",
    re.I,
)
"""A word that may refer to an earlier question: "it", "she", "the same", "which one", "there" at the end."""
_NAME_LIKE_PRONOUN = re.compile(r"(?<=\w )[A-Z][\w’'-]+ (?:He|She|Her|Him)\b")
"""A name that ends like a pronoun: "Maolin He", not "Did he" or "he wrote"."""
_POSSESSIVE_PRONOUNS = ("its", "their", "his", "her")
_ASKS_EVENT_WITHOUT_SUBJECT = re.compile(
    r"(?:which|what|how many|how much)"
    rf"(?: (?!(?:{_PREPOSITIONS}) (?!the|these|those|them|all|each|both)\b)[a-z-]+){{1,4}}"
    r" (?:was|were)(?: (?:not|also|mainly|actually|finally))?"
    r" (?:[a-z]+ed|given|taken|shown|seen|found|made|done|chosen|held|lost|left|kept|built|set)\W*$"
)
"""Questions about an event that name no subject: "which dose was given?", "how many women were included?". Only lower
case matches, since a proper name would be a subject; so would the noun behind a preposition: "what dose of aspirin
was given?"."""
_ASKS_OFFICE_HOLDER = re.compile(
    r"who(?:['’]s| is| was| are| were) (?:currently )?the (?:current |new |former )?(?:CEO|CFO|COO|CTO|president|mayor"
    r"|chair(?:man|woman|person)?|chief [a-z]+ officer|managing director|board of directors|head|owner|founders?"
    r"|auditors?|landlord|tenant|buyer|seller|employer|editor(?:[ -]in[ -]chief)?|minister|secretary|treasurer)\W*$",
    re.I,
)
"""A question for the holder of an office of an organisation, a town or a contract: "Who is the mayor?"."""
_OFFICE_BEFORE_NAME = re.compile(r"^.*\b(?:C[EFOT]O|Officer|President|Chair\w*|Director|Mayor|Head) of (?:the )?", re.I)
"""The office in front of an organisation's name, where both are one run of capitals: "CEO of Amcor"."""
_ASKS_FIGURE = re.compile(
    r"(?:what|how (?:high|large|big)) (?:is|was|were|are)"
    rf"(?: (?!(?:{_PREPOSITIONS})\b)[a-z]+(?:-[a-z]+)?){{2,4}}[ ?.!]*$",
    re.I,
)
"""A question for a figure without its owner: "what was net income?"."""
_NOUN_BEFORE_PRONOUN = re.compile(
    r"(?:(?:(?:in|for|at|on) )?(?:which|what|how many)|(?:are|were) there(?: any)?"
    r"|(?:show|list|name|find|give)(?: me)?)"
    r" (?P<before>(?:[\w'’-]+ ){2,12}?)(?P<pronoun>their|its|themselves|itself)\b",
    re.I,
)
"""A question with a pronoun that may stand for its own subject: "which projects cost more than their budget"."""
_PLURAL_NOUN = re.compile(r"[\w-]{2,}(?<![su])s|people|(?:wo)?men|children", re.I)
_AUXILIARY_BEFORE_SUBJECT = re.compile(r"(?:do|does|did|can|could|will|would|should|may|must)", re.I)
"""An auxiliary behind which another subject stands, the owner: "which items did they lose of their stock"."""
_SUBJECT_WITHOUT_THE = re.compile(
    r"(?:what|how|where|when|why) (?:does|do|did|can|could|will|would) (?:an? )?(?P<subject>[\w'’-]+)"
    r" (?:do|be|have)\b",
    re.I,
)
"""A question about one thing that it names without "the": "what does insulin do"."""
_RESEARCHERS = re.compile(
    r"(?:authors|researchers|investigators|scientists|doctors|subjects|participants|volunteers)", re.I
)
_THERE_AT_END = re.compile(r" (?:is|are|was|were) there\W*$", re.I)
_IMPERSONAL_IT = re.compile(
    r"\bit (?:takes?\b(?!\W*$)|rains?\b|snows?\b|(?!costs? to [a-z]+\W*$)\w+ (?:to|that)\b)", re.I
)
"""An "it" that stands for nothing: "it takes an hour", "it costs £5 to enter"; not "What does it cost to renew?"."""
_POPULATION = re.compile(
    r"\b(?:adults?|child(?:ren)?|kids|infants?|bab(?:y|ies)|newborns?|toddlers?|teenagers?|adolescents?|(?:wo)?m[ae]n"
    r"|pregnan\w+|elderly|seniors?|patients|people|mice|rats|animals|dogs|cats)\b",
    re.I,
)
_TRIAL_ARM = re.compile(
    r"\b(?:groups?|arms?|placebo|controls?|(?:usual|standard) care|sham|comparators?|treated|untreated)\b", re.I
)
"""Words for the arms of a trial; a fragment with one replaces the arm of a question, whatever the prepositions."""
_COMPARATOR = re.compile(r"\b(?:placebo|sham|usual care|standard care)\b(?! (?:group|arm))", re.I)
"""What a treatment is compared with, where it stands for the patients: "of placebo patients"."""
_NAME_AT_END = re.compile(r"(?<=[a-z] )(?>(?:[A-Z0-9][\w-]*+ ){0,20})[A-Z0-9][\w-]*+$")
_HE_OR_SHE = re.compile(r"\b(?:he|she|him|his|her)\b", re.I)
_IT_OR_THEY = re.compile(r"\b(?:it|its|they|them|their)\b", re.I)
_PERSON_NAME = re.compile(
    r"(?:Mr|Ms|Mrs|Miss|Dr|Prof)\.?(?: [A-Z][\w'’-]+){1,3}|[A-Z][a-z'’-]+(?: [A-Z]\.){0,2}(?: [A-Z][\w'’-]+){1,2}"
)
"""Two or three capitalised words with initials between them, or one with a title."""
_PERSON_TITLE = re.compile(r"^(?:Mr|Ms|Mrs|Miss|Dr|Prof)\.? ")
_NON_PERSON_WORD = re.compile(
    r"\b(?:Chief|Chair\w*|Executive|Officer|President|Vice|Board|Director\w*|Company|Committee|Inc|Corporation|Bank|Group"
    r"|University|Street|New|The|This|January|February|March|April|May|June|July|August|September|October|November"
    r"|December|Fiscal|Annual|Division|Beauty|Foods"
    r"|United|States|Congress|Senate|Constitution|No|Each|Every|Persons?|Citizens?|Office)\b"
)
"""Words of offices, firms, places and dates, which are capitalised as names of people are."""
_POSSESSIVE_BEFORE_NAME = re.compile(r"['’]s? [A-Z]")
_COMPANY_SUFFIX = re.compile(r",? (?:Inc|Corp|Ltd|LLC|plc|Co)\b|’s? (?:Board|Company)\b")
_ASKS_PEOPLE_AT_OCCASION = re.compile(
    r"(?P<state>who(?:['’]s| is| are| was| were) (?:not |also |else )?(?:absent|present|there|missing|excused|invited"
    r"|speaking|late|in the chair))"
    r"|(?P<act>who (?:else )?(?:attended|chaired|missed|led|opened))"
    r"|(?P<part>who (?:else )?(?:spoke|presided|apologi[sz]ed|took the minutes|was elected))"
    r"|(?P<came>who (?:else )?came)|(?P<took>who (?:else )?took part)",
    re.I,
)
"""A question for people at an occasion that it does not name: "who was absent?"."""
_PREPOSITION_BEFORE_OCCASION = {"state": " at", "act": "", "part": " at", "came": " to", "took": " in"}
"""The word between such a question, by the name of its group, and the occasion: "who came to the fair"."""
_WHO_IS = re.compile(r"who(?:['’]s| is| are| was| were| will be) ", re.I)
_YES_NO_QUESTION = re.compile(
    r"(?P<auxiliary>is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|must|may) (?P<rest>.+)", re.I
)
_IRREGULAR_NEGATIONS = {"can": "can't", "may": "can't", "will": "won't"}
_ASKS_FIRM_FIGURE = re.compile(
    r"(?:how (?:many|much)|what|which)\b.*\b(?:do|does|did|has|have|had|will|would) it\b", re.I
)
"""A question for what a firm did or has, which nobody asks of a person: "how many stores did it open"."""
_ASKS_WHO = re.compile(r"\W*(?:who|whom|which (?:person|man|woman))\b", re.I)
_AUXILIARIES = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must"
_NOT_AUXILIARY = rf"(?!(?:{_AUXILIARIES})\b)"
_ASKS_ABOUT_SUBJECT = re.compile(
    rf"\b(?:what|who|where|when) (?:is|was|are|were)"
    rf" (?P<subject>{_NOT_AUXILIARY}[^\s?]+(?: {_NOT_AUXILIARY}[^\s?]+){{0,11}}?)"
    r"(?: (?:called|named|located|born|held|made|kept|stored))?$",
    re.I,
)
"""A question about one thing, its subject: "What was [the annual dividend of 2023]?"."""
_ASKS_EVENT_OF_THING = re.compile(
    r"(?P<thing>(?:when|where) (?:is|was|are|were) [^?]{1,200}(?<! the)(?<! a)(?<! an))"
    r" (?:(?!(?:shed|seed|feed|speed|need|weed|sled|breed|bed)\b)[a-z]{2,20}ed|sent|built|sold|paid)$",
    re.I,
)
"""A question about what happened to a thing: "when was [order 77120] delivered", not "when was the shed"."""
_QUESTION_PHRASE = re.compile(
    rf"(?:(?P<at>{_PREPOSITIONS}) )?(?:(?:how (?:many|much)|which|what) (?P<noun>(?:{_NOT_AUXILIARY}[\w'’-]+ ){{1,6}}?)"
    rf"|(?:who|what|when|where|why|how|how (?:long|far|old)) )(?=(?:{_AUXILIARIES})\b)",
    re.I,
)
"""The question words of a question, up to its verb: "At how many sites" of "At how many sites was it done?"."""
_COUNTED_NOUN = re.compile(r"\W*how many ([\w-]+) (?:did|do|does|has|have)\b", re.I)
_HOW_MANY_ALONE = re.compile(r"how many [a-z-]+[ ?.!]*", re.I)
_YEAR_AT_END = re.compile(r"\b(?:in|during|for) (?:the )?(?:fiscal |financial )?(?:year )?(?:19|20)\d\d$", re.I)
_TWO_YEARS = re.compile(r"\b(?:in|for|during) (?:19|20)\d\d ((?:in|for|during) (?:19|20)\d\d)(?=\W*$)", re.I)
"""A year that came with a name in the place of a pronoun, before the message's own year."""
_QUESTION_WORDS_ALONE = re.compile(
    rf"(?:who|when|where|why|since when|how long|how often)|(?:{_PREPOSITIONS}) whom"
    rf"|(?:{_PREPOSITIONS}) (?:how many|how much|which|what)(?: {_NOT_AUXILIARY}[\w'’-]+){{1,3}}",
    re.I,
)
"""Question words without the rest of a question: "When", "in how many countries"."""
_INNER_PHRASE = re.compile(
    rf"\b(?P<preposition>{_PREPOSITIONS})\s+(?:(?!(?:{_PREPOSITIONS})\b)[\w-]{{1,60}}\s){{1,4}}?"
    rf"(?=(?:{_PREPOSITIONS}|{_AUXILIARIES}|\w{{1,40}}ed)\b)",
    re.I,
)
"""A prepositional phrase inside a question: "of etoricoxib" of "Which dose of etoricoxib was given?"."""
_NAME_BEFORE_QUESTION = re.compile(
    r"(?:(?i:and|but|so|then|what about|how about) )?"
    r"(?P<name>(?:[A-Z][\w'’-]{0,40}\.? ){0,4}[A-Z][\w'’-]{0,40}), (?P<clause>\w[^?]{2,200})"
)
"""A name in front of a question about it: "And Daniel Okafor, what does he do?"."""
_OPENING_WORD_NOT_NAME = re.compile(
    r"(?:ok(?:ay)?|yes|no|yeah|well|thanks?|thank you|sorry|please|hi|hello|hey|great|good|right|sure|now|today"
    r"|tomorrow|yesterday|tonight|finally|first|next|also|again|actually|in|on|at|for|by|from|with|of|if|when|as|after|before"
    r"|since|until|during|among|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july"
    r"|august|september|october|november|december)\b",
    re.I,
)
"""A word in front of a question that is no name: "Okay, when does she work?"."""
_DOCUMENT_WORD = re.compile(
    r"\b(?:contract|agreement|lease|rules|constitution|leaflet|notice|minutes|report|letter|invoice|receipt|e?mail|article"
    r"|paper|book|manual|handbook|brochure|slides|presentation|spreadsheet|list|register|log|policy|page|website|memo)\b",
    re.I,
)
"""A word for a document: "what about in the contract?" may mean another one than the last answer cites."""
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ASKS_TROUBLE_WITH = re.compile(
    r"^(?P<asked>\W*(?:(?:and|so) )?what(?:['’]s| is| was)) (?:wrong|the matter|the (?:problem|trouble|issue)|up) with"
    r" (?P<thing>\w)",
    re.I,
)
"""A question for the trouble of a thing, which is its subject: "What was wrong with the boiler?"."""
_ASKS_ABOUT_EVENT = re.compile(r"(?:(?:and|so) )?(?:when|where|how (?:bad|serious)) (?:was|is) it", re.I)
_GENERIC_NOUN_AT_END = re.compile(
    r"\bthe (?:stud(?:y|ies)|trials?|patients?|participants?|subjects|volunteers|(?:wo)?m[ae]n|authors?|company"
    r"|meeting|filing|report|paper|article|document|book|project|people|groups?)\W*$",
    re.I,
)
"""A generic noun as the subject of a question, which means the one just spoken of: "How old were the women?"."""
LONGEST_NAME = 100
"""Characters of a name that takes the place of a pronoun; a longer run of capitals is none. A guess."""
MOST_WORDS_OF_GENERIC_QUESTION = 3
"""Content words up to which a question that ends in a generic noun leans on the one before it; a guess."""
LEAST_WORDS_OF_QUESTION = 2
"""Content words from which a question names its subject, or words before a pronoun that it may refer to; a guess."""
LEAST_WORDS_OF_STATEMENT = 4
"""Content words from which a message without a question word stands alone; a guess."""
MOST_WORDS_TO_SUBJECT = 4
"""First words of a question among which the noun is looked for that "their" may refer to; a guess."""
MOST_TURNS_BACK = 4
"""Earlier questions among which a name for "she" or "it" is looked for if the last one has none; a guess."""
_DATE_WORD = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|\d[\w./-]*|easter|christmas|(?:new|boxing|good|bank|public|whit)|years?|eve|day|holidays?",
    re.I,
)
_INDEFINITE_NOUN = re.compile(
    rf"\ban? (?!(?:hour|day|night|week|month|quarter|year|head|piece)\b)[\w-]{{1,40}}(?=$| (?:{_PREPOSITIONS})\b)", re.I
)
"""An article and one noun: "a cat" of "put a cat to sleep", not of "a cat food"."""
_ASKS_WHAT_GROUP_PAYS = re.compile(
    r"how (?:much|many|often|long) (?:does|do|did|can|must|will|would) (?P<who>(?:an? |the )?(?P<noun>[a-z-]{2,20}))"
    r"(?= (?:pay|cost|get|have|need|wait|borrow|stay|work|receive|owe|take|keep|earn)\b)",
    re.I,
)
_PAYING_GROUP = re.compile(
    r"(?:the )?(?:(?:non-)?members?|students?|pensioners?|residents?|visitors?|guests?|families|staff|volunteers?"
    r"|employees|tenants|owners|trustees|trainees|apprentices|teachers?|pupils?|parents?|customers?|adults?|children"
    r"|kids|seniors?|infants?|babies|teenagers?|patients|women|men)",
    re.I,
)
"""A group of people of whom rules say what it pays or gets; another such group in a fragment takes its place."""
_INTERCHANGEABLE_PREPOSITIONS = {"with": ("with", "on"), "on": ("on", "with")}
"""Prepositions with one meaning for what patients get: "patients on etoricoxib", "and with placebo?"."""
_ASKS_ATTRIBUTE = re.compile(
    r"(?:what|how (?:much|high|long|large)|when|where|who)(?:['’]s| is| are| was| were)"
    r" (?P<thing>(?:the|our|your|its|their) [a-z-]+(?: [a-z-]+){0,3}?)(?= (?:of|for|in|at|on) |$)",
    re.I,
)
_ASKS_HOLDER_AT_TIME = re.compile(
    r"(?:(?:and|but|so) )?who (?P<verb>is|was) (?:it|that|this) (?P<then>(?:in|during|before|until|since|after)"
    r" [^?]{2,40}|now|today|currently|then|before|previously|originally|last year|at the time)",
    re.I,
)
"""A question for another holder of the office that was asked about: "And who was it in 2021?"."""
_OFFICE_ASKED_FOR = re.compile(
    r"(?:(?:and|but|so) )?who(?:['’]s| is| was)(?: (?:currently|now))? (?P<office>(?:the|our|your)"
    r" (?:(?:current|present|new|former) )?[\w'’-]+(?: [\w'’&-]+){0,9})",
    re.I,
)
_ASKS_WHO_DID = re.compile(
    r"(?:(?:and|but|so) )?who (?P<act>(?:\w{2,20}ed|won|led|held|ran|made|wrote|gave|took|paid)\b.*)", re.I
)
_TIME_AT_END = re.compile(
    r" (?:in|during|for) (?:the )?(?:year )?(?:19|20)\d\d(?:[-/]\d{2,4})?$| (?:now|today|currently)$", re.I
)
_ASKS_HOLDER = re.compile(
    rf"(?:(?:and|but|so) )?who(?:['’]s| is| was| are| were)(?: currently| then)?(?: (?:the|our|your))?"
    rf"(?: (?!(?:{_PREPOSITIONS}|the|an?|its?|that|when|if)\b)[\w'’-]+){{1,4}}",
    re.I,
)
_IT_AS_SUBJECT = re.compile(r"^(?:(?:and|but|so) )?(?:[a-z]+ ){0,4}?it (?!is\b|was\b)[a-z]", re.I)
"""A question whose subject is "it", whatever else it names: "Does it work on Windows?"."""
_PRONOUN_PHRASE_AT_END = re.compile(r" (?:for|of|with) (?:that|this|them|it)(?=\W*$)")
_CAPITALISED_COMMON_NOUN = re.compile(
    r"(?:Club|Fund|Company|Board|Committee|Society|Trust|Trustees|Museum|Council|College|School|Association|Bank|Group"
    r"|Church|Parish|Estate|University|Hospital|Library|Foundation|Department|Ministry|Landlord|Tenant|Customer"
    r"|Supplier|Contractor|Client|Employer|Party|Parties|Agreement|Contract|Policy|Plan)"
)
"""A common noun that contracts write with a capital: "for the Club". It is nobody's name."""
_RELATIVE_OF_PERSON = re.compile(
    rf"(?P<owner>[^?]{{2,100}})['’]s? (?:[a-z]+ )?(?:{names.RELATIVES}|family|deputy|assistant|successor|predecessor"
    r"|boss|team|dog|cat|horse)",
    re.I,
)
"""A relative or companion of a person, with that person's name: "Mina Lyle’s father"."""
_DETERMINER = re.compile(r"\b(?:the|our|your|my|an?) (?!ones?\b)", re.I)
_LABELLED_CELL = re.compile(r"(?:^|\| )(?P<label>[^|:]{2,60}): (?P<value>[^|]+?)(?= \||$)")
"""A cell of a row that is written out with its columns: "Race officer: Oonagh Flint"."""
_NOUN_PHRASE = re.compile(r"(?:the|our|your|its|their) [a-z-]+(?: [a-z-]+){0,3}")
_LAST_PHRASE = re.compile(rf"(?P<before>.*)\b(?P<preposition>{_PREPOSITIONS})\s+(?P<object>.+)$", re.I)
_YEAR_ALONE = re.compile(r"(?:(?:in|for|during) )?(?:the year )?(?P<year>(?:19|20)\d\d)")
_YEAR_AT_END_OF_TIME = re.compile(
    r"\b(?:in|of|for|during|(?:in|of|for|since) (?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December)) (?P<year>(?:19|20)\d\d)$"
)
_NO_PLACE = re.compile(r"Q[1-4]|H[12]|Dollars?|Euros?|Pounds?|English|French|German|Spanish|Italian|Chinese|Japanese")
_NAME_OF_PLACE = r"(?:the )?[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,3}"
_IN_PLACE = re.compile(rf"[Ii]n (?P<place>{_NAME_OF_PLACE})")
_PLACE_AND_TIME = re.compile(
    rf"\bin {_NAME_OF_PLACE}(?P<time> (?:in|for|during) (?:the )?(?:[a-z]{{1,20}} )?(?:19|20)\d\d)$"
)
"""A place with a year behind it at a question's end: "What were sales [in Europe in 2023]"."""


def standalone(message: str, earlier: Sequence[str], people: Sequence[str] = (), year: str = "") -> str:
    """Return the message as a question that can be understood without the questions before it.

    A clause that refers back ("why do they differ?") is appended to the question that it refers to and to the clause
    between them, if any; a fragment ("and in children?") replaces the corresponding part of the previous question;
    and a pronoun becomes a name if the previous question, or the answer to "who", has only one.

    Args:
        message: The user's message.
        earlier: The questions before it, oldest first.
        people: The people named in the answer to the last of them.
        year: The year of which that answer speaks, for "then"; "" if there is none.
    """
    # The last whole question, the clause appended to it, and the standalone form of both.
    core, clause, resolved = "", "", ""
    # Entry i is the standalone form of turn i - 1; entry 0 is never read.
    resolved_turns: list[str] = []
    turns = write_out_years([" ".join(text.split()) for text in [*earlier, message]])
    for index, turn in enumerate(turns):
        # What a fragment means is known where it made a single question of the one before.
        resolved_turns.append(turns[index - 1] if not resolved or "? " in resolved else resolved)
        if index and turn.casefold() == turns[index - 1].casefold():
            continue  # A repeated question means the same as before.
        turn = _complete_with_office(_move_leading_name_into_question(turn), turns[:index])
        previous = clause or core
        # `people` are those of the last answer, so only the message itself gets names in place of pronouns.
        is_message = index > 0 and index == len(turns) - 1
        has_names = False
        if is_message and not _has_own_antecedent(turn):
            with_names = _resolve_references(turn, previous, people, resolved_turns[1:-1], year)
            has_names = with_names != turn
            turn = with_names
        fragment = _without_leading_connectives(turn)
        if has_names and fragment != turn and _CLAUSE_START.match(fragment):
            # Rule-based readers do not know "And how much" as a question.
            turn = fragment = f"{fragment[:1].upper()}{fragment[1:]}"
        has_connective = fragment != turn
        asks_office = _ASKS_OFFICE_HOLDER.match(fragment) is not None
        may_lack_owner = asks_office or (has_connective and _ASKS_FIGURE.match(fragment) is not None)
        # "And what does insulin do?" may be about insulin in what was spoken of.
        is_new_topic = _stands_alone(fragment) and not (has_connective and _names_own_subject(fragment))
        is_whole_question = is_new_topic or (has_names and not _BACK_REFERENCE.search(fragment))
        if may_lack_owner and (with_owner := _add_owner_and_year(fragment, previous)):
            core, clause, resolved = with_owner, "", with_owner
        elif asks_office:
            core, clause, resolved = fragment, "", fragment
        elif not core or is_whole_question:
            # What "How many copies?" counts is that of the last question, which stays in front of the next one.
            keeps_core = core != "" and not clause and _HOW_MANY_ALONE.fullmatch(fragment) is not None
            core, clause, resolved = (core, turn, turn) if keeps_core else (turn, "", turn)
        elif completed := _put_fragment_in(previous, fragment, resolved_turns[1:]):
            core, clause = (core, completed) if clause else (completed, "")
            resolved = f"{core} {clause}".strip()
        else:
            resolved = " ".join(part for part in (core, clause, turn) if part)
            clause = turn
    return _TWO_YEARS.sub(r"\1", resolved)


def _without_leading_connectives(text: str) -> str:
    """Return a message without the "and", "but" or "what about" that it begins with."""
    connectives = _LEADING_CONNECTIVES.match(text)
    return text[connectives.end() :] if connectives else text


def _put_fragment_in(last_question: str, fragment: str, earlier_questions: Sequence[str]) -> str:
    """Return a whole question made of a fragment, "in children?", and the last question; "" if it fits nowhere."""
    completed = _replace_name_before_holder_question(last_question, fragment, earlier_questions)
    completed = completed or _complete_fragment(last_question, fragment)
    if completed or _CLAUSE_START.match(fragment):
        return completed
    return _replace_phrase(last_question, fragment)


def _resolve_references(
    message: str, last_question: str, answer_people: Sequence[str], earlier_questions: Sequence[str], answer_year: str
) -> str:
    """Return the message with names in place of its pronouns, and with the year that its "then" means.

    "Who was the leader then?" becomes "Who was the leader in 1998?". What cannot be resolved stays as it is.
    """
    with_names = _replace_pronoun(message, last_question, answer_people, earlier_questions)
    # The year of "Who was the leader in 1998?" is not that of the thing spoken of before.
    if with_names != message and not _asks_for_office_holder(last_question):
        with_names = _add_counted_noun_and_year(with_names, last_question)
    stem = question_without_then(_without_leading_connectives(with_names)) if answer_year else ""
    if not stem:
        return with_names
    with_owner = _add_owner_and_year(stem, last_question) if _ASKS_OFFICE_HOLDER.match(stem) else ""
    is_whole_question = with_owner != "" or (_stands_alone(stem) and not _BACK_REFERENCE.search(stem))
    is_whole_question = is_whole_question or counts_another_group_then(stem, last_question, answer_year)
    return f"{(with_owner or stem).rstrip(' ?.!')} in {answer_year}?" if is_whole_question else with_names


def _asks_for_office_holder(question: str) -> bool:
    """Return whether a question asks only who held an office at a time: "Who was the captain then?"."""
    stem = question.rstrip(" ?.!")
    without_time = question_without_then(stem) or _TIME_AT_END.sub("", stem)
    return without_time != stem and _ASKS_HOLDER.fullmatch(without_time) is not None


def _replace_name_before_holder_question(last_question: str, fragment: str, earlier_questions: Sequence[str]) -> str:
    """Return the last question about a thing, with the name of a fragment in place of that thing.

    After "When was Hamm released?" and "Who was the leader then?", "And Potato?" asks when Potato was released. The
    result is "" unless the fragment is a name, the last question asks who held an office, and one of the earlier
    questions names a thing.
    """
    is_role = antecedents.sole_role_in(f"the {fragment}") != ""
    is_name = fragment[:1].isupper() and _CLAUSE_START.match(fragment) is None and not is_role
    is_person = _PERSON_NAME.fullmatch(fragment.rstrip(" ?.!")) is not None
    if not is_name or is_person or not _asks_for_office_holder(last_question):
        return ""
    recent = reversed(earlier_questions[-MOST_TURNS_BACK:])
    last_other = next((turn for turn in recent if not _asks_for_office_holder(turn)), "")
    return _replace_phrase(last_other, fragment) if last_other and _capitalised_names(last_other) else ""


def _move_leading_name_into_question(message: str) -> str:
    """Return "What does Daniel Okafor do?" for "And Daniel Okafor, what does he do?"; other messages unchanged."""
    match = _NAME_BEFORE_QUESTION.match(message)
    if match is None or not _CLAUSE_START.match(match["clause"]) or _OPENING_WORD_NOT_NAME.match(match["name"]):
        return message
    clause = match["clause"]
    pronoun = _HE_OR_SHE.search(clause) or _IT_OR_THEY.search(clause)
    if pronoun is None:
        return message
    return _replace_with_name(f"{clause[:1].upper()}{clause[1:]}?", pronoun, match["name"])


def _complete_with_office(message: str, earlier_questions: Sequence[str]) -> str:
    """Return "Who was the treasurer in 2021?" for "And who was it in 2021?"; other messages unchanged.

    The office, or what somebody did, is that of the last question for a person. It need not be the question just
    before the message: in between, a conversation speaks of the person. Without such a question, or if it contains a
    pronoun itself, the message stays as it is.
    """
    asks_holder = _ASKS_HOLDER_AT_TIME.fullmatch(message.rstrip(" ?.!"))
    last_who = next((turn for turn in reversed(earlier_questions[-MOST_TURNS_BACK:]) if _ASKS_WHO.match(turn)), "")
    stem = _TIME_AT_END.sub("", last_who.rstrip(" ?.!"))
    if asks_holder is None or _BACK_REFERENCE.search(stem):
        return message
    if office := _OFFICE_ASKED_FOR.fullmatch(stem):
        return f"Who {asks_holder['verb'].lower()} {office['office']} {asks_holder['then']}?"
    asks_who_did = _ASKS_WHO_DID.fullmatch(stem)
    return f"Who {asks_who_did['act']} {asks_holder['then']}?" if asks_who_did else message


def _stands_alone(text: str) -> bool:
    """Return whether a message names its subject, so that it can be understood without the conversation."""
    bare = text.rstrip(" ?.!")
    if (
        has_no_subject(text)
        or question_without_then(text)
        or _ASKS_EVENT_WITHOUT_SUBJECT.match(text[:1].lower() + text[1:])
        or _QUESTION_WORDS_ALONE.fullmatch(bare)
        or _ASKS_PEOPLE_AT_OCCASION.fullmatch(bare)
    ):
        return False
    # In "does it take long to …" and "How many cases of cat flu were there?", "it" and "there" refer to nothing.
    referring = _IMPERSONAL_IT.sub(" ", text)
    if len(words(text)) > 2 and (_capitalised_names(text) or re.search(r"\b(?:of|in|at|for|on) ", text)):
        referring = _THERE_AT_END.sub(" ", referring)
    reference = _BACK_REFERENCE.search(referring)
    if reference:
        if _has_own_antecedent(text):
            return True
        content_before, content_behind = words(referring[: reference.start()]), words(referring[reference.end() :])
        if len(content_before) < LEAST_WORDS_OF_QUESTION or not content_behind:
            return False
    content = len(words(text))
    if content <= MOST_WORDS_OF_GENERIC_QUESTION and _GENERIC_NOUN_AT_END.search(text) and not _capitalised_names(text):
        return False
    if not _CLAUSE_START.match(text):
        return content >= LEAST_WORDS_OF_STATEMENT
    is_definition = _ASKS_DEFINITION.match(text) is not None
    return content >= LEAST_WORDS_OF_QUESTION or (content == 1 and (is_definition or _names_own_subject(text)))


def _has_own_antecedent(text: str) -> bool:
    """Return whether the pronoun of a question refers to its own subject: "which items are below their level"."""
    if antecedents.second_question_refers_to_first(text):
        return True
    match = _NOUN_BEFORE_PRONOUN.match(text)
    if match is None:
        return False
    tokens, is_plural = match["before"].split(), match["pronoun"].lower() in ("their", "themselves")
    if re.fullmatch(_AUXILIARIES, tokens[0], re.I) or re.fullmatch(_AUXILIARIES, tokens[-1], re.I):
        return False  # "which are their", "what items are their"
    for index, word in enumerate(tokens[:MOST_WORDS_TO_SUBJECT]):
        following = tokens[index + 1 :]
        if not following or re.fullmatch(_PREPOSITIONS, word, re.I):
            return False
        if is_plural and _PLURAL_NOUN.fullmatch(word):
            # "which parts of their budget" and "which items did they lose of their stock" speak of somebody else's.
            is_part = len(following) == 1 and re.fullmatch("of", following[0], re.I)
            return not is_part and not _AUXILIARY_BEFORE_SUBJECT.fullmatch(following[0])
        if not is_plural and re.fullmatch(r"is|was|has|had|(?!\w*(?:need|seed)\b)\w+ed", following[0], re.I):
            return True
    return False


def _names_own_subject(text: str) -> bool:
    """Return whether a question asks about one thing that it names without "the": "what does insulin do".

    People and researchers are those of a study mentioned before, so that they are no subject of its own.
    """
    match = _SUBJECT_WITHOUT_THE.match(text)
    if match is None or re.fullmatch(r"the|this|that|these|those|all|each|any|some", match["subject"], re.I):
        return False
    is_of_a_study = _POPULATION.fullmatch(match["subject"]) or _RESEARCHERS.fullmatch(match["subject"])
    return bool(words(match["subject"])) and not is_of_a_study


def _replace_pronoun(
    message: str, last_question: str, answer_people: Sequence[str], earlier_questions: Sequence[str]
) -> str:
    """Return the message with the name that its pronoun, its "one" or its bare noun stands for.

    The message is returned unchanged where there is no such name, or more than one.
    """
    he_or_she = _HE_OR_SHE.search(message)
    if he_or_she:
        # "he" and "she" stand for people only; other names of the question are no candidates for them.
        person = _find_person(last_question, answer_people)
        person = person or _find_person_in_earlier_questions(last_question, answer_people, earlier_questions)
        is_written_with_the = person != "" and f" the {person} " in f" {last_question.rstrip(' ?.!')} "
        name = f"the {person}" if is_written_with_the else person
        name = name or _find_office_asked_for(last_question, answer_people)
        with_name = _replace_with_name(message, he_or_she, name)
        return _replace_person_with_relative(last_question, with_name) or with_name
    if (with_choice := complete_which_one(message, last_question)) != message:
        return with_choice
    bare_noun = match_bare_noun(message)
    if bare_noun or asks_for_another(message):
        thing = _find_thing_repaired(last_question)
        if bare_noun:
            return add_owner_of_noun(message, bare_noun, thing, last_question)
        return replace_one_with_kind(message, thing)
    # Spaces keep the positions of the message where "it" stands for nothing: "How long does it take to …".
    it_or_they = _IT_OR_THEY.search(_IMPERSONAL_IT.sub(lambda match: " " * len(match[0]), message))
    if not it_or_they or _ASKS_HOLDER_AT_TIME.fullmatch(message.rstrip(" ?.!")):
        return message  # In "who was it in 2021", "it" is no thing.
    if (with_organisation := antecedents.replace_it_with_organisation(message, last_question)) is not None:
        return with_organisation or message
    thing = _find_thing_meant(message, it_or_they, last_question)
    if not thing and _keeps_previous_topic(last_question):
        thing = _find_thing_in_earlier_questions(message, it_or_they, earlier_questions)
    return _replace_with_name(message, it_or_they, thing)


def _find_thing_repaired(question: str) -> str:
    """Return the thing in a question that "it" would mean in "Was it repaired?" behind it; "" if that is unclear."""
    probe = "Was it repaired?"
    pronoun = _IT_OR_THEY.search(probe)
    return _find_thing_meant(probe, pronoun, question) if pronoun else ""


def _replace_person_with_relative(question: str, fragment: str) -> str:
    """Return "What happened to Mina Lyle’s father?" for "Mina Lyle’s father" after the question about her; else ""."""
    relative = _RELATIVE_OF_PERSON.fullmatch(_without_leading_connectives(fragment).rstrip(" ?.!"))
    if relative is None:
        return ""
    before, person, behind = question.partition(relative["owner"])
    is_named_once = person != "" and person not in behind and not behind.startswith(("'", "’"))
    return f"{before}{relative[0]}{behind}" if is_named_once else ""


def _keeps_previous_topic(question: str) -> bool:
    """Return whether a question names no thing of its own, so that a later "it" still means an earlier topic."""
    asks_about_it = _has_it_as_subject(question) and not _has_own_antecedent(question)
    has_no_topic = antecedents.names_no_topic(question) or has_no_subject(question)
    return has_no_topic or asks_about_it or _asks_for_office_holder(question)


def _has_it_as_subject(question: str) -> bool:
    """Return whether the subject of a question is "it": "Does it work on Windows?" is not about Windows."""
    return _IT_AS_SUBJECT.search(_IMPERSONAL_IT.sub(" ", question)) is not None


def _find_thing_in_earlier_questions(message: str, pronoun: re.Match[str], earlier_questions: Sequence[str]) -> str:
    """Return what "it" stands for by the last of the earlier questions that names a thing; "" if that is unclear.

    After "What happened to the Kestrel?" and "Was anybody hurt?", "Who repaired it?" still means the Kestrel.
    """
    is_singular = pronoun[0].lower() in ("it", "its")
    recent = reversed(list(earlier_questions)[-MOST_TURNS_BACK:])
    topic_question = next((turn for turn in recent if not _keeps_previous_topic(turn)), "")
    if not topic_question or not is_singular:
        return ""
    if re.match(r"what happened\b", topic_question, re.I) and _ASKS_ABOUT_EVENT.fullmatch(message.rstrip(" ?.!")):
        return ""  # After "What happened to the mill?", "When was it?" asks for what happened, and not for the mill.
    return _find_thing_meant(message, pronoun, topic_question)


def _find_office_asked_for(last_question: str, answer_people: Sequence[str]) -> str:
    """Return the office that a question asks for, where its answer names several people or nobody: "the treasurer".

    Who holds the office is for the documents to say, so that "her" means whoever does. The result is "" for an office
    of the past, since the documents may name another holder.
    """
    match = _OFFICE_ASKED_FOR.fullmatch(last_question.rstrip(" ?.!"))
    if match is None or len(answer_people) == 1:
        return ""
    if not answer_people and _PERSON_NAME.search(match["office"]):
        return ""  # Only the answer tells whether "her" is "the wife of John Smith".
    is_present = re.match(r"(?:(?:and|but|so) )?who(?:['’]s| is)\b", last_question, re.I) is not None
    return match["office"] if is_present else ""


def _find_thing_meant(message: str, pronoun: re.Match[str], question: str) -> str:
    """Return what "it" or "they" of a message stands for in the question before it; "" if that is unclear.

    It is the subject of the question, "the roof" of "When was the roof repaired?"; else, for "it", a document, the only
    thing with an article, or the only name. If the subject is a quantity, whoever has it is the one that acts.
    """
    is_singular = pronoun[0].lower() in ("it", "its")
    question = _PRONOUN_PHRASE_AT_END.sub("", _ASKS_TROUBLE_WITH.sub(r"\g<asked> \g<thing>", question))
    if (is_singular and antecedents.asks_which_one(question)) or _has_it_as_subject(question):
        return ""
    match = _match_subject(question)
    subject = match["subject"] if match else ""
    candidates = _names_for_pronoun(question, message)
    if len(candidates) == 1 and _stands_for_actor(message, pronoun) and _is_quantity_of_name(candidates[0], subject):
        return re.sub(r"['’]s?$", "", candidates[0])
    asks_who = is_singular and subject != "" and _ASKS_WHO.match(question) is not None
    people = [name for name in candidates if is_singular and _may_be_person(name, question, message)]
    # The subject of "Who is the mayor?" is a person, and no thing.
    is_thing = subject != "" and not asks_who and not _BACK_REFERENCE.search(subject)
    if is_thing and (candidates or len(words(subject)) > 1):
        if subject in people:
            return ""
        return antecedents.thing_meant_by_it(subject, message) if is_singular else subject
    if not is_singular:
        return ""
    things = [name for name in candidates if name not in people]
    if sole_subject := antecedents.sole_subject_in(question, things, message):
        return sole_subject
    if document := antecedents.document_meant_by_it(question, message):
        return document
    # A name that may be a firm's may be meant beside the thing.
    sure_people = [name for name in people if antecedents.is_treated_as_person(name, question)]
    asks_event = antecedents.asks_about_event_or_amount(message)
    thing = "" if asks_event else antecedents.sole_thing_in(question, candidates, sure_people)
    if thing and all(name in thing for name in things):
        return antecedents.thing_meant_by_it(thing, message)
    is_only_name = len(candidates) == 1 and len(things) == 1
    return things[0] if is_only_name and not asks_who and not _is_date_or_number(things[0]) else ""


def _names_for_pronoun(question: str, message: str) -> list[str]:
    """Return the names in a question that a pronoun of the message may stand for; dates only if all of them are dates.

    A pronoun stands for no name that the message itself contains, for no common noun ("the Club") and for no long run
    of capitals.
    """
    unsaid = [name for name in _capitalised_names(question) if name.casefold() not in message.casefold()]
    short_names = [name for name in unsaid if len(name) <= LONGEST_NAME]
    candidates = [name for name in short_names if not _is_capitalised_common_noun(name, question)]
    return [name for name in candidates if not _is_date_or_number(name)] or candidates


def _match_subject(question: str) -> re.Match[str] | None:
    """Return the match of the subject of a question about one thing; None for other questions."""
    stem = antecedents.without_final_particle(question)
    match = _ASKS_ABOUT_SUBJECT.match(_ASKS_EVENT_OF_THING.sub(r"\g<thing>", stem))
    return None if match and antecedents.begins_with_state(match["subject"]) else match


def _is_capitalised_common_noun(name: str, question: str) -> bool:
    """Return whether a name is a common noun that a question writes with a capital behind "the": "the Club"."""
    return _CAPITALISED_COMMON_NOUN.fullmatch(name) is not None and f" the {name} " in f" {question.rstrip(' ?.!')} "


def _may_be_person(name: str, question: str, message: str) -> bool:
    """Return whether a name in a question may be that of a person, whom "it" never means.

    A firm may be called as people are: "How many did it open?" after "How many stores did Ulta Beauty close?" means the
    firm, since nobody says "it" of a person who counts or gets something; "Why did it open?" may mean something else.
    """
    if antecedents.is_treated_as_person(name, question):
        return True
    if not _PERSON_NAME.fullmatch(name) or _NON_PERSON_WORD.search(name) or _COMPANY_SUFFIX.search(question):
        return False
    if _POSSESSIVE_BEFORE_NAME.search(name):
        return False  # "Chip's Challenge" is what somebody has
    asks_firm = _ASKS_FIRM_FIGURE.match(_without_leading_connectives(message)) is not None
    return not (asks_firm or antecedents.is_treated_as_thing(name, question))


def _stands_for_actor(message: str, pronoun: re.Match[str]) -> bool:
    """Return whether a pronoun means somebody who does or owns something: "how many stores did it operate"."""
    is_active = re.search(r"\b(?:did|does|do|has|have|had|will|would|can|could)\W+$", message[: pronoun.start()], re.I)
    # "will it be paid"
    is_passive = re.match(r" (?:not |also |ever )?(?:be|been|get|got) ", message[pronoun.end() :], re.I)
    return (is_active is not None and is_passive is None) or pronoun[0].lower() in ("its", "their")


def _is_quantity_of_name(name: str, subject: str) -> bool:
    """Return whether a subject is a quantity of a name: "net income of Amcor in 2023", "Amcor's net income" of Amcor.

    A quantity does nothing and owns nothing; the capital of Georgia does.
    """
    has_possessive = subject.startswith((f"{name}'", f"{name}’"))
    belongs_to_name = has_possessive or f" of {name}" in subject or f" of the {name}" in subject
    return belongs_to_name and QUANTITY.search(subject) is not None


def _add_owner_and_year(message: str, last_question: str) -> str:
    """Return a message with the organisation and the year of the last question at its end.

    "What was net income?" after "What were Amcor's net sales in 2023?" means Amcor's, and 2023. For an office the year
    is left out. The result is "" if the last question names no organisation or more than one.
    """
    owners, asks_office = set(), _ASKS_OFFICE_HOLDER.match(message) is not None
    for match in names.NAME.finditer(last_question, last_question.find(" ") + 1):
        written = match[0].rstrip(".,")
        without_possessive = re.sub(r"['’]s?$", "", written)
        name = _OFFICE_BEFORE_NAME.sub("", without_possessive)
        # A person's name looks like that of a firm; what is owned by it ("Ulta Beauty's net sales") tells them apart.
        is_owner = without_possessive != written or name != without_possessive
        is_firm = not (_PERSON_NAME.fullmatch(name) or antecedents.is_treated_as_person(name, last_question))
        has_letters = re.search(r"[^\W\d_]{2}", name) is not None
        if has_letters and (is_owner or (asks_office and is_firm)):
            owners.add(name)
    owner = owners.pop() if len(owners) == 1 else ""
    if not owner or len(owner) > LONGEST_NAME:
        return ""
    year = None if asks_office else _YEAR_AT_END.search(last_question.rstrip(" ?.!"))
    return f"{message[:1].upper()}{message[1:].rstrip(' ?.!')} of {owner}{f' {year[0]}' if year else ''}?"


def _add_counted_noun_and_year(message: str, last_question: str) -> str:
    """Return a message with the noun that the last question counts, and with its year, where the message has none.

    "How many did Ulta Beauty remodel?" after "How many stores did it open during fiscal 2022?" means stores, and 2022.
    """
    counted, year = _COUNTED_NOUN.match(last_question), _YEAR_AT_END.search(last_question.rstrip(" ?.!"))
    if counted:
        message = re.sub(r"^(\W*how many) (?=(?:did|do|does|has|have)\b)", rf"\1 {counted[1]} ", message, flags=re.I)
    if year and not re.search(r"\d", message):
        message = f"{message.rstrip(' ?.!')} {year[0]}?"
    return message


def _replace_with_name(message: str, pronoun: re.Match[str], name: str) -> str:
    """Return the message with a name, or its possessive form, in place of a pronoun; unchanged for the name ""."""
    if not name:
        return message
    behind = message[pronoun.end() :]
    # "her" is an object ("did they pay her") or a possessive ("her salary"): a lower-case word after it decides.
    is_possessive_her = pronoun[0].lower() == "her" and re.match(r" [a-z]", behind)
    is_possessive = pronoun[0].lower() in ("his", "its", "their") or is_possessive_her
    return f"{message[: pronoun.start()]}{name}{'’s' if is_possessive else ''}{behind}"


def _find_person(question: str, answer_people: Sequence[str]) -> str:
    """Return the only person, by name or role, whom a question or its answer is about; "" if there is none or several.

    A wrong name would lead to another person's documents, so of two people none is chosen.
    """
    named = [name for name in _capitalised_names(question) if _PERSON_NAME.fullmatch(name)]
    asks_who = _ASKS_WHO.match(question) is not None
    if asks_who:
        # "Who is the new head of Foot Locker?" asks for a person, and what stands behind "of" is another one or a firm.
        named = [name for name in named if not _is_beside_person_asked_for(name, question)]
    answering = [name for name in answer_people if name not in named]
    if asks_who and answering:
        return answering[0] if len(answering) == 1 else ""
    if not named and not asks_who and (not answering or antecedents.speaks_of_people_in_general(question)):
        return antecedents.sole_role_in(question)
    return named[0] if len(named) == 1 else ""


def _find_person_in_earlier_questions(
    last_question: str, answer_people: Sequence[str], earlier_questions: Sequence[str]
) -> str:
    """Return the only person in the last of the earlier questions that names people; "" if that is unclear.

    After "What did Ingrid Falk find?" and "How much will the treatment cost?", "she" is still Ingrid Falk.
    """
    if answer_people or _ASKS_WHO.match(last_question) or _find_people(last_question):
        return ""
    for turn in reversed(list(earlier_questions)[-MOST_TURNS_BACK:]):
        if _ASKS_WHO.match(turn):
            return ""  # It asked for a person, whose name is unknown here.
        if found := _find_people(turn):
            is_person = found[0] == antecedents.sole_role_in(turn) or antecedents.is_treated_as_person(found[0], turn)
            return found[0] if len(found) == 1 and is_person else ""
    return ""


def _find_people(question: str) -> list[str]:
    """Return the names in a question that may be those of people, or else the person whom it calls by a role."""
    separate_names = [name for run in _capitalised_names(question) for name in re.split(r" (?:and|&) ", run)]
    people = [name for name in separate_names if _is_likely_person(name, question)]
    role = antecedents.sole_role_in(question)
    return people or ([role] if role else [])


def _is_likely_person(name: str, question: str) -> bool:
    """Return whether a name looks like that of a person, or the question treats it as one."""
    looks_like_person = _PERSON_NAME.fullmatch(name) is not None and not _NON_PERSON_WORD.search(name)
    return looks_like_person or antecedents.is_treated_as_person(name, question)


def _is_beside_person_asked_for(name: str, question: str) -> bool:
    """Return whether a name in a question for a person is not that person's own: "the wife of John Smith".

    Such a name stands behind a preposition or has a possessive ’s.
    """
    before, _, behind = question.partition(name)
    preposition = re.search(rf"\b(?:{_PREPOSITIONS})\b", before, re.I)
    return preposition is not None or behind.startswith(("'s", "’s"))


def people_in_last_answer(earlier: Earlier) -> list[str]:
    """Return the people whom the last answer names: in its first line, its groups, or else in its first quote."""
    first_line = without_marks(next(iter(earlier.answer.splitlines()), "")).strip(" *_.")
    if match := _PERSON_NAME.fullmatch(first_line):
        return [_strip_title_and_possessive(match[0])]
    if people := _people_in_group_answers(earlier):
        return people
    return _people_in_quote(earlier.sources[0], earlier.question) if earlier.sources else []


def _people_in_group_answers(earlier: Earlier) -> list[str]:
    """Return the people whom an answer of several documents names: those of its newest document.

    All of them if the question is about the past, if one of the documents shows no year, or if two are equally new;
    none if all name the same.
    """
    answers = {" ".join(answer.split()) for _, answer in earlier.groups}
    quoted = [source for source in earlier.sources if " ".join(source.text.split()) in answers]
    years_and_people = [
        (_latest_year_of(source), people) for source in quoted if (people := _people_in_quote(source, earlier.question))
    ]
    if len({tuple(people) for _, people in years_and_people}) < 2:
        return []
    newest_year = max(year for year, _ in years_and_people)
    chosen = [people for year, people in years_and_people if year == newest_year]
    # Who held an office once is not who holds it by the newest document.
    is_past = YEAR.search(earlier.question) or re.search(r"\b(?:was|were|did)\b", earlier.question, re.I)
    if len(chosen) > 1 or is_past or not all(year for year, _ in years_and_people):
        chosen = [people for _, people in years_and_people]
    return list(dict.fromkeys(chain.from_iterable(chosen)))


def _latest_year_of(source: Source) -> int:
    """Return the first year in a source's date, or else the last one in its title or file name; 0 if it shows none."""
    if source.date and (year := YEAR.search(source.date)):
        return int(year[0])
    # In "policy_2024.docx" no border of a word stands before the year.
    years = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", f"{source.title} {source.source}")
    return max(map(int, years), default=0)


def _people_in_quote(source: Source, question: str) -> list[str]:
    """Return the people whom a quote names, without those of the question and without firms.

    The result is empty if the question asks for an office that the quote, its heading and its title do not mention.
    """
    quote = " ".join(source.text.split())
    office = _OFFICE_ASKED_FOR.fullmatch(_TIME_AT_END.sub("", question.rstrip(" ?.!")))
    office_noun = office["office"].split()[-1] if office else ""
    mentioned = words(f"{source.title} {source.heading} {quote}")
    if office_noun.islower() and frozenset(words(office_noun)).isdisjoint(mentioned):
        return []
    # Of a row it is whoever stands under what was asked for, and nobody else on duty that day.
    cells = [cell for cell in _LABELLED_CELL.finditer(quote) if _PERSON_NAME.fullmatch(cell["value"])]
    asked_values = [cell["value"] for cell in cells if _names_whole_label(cell["label"], question)]
    searched = asked_values[0] if len(asked_values) == 1 else quote
    people = [
        _strip_title_and_possessive(match[0])
        for match in _PERSON_NAME.finditer(searched)
        if not _NON_PERSON_WORD.search(match[0]) and not _COMPANY_SUFFIX.match(searched, match.end())
    ]
    return [name for name in dict.fromkeys(people) if name not in question]


def _names_whole_label(label: str, question: str) -> bool:
    """Return whether a question contains all the words of a column's label, such as "race officer"."""
    return bool(words(label)) and frozenset(words(label)) <= frozenset(words(question))


def _strip_title_and_possessive(name: str) -> str:
    """Return a person's name without a title such as "Dr", which tables leave out, and without a possessive ’s."""
    return re.sub(r"['’]s?$", "", _PERSON_TITLE.sub("", name))


def _capitalised_names(question: str) -> list[str]:
    """Return the runs of capitalised words after a question's first word, each once, without a possessive ’s."""
    # The first word has a capital in every sentence.
    second_word = question.find(" ") + 1
    runs = [match.group() for match in names.NAME.finditer(question, second_word)] if second_word else []
    without_possessive = [re.sub(r"['’]s?$", "", run.rstrip(".,")) for run in runs]
    return [name for name in dict.fromkeys(without_possessive) if re.search(r"[^\W\d_]{2}", name)]


def _complete_fragment(question: str, fragment: str) -> str:
    """Return the previous question with a fragment in place of the part that it replaces; "" if there is none.

    "When?" and "In how many countries?" replace the question words; "the chief financial officer" replaces "the
    chief executive officer"; "for children" replaces "for adults".
    """
    stem, fragment = question.rstrip(" ?.!"), fragment.rstrip(" ?.!")
    if fragment.casefold() == "why not":
        return _ask_why_not(stem)
    if asks_people := _ASKS_PEOPLE_AT_OCCASION.fullmatch(fragment):
        occasion = antecedents.occasion_in(stem)
        preposition = _PREPOSITION_BEFORE_OCCASION[asks_people.lastgroup or "state"]
        return f"{fragment}{preposition} {occasion}?" if occasion else ""
    question_phrase = _QUESTION_PHRASE.match(stem)
    if question_phrase and _QUESTION_WORDS_ALONE.fullmatch(fragment):
        return _replace_question_words(stem, question_phrase, fragment)
    if _CLAUSE_START.match(fragment):
        return ""
    return (
        counterparts.replace_with_counterpart(stem, fragment)
        or _ask_for_other_group(stem, fragment)
        or _replace_similar_words(stem, fragment)
        or _ask_for_other_attribute(stem, fragment)
    )


def _replace_question_words(question: str, question_phrase: re.Match[str], new_words: str) -> str:
    """Return "When was it done?" for "At how many sites was it done" and "when"; "" where that has no meaning."""
    opening = f"{new_words[:1].upper()}{new_words[1:]}"
    if _WHO_IS.match(question):
        # "Who was absent at the meeting?" asks nothing of which "where" would be a part; the meeting was somewhere.
        occasion = antecedents.occasion_in(question) if re.fullmatch("where|when|how long", new_words, re.I) else ""
        return f"{opening} was {occasion}?" if occasion else ""
    predicate = question[question_phrase.end() :].lstrip()
    verb = re.match(r"(?:is|are|was|were|has|have|had)\b", predicate, re.I)
    if question_phrase["noun"] and not question_phrase["at"] and verb:
        # The noun of "Which patients were treated" is the subject of "When were patients treated".
        predicate = f"{verb[0]} {question_phrase['noun'].strip()}{predicate[verb.end() :]}"
    return f"{opening} {predicate}?"


def _ask_why_not(stem: str) -> str:
    """Return "Why didn't the trustees agree?" for "Did the trustees agree"; "" for what is no yes-no question."""
    match = _YES_NO_QUESTION.fullmatch(re.sub(r",? or not$", "", _without_leading_connectives(stem)))
    if match is None or re.search(r"\b(?:not|never|no)\b", match["rest"], re.I):
        return ""
    auxiliary = match["auxiliary"].lower()
    negated = _IRREGULAR_NEGATIONS.get(auxiliary, f"{auxiliary}n't")
    return f"Why {negated} {match['rest']}?"


def _ask_for_other_group(stem: str, fragment: str) -> str:
    """Return "How much do pensioners pay?" for "How much does an adult pay" and "pensioners"; else ""."""
    payer = _ASKS_WHAT_GROUP_PAYS.match(stem)
    if payer is None or not (_PAYING_GROUP.fullmatch(payer["noun"]) and _PAYING_GROUP.fullmatch(fragment)):
        return ""
    opening = stem[: payer.start("who")]
    is_plural = fragment.casefold().endswith(("s", "en", "staff"))
    if is_plural:
        opening = re.sub(r"\bdoes $", "do ", opening, flags=re.I)
    return f"{opening}{fragment}{stem[payer.end('who') :]}?"


def _ask_for_other_attribute(stem: str, fragment: str) -> str:
    """Return "What is the deposit of flat 3B?" for "What is the rent of flat 3B" and "the deposit"; else ""."""
    match = _ASKS_ATTRIBUTE.match(stem)
    if match is None or not _NOUN_PHRASE.fullmatch(fragment) or _ASKS_EVENT_OF_THING.fullmatch(stem):
        return ""  # "When was the roof repaired" and "the cost": no cost is repaired
    return f"{stem[: match.start('thing')]}{fragment}{stem[match.end('thing') :]}?"


def _replace_similar_words(stem: str, fragment: str) -> str:
    """Return the question with the fragment in place of equally many words, at least half of them equal; else "".

    "the chief financial officer" takes the place of "the chief executive officer". Of several such places the one with
    most equal content words is taken.
    """
    # A fragment that begins with a preposition replaces a phrase with one (`_replace_phrase`).
    if re.match(rf"(?:{_PREPOSITIONS})\b", fragment, re.I):
        return ""
    tokens, new_tokens = stem.split(), fragment.split()
    best_start, most_equal = 0, 0
    for start in range(1, len(tokens) - len(new_tokens) + 1):
        pairs = list(zip(tokens[start : start + len(new_tokens)], new_tokens, strict=True))
        equal = [old for old, new in pairs if old.casefold() == new.casefold()]
        different = len(pairs) - len(equal)
        equal_content = sum(bool(words(token)) for token in equal)
        # With fewer equal words than different ones the fragment is about something else.
        if 0 < different <= len(equal) and equal_content > most_equal:
            best_start, most_equal = start, equal_content
    if most_equal == 0:
        return ""
    return " ".join([*tokens[:best_start], *new_tokens, *tokens[best_start + len(new_tokens) :]]) + "?"


def _replace_phrase(question: str, fragment: str) -> str:
    """Return the question with the fragment in place of a phrase or name of the same kind; "" if there is none.

    A fragment that begins with a preposition, "in children", goes to the end if it replaces nothing.
    """
    stem, fragment = question.rstrip(" ?.!"), fragment.rstrip(" ?.!")
    replaced = _replace_year(stem, fragment) or _replace_phrases_at_end(stem, fragment)
    replaced = replaced or _replace_place_before_time(stem, fragment)
    if replaced:
        return replaced
    indefinite_noun = _INDEFINITE_NOUN.search(stem)
    is_only_article = len(re.findall(r"\ban? ", stem, re.I)) == 1
    if indefinite_noun and is_only_article and re.fullmatch(r"an? [\w-]+(?: [\w-]+)?", fragment, re.I):
        return f"{stem[: indefinite_noun.start()]}{fragment}{stem[indefinite_noun.end() :]}?"
    if re.match(rf"(?:{_PREPOSITIONS})\s", fragment, re.I):
        return _replace_prepositional_phrase(stem, fragment)
    last_phrase = _LAST_PHRASE.match(stem)
    if last_phrase and _POPULATION.search(last_phrase["object"]) and _POPULATION.search(fragment):
        return f"{last_phrase['before']}{last_phrase['preposition']} {fragment}?"
    is_date = _is_date_or_number(fragment)
    name = _NAME_AT_END.search(stem)
    if name and fragment[:1].isupper() and _is_date_or_number(name[0]) == is_date:
        return f"{stem[: name.start()]}{fragment}?"
    same_kind = [old_name for old_name in _capitalised_names(stem) if _is_date_or_number(old_name) == is_date]
    if len(same_kind) != 1:
        return ""
    old_name = same_kind[0]
    # "the Kindle" after "the Kobo"
    new_name = fragment.removeprefix("the ") if f" the {old_name}" in stem else fragment
    return f"{stem.replace(old_name, new_name, 1)}?" if new_name[:1].isupper() else ""


def _replace_year(stem: str, fragment: str) -> str:
    """Return the question with the year of a fragment, "in 2022", in place of the one at its end; "" for other forms.

    What the year belongs to stays: "in the first half of 2023" becomes "in the first half of 2022".
    """
    only_year, old_year = _YEAR_ALONE.fullmatch(fragment), _YEAR_AT_END_OF_TIME.search(stem)
    # "May 3, 2023" is a day, "RFC 2026" a name, and "since 2015" a beginning; of two years either may be meant.
    if only_year is None or old_year is None or len(YEAR.findall(stem)) != 1:
        return ""
    return f"{stem[: old_year.start('year')]}{only_year['year']}?"


def _replace_place_before_time(stem: str, fragment: str) -> str:
    """Return "sales in Asia in 2023?" for "in Asia" after "sales in Europe in 2023?"; "" for other questions."""
    place = _IN_PLACE.fullmatch(fragment)
    place_and_time = _PLACE_AND_TIME.search(stem)
    if place is None or place_and_time is None or _is_date_or_number(place["place"]):
        return ""
    return f"{stem[: place_and_time.start()]}{fragment}{place_and_time['time']}?"


def _replace_phrases_at_end(stem: str, fragment: str) -> str:
    """Return the question with several phrases in place of as many at its end, with the same prepositions; else "".

    "in the week of 24 March" replaces "in the week of 17 March", but no longer text.
    """
    prepositions = [match[0].casefold() for match in _PREPOSITION.finditer(fragment)]
    if len(prepositions) < 2 or not _PREPOSITION.match(fragment):
        return ""
    last_matches = list(_PREPOSITION.finditer(stem))[-len(prepositions) :]
    if [match[0].casefold() for match in last_matches] != prepositions:
        return ""
    start = last_matches[0].start()
    return f"{stem[:start]}{fragment}?" if len(stem[start:].split()) <= len(fragment.split()) else ""


def _replace_prepositional_phrase(stem: str, fragment: str) -> str:
    """Return the question with a fragment such as "in children" in place of a phrase like it, or else at its end.

    "with naproxen" takes the place of the comparator ("placebo"), of a phrase with the same or an interchangeable
    preposition inside the question, or of its last phrase if that has the same preposition, or names a trial arm, or
    people where the fragment names people.
    """
    preposition, _, new_object = fragment.partition(" ")
    preposition = preposition.lower()
    comparator = _COMPARATOR.search(stem)
    is_inside = comparator is not None and comparator.end() < len(stem)
    if comparator and is_inside and preposition in ("with", "on", "for") and "group" not in fragment:
        return f"{stem[: comparator.start()]}{new_object}{stem[comparator.end() :]}?"
    last_phrase = _LAST_PHRASE.match(stem)
    last_object = last_phrase["object"] if last_phrase else ""
    is_same_preposition = last_phrase is not None and last_phrase["preposition"].lower() == preposition
    name_populations = bool(_POPULATION.search(last_object) and _POPULATION.search(fragment))
    if not is_same_preposition and not name_populations:
        interchangeable = _INTERCHANGEABLE_PREPOSITIONS.get(preposition, (preposition,))
        for inner in _INNER_PHRASE.finditer(stem):
            if inner["preposition"].lower() in interchangeable:
                return f"{stem[: inner.start()]}{fragment} {stem[inner.end() :]}?"
    if last_phrase and (is_same_preposition or name_populations or _TRIAL_ARM.search(last_object)):
        return f"{last_phrase['before']}{fragment}?"
    return f"{stem} {fragment}?"


def _is_date_or_number(name: str) -> bool:
    """Return whether every word of a name is a day, a month, a date or a number."""
    return all(_DATE_WORD.fullmatch(word) for word in name.split())


def continued_documents(message: str, rewrite: Rewrite, earlier: EarlierState | None) -> list[str]:
    """Return the id of the document that a follow-up searches first: the first one that the last answer cites.

    It is another one if only that one's quote names the person meant, or has any of the message's own words. The list
    is empty if the last answer cites nothing, if the message stands alone, or if it names nothing itself and several
    documents are cited: each of these speaks of what it means. Typos are ignored, and a question about an office is
    taken to be about the organisation of the document before.

    Args:
        message: The user's message.
        rewrite: The standalone question to which the message was rewritten.
        earlier: The last answer.
    """
    spelled = " ".join(message.split())
    # A corrected spelling is no sign that the message leaned on the conversation.
    for written, corrected in rewrite.corrections:
        spelled = spelled.replace(written, corrected)
    # "Who is the landlord?" leans on no words of the conversation, and yet means the lease that was just read.
    asks_office = _ASKS_OFFICE_HOLDER.match(_without_leading_connectives(spelled)) is not None
    leans_on_conversation = spelled != rewrite.question or asks_office
    if not leans_on_conversation or not earlier or not earlier["citations"]:
        return []
    # "The repair" is one of a thing, of which other documents may say more than the one cited first; and who held an
    # office in another year is said in the documents of that year.
    asks_holder = _ASKS_HOLDER_AT_TIME.fullmatch(spelled.rstrip(" ?.!"))
    if match_bare_noun(spelled) or asks_holder or group_counted_then(spelled):
        return []
    # What "How many copies?" found may be copies of anything.
    if _HOW_MANY_ALONE.fullmatch(earlier["question"]):
        return []
    citations = earlier["citations"]
    # Whoever "she" is by the answer is sought in the document that names her, and not in an older one.
    known = f"{spelled} {earlier['question']}"
    added_names = [name for name in _capitalised_names(rewrite.question) if name not in known]
    people = [name for name in added_names if _PERSON_NAME.fullmatch(name)]
    naming_person = [citation for citation in citations if people and people[0] in citation["quote"]]
    # What several documents said, each in its own words, is no answer of the first of them.
    if not naming_person and earlier["answer"].startswith(SEVERAL):
        return []
    if has_no_subject(spelled) and len({citation["document_id"] for citation in citations}) > 1:
        return []
    new_words = own_words(spelled) - frozenset(words(earlier["question"]))
    with_new_words = [citation for citation in citations if new_words & frozenset(words(citation["quote"]))]
    first_choice = (naming_person or with_new_words or citations)[0]
    return [str(first_choice["document_id"])]


def new_names(message: str) -> list[str]:
    """Return the terms by which a follow-up may refer to another document than the last answer.

    These are the names, years and words for documents in the message, and the only content word of a question without a
    pronoun: "What does insulin do?" may be about any document.
    """
    fragment = _without_leading_connectives(message)
    is_question = _CLAUSE_START.match(fragment) is not None
    # The first word of a question is no name, while that of a fragment, "Potato", may be one.
    capitalised = _capitalised_names(fragment if is_question else f"and {fragment}")
    capitalised = [name for name in capitalised if not _LEADING_CONNECTIVES.fullmatch(name)]
    is_whole_question = is_question and fragment == message and not _BACK_REFERENCE.search(fragment)
    topics = words(fragment) if is_whole_question else []
    only_topic = topics if len(topics) == 1 else []
    return [*capitalised, *YEAR.findall(fragment), *_DOCUMENT_WORD.findall(fragment), *only_topic]


def may_mean_several(message: str, standalone_question: str, last_question: str) -> bool:
    """Return whether "it" of a message may mean the one of several things that the last question asks for.

    "How much did it use?" after "Which house used the most heat?" may mean a house that only the answer names.
    """
    is_appended = standalone_question != last_question and standalone_question.startswith(last_question)
    return is_appended and antecedents.asks_which_one(last_question) and _IT_OR_THEY.search(message) is not None


def new_subject(message: str) -> str:
    """Return the name or thing that a fragment asks about instead: "Potato" of "What about Potato?"; "" for none."""
    fragment = _fragment_behind_connectives(message)
    if not fragment or _CLAUSE_START.match(fragment):
        return ""
    subject = re.sub(r"^(?:(?:of|for|about) )?(?:the (?=[A-Z]))?", "", fragment)
    is_capitalised = all(word[:1].isupper() for word in subject.split())
    is_name = is_capitalised and not _is_date_or_number(subject) and bool(words(subject))
    return subject if is_name or counterparts.names_kind_of_thing(subject) else ""


def new_subject_spelled(message: str, last_question: str = "") -> tuple[str, ...]:
    """Return the spellings of the thing or people that a fragment asks about instead, such as singular and plural.

    The result is () if the message is no such fragment.
    """
    fragment = _fragment_behind_connectives(message)
    subject = new_subject(message) or group_counted_then(message)
    subject = subject or counterparts.thing_in_fragment(last_question.rstrip(" ?.!"), fragment)
    return counterparts.people_named_in(fragment) or ((subject,) if subject else ())


def _fragment_behind_connectives(message: str) -> str:
    """Return "Potato" for "What about Potato?"; "" for a message that begins with no connective."""
    connectives = _LEADING_CONNECTIVES.match(message)
    return message[connectives.end() :].strip(" ?.!") if connectives else ""


def has_unresolved_reference(question: str) -> bool:
    """Return whether a question contains "she", "it" or the like and nothing before it that the word can mean."""
    referring = _NAME_LIKE_PRONOUN.sub(" ", _IMPERSONAL_IT.sub(" ", question))
    reference = _BACK_REFERENCE.search(referring)
    if reference is None or _stands_alone(question):
        return False
    is_possessive = reference[0].lower() in _POSSESSIVE_PRONOUNS
    return not (is_possessive and words(referring[: reference.start()]))


def is_unresolved(message: str, standalone_question: str) -> bool:
    """Return whether a follow-up still contains a pronoun of unknown meaning, alone or behind the last question.

    A message that is appended to the last question is resolved if it names a thing ahead of the pronoun: "Does the
    dog need a diet for it?".
    """
    typed = " ".join(message.split())
    is_appended = typed != standalone_question and standalone_question.endswith(typed)
    if not is_appended:
        return has_unresolved_reference(standalone_question)
    reference = _BACK_REFERENCE.search(typed)
    names_thing_first = reference is not None and _DETERMINER.search(typed[: reference.start()]) is not None
    return has_unresolved_reference(typed) and not names_thing_first


def names_nobody(question: str) -> bool:
    """Return whether a question contains "he" or "she" and nobody whom the pronoun can mean."""
    return bool(_HE_OR_SHE.search(question)) and has_unresolved_reference(question)
