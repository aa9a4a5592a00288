"""Long regular expressions of conversation/, each with a text that it matches and one that it must not."""

import pytest
from patterns import long_patterns

from preflight_rag.conversation import (
    document_questions,
    follow_ups,
    intents,
    lookups,
    metadata,
    named_files,
    named_places,
    overview,
)
from preflight_rag.text.lazy_patterns import LazyPattern

MODULES = (document_questions, follow_ups, intents, lookups, metadata, named_files, named_places, overview)

EXAMPLES = [
    (document_questions, "_WHEN_DONE", "The bridge was opened on 4 May 1931", "The bridge was opened by Ruth"),
    (document_questions, "_WHEN_DID", "The office closed in 1984", "The office closed the door"),
    (document_questions, "_WHEN_IS", "The deadline is 30 June 2026.", "The deadline is near"),
    (document_questions, "_HOW_LARGE", "The bridge is 412 metres long", "The bridge is long"),
    (document_questions, "_HOW_MANY", "Saturn has 145 known moons", "Saturn has known moons"),
    (document_questions, "_HOW_MUCH", "The pass costs $48", "The pass costs little"),
    (document_questions, "_AMOUNTS_TO", "The rent is 1,850 EUR", "The bridge is 412 metres long"),
    (document_questions, "_WHERE_DONE", "The archive is located in Prague", "The pairs were based on means"),
    (document_questions, "_WHERE_DOES", "The tower stands on Gull Rock", "The tower stands on its own"),
    (document_questions, "_WHY", "Basalt is dark because it holds iron", "Basalt is dark"),
    (document_questions, "_NO_DEFINITION", "the most common site", "the forest of Ulm"),
    (document_questions, "_NO_DEFINITION", "the softest with 1", "the study of rocks"),
    (document_questions, "_JUDGED_HEAD", "chance discovery", "skin disorder"),
    (document_questions, "_HEAD_NOUN", "a skin disorder that is incurable", "skin disorders of dogs"),
    (document_questions, "_ACT", "use of screws", "screw"),
    (document_questions, "_MEASURE", "list price", "votes for"),
    (document_questions, "_PART_OF_METHOD", "Materials and Methods", "asthma"),
    (document_questions, "_DONE_BY_AUTHORS", "chosen", "dark"),
    (document_questions, "_WHAT", "Basalt is a rock that is hard", "Basalt is hard"),
    (document_questions, "_NOT_NAMES", "It was opened", "Italy was founded"),
    (document_questions, "_CLAUSE", "the plan that failed", "the plan"),
    (document_questions, "_PERSON", "an engineer of bridges", "an engine"),
    (document_questions, "_FIELD", "Policy number: HX-20931", "policy number HX-20931"),
    (document_questions, "_NO_FIELD", "Prepared by", "Policy number"),
    (document_questions, "_TELLING_LABEL", "Policy number", "Register"),
    (overview, "_FOR_FIELD", "Bill to: Marta Kovac", "Bill to pay: Marta"),
    (overview, "_FOR_SENTENCE", "This leaflet is for people at home", "The leaflet is old"),
    (follow_ups, "_PERSON_NAME", "Ms. Nicosia", "the board"),
    (follow_ups, "_WHAT_OF", "What is the rent of flat 3B", "What does the rent of flat 3B cover"),
    (follow_ups, "_CLAUSE", "in which year", "aspirin"),
    (follow_ups, "_DEFINITION", "What is ibuprofen", "What is the dose"),
    (follow_ups, "_PRONOUN", "how does it work", "how does aspirin work"),
    (follow_ups, "_OF_NOTHING", "which dose was given?", "which dose was given in London?"),
    (follow_ups, "_OF_NOTHING", "how many of the women were included?", "what dose of aspirin was given?"),
    (follow_ups, "_OFFICE", "Who is the CEO?", "Who is the CEO of Amcor?"),
    (follow_ups, "_FIGURE", "what was net income?", "what was net income of Amcor?"),
    (follow_ups, "_QUANTITY", "net income of Amcor", "the capital of Georgia"),
    (follow_ups, "_ANTECEDENT", "which items are below their reorder level", "what is their price"),
    (follow_ups, "_BARE_SUBJECT", "what does insulin do", "what does the hormone do"),
    (follow_ups, "_RESEARCHERS", "authors", "enzymes"),
    (follow_ups, "_ARM", "in the placebo group", "in the morning"),
    (follow_ups, "_PEOPLE", "and in children?", "and in Oklahoma?"),
    (follow_ups, "_NO_PERSON", "Chief Executive Officer", "Mary Dillon"),
    (follow_ups, "_SUBJECT", "What was the annual dividend of 2023", "How much was paid?"),
    (follow_ups, "_OPENING", "In how many countries was it done?", "Aspirin was given"),
    (follow_ups, "_ASKS_ALONE", "in how many countries", "it was given"),
    (follow_ups, "_NAME_FIRST", "And Daniel Okafor, what does he do", "And what does Daniel Okafor do"),
    (follow_ups, "_DOCUMENT", "what about in the contract", "what about in the hall"),
    (follow_ups, "_INNER", "Which dose of etoricoxib was given", "Which dose was given"),
    (follow_ups, "_GENERAL", "How old were the women?", "How old were the women of Oslo?"),
    (named_places, "_SOURCE", "show me the second source", "the second paper on aspirin"),
    (named_places, "_ANSWER", "tell me more about the second one", "the second of May"),
    (intents, "_BEFORE", "could you please show it", "question"),
    (intents, "_AFTER", "show it again please", "please show the source"),
    (intents, "_ASKS", "what is it", "aspirin"),
    (lookups, "_ENTITIES", "List the drugs studied in the trials of asthma", "List the drugs studied in the trial"),
    (lookups, "_SPEAKS_OF_DOCUMENTS", "How many reports are there?", "Is aspirin an acid?"),
    (lookups, "_CALLED", "AZD3199 vs formoterol study", "study of formoterol"),
    (lookups, "_LEAD", "the use of ketamine", "ketamine"),
    (lookups, "_FRAGMENT", "and naproxen?", "and why?"),
    (metadata, "_STUDY", " phase trial", " was given"),
    (named_files, "_NAMED", "According to report-south.md, why?", "According to the report, why?"),
]


