"""Follow-up questions by rule: a message that depends on earlier questions becomes one that stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.conversation.antecedents import (
    asks_about_event_or_amount,
    asks_which_one,
    begins_with_state,
    document_meant_by_it,
    is_treated_as_person,
    is_treated_as_thing,
    names_no_topic,
    occasion_in,
    replace_it_with_organisation,
    second_question_refers_to_first,
    sole_role_in,
    sole_subject_in,
    sole_thing_in,
    speaks_of_people_in_general,
    thing_meant_by_it,
    without_final_particle,
)
from preflight_rag.conversation.bare_nouns import add_owner_of_noun, match_bare_noun
from preflight_rag.conversation.counterparts import (
    names_kind_of_thing,
    people_named_in,
    replace_with_counterpart,
    thing_in_fragment,
)
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
"""A question for the holder of an office, which an organisation, a town or a contract has and no finding does."""
_OFFICE_BEFORE_NAME = re.compile(r"^.*\b(?:C[EFOT]O|Officer|President|Chair\w*|Director|Mayor|Head) of (?:the )?", re.I)
"""An office before the name of what has it, which are one run of capitals: "CEO of Amcor"."""
_ASKS_FIGURE = re.compile(
    r"(?:what|how (?:high|large|big)) (?:is|was|were|are)"
    rf"(?: (?!(?:{_PREPOSITIONS})\b)[a-z]+(?:-[a-z]+)?){{2,4}}[ ?.!]*$",
    re.I,
)
"""A question for a figure that names nobody: "what was net income?"."""
_NOUN_BEFORE_PRONOUN = re.compile(
    r"(?:(?:(?:in|for|at|on) )?(?:which|what|how many)|(?:are|were) there(?: any)?"
    r"|(?:show|list|name|find|give)(?: me)?)"
    r" (?P<before>(?:[\w'’-]+ ){2,12}?)(?P<pronoun>their|its|themselves|itself)\b",
    re.I,
)
"""A question with a pronoun that may stand for its own subject: "which projects cost more than their budget"."""
_PLURAL_NOUN = re.compile(r"[\w-]{2,}(?<![su])s|people|(?:wo)?men|children", re.I)
_AUXILIARY_BEFORE_SUBJECT = re.compile(r"(?:do|does|did|can|could|will|would|should|may|must)", re.I)
"""Verbs that another subject follows: in "which items did they lose of their stock" the items have nothing."""
_SUBJECT_WITHOUT_THE = re.compile(
    r"(?:what|how|where|when|why) (?:does|do|did|can|could|will|would) (?:an? )?(?P<subject>[\w'’-]+)"
    r" (?:do|be|have)\b",
    re.I,
)
"""A question about one thing without an article that points to something known: "what does insulin do"."""
_RESEARCHERS = re.compile(
    r"(?:authors|researchers|investigators|scientists|doctors|subjects|participants|volunteers)", re.I
)
_THERE_AT_END = re.compile(r" (?:is|are|was|were) there\W*$", re.I)
_IMPERSONAL_IT = re.compile(
    r"\bit (?:takes?\b(?!\W*$)|rains?\b|snows?\b|(?!costs? to [a-z]+\W*$)\w+ (?:to|that)\b)", re.I
)
"""An "it" that stands for nothing; what costs something "to renew" is a thing, unless a thing stands behind that."""
_POPULATION = re.compile(
    r"\b(?:adults?|child(?:ren)?|kids|infants?|bab(?:y|ies)|newborns?|toddlers?|teenagers?|adolescents?|(?:wo)?m[ae]n"
    r"|pregnan\w+|elderly|seniors?|patients|people|mice|rats|animals|dogs|cats)\b",
    re.I,
)
_TRIAL_ARM = re.compile(
    r"\b(?:groups?|arms?|placebo|controls?|(?:usual|standard) care|sham|comparators?|treated|untreated)\b", re.I
)
"""Words for the arms of a trial: a fragment that names another arm takes the place of one, whatever its preposition."""
_COMPARATOR = re.compile(r"\b(?:placebo|sham|usual care|standard care)\b(?! (?:group|arm))", re.I)
"""The comparator of a study arm where it stands for the arm's patients: "of placebo patients"."""
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
"""What stands between such a question and the occasion."""
_WHO_IS = re.compile(r"who(?:['’]s| is| are| was| were| will be) ", re.I)
_YES_NO_QUESTION = re.compile(
    r"(?P<auxiliary>is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|must|may) (?P<rest>.+)", re.I
)
_IRREGULAR_NEGATIONS = {"can": "can't", "may": "can't", "will": "won't"}
_ASKS_FIRM_FIGURE = re.compile(
    r"(?:how (?:many|much)|what|which)\b.*\b(?:do|does|did|has|have|had|will|would) it\b", re.I
)
"""What is asked of a firm that does or has something: "how many stores did it open"."""
_ASKS_WHO = re.compile(r"\W*(?:who|whom|which (?:person|man|woman))\b", re.I)
_AUXILIARIES = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must"
_NOT_AUXILIARY = rf"(?!(?:{_AUXILIARIES})\b)"
_ASKS_ABOUT_SUBJECT = re.compile(
    rf"\b(?:what|who|where|when) (?:is|was|are|were)"
    rf" (?P<subject>{_NOT_AUXILIARY}[^\s?]+(?: {_NOT_AUXILIARY}[^\s?]+){{0,11}}?)"
    r"(?: (?:called|named|located|born|held|made|kept|stored))?$",
    re.I,
)
"""The subject of a question about one thing: "What was [the annual dividend of 2023]?"."""
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
"""A preposition with up to four words before a verb or preposition: "of etoricoxib" of a dose that was given."""
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
"""Words that open a message and are no name in front of its question: "Okay, when does she work?"."""
_DOCUMENT_WORD = re.compile(
    r"\b(?:contract|agreement|lease|rules|constitution|leaflet|notice|minutes|report|letter|invoice|receipt|e?mail|article"
    r"|paper|book|manual|handbook|brochure|slides|presentation|spreadsheet|list|register|log|policy|page|website|memo)\b",
    re.I,
)
"""Words for documents: "what about in the contract?" may mean another one than the last answer cites."""
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ASKS_TROUBLE_WITH = re.compile(
    r"^(?P<asked>\W*(?:(?:and|so) )?what(?:['’]s| is| was)) (?:wrong|the matter|the (?:problem|trouble|issue)|up) with"
    r" (?P<thing>\w)",
    re.I,
)
"""A question for what a thing suffers from: "What was wrong with the boiler?" speaks of the boiler."""
_ASKS_ABOUT_EVENT = re.compile(r"(?:(?:and|so) )?(?:when|where|how (?:bad|serious)) (?:was|is) it", re.I)
_GENERIC_NOUN_AT_END = re.compile(
    r"\bthe (?:stud(?:y|ies)|trials?|patients?|participants?|subjects|volunteers|(?:wo)?m[ae]n|authors?|company"
    r"|meeting|filing|report|paper|article|document|book|project|people|groups?)\W*$",
    re.I,
)
"""A thing of a kind, as the whole of what is asked about: "How old were the women?" means those just spoken of."""
LONGEST_NAME = 100
"""Characters of a name that takes the place of a pronoun; a longer run of capitals is none. A guess."""
MOST_WORDS_OF_GENERIC_QUESTION = 3
"""Content words up to which such a question leans on the one before it; a guess."""
MOST_TURNS_BACK = 4
"""Questions among which the person is looked for whom "she" means, if the last one speaks of nobody; a guess."""
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
"""People of whom rules say what they pay or get: a fragment with others of them takes their place."""
_INTERCHANGEABLE_PREPOSITIONS = {"with": ("with", "on"), "on": ("on", "with")}
"""Prepositions for what patients get: "patients on etoricoxib", "and with placebo?"."""

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
"""A question of which the subject is "it", whatever else it names: "Does it work on Windows?"."""
_PRONOUN_PHRASE_AT_END = re.compile(r" (?:for|of|with) (?:that|this|them|it)(?=\W*$)")
_CAPITALISED_COMMON_NOUN = re.compile(
    r"(?:Club|Fund|Company|Board|Committee|Society|Trust|Trustees|Museum|Council|College|School|Association|Bank|Group"
    r"|Church|Parish|Estate|University|Hospital|Library|Foundation|Department|Ministry|Landlord|Tenant|Customer"
    r"|Supplier|Contractor|Client|Employer|Party|Parties|Agreement|Contract|Policy|Plan)"
)
"""A common noun that a contract writes like a name: "for the Club". It is nobody's name."""
_RELATIVE_OF_PERSON = re.compile(
    rf"(?P<owner>[^?]{{2,100}})['’]s? (?:[a-z]+ )?(?:{names.RELATIVES}|family|deputy|assistant|successor|predecessor"
    r"|boss|team|dog|cat|horse)",
    re.I,
)
"""Somebody who belongs to a person: "Mina Lyle’s father"."""
_DETERMINER = re.compile(r"\b(?:the|our|your|my|an?) (?!ones?\b)", re.I)
_LABELLED_CELL = re.compile(r"(?:^|\| )(?P<label>[^|:]{2,60}): (?P<value>[^|]+?)(?= \||$)")
"""A cell of a row that is written out with its columns: "Race officer: Oonagh Flint"."""
_NOUN_PHRASE = re.compile(r"(?:the|our|your|its|their) [a-z-]+(?: [a-z-]+){0,3}")


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
    core, clause, spoken = "", "", ""
    whole: list[str] = []
    turns = write_out_years([" ".join(text.split()) for text in [*earlier, message]])
    for place, turn in enumerate(turns):
        # What a fragment means is known where it made a single question of the one before.
        whole.append(turns[place - 1] if not spoken or "? " in spoken else spoken)
        if place and turn.casefold() == turns[place - 1].casefold():
            continue  # the same again means the same
        turn = _complete_with_office(_move_leading_name_into_question(turn), turns[:place])
        # `people` are those of the last answer, so only the message itself gets names in place of pronouns.
        is_last = place and place == len(turns) - 1 and not _has_own_antecedent(turn)
        is_named = False
        if is_last and (named := _resolve_references(turn, clause or core, people, whole[1:-1], year)) != turn:
            turn, is_named = named, True
        rest = _LEADING_CONNECTIVES.sub("", turn, count=1) if _LEADING_CONNECTIVES.match(turn) else turn
        if is_named and rest != turn and _CLAUSE_START.match(rest):
            turn = rest = f"{rest[:1].upper()}{rest[1:]}"  # readers by rule know no "And how much" as a question
        is_office = _ASKS_OFFICE_HOLDER.match(rest) is not None
        if (is_office or (rest != turn and _ASKS_FIGURE.match(rest))) and (
            owned := _add_owner_and_year(rest, clause or core)
        ):
            core, clause, spoken = owned, "", owned
        elif is_office:
            core, clause, spoken = rest, "", rest
        elif (
            not core
            or (is_named and not _BACK_REFERENCE.search(rest))
            or (_stands_alone(rest) and not (rest != turn and _names_own_subject(rest)))
        ):
            # What "How many copies?" counts is that of the question before, which stays in front of the next one.
            leans = core != "" and not clause and _HOW_MANY_ALONE.fullmatch(rest) is not None
            core, clause, spoken = (core, turn, turn) if leans else (turn, "", turn)
        elif completed := _replace_name_before_holder_question(clause or core, rest, whole[1:]) or _complete_fragment(
            clause or core, rest
        ):
            core, clause = (core, completed) if clause else (completed, "")
            spoken = f"{core} {clause}".strip()
        elif _CLAUSE_START.match(rest) or not (replaced := _replace_phrase(clause or core, rest)):
            spoken = " ".join(part for part in (core, clause, turn) if part)
            clause = turn
        else:
            core, clause = (core, replaced) if clause else (replaced, "")
            spoken = f"{core} {clause}".strip()
    return _TWO_YEARS.sub(r"\1", spoken)


