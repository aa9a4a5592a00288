"""Rules that recognise messages without a need to search: small talk, thanks, and questions about the conversation.

A message is one of these only if every clause of it is: "thanks, and what about children?" is a question, and so is a
message that names anything outside the conversation.
"""

from __future__ import annotations

import re
import unicodedata

from preflight_rag.state.reading import Talk, TalkKind
from preflight_rag.text.words import words

ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "last": -1, "final": -1,
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
"""Ordinals and number words with their numbers; -1 stands for the last."""
_ORDINAL = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final|[1-9]\\d?(?:st|nd|rd|th)"
_NUMBER = r"(?:(?:no\.?|number|#)\s*)?\[?(?:[1-9]\d?|one|two|three|four|five|six|seven|eight|nine|ten)\]?"
_SOURCE = r"(?:source|citation|reference|quote|quotation|footnote)s?"
_ANSWER = r"(?:(?:your|the|that|this|my) )?(?:(?:last|previous|latest|first) )?(?:answer|reply|response|message)"
_TALK = r"(?:(?:our|the|this|my) )?(?:(?:whole|entire) )?(?:conversation|chat|discussion|dialog(?:ue)?|thread|session)"
_SHOW = (
    r"(?:(?:show|give|open|display|read|quote|print|list|cite|see|let me see|view|tell) (?:me |us )?"
    r"|(?:i (?:want|would like|need) to see) |what (?:is|are|was|were|does) |what's |which (?:is|are) )"
)
_PAIRED = rf"(?:{_NUMBER}|{_ORDINAL})(?:\s*(?:,|and|&)\s*(?:the )?(?:{_NUMBER}|{_ORDINAL}))*"
_SINGLE = rf"(?:the )?(?:(?:{_ORDINAL})(?:\s*(?:,|and|&)\s*(?:the )?(?:{_ORDINAL}))* {_SOURCE}|{_SOURCE} {_PAIRED})"

