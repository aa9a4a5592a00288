"""Long regular expressions, each with a text that it matches and one that it must not."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from preflight_rag import text
from preflight_rag.text import (
    abbreviations,
    asked_years,
    boolean,
    check_boxes,
    concepts,
    directions,
    document_dates,
    drugs,
    exact,
    inert,
    legends,
    log_lines,
    names,
    negation,
    offices,
    plural,
    question_forms,
    sentence_fit,
    sentences,
    tables,
    values,
    words,
)

LONG = 80
EXAMPLES = [
    (abbreviations, "_STANDS_FOR", " stands for ", " stands on "),
    (abbreviations, "_BEFORE", "Overlap Segmentation (", "Overlap Segmentation "),
    (inert, "_TOKEN", "![", "p<0.05 [1] (see)!"),
    (inert, "_ADDRESS", "https://example.org/a?b", "example.org"),
    (inert, "_UNDECIDED", "see htt", "see it"),
    (inert, "_FENCE", "```mermaid", "``a``"),
    (check_boxes, "_TYPED", "- [ ] smoking", "a[x] is set"),
    (asked_years, "_BOUND", "net income since early 1995", "net income in 1995"),
    (boolean, "_TOKEN", '"muscle pain"', ""),
    (document_dates, "_PUBLISHED", "Published online: 12 March 2021", "Founded: 12 March 2021"),
    (document_dates, "_STAMP", "arXiv:2103.01234v2 [cs.CL] 12 Mar 2021", "arXiv:2103.01234v2"),
    (document_dates, "_ALONE", "12 March 2021", "It closed on 12 March 2021 for good."),
    (document_dates, "_EVENT", "She was born ", "She was born here"),
    (document_dates, "_DATELINE", "PARIS, 12 March 2021 -", "In the city 12 March 2021 -"),
    (document_dates, "_PERIOD", "For the fiscal year ended March 31, 2021", "For the years until March 31, 2021"),
    (document_dates, "_HISTORY", "Accepted: 12 March 2021", "Rejected: 12 March 2021"),
    (document_dates, "_RECEIVED", "Received: 12 March 2021", "He received 12 March 2021"),
    (document_dates, "_ORDERED", "Order date: 12 March 2021", "Border dates: 12 March 2021"),
    (document_dates, "_RECEIPT", "PAYMENT RECEIPT", "Recipe"),
    (document_dates, "_OWN_LABEL", "Guest: Ann Date: 31/12/2017", "Update: 31/12/2017"),
    (document_dates, "_OTHER_LABEL", "Due", "Ann"),
    (document_dates, "_ISO_PATH", "https://example.org/2021/03/12/news", "https://example.org/news?2021/03"),
    (document_dates, "_COPYRIGHT", "Copyright 2021 by the authors", "Copyright 2019-2021"),
    (concepts, "_ASKS", "in which year did it end", "aspirin and fever"),
    (concepts, "_AND_ASKS", "What is dengue and how is it treated", "What are salt and pepper"),
    (concepts, "_INCOMPLETE", "what are the side effects", "what are the side effects of it"),
    (plural, "_OF_NAME", " game released in 2007?", " of 2007?"),
    (plural, "_OPENING", "What is the capital of Georgia?", "What is mercury?"),
    (plural, "_WHICH", "In which city did he live?", "Where did he live?"),
    (plural, "_NOT_BARE", "Is it a host country?", "Championships host country?"),
    (drugs, "DRUG", "adalimumab", "headache"),
    (directions, "_OBJECT_ENDS", "compared with placebo", "blood pressure"),
    (directions, "NO_EFFECT", "The groups did not significantly differ (p=0.4)", "The groups differed (p=0.04)"),
    (directions, "NO_EFFECT", "Risk did not differ between users", "The risks did not differ according to country"),
    (names, "NAME", "Republic of the Congo", "republic of congo"),
    (names, "_PROPERTY_OF", "What is the dose of ibuprofen", "What is ibuprofen made of"),
    (names, "_AMOUNT_OF", "How much metformin should one take", "How much does metformin cost"),
    (names, "_INTERROGATIVE", "In which year", "Aspirin in which"),
    (negation, "DENIAL", "The trial failed to show it", "The trial showed it"),
    (negation, "TYPED_NEGATION", "dont give it", "a donation to give"),
    (negation, "_FORWARD", "never", "ever"),
    (negation, "_WHOLE", "excluded", "included"),
    (negation, "_MIXED", "all except one", "all accepted one"),
    (negation, "_CLAUSE_END", "has no lift and serves tea", "bread and butter"),
    (negation, "_PHRASE_END", "from", "oxygen"),
    (offices, "_LONG_FORM", "our chief financial officer", "our chief trust officer"),
    (offices, "_HOUSE_BEFORE", "In May, Norwich City's new ", "In May, the new "),
    (offices, "_HOUSE_BEHIND", " of the Norwich City club", " of the club"),
    (offices, "_ASKED", "Who is Adobe's finance director?", "Who pays the finance director?"),
    (sentence_fit, "_PAST_OFFICE", "served from 2011 to 2014 as CEO", "serves as CEO"),
    (sentence_fit, "_STILL", "was appointed chief executive", "was chief executive"),
    (sentence_fit, "_HEADING", "## Rose garden", "The rose garden"),
    (sentence_fit, "_ASKS_HOLDER", "Who was appointed chief executive?", "Who was chief executive in 1990?"),
    (sentence_fit, "_LEAVES", "Ada Byron will retire as chair", "Ada Byron is the chair"),
    (sentence_fit, "_COMES", "Ada Byron was appointed chair", "Ada Byron was the chair"),
    (sentence_fit, "_ASKS_LEAVING", "Who will retire as chair?", "Who will be the chair?"),
    (sentence_fit, "_POINTS_BACK", "Its cost", "A cost"),
    (question_forms, "_COMPARED", "sold fewer cars", "sold cars"),
    (question_forms, "_ONE_OF_TWO", "Which is longer, the Elbe or the Oder?", "Is the Elbe longer, or the Oder?"),
    (question_forms, "_POLITE", "Could you please tell", "Could aspirin help"),
    (question_forms, "_EXPLANATION", "What is the role of the liver", "What is the capital of Peru"),
    (question_forms, "_DEFINITION", "What is a black hole?", "What is the capital?"),
    (question_forms, "_NO_DEFINITION", "capital of Peru", "black hole"),
    (question_forms, "_LIST", "Which proteins bind zinc", "Which protein binds zinc"),
    (exact, "_CALLED", "What happened to job 9871?", "How many of the 9871 jobs failed?"),
    (exact, "_CODE", "GX-2290", "gate-valve"),
    (exact, "_NO_CODE", "10mg", "cable"),
    (exact, "_FILE", "report-south.md", "2.4.1"),
    (legends, "_WRAPPED_CELL", "812<sup>a</sup>", "812 (a note)"),
    (legends, "_AT_END", "812^a^", "Hall (north wing)"),
    (legends, "_AT_END", "1.9 [1]", "1.9"),
    (legends, "_AT_END", "388*", "388 a"),
    (legends, "_AT_END", "640¹", "6401"),
    (legends, "_HEAD", "**Symbols used:** S = Sundays", "Keys are at the desk."),
    (legends, "_HEAD_WORD", "Grade key", "Keyboard"),
    (legends, "_STRONG", "n/a: not assessed", "a lot of water"),
    (legends, "_STRONG", "S = Sundays only", "Sundays = closed"),
    (legends, "_LOOSE", "* estimated", "— —"),
    (legends, "_WHOLE", "W, F", "&"),
    (legends, "_WRITTEN", "W: drinking water", "water; fire"),
    (legends, "_SENTENCE", "Buses marked * do not run on Sundays.", "Marked paths do not lead here."),
    (legends, "_SENTENCE", "An asterisk (*) indicates estimates.", "An asterisk indicates estimates."),
    (log_lines, "_LOG", "2025-02-09 03:14:07 ERROR worker-3", "On 2025-02-09 worker 3 failed."),
    (log_lines, "_SETTING", "listen_port = 8080", "The port is 8080"),
    (log_lines, "_CODE", "from os import path", "It came from the north"),
    (log_lines, "_NAMED_LEVEL", 'time=1 level="error"', "the level rose"),
    (log_lines, "_LEVEL", "[main] ERROR disk", "an error of the disk"),
    (log_lines, "_WRITTEN_LEVEL", "sshd[4711]: error: no entry", "an error of the disk"),
    (log_lines, "_SAYS_FAILURE", "Failed password for oskar", "Accepted password for oskar"),
    (log_lines, "_ASKS_ERRORS", "Which worker failed?", "Which worker finished?"),
    (sentences, "_CONTINUES", "a dose of", "a dose."),
    (sentences, "_EAST_ASIAN_ITEM", "第一条 本は八冊まで", "边创办，最盛的时候有六百名工人。"),
    (tables, "_ERROR", "#DIV/0!", "#12"),
    (tables, "_MEANINGS", "Meaning", "Price"),
    (tables, "_CODES", "Day code", "Name"),
    (values, "DATE", "14 March 1879", "14 apples"),
    (values, "NUMBER", "3.5 million km", "IL6"),
    (values, "_ASKS_DATE", "What year did it end?", "How many years did it last?"),
    (values, "_ASKS_NUMBER", "How many people live there?", "How do people live there?"),
    (values, "_ASKS_VERDICT", "Does it work?", "Why does it work?"),
    (values, "_BEGINS_QUESTION", "In which year did it end?", "Some 30 patients took part."),
    (values, "IS_A", "Ceres is a dwarf planet that orbits", "Ceres orbits the sun"),
    (values, "_WORD_NUMBER", "twenty-one days", "often tone"),
    (values, "_ISO_DATE", "on 2021-03-14.", "on 2021-13-14."),
    (words, "_TOKEN", "U.S.", "?!"),
    (words, "_ASCII_TOKEN", "U.S.A.", "é"),
    (words, "_SCRIPT_RUN", "肝臓", ""),
]

MATCHED_AT_THE_START = {
    "_EAST_ASIAN_ITEM",
    "_ASKS",
    "_EXPLANATION",
    "_DEFINITION",
    "_LIST",
    "_ASKS_VERDICT",
    "_BEGINS_QUESTION",
    "_LOG",
    "_SETTING",
    "_FORWARD",
    "_WHOLE",
    "_POINTS_BACK",
}
"""Patterns that are asked with `match`."""


@pytest.mark.parametrize(
    ("module", "name", "matching", "other"), EXAMPLES, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_pattern_matches_its_example_and_not_the_other(module, name, matching, other):
    pattern = getattr(module, name)
    find = pattern.match if name in MATCHED_AT_THE_START else pattern.search
    assert find(matching)
    assert not find(other)


def test_every_long_pattern_has_an_example():
    shown = {(module.__name__, name) for module, name, _, _ in EXAMPLES}
    for info in pkgutil.iter_modules(text.__path__, "preflight_rag.text."):
        module = importlib.import_module(info.name)
        source = Path(module.__file__).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            own = re.search(rf"^{name} = (?:re\.compile|_pattern)", source, re.MULTILINE)
            if own and len(value.pattern) > LONG:
                assert (info.name, name) in shown, f"{info.name}.{name} has no example"