def _resolve_references(message: str, question: str, people: Sequence[str], before: Sequence[str], year: str) -> str:
    """Return the message with names in the place of its pronouns, and the year that "then" means.

    Args:
        message: The message.
        question: The question before it.
        people: The people named in the answer to that question.
        before: The questions before that one, oldest first.
        year: The year of which that answer speaks; "" if there is none.
    """
    named = _replace_pronoun(message, question, people, before)
    # The year of "Who was the leader in 1998?" is not that of the thing spoken of before.
    if named != message and not _asks_for_office_holder(question):
        named = _add_counted_noun_and_year(named, question)
    lead = _LEADING_CONNECTIVES.match(named)
    stem = question_without_then(named[lead.end() :] if lead else named) if year else ""
    owned = _add_owner_and_year(stem, question) if _ASKS_OFFICE_HOLDER.match(stem) else ""
    is_whole = owned != "" or (stem != "" and _stands_alone(stem) and not _BACK_REFERENCE.search(stem))
    is_whole = is_whole or counts_another_group_then(stem, question, year)
    return f"{(owned or stem).rstrip(' ?.!')} in {year}?" if is_whole else named


def _asks_for_office_holder(question: str) -> bool:
    """Return whether a question asks only who held an office at a time: "Who was the captain then?"."""
    stem = question.rstrip(" ?.!")
    bare = question_without_then(stem) or _TIME_AT_END.sub("", stem)
    return bare != stem and _ASKS_HOLDER.fullmatch(bare) is not None