_KIND_EXPRESSIONS: list[tuple[TalkKind, str]] = [
    (
        "greeting",
        r"(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|hallo|moin|servus|gr(?:ü"
        r"|ue)(?:ß|ss)(?:e| (?:dich|gott))|guten (?:tag|morgen|abend)|bonjour|bonsoir|salut|hola|buenos d[ií]as"
        r"|buenas tardes|ciao|buongiorno|ol[aá]|namaste)(?: (?:there|all|everyone|everybody|again|preflight|bot"
        r"|assistant|friend))?|nice to meet you",
    ),
    (
        "thanks",
        r"(?:(?:many|much) )?(?:thanks|thank you|thank u|thx|ty|tysm|cheers|much appreciated|i appreciate (?:it|that"
        r"|this))(?: (?:a lot|a million|a bunch|so much|very much|again|you|for (?:that|this|everything|(?:your|the"
        r"|all) (?:(?:your|the|quick) )?(?:help|answers?|reply|info|information|explanation|sources?))))*|(?:that|this"
        r"|it)(?:['’]s| is| was) (?:(?:very|really|so|quite) )?(?:helpful|useful|great|perfect|good|nice)|that helps"
        r"|(?:vielen |herzlichen |besten )?dank(?:e)?(?: (?:sch(?:ö|oe)n|sehr|dir|ihnen))?|merci(?: (?:beaucoup|bien))?"
        r"|(?:muchas )?gracias|grazie(?: mille)?|obrigad[oa]|dankjewel|dank je",
    ),
    (
        "goodbye",
        r"(?:good\s?bye|bye(?: bye)?|see (?:you|ya)(?: (?:later|soon|tomorrow|around))?|farewell|so long|good night"
        r"|take care|have a (?:nice|good|great) (?:day|evening|weekend|one)|until next time|talk to you later|ttyl"
        r"|that(?:['’]s| is| will be) all(?: for (?:now|today))?|tsch(?:ü|ue)ss|auf wiedersehen|au revoir|adi[oó]s"
        r"|arrivederci)",
    ),
    (
        "wellbeing",
        r"how (?:are|r) (?:you|u)(?: (?:doing|today|doing today|feeling|keeping))?|how(?:['’]s| is) it going"
        r"|how do you do|what(?:['’]s| is) up|how have you been|are you (?:there|ok|okay|ready|awake)",
    ),
    (
        "assent",
        r"(?:ok(?:ay)?|k|okey|alright|all right|great|cool|nice|perfect|awesome|excellent|wonderful|fantastic"
        r"|amazing|good|fine|wow"
        r"|got it|i (?:see|understand|get it)|understood|makes sense|that makes sense|yes|yep|yeah|no|nope|sure|right"
        r"|exactly|interesting|hmm+|good (?:job|work|to know)|well done|never\s?mind|no problem|sorry|haha+|lol)",
    ),
    (
        "identity",
        r"(?:who|what) are you|who (?:made|built|created|developed|trained) you|what(?:['’]s| is) your name"
        r"|what should i call you|are you (?:an? )?(?:human|robot|bot|ai|person|real|chatgpt|gpt|language model"
        r"|machine)|who am i (?:talking|speaking|chatting) (?:to|with)|(?:tell me about|introduce) yourself"
        r"|which (?:language )?model (?:are|do) you(?: use)?|what (?:language )?model are you|do you have a name",
    ),
    (
        "abilities",
        r"what (?:can|could|do) you do(?: for me)?|what are you (?:able to do|capable of|good (?:at|for)|for)"
        r"|how (?:can|do) you help(?: me)?|(?:how )?can you help(?: me)?|help(?: me)?|what can i (?:ask|do)"
        r"(?: (?:you|here|with you))*|how do(?:es)? (?:you|this) work|how do i use (?:you|this)"
        r"|what (?:kind of )?questions can i ask(?: you)?|what do you know(?: about)?",
    ),
    (
        "source",
        rf"{_SHOW}?{_SINGLE}(?: (?:say|again))?|{_SHOW}?(?:the )?\[[1-9]\d?\]|(?:what|which|where) (?:document|file"
        rf"|page)?\s*(?:is|was) (?:{_SINGLE}|\[[1-9]\d?\])(?: from)?|where (?:does|did|is) (?:{_SINGLE}"
        rf"|\[[1-9]\d?\]) (?:come )?from",
    ),
    (
        "sources",
        rf"(?:{_SHOW}(?:me )?(?:(?:all|your|the|those|these|its) ){{1,3}}|(?:(?:show|give|list|display"
        rf"|cite) (?:me )?)?(?:(?:all|your|the|those|these) ){{0,3}}){_SOURCE}(?: (?:of|for|behind) (?:that|this|it"
        rf"|{_ANSWER}))?|{_SHOW}(?:all )?(?:the|your) (?:documents|passages|evidence)(?: (?:you )?(?:used|read))?"
        r"|where (?:did|do) you (?:get|find|have|take|read) (?:that|this|it)(?: from)?"
        r"|where (?:does|did|is) (?:that|this|it)(?: (?:answer|information|info))? (?:come )?from"
        r"|how do you know(?: (?:that|this|it))?|(?:are you|you) (?:really |quite )?(?:sure|certain)(?: about that)?"
        r"|says who|who says(?: (?:so|that|this))?|can you (?:prove|back) (?:that|this|it)(?: up)?"
        rf"|do you have (?:a|any|the)?\s*{_SOURCE}(?: for (?:that|this|it))?",
    ),
    (
        "asked",
        rf"what (?:did|have) i (?:just )?(?:ask|asked|say|said"
        rf"|want to know)(?: you)?(?: (?:at )?(?:the )?(?:{_ORDINAL}|before"
        r"|just now|earlier|previously|beginning|at the (?:start|beginning)))?"
        rf"|what(?:['’]s| (?:is|was|were)) my (?:very )?(?:{_ORDINAL}|previous|latest|{_ORDINAL}) question|(?:repeat"
        rf"|show(?: me)?|remind me of) my (?:(?:{_ORDINAL}|previous) )?question|what (?:was"
        rf"|is) the (?:{_ORDINAL}) (?:question (?:that )?i (?:have )?asked(?: you)?|thing i (?:asked|said)"
        r"(?: you)?)",
    ),
    (
        "questions",
        r"what (?:have i|did i) (?:ask(?:ed)?|said)(?: you)? so far|(?:list|show(?: me)?) (?:all )?(?:of )?my questions"
        r"|what (?:were|are) (?:all )?my questions(?: so far)?|which questions (?:did|have) i ask(?:ed)?(?: so far)?"
        r"|how many questions (?:did|have) i ask(?:ed)?(?: (?:you|so far))*",
    ),
    (
        "repeat",
        rf"(?:repeat|show(?: me)?|say|tell me|give me) {_ANSWER}(?: again)?|(?:repeat|say) (?:that|this|it|yourself)"
        r"(?: (?:again|once more|one more time))?|repeat|(?:come )?again|pardon(?: me)?|(?:once more|one more time)"
        r"|what did you (?:just )?(?:say|answer|reply|tell me)(?: (?:just now|before|again))?"
        rf"|what was {_ANSWER}(?: again)?|excuse me",
    ),
    (
        "summary",
        rf"(?:summari[sz]e|sum up|recap|condense|wrap up|outline) (?:{_TALK}|what (?:we|you|i)(?:['’]ve| have)? "
        r"(?:discussed|said|talked about|learned|asked)|everything|all (?:of )?(?:this|that|your answers)"
        r"|your answers)"
        r"(?: (?:so far|for me|until now|in (?:a few|two|three|some) (?:words|sentences|points)|briefly))*"
        rf"|(?:give me|write|make|i (?:want|need|would like)) (?:a|an) (?:short |brief )?(?:summary|recap"
        rf"|overview) of {_TALK}"
        r"(?: so far)?|what (?:have we|did we) (?:discuss(?:ed)?|talk(?:ed)? about|cover(?:ed)?)(?: so far)?|recap"
        r"|where were we|(?:so )?what have (?:we|i) learn(?:ed|t)(?: so far)?",
    ),
    (
        "shorter",
        rf"(?:make|keep|write|say|put|give me|summari[sz]e|shorten|condense) (?:{_ANSWER}|it|that|this)"
        r"(?: (?:(?:much|a bit|a little|even) )?(?:shorter|briefer|more concise|brief|briefly|short|more briefly"
        r"|in (?:one|a|a single|two|fewer|a few) (?:sentences?|words?|lines?)))+|(?:shorten|condense"
        r"|summari[sz]e) (?:it|that|this|your (?:last )?answer|the (?:last )?answer)|(?:(?:much|a bit|a little"
        r"|even) )?(?:shorter|briefer|more concise)|in short|tl;?dr|too long|be brief(?:er)?|(?:in )?(?:one"
        r"|a single) sentence|give me (?:the )?(?:short|brief)(?:er)? (?:version|answer)",
    ),
    (
        "restyle",
        rf"(?:(?:make|write|say|put|give me|explain|rephrase|reword|translate|format|rewrite"
        rf"|show(?: me)?) )(?:{_ANSWER}|it|that|this)"
        r"(?: (?:again|differently|(?:more )?simply|simpler|easier|clearer|longer|in (?:simple(?:r)?|plain|other|easy"
        r"|your own) (?:words|terms|language|english)|in(?:to)? (?:english|german|french|spanish|italian|dutch"
        r"|portuguese|chinese|japanese)|as (?:a )?(?:list|table|bullet points?|bullets)|in (?:a table|bullet points"
        r"|bullets)|like i(?:['’]m| am) five))+"
        rf"|(?:rephrase|reword) (?:{_ANSWER}|it|that|this)",
    ),
]
_KIND_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KIND_EXPRESSIONS]
_COURTESY_KINDS = ("greeting", "thanks", "goodbye", "wellbeing", "assent")
_POLITE_WORDS_BEFORE = re.compile(
    r"(?:(?:please|ok(?:ay)?|well|so|then|now|and|but|oh|um+|uh|ah|actually|just|also|by the way|btw|dear|hey|hi|hello"
    r"|(?:can|could|would|will) you(?: please)?(?: kindly)?|(?:can|could|may) i (?:please )?see|i(?:['’]d"
    r"| would) like (?:you )?to|i want you to|would you mind|let us|let['’]s|great|thanks|do you remember|tell me"
    r"|remind me)\b[\s,]*)+",
    re.IGNORECASE,
)
_POLITE_WORDS_BEHIND = re.compile(
    r"(?:(?<![\s,])[\s,]++(?:please|then|now|again|for me|thanks|thank you|by the way|exactly|anyway|though|pls|mate"
    r"|everyone|all)){1,20}$",
    re.IGNORECASE,
)
_FILLER_WORDS = re.compile(r"(?:please|then|now|well|so|oh|um+|uh|ah|and|also|anyway)(?:\s+please)?", re.IGNORECASE)
_CLAUSE_SEPARATOR = re.compile(r"(?<![.!?;…])[.!?;…]++(?=\s|$)|,\s+|(?<!\s)\s++[-–—]\s+|\n+")
_AGREEING_EMOJI = frozenset("👍👌👏🙌🙏🤝💪💯🎉🥳🤩🤗🙂☺✅✔☑❤🧡💛💚💙💜🔥⭐🌟✨🆗") | frozenset(
    map(chr, range(0x1F600, 0x1F610))
)
"""Emoji that agree; any other, such as that of a dog, means nothing."""
LONGEST_COURTESY = 200
"""Characters at the end of a clause that are searched for polite words; a guess."""
LONGEST_TALK = 1_000
"""Characters up to which a message may be small talk or about the conversation; a guess."""
_CONVERSATION_WORDS = frozenset(
    words(
        "answer answers reply replies response conversation chat discussion talk message messages question "
        "questions source sources citation citations quote quotes reference references document documents "
        "passage passages said say tell told ask asked asking mean meant repeat summary summarise summarize "
        "shorter short brief briefly longer simple simpler words sentence sentences list point points first "
        "second third last previous earlier before again please thanks thank hello help good great nice know "
        "sure right wrong true find found get read show give make explain rephrase word english german french "
        "spanish translate so far yourself name remember remind"
    )
)