@pytest.mark.parametrize(("module", "name", "matching", "other"), EXAMPLES)
def test_a_pattern_matches_its_example_and_not_the_other(module, name, matching, other):
    pattern = getattr(module, name)
    pattern = pattern.compiled if isinstance(pattern, LazyPattern) else pattern
    assert pattern.search(matching)
    assert not pattern.search(other)


def test_every_long_pattern_has_an_example():
    assert long_patterns(MODULES) == {(module.__name__, name) for module, name, _, _ in EXAMPLES}


@pytest.mark.parametrize(
    ("kind", "matching", "other"),
    [
        ("greeting", "good morning", "good question"),
        ("thanks", "thank you for the quick answer", "thank you note"),
        ("goodbye", "see you tomorrow", "see table 2"),
        ("wellbeing", "how are you doing", "how are you treated for gout"),
        ("assent", "that makes sense", "that makes insulin"),
        ("identity", "who are you", "who are the authors"),
        ("abilities", "what can you do for me", "what can you do for gout"),
        ("source", "show me the second source", "show me the source of the Nile"),
        ("sources", "where did you get that from", "where did penicillin come from"),
        ("asked", "what did i ask before", "what did Fleming ask before"),
        ("questions", "which questions have i asked so far", "which questions did the trial ask"),
        ("questions", "which questions did i ask", "which questions did i asked wrongly"),
        ("repeat", "say that again", "say that aspirin works"),
        ("summary", "summarize our conversation", "summarize the treatment of gout"),
        ("shorter", "make it shorter", "make blood shorter"),
        ("restyle", "explain it in simple words", "explain gout in simple words"),
    ],
)
def test_a_kind_of_talk_matches_whole_clauses_of_it_alone(kind, matching, other):
    pattern = dict(intents._PATTERNS)[kind]
    assert pattern.fullmatch(matching)
    assert not pattern.fullmatch(other)


def test_every_kind_of_talk_has_a_pattern():
    assert [kind for kind, _ in intents._PATTERNS] == [
        *("greeting", "thanks", "goodbye", "wellbeing", "assent", "identity", "abilities"),
        *("source", "sources", "asked", "questions", "repeat", "summary", "shorter", "restyle"),
    ]