def _replace_name_before_holder_question(question: str, fragment: str, before: Sequence[str]) -> str:
    """Return the last question about a thing with a name in the place of its own; "" if the question before is one.

    After "When was Hamm released?" and "Who was the leader then?", "And Potato?" is another release.
    """
    is_name = fragment[:1].isupper() and _CLAUSE_START.match(fragment) is None and sole_role_in(f"the {fragment}") == ""
    if not is_name or _PERSON_NAME.fullmatch(fragment.rstrip(" ?.!")) or not _asks_for_office_holder(question):
        return ""
    last = next((turn for turn in reversed(before[-MOST_TURNS_BACK:]) if not _asks_for_office_holder(turn)), "")
    return _replace_phrase(last, fragment) if last and len(_capitalised_names(last)) > 0 else ""


def _move_leading_name_into_question(message: str) -> str:
    """Return a question with the name in front of it in the place of its pronoun; other messages unchanged."""
    match = _NAME_BEFORE_QUESTION.match(message)
    if match is None or not _CLAUSE_START.match(match["clause"]) or _OPENING_WORD_NOT_NAME.match(match["name"]):
        return message
    clause = match["clause"]
    pronoun = _HE_OR_SHE.search(clause) or _IT_OR_THEY.search(clause)
    if pronoun is None:
        return message
    return _replace_with_name(f"{clause[:1].upper()}{clause[1:]}?", pronoun, match["name"])


def _complete_with_office(message: str, before: Sequence[str]) -> str:
    """Return "Who was the treasurer in 2021?" for "And who was it in 2021?"; other messages unchanged.

    The office is that of the last question for a person, which need not be the one before: in between, a conversation
    speaks of the person.
    """
    match = _ASKS_HOLDER_AT_TIME.fullmatch(message.rstrip(" ?.!"))
    asked = next((turn for turn in reversed(before[-MOST_TURNS_BACK:]) if _ASKS_WHO.match(turn)), "")
    stem = _TIME_AT_END.sub("", asked.rstrip(" ?.!"))
    if match is None or _BACK_REFERENCE.search(stem):
        return message
    if office := _OFFICE_ASKED_FOR.fullmatch(stem):
        return f"Who {match['verb'].lower()} {office['office']} {match['then']}?"
    act = _ASKS_WHO_DID.fullmatch(stem)
    return f"Who {act['act']} {match['then']}?" if act else message


def _stands_alone(text: str) -> bool:
    """Return whether a message names its subject, so that it can be understood without the conversation."""
    asked = text.rstrip(" ?.!")
    if (
        has_no_subject(text)
        or question_without_then(text)
        or _ASKS_EVENT_WITHOUT_SUBJECT.match(text[:1].lower() + text[1:])
        or _QUESTION_WORDS_ALONE.fullmatch(asked)
        or _ASKS_PEOPLE_AT_OCCASION.fullmatch(asked)
    ):
        return False
    personal = _IMPERSONAL_IT.sub(" ", text)
    if len(words(text)) > 2 and (_capitalised_names(text) or re.search(r"\b(?:of|in|at|for|on) ", text)):
        personal = _THERE_AT_END.sub(" ", personal)  # "How many cases of cat flu were there?" points to nothing
    pointer = _BACK_REFERENCE.search(personal)
    if pointer and _has_own_antecedent(text):
        return True
    if pointer and (len(words(personal[: pointer.start()])) < 2 or not words(personal[pointer.end() :])):
        return False
    content = len(words(text))
    if content <= MOST_WORDS_OF_GENERIC_QUESTION and _GENERIC_NOUN_AT_END.search(text) and not _capitalised_names(text):
        return False
    if not _CLAUSE_START.match(text):
        return content >= 4
    return content >= 2 or (content == 1 and (_ASKS_DEFINITION.match(text) is not None or _names_own_subject(text)))


def _has_own_antecedent(text: str) -> bool:
    """Return whether a pronoun refers to the question's own subject: "which items are below their level"."""
    if second_question_refers_to_first(text):
        return True
    match = _NOUN_BEFORE_PRONOUN.match(text)
    if match is None:
        return False
    before, plural = match["before"].split(), match["pronoun"].lower() in ("their", "themselves")
    if re.fullmatch(_AUXILIARIES, before[0], re.I) or re.fullmatch(_AUXILIARIES, before[-1], re.I):
        return False  # "which are their", "what items are their"
    for place, word in enumerate(before[:4]):
        after = before[place + 1 :]
        if not after or re.fullmatch(_PREPOSITIONS, word, re.I):
            return False
        if plural and _PLURAL_NOUN.fullmatch(word):
            # "which parts of their budget" and "which items did they lose" speak of somebody else's.
            near = len(after) == 1 and re.fullmatch("of", after[0], re.I)
            return not near and not _AUXILIARY_BEFORE_SUBJECT.fullmatch(after[0])
        if not plural and re.fullmatch(r"is|was|has|had|(?!\w*(?:need|seed)\b)\w+ed", after[0], re.I):
            return True
    return False


def _names_own_subject(text: str) -> bool:
    """Return whether a question's only content word names its subject, and not people or studies mentioned before."""
    match = _SUBJECT_WITHOUT_THE.match(text)
    if match is None or re.fullmatch(r"the|this|that|these|those|all|each|any|some", match["subject"], re.I):
        return False
    return bool(words(match["subject"])) and not (
        _POPULATION.fullmatch(match["subject"]) or _RESEARCHERS.fullmatch(match["subject"])
    )