def recognise_talk(message: str) -> Talk | None:
    """Return the intent of a message that needs no search; None for a question.

    Of several intents a courtesy counts least: "thanks, show me the sources" asks for the sources.
    """
    if len(message) > LONGEST_TALK:
        return None
    clauses = _split_clauses(message)
    if not any(c.isalnum() for c in message):
        symbols = {c for c in message if unicodedata.category(c) == "So"}
        return Talk("assent" if symbols and symbols <= _AGREEING_EMOJI else "other")
    talks = [talk for clause in clauses if (talk := _recognise_clause(clause)) is not None]
    if not clauses or len(talks) < len(clauses):
        return None
    return next((talk for talk in talks if talk.kind not in _COURTESY_KINDS), talks[-1])


def without_courtesy(message: str) -> str:
    """Return a question without a greeting or thanks before and behind it; any other message as it is."""
    parts = [part for part in _CLAUSE_SEPARATOR.split(message) if part.strip()]
    is_courtesy = [_is_courtesy(part) for part in parts]
    if all(is_courtesy) or not (is_courtesy[0] or is_courtesy[-1]):
        return message
    text = message
    if is_courtesy[0]:
        behind_first = text[text.index(parts[0]) + len(parts[0]) :].lstrip(" ,.!?;…–—-\n")
        text = behind_first if _QUESTION_START.match(behind_first) else text
    if len(parts) > 1 and is_courtesy[-1]:
        before_last = text[: text.rindex(parts[-1])].rstrip(" ,;–—-\n")
        text = before_last if re.search(r"[?.]$", before_last) else text
    return text