def _replace_pronoun(message: str, question: str, people: Sequence[str], before: Sequence[str]) -> str:
    """Return the message with its pronoun replaced by the name that the pronoun stands for.

    The message is returned unchanged where there is no such name, or more than one.

    Args:
        message: The message.
        question: The question before it.
        people: The people named in the answer to that question.
        before: The questions before that one, oldest first.
    """
    person = _HE_OR_SHE.search(message)
    # "he" and "she" stand for people only; other names of the question are no candidates for them.
    if person:
        found = _find_person(question, people) or _find_person_in_earlier_questions(question, people, before)
        is_office = found != "" and f" the {found} " in f" {question.rstrip(' ?.!')} "
        put = _replace_with_name(
            message, person, f"the {found}" if is_office else found or _find_office_asked_for(question, people)
        )
        return _replace_person_with_relative(question, put) or put
    if (chosen := complete_which_one(message, question)) != message:
        return chosen
    noun = match_bare_noun(message)
    if noun or asks_for_another(message):
        # What is repaired, or replaced, is what "it" means where somebody asks whether it was.
        asked = "Was it repaired?"
        pronoun = _IT_OR_THEY.search(asked)
        thing_named = _find_thing_meant(asked, pronoun, question) if pronoun else ""
        return (
            add_owner_of_noun(message, noun, thing_named, question)
            if noun
            else replace_one_with_kind(message, thing_named)
        )
    thing = _IT_OR_THEY.search(_IMPERSONAL_IT.sub(lambda match: " " * len(match[0]), message))
    if not thing:
        return message
    if _ASKS_HOLDER_AT_TIME.fullmatch(message.rstrip(" ?.!")):
        return message  # "who was it": no thing
    if (acted := replace_it_with_organisation(message, question)) is not None:
        return acted or message
    found = _find_thing_meant(message, thing, question)
    if not found and _keeps_previous_topic(question):
        found = _find_thing_in_earlier_questions(message, thing, before)
    return _replace_with_name(message, thing, found)


def _replace_person_with_relative(question: str, fragment: str) -> str:
    """Return "What happened to Mina Lyle’s father?" for "Mina Lyle’s father" after the question about her; else ""."""
    match = _RELATIVE_OF_PERSON.fullmatch(_LEADING_CONNECTIVES.sub("", fragment, count=1).rstrip(" ?.!"))
    before, owner, behind = question.partition(match["owner"]) if match else ("", "", "")
    is_clear = match is not None and owner != "" and owner not in behind and not behind.startswith(("'", "’"))
    return f"{before}{match[0]}{behind}" if match and is_clear else ""


def _keeps_previous_topic(question: str) -> bool:
    """Return whether a question names no thing of its own, so that "it" is still what was spoken of before it."""
    is_of_it = _has_it_as_subject(question) and not _has_own_antecedent(question)
    return names_no_topic(question) or has_no_subject(question) or _asks_for_office_holder(question) or is_of_it


def _has_it_as_subject(question: str) -> bool:
    """Return whether a question is about "it": "Does it work on Windows?" is about no Windows."""
    return _IT_AS_SUBJECT.search(_IMPERSONAL_IT.sub(" ", question)) is not None


def _find_thing_in_earlier_questions(message: str, pronoun: re.Match[str], before: Sequence[str]) -> str:
    """Return what "it" stands for where the question before names nothing; "" if that is unclear.

    After "What happened to the Kestrel?" and "Was anybody hurt?", "Who repaired it?" still means the Kestrel.
    """
    is_one = pronoun[0].lower() in ("it", "its")
    for turn in list(before)[-MOST_TURNS_BACK:][::-1]:
        if not _keeps_previous_topic(turn):
            # "When was it?" asks for what happened, and not for the thing that it happened to.
            is_event = re.match(r"what happened\b", turn, re.I) and _ASKS_ABOUT_EVENT.fullmatch(message.rstrip(" ?.!"))
            return "" if is_event or not is_one else _find_thing_meant(message, pronoun, turn)
    return ""


def _find_office_asked_for(question: str, people: Sequence[str]) -> str:
    """Return the office that a question asks for, where its answer names several people or nobody: "the treasurer".

    Who holds it is for the documents to say; "her" is whoever does.
    """
    office = _OFFICE_ASKED_FOR.fullmatch(question.rstrip(" ?.!")) if len(people) != 1 else None
    if office and not people and _PERSON_NAME.search(office["office"]):
        return ""  # "the wife of John Smith" is told from him by what the answer says
    is_now = office is not None and re.match(r"(?:(?:and|but|so) )?who(?:['’]s| is)\b", question, re.I) is not None
    return office["office"] if office and is_now else ""


def _find_thing_meant(message: str, pronoun: re.Match[str], question: str) -> str:
    """Return what "it" or "they" of a message stands for in the question before it; "" if that is unclear."""
    is_one = pronoun[0].lower() in ("it", "its")
    question = _PRONOUN_PHRASE_AT_END.sub("", _ASKS_TROUBLE_WITH.sub(r"\g<asked> \g<thing>", question))
    if (is_one and asks_which_one(question)) or _has_it_as_subject(question):
        return ""
    subject = _match_subject(question)
    own = [name for name in _capitalised_names(question) if name.casefold() not in message.casefold()]
    own = [name for name in own if len(name) <= LONGEST_NAME and not _is_capitalised_common_noun(name, question)]
    own = [name for name in own if not _is_date_or_number(name)] or own
    if subject and len(own) == 1 and _stands_for_actor(message, pronoun) and _has_quantity(own[0], subject["subject"]):
        return re.sub(r"['’]s?$", "", own[0])
    asks_who = is_one and subject is not None and _ASKS_WHO.match(question) is not None
    if asks_who:
        subject = None  # whoever is asked for is a person
    people = [name for name in own if is_one and _may_be_person(name, question, message)]
    if subject and not _BACK_REFERENCE.search(subject["subject"]) and (own or len(words(subject["subject"])) > 1):
        if subject["subject"] in people:
            return ""
        return thing_meant_by_it(subject["subject"], message) if is_one else subject["subject"]
    if not is_one:
        return ""
    firms = [name for name in own if name not in people]
    if named := sole_subject_in(question, firms, message):
        return named
    if document := document_meant_by_it(question, message):
        return document
    # A name that may be a firm's may be meant beside the thing.
    sure = [name for name in people if is_treated_as_person(name, question)]
    spoken_of = "" if asks_about_event_or_amount(message) else sole_thing_in(question, own, sure)
    if spoken_of and all(name in spoken_of for name in firms):
        return thing_meant_by_it(spoken_of, message)
    is_sure = len(firms) == 1 == len(own) and not asks_who and not _is_date_or_number(firms[0])
    return firms[0] if is_sure else ""


def _match_subject(question: str) -> re.Match[str] | None:
    """Return the match of the subject of a question about one thing; None for other questions."""
    subject = _ASKS_ABOUT_SUBJECT.match(_ASKS_EVENT_OF_THING.sub(r"\g<thing>", without_final_particle(question)))
    return None if subject and begins_with_state(subject["subject"]) else subject


def _is_capitalised_common_noun(name: str, question: str) -> bool:
    """Return whether a name is a common noun with a capital, and an article before it: "the Club"."""
    return _CAPITALISED_COMMON_NOUN.fullmatch(name) is not None and f" the {name} " in f" {question.rstrip(' ?.!')} "


def _may_be_person(name: str, question: str, message: str) -> bool:
    """Return whether a name may be that of a person, whom "it" never means.

    A firm may be called as people are: "How many did it open?" after "How many stores did Ulta Beauty close?" means the
    firm, since nobody says "it" of a person who counts or gets something; "Why did it open?" may mean something else.
    """
    if is_treated_as_person(name, question):
        return True
    if not _PERSON_NAME.fullmatch(name) or _NON_PERSON_WORD.search(name) or _COMPANY_SUFFIX.search(question):
        return False
    if _POSSESSIVE_BEFORE_NAME.search(name):
        return False  # "Chip's Challenge" is what somebody has
    is_firm = _ASKS_FIRM_FIGURE.match(_LEADING_CONNECTIVES.sub("", message, count=1)) is not None
    return not (is_firm or is_treated_as_thing(name, question))


def _stands_for_actor(message: str, pronoun: re.Match[str]) -> bool:
    """Return whether a pronoun means somebody who does or owns something: "how many stores did it operate"."""
    active = re.search(r"\b(?:did|does|do|has|have|had|will|would|can|could)\W+$", message[: pronoun.start()], re.I)
    is_done_to = re.match(
        r" (?:not |also |ever )?(?:be|been|get|got) ", message[pronoun.end() :], re.I
    )  # "will it be paid"
    return (active is not None and is_done_to is None) or pronoun[0].lower() in ("its", "their")


def _has_quantity(name: str, subject: str) -> bool:
    """Return whether a subject is a quantity that a name has: "net income of Amcor in 2023", "Amcor's net income".

    A quantity does nothing and owns nothing; the capital of Georgia does.
    """
    owned = subject.startswith((f"{name}'", f"{name}’")) or f" of {name}" in subject or f" of the {name}" in subject
    return owned and QUANTITY.search(subject) is not None


def _add_owner_and_year(message: str, question: str) -> str:
    """Return the question with the organisation, and the year, that the question before it names.

    "What was net income?" after "What were Amcor's net sales in 2023?" means Amcor's, and 2023. The result is "" if
    the question before names no organisation or more than one.
    """
    owners, is_office = set(), _ASKS_OFFICE_HOLDER.match(message) is not None
    for match in names.NAME.finditer(question, question.find(" ") + 1):
        name = re.sub(r"['’]s?$", "", match[0].rstrip(".,"))
        bare = _OFFICE_BEFORE_NAME.sub("", name)
        # A person's name looks like that of a firm; what is owned by it ("Ulta Beauty's net sales") tells them apart.
        owns = name != match[0].rstrip(".,") or bare != name
        is_firm = not (_PERSON_NAME.fullmatch(bare) or is_treated_as_person(bare, question))
        if re.search(r"[^\W\d_]{2}", bare) and (owns or (is_office and is_firm)):
            owners.add(bare)
    owner = owners.pop() if len(owners) == 1 else ""
    if not owner or len(owner) > LONGEST_NAME:
        return ""
    year = None if is_office else _YEAR_AT_END.search(question.rstrip(" ?.!"))
    return f"{message[:1].upper()}{message[1:].rstrip(' ?.!')} of {owner}{f' {year[0]}' if year else ''}?"


def _add_counted_noun_and_year(message: str, question: str) -> str:
    """Return a message with its pronoun resolved, and the previous question's counted noun and year where it has none.

    "How many did Ulta Beauty remodel?" after "How many stores did it open during fiscal 2022?" means stores, and 2022.
    """
    counted, year = _COUNTED_NOUN.match(question), _YEAR_AT_END.search(question.rstrip(" ?.!"))
    if counted:
        message = re.sub(r"^(\W*how many) (?=(?:did|do|does|has|have)\b)", rf"\1 {counted[1]} ", message, flags=re.I)
    if year and not re.search(r"\d", message):
        message = f"{message.rstrip(' ?.!')} {year[0]}?"
    return message


def _replace_with_name(message: str, pronoun: re.Match[str], name: str) -> str:
    """Return the message with a name, or its possessive form, in place of a pronoun."""
    if not name:
        return message
    behind = message[pronoun.end() :]
    # "her" is an object ("did they pay her") or a possessive ("her salary"): a lower-case word after it decides.
    owns = pronoun[0].lower() in ("his", "its", "their") or (
        pronoun[0].lower() == "her" and re.match(r" [a-z]", behind)
    )
    return f"{message[: pronoun.start()]}{name}{'’s' if owns else ''}{behind}"


def _find_person(question: str, people: Sequence[str]) -> str:
    """Return the only person whom a question, or its answer, is about; "" if there is none or more than one."""
    # Two people and one "he": a wrong name would lead to another person's documents, so none is put in.
    known = [name for name in _capitalised_names(question) if _PERSON_NAME.fullmatch(name)]
    if _ASKS_WHO.match(question):
        # "Who is the new head of Foot Locker?" asks for a person, and what stands behind "of" is another one or a firm.
        known = [name for name in known if not _is_beside_person_asked_for(name, question)]
    named = [name for name in people if name not in known]
    if _ASKS_WHO.match(question) and named:
        return named[0] if len(named) == 1 else ""
    if not known and not _ASKS_WHO.match(question) and (not named or speaks_of_people_in_general(question)):
        return sole_role_in(question)
    return known[0] if len(known) == 1 else ""