def _is_courtesy(part: str) -> bool:
    """Return whether a part of a message is a greeting, thanks or the like."""
    talk = _recognise_clause(_strip_punctuation(part))
    return talk is not None and talk.kind in _COURTESY_KINDS


_QUESTION_START = re.compile(
    r"(?:and|but|so|also|now|then|ok(?:ay)?|what|who|whom|whose|when|where|which|why|how|is|are|was|were|do|does|did"
    r"|can|could|will|would|should|has|have|had|tell|explain|describe|list|give|compare|name|define|show|i\s+(?:have"
    r"|would|want|need)|please)\b",
    re.IGNORECASE,
)


def is_of_the_conversation(message: str) -> bool:
    """Return whether every content word of a message may be about the conversation itself.

    A message that a model calls small talk must pass this check.
    """
    return set(words(message)) <= _CONVERSATION_WORDS


def numbers_in(text: str) -> tuple[int, ...]:
    """Return the numbers up to 99 and ordinals of a text, each once, in order; -1 for "last"."""
    number_words = "|".join(ORDINALS)
    numbers = re.findall(rf"\b({number_words})\b|\b([1-9]\d?)(?:st|nd|rd|th)?\b", text, re.IGNORECASE)
    return tuple(dict.fromkeys(ORDINALS[word.lower()] if word else int(digits) for word, digits in numbers))


def _recognise_clause(clause: str) -> Talk | None:
    """Return the intent of one clause, with or without polite words around it; None if it is no small talk."""
    for text in dict.fromkeys((clause, _POLITE_WORDS_BEHIND.sub("", clause), _strip_polite_words(clause))):
        for kind, pattern in _KIND_PATTERNS:
            if pattern.fullmatch(text):
                return Talk(kind, numbers_in(text) if kind in ("source", "asked") else ())
    return None


def _strip_polite_words(clause: str) -> str:
    """Return a clause without the polite words around it: "show it" for "please show it again"."""
    polite_start = _POLITE_WORDS_BEFORE.match(clause)
    text = clause[polite_start.end() :] if polite_start else clause
    # Only the end is searched, which bounds the time for long clauses.
    beginning, end = text[:-LONGEST_COURTESY], text[-LONGEST_COURTESY:]
    return (beginning + _POLITE_WORDS_BEHIND.sub("", end)).strip()


def _split_clauses(message: str) -> list[str]:
    """Return the clauses of a message without punctuation around them; words such as "well" are no clauses."""
    parts = [_strip_punctuation(part) for part in _CLAUSE_SEPARATOR.split(message)]
    return [part for part in parts if part and not _FILLER_WORDS.fullmatch(part)]


def _strip_punctuation(part: str) -> str:
    """Return a part of a message without emoji, and without quotation marks and punctuation at its ends."""
    without_emoji = "".join(" " if unicodedata.category(c) in ("So", "Sk", "Cn", "Cf", "Mn") else c for c in part)
    return " ".join(without_emoji.split()).strip(" \"'“”‘’.,:;!?()*_~-–—…")