def _find_person_in_earlier_questions(question: str, people: Sequence[str], before: Sequence[str]) -> str:
    """Return the only person of whom a conversation spoke before it came to a question without people; "" if unclear.

    After "What did Ingrid Falk find?" and "How much will the treatment cost?", "she" is still Ingrid Falk.
    """
    if people or _ASKS_WHO.match(question) or _find_people(question):
        return ""
    for turn in list(before)[-MOST_TURNS_BACK:][::-1]:
        if _ASKS_WHO.match(turn):
            return ""  # it asked for a person, whose name is unknown here
        if found := _find_people(turn):
            is_one = len(found) == 1 and (found[0] == sole_role_in(turn) or is_treated_as_person(found[0], turn))
            return found[0] if is_one else ""
    return ""


def _find_people(question: str) -> list[str]:
    """Return the names in a question that may be those of people, or else the person whom it calls by a role."""
    names_of_all = [name for run in _capitalised_names(question) for name in re.split(r" (?:and|&) ", run)]
    named = [
        name
        for name in names_of_all
        if (_PERSON_NAME.fullmatch(name) and not _NON_PERSON_WORD.search(name)) or is_treated_as_person(name, question)
    ]
    role = sole_role_in(question)
    return named or ([role] if role else [])


def _is_beside_person_asked_for(name: str, question: str) -> bool:
    """Return whether a name stands behind a preposition or owns what is asked for: "the wife of John Smith"."""
    before, _, behind = question.partition(name)
    prepositions = re.search(rf"\b(?:{_PREPOSITIONS})\b", before, re.I)
    return prepositions is not None or behind.startswith(("'s", "’s"))


def people_in_last_answer(earlier: Earlier) -> list[str]:
    """Return the people whom the last answer names: in its headline, or else in its first quote."""
    headline = without_marks(next(iter(earlier.answer.splitlines()), "")).strip(" *_.")
    if match := _PERSON_NAME.fullmatch(headline):
        return [_strip_title_and_possessive(match[0])]
    if several := _people_in_group_answers(earlier):
        return several
    return _people_in_quote(earlier.sources[0], earlier.question) if earlier.sources else []


def _people_in_group_answers(earlier: Earlier) -> list[str]:
    """Return the people whom an answer of several documents names: those of its newest document.

    All of them if the question is about the past, if one of the documents shows no year, or if two are equally new;
    none if all name the same.
    """
    answers = {" ".join(answer.split()) for _, answer in earlier.groups}
    quoted = [source for source in earlier.sources if " ".join(source.text.split()) in answers]
    named = [
        (_latest_year_of(source), found) for source in quoted if (found := _people_in_quote(source, earlier.question))
    ]
    if len({tuple(found) for _, found in named}) < 2:
        return []
    newest = max(year for year, _ in named)
    latest = [found for year, found in named if year == newest]
    # Who held an office once is not who holds it by the newest document.
    is_past = YEAR.search(earlier.question) or re.search(r"\b(?:was|were|did)\b", earlier.question, re.I)
    is_sure = len(latest) == 1 and all(year for year, _ in named) and not is_past
    return list(dict.fromkeys(name for found in (latest if is_sure else [each for _, each in named]) for name in found))


def _latest_year_of(source: Source) -> int:
    """Return the last year in a source's date, or else in its title or file name; 0 if it shows none."""
    if source.date and (year := YEAR.search(source.date)):
        return int(year[0])
    # In "policy_2024.docx" no border of a word stands before the year.
    named = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", f"{source.title} {source.source}")
    return max(map(int, named), default=0)


def _people_in_quote(source: Source, question: str) -> list[str]:
    """Return the people whom a quote names, without those of the question."""
    quote = " ".join(source.text.split())
    office = _OFFICE_ASKED_FOR.fullmatch(_TIME_AT_END.sub("", question.rstrip(" ?.!")))
    noun = office["office"].split()[-1] if office else ""
    if noun.islower() and frozenset(words(noun)).isdisjoint(words(f"{source.title} {source.heading} {quote}")):
        return []  # it says nothing of the office, and so not who holds it
    # Of a row it is whoever stands under what was asked for, and nobody else on duty that day.
    cells = [cell for cell in _LABELLED_CELL.finditer(quote) if _PERSON_NAME.fullmatch(cell["value"])]
    asked = [cell["value"] for cell in cells if _names_whole_label(cell["label"], question)]
    found = [
        _strip_title_and_possessive(match[0])
        for match in _PERSON_NAME.finditer(asked[0] if len(asked) == 1 else quote)
        if not _NON_PERSON_WORD.search(match[0])
        and not _COMPANY_SUFFIX.match(quote, match.end())
        and _strip_title_and_possessive(match[0]) not in question
    ]
    return list(dict.fromkeys(found))


def _names_whole_label(label: str, question: str) -> bool:
    """Return whether a question has all the words of a column's name: "race officer"."""
    return bool(words(label)) and frozenset(words(label)) <= frozenset(words(question))


def _strip_title_and_possessive(name: str) -> str:
    """Return a person's name without a title such as "Dr", which tables leave out, and without a possessive ’s."""
    return re.sub(r"['’]s?$", "", _PERSON_TITLE.sub("", name))


def _capitalised_names(question: str) -> list[str]:
    """Return the runs of capitalised words after a question's first word, without a possessive ’s."""
    # The first word has a capital in every sentence.
    behind = question.find(" ") + 1
    found = [match.group() for match in names.NAME.finditer(question, behind)] if behind else []
    bare = [re.sub(r"['’]s?$", "", name.rstrip(".,")) for name in found]
    return [name for name in dict.fromkeys(bare) if re.search(r"[^\W\d_]{2}", name)]


def _complete_fragment(question: str, fragment: str) -> str:
    """Return the previous question with a fragment in place of the part that it replaces; "" if there is none.

    "When?" and "In how many countries?" replace the question words; "the chief financial officer" replaces "the
    chief executive officer".
    """
    stem, asked = question.rstrip(" ?.!"), fragment.rstrip(" ?.!")
    opening = _QUESTION_PHRASE.match(stem)
    if asked.casefold() == "why not":
        return _ask_why_not(stem)
    if people := _ASKS_PEOPLE_AT_OCCASION.fullmatch(asked):
        occasion = occasion_in(stem)
        return f"{asked}{_PREPOSITION_BEFORE_OCCASION[people.lastgroup or 'state']} {occasion}?" if occasion else ""
    if opening and _WHO_IS.match(stem) and _QUESTION_WORDS_ALONE.fullmatch(asked):
        # "Who was absent at the meeting?" asks nothing of which "where" would be a part; the meeting was somewhere.
        occasion = occasion_in(stem) if re.fullmatch("where|when|how long", asked, re.I) else ""
        return f"{asked[:1].upper()}{asked[1:]} was {occasion}?" if occasion else ""
    if opening and _QUESTION_WORDS_ALONE.fullmatch(asked):
        rest = stem[opening.end() :].lstrip()
        if (
            opening["noun"]
            and not opening["at"]
            and (verb := re.match(r"(?:is|are|was|were|has|have|had)\b", rest, re.I))
        ):
            rest = f"{verb[0]} {opening['noun'].strip()}{rest[verb.end() :]}"
        return f"{asked[:1].upper()}{asked[1:]} {rest}?"
    if _CLAUSE_START.match(asked):
        return ""
    return (
        replace_with_counterpart(stem, asked)
        or _ask_for_other_group(stem, asked)
        or _replace_similar_words(stem, asked)
        or _ask_for_other_attribute(stem, asked)
    )


def _ask_why_not(stem: str) -> str:
    """Return "Why didn't the trustees agree?" for "Did the trustees agree"; "" for what is no yes-no question."""
    bare = re.sub(
        r",? or not$", "", _LEADING_CONNECTIVES.sub("", stem, count=1) if _LEADING_CONNECTIVES.match(stem) else stem
    )
    match = _YES_NO_QUESTION.fullmatch(bare)
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
    if fragment.casefold().endswith(("s", "en", "staff")):
        opening = re.sub(r"\bdoes $", "do ", opening, flags=re.I)
    return f"{opening}{fragment}{stem[payer.end('who') :]}?"


def _ask_for_other_attribute(stem: str, fragment: str) -> str:
    """Return "What is the deposit of flat 3B?" for "What is the rent of flat 3B" and "the deposit"; else ""."""
    asked, thing = _ASKS_ATTRIBUTE.match(stem), _NOUN_PHRASE.fullmatch(fragment)
    if asked is None or thing is None or _ASKS_EVENT_OF_THING.fullmatch(stem):
        return ""  # "When was the roof repaired" and "the cost": no cost is repaired
    return f"{stem[: asked.start('thing')]}{fragment}{stem[asked.end('thing') :]}?"


def _replace_similar_words(stem: str, fragment: str) -> str:
    """Return the question with the fragment in place of equally many words, at least half of them equal; else ""."""
    tokens, parts = stem.split(), fragment.split()
    best: tuple[int, int] | None = None
    for start in range(1, len(tokens) - len(parts) + 1):
        pairs = list(zip(tokens[start : start + len(parts)], parts, strict=True))
        differ = [(old, new) for old, new in pairs if old.casefold() != new.casefold()]
        same = sum(bool(words(old)) for old, new in pairs if old.casefold() == new.casefold())
        # With fewer equal words than different ones the fragment is about something else.
        if same and differ and len(differ) <= len(pairs) - len(differ) and (best is None or same > best[0]):
            best = same, start
    # A fragment that begins with a preposition replaces a phrase with one (`_replace_phrase`).
    if best is None or re.match(rf"(?:{_PREPOSITIONS})\b", fragment, re.I):
        return ""
    start = best[1]
    return " ".join([*tokens[:start], *parts, *tokens[start + len(parts) :]]) + "?"


def _replace_phrase(question: str, fragment: str) -> str:
    """Return the question with the fragment in place of the phrase that it replaces; "" if there is none."""
    stem, fragment = question.rstrip(" ?.!"), fragment.rstrip(" ?.!")
    heads = [match[0].casefold() for match in _PREPOSITION.finditer(fragment)]
    tails = list(_PREPOSITION.finditer(stem))[-len(heads) :] if len(heads) > 1 and _PREPOSITION.match(fragment) else []
    dropped = stem[tails[0].start() :] if tails else ""
    if tails and [match[0].casefold() for match in tails] == heads and len(dropped.split()) <= len(fragment.split()):
        # "in the week of 24 March" replaces "in the week of 17 March" to its end.
        return f"{stem[: tails[0].start()]}{fragment}?"
    articles = re.findall(r"\ban? ", stem, re.I)
    if (
        len(articles) == 1
        and re.fullmatch(r"an? [\w-]+(?: [\w-]+)?", fragment, re.I)
        and (a := _INDEFINITE_NOUN.search(stem))
    ):
        return f"{stem[: a.start()]}{fragment}{stem[a.end() :]}?"
    phrase = re.match(rf"(.*)\b({_PREPOSITIONS})\s+(.+)$", stem, re.I)
    alike = phrase is not None and bool(_POPULATION.search(phrase[3])) and bool(_POPULATION.search(fragment))
    new = re.match(rf"({_PREPOSITIONS})\s", fragment, re.I)
    arm = _COMPARATOR.search(stem)
    if new and arm and arm.end() < len(stem) and new[1].lower() in ("with", "on", "for") and "group" not in fragment:
        return f"{stem[: arm.start()]}{fragment[new.end() :]}{stem[arm.end() :]}?"
    if new and (phrase is None or phrase[2].casefold() != new[1].casefold()):
        swapped = _INTERCHANGEABLE_PREPOSITIONS.get(new[1].lower(), (new[1].lower(),))
        inner = next((match for match in _INNER_PHRASE.finditer(stem) if match["preposition"].lower() in swapped), None)
        if inner and not alike:
            return f"{stem[: inner.start()]}{fragment} {stem[inner.end() :]}?"
    if new:
        arms = phrase is not None and bool(
            _TRIAL_ARM.search(phrase[3]) or (_TRIAL_ARM.search(fragment) and new[1] == phrase[2])
        )
        swap = phrase is not None and (alike or arms or phrase[2].casefold() == new[1].casefold())
        return f"{phrase[1] if phrase and swap else stem + ' '}{fragment}?"
    if phrase and alike:
        return f"{phrase[1]}{phrase[2]} {fragment}?"
    name = _NAME_AT_END.search(stem)
    if name and fragment[:1].isupper() and _is_date_or_number(name[0]) == _is_date_or_number(fragment):
        return f"{stem[: name.start()]}{fragment}?"
    own = [each for each in _capitalised_names(stem) if _is_date_or_number(each) == _is_date_or_number(fragment)]
    # "the Kindle" after "the Kobo"
    bare = fragment.removeprefix("the ") if len(own) == 1 and f" the {own[0]}" in stem else fragment
    if len(own) == 1 and bare[:1].isupper():
        return f"{stem.replace(own[0], bare, 1)}?"
    return ""


def _is_date_or_number(name: str) -> bool:
    """Return whether a name is a day, a month, a date or a number."""
    return all(_DATE_WORD.fullmatch(word) for word in name.split())


def continued_documents(message: str, made: Rewrite, earlier: EarlierState | None) -> list[str]:
    """Return the id of the document that a follow-up searches first: the first one that the last answer cites.

    It is another one if that one's quote has none of the message's own words and the other's has. The list is empty if
    the last answer cites nothing, if the message stands alone, or if it names nothing itself and several documents are
    cited: each of these speaks of what it means. Typos are ignored, and a
    question about an office is taken to be about the organisation of the document before.

    Args:
        message: The user's message.
        made: The standalone question to which the message was rewritten.
        earlier: The last answer.
    """
    spoken = " ".join(message.split())
    # A corrected spelling is no sign that the message leaned on the conversation.
    for written, corrected in made.corrections:
        spoken = spoken.replace(written, corrected)
    # "Who is the landlord?" leans on no words of the conversation, and yet means the lease that was just read.
    leans = spoken != made.question or _ASKS_OFFICE_HOLDER.match(_LEADING_CONNECTIVES.sub("", spoken, count=1))
    # "The repair" is one of a thing, of which other documents may say more than the one cited first; and who held an
    # office in another year is said in the documents of that year.
    asks_anew = (
        match_bare_noun(spoken) or _ASKS_HOLDER_AT_TIME.fullmatch(spoken.rstrip(" ?.!")) or group_counted_then(spoken)
    )
    # What "How many copies?" found may be copies of anything.
    is_of_anything = earlier is not None and _HOW_MANY_ALONE.fullmatch(earlier["question"]) is not None
    if is_of_anything or not earlier or not earlier["citations"] or not leans or asks_anew:
        return []
    # Whoever "she" is by the answer is sought in the document that names her, and not in an older one.
    citations = earlier["citations"]
    known = f"{spoken} {earlier['question']}"
    named = [name for name in _capitalised_names(made.question) if name not in known and _PERSON_NAME.fullmatch(name)]
    naming = [each for each in citations if named and named[0] in each["quote"]]
    # What several documents said, each in its own words, is no answer of the first of them.
    if not naming and earlier["answer"].startswith(SEVERAL):
        return []
    if has_no_subject(spoken) and len({each["document_id"] for each in citations}) > 1:
        return []
    own = own_words(spoken) - frozenset(words(earlier["question"]))
    saying = [each for each in citations if own & frozenset(words(each["quote"]))]
    is_said_first = citations[0] in saying
    return [str((naming or ([] if is_said_first else saying) or citations)[0]["document_id"])]


def new_names(message: str) -> list[str]:
    """Return the terms by which a follow-up may refer to another document than the last answer.

    These are the names, years and words for documents in the message, and the only content word of a question without a
    pronoun: "What does insulin do?" may be about any document.
    """
    rest = _LEADING_CONNECTIVES.sub("", message, count=1)
    clause = _CLAUSE_START.match(rest)
    topics = words(rest) if clause and rest == message and not _BACK_REFERENCE.search(rest) else []
    names = _capitalised_names(rest if clause else f"and {rest}")
    return [*names, *YEAR.findall(rest), *_DOCUMENT_WORD.findall(rest), *(topics if len(topics) == 1 else [])]


def may_mean_several(message: str, asked: str, before: str) -> bool:
    """Return whether "it" may be the one of several things that the question before asks for, or another thing.

    "How much did it use?" after "Which house used the most heat?" means a house that only the answer names.

    Args:
        message: The message as it was typed.
        asked: The standalone question made from it.
        before: The question before it.
    """
    is_behind = asked != before and asked.startswith(before)
    return is_behind and asks_which_one(before) and _IT_OR_THEY.search(message) is not None


def new_subject(message: str) -> str:
    """Return what a fragment puts in the place of what was spoken of, "Potato" of "What about Potato?"; "" for none."""
    lead = _LEADING_CONNECTIVES.match(message)
    rest = message[lead.end() :].strip(" ?.!") if lead else ""
    if not rest or _CLAUSE_START.match(rest):
        return ""
    bare = re.sub(r"^(?:(?:of|for|about) )?(?:the (?=[A-Z]))?", "", rest)
    is_name = all(word[:1].isupper() for word in bare.split()) and not _is_date_or_number(bare) and bool(words(bare))
    return bare if is_name or names_kind_of_thing(bare) else ""


def new_subject_spelled(message: str, question: str = "") -> tuple[str, ...]:
    """Return the spellings of what, or whom, a fragment puts in the place of what was spoken of; () for none.

    Args:
        message: The follow-up.
        question: The question before it; one that asks what was done to a thing may have another in its place.
    """
    lead = _LEADING_CONNECTIVES.match(message)
    fragment = message[lead.end() :].strip(" ?.!") if lead else ""
    people = people_named_in(fragment)
    subject = (
        new_subject(message) or group_counted_then(message) or thing_in_fragment(question.rstrip(" ?.!"), fragment)
    )
    return people or ((subject,) if subject else ())


def has_unresolved_reference(question: str) -> bool:
    """Return whether a question contains "she" or "it" and nothing before it that the pronoun can mean."""
    personal = _NAME_LIKE_PRONOUN.sub(" ", _IMPERSONAL_IT.sub(" ", question))
    pointer = _BACK_REFERENCE.search(personal)
    if pointer is None or _stands_alone(question):
        return False
    return not (pointer[0].lower() in _POSSESSIVE_PRONOUNS and words(personal[: pointer.start()]))


def is_unresolved(message: str, asked: str) -> bool:
    """Return whether nobody knows what a follow-up points to, also where it was put behind the question before.

    What names its own subject first does so no more: "Does the dog need a diet for it?".

    Args:
        message: The message as it was typed.
        asked: The standalone question made from it.
    """
    spoken = " ".join(message.split())
    if spoken == asked or not asked.endswith(spoken):
        return has_unresolved_reference(asked)
    pointer = _BACK_REFERENCE.search(spoken)
    return has_unresolved_reference(spoken) and not (pointer and _DETERMINER.search(spoken[: pointer.start()]))


def names_nobody(question: str) -> bool:
    """Return whether a question contains "he" or "she" and nobody whom the pronoun can mean."""
    return bool(_HE_OR_SHE.search(question)) and has_unresolved_reference(question)
