"""Every regular expression of the package takes linear time on the worst input that it has.

The inputs come from the pattern itself (`hostile_text`), the patterns from the package (`compiled_patterns`): a new one
is tried without being listed here, and one that is made of data fails until it has an example.
"""

from __future__ import annotations

import ast
import re

import pytest
from compiled_patterns import METHODS, PACKAGE, Found, calls, collect, files
from hostile_text import attacks, seconds, worst

pytestmark = pytest.mark.slow

LEFT_OUT = ("text/lazy_patterns.py",)
"""A class that has no expression."""
EXAMPLES = {
    ("conversation/intents.py", "f'\\\\b({number_words})\\\\b|\\\\b([1-9]\\\\d?)(?:st|nd|rd|th)?\\\\b'"): (
        r"\b(first|second|last)\b|\b([1-9]\d?)(?:st|nd|rd|th)?\b"
    ),
    ("conversation/lookups.py", "f'{pattern}\\\\W*'"): r"(?:and )?(?:who (?:are|were) the authors?|by whom)\W*",
    ("corg/composition.py", "f\"(?<!\\\\w){re.escape(answer.strip(' .'))}(?!\\\\w)\""): r"(?<!\w)a\ b\ 12(?!\w)",
    ("corg/composition.py", "f'[*_]{{0,2}}{own_label}[*_]{{0,2}}\\\\s*:\\\\s+'"): r"[*_]{0,2}Aa\ \(b\)[*_]{0,2}\s*:\s+",
    ("corg/entities.py", "'(?<!\\\\w)' + '\\\\W{1,2}'.join(map(re.escape, name)) + '(?!\\\\w)'"): (
        r"(?<!\w)Aa\W{1,2}Bb(?!\w)"
    ),
    ("corg/entities.py", "spaced"): r"a\s+a\s+b",
    ("library/search/spelling.py", "pattern"): r"\n(?=[^ \n]{3,7} )(ab[^ \n]*|[^ \n]*ab) (\d+)(?=\n)",
    ("library/search/mentions.py", "body if _NO_SPACES.search(phrase) else f'(?<![^\\\\W_]){body}(?![^\\\\W_])'"): (
        r"(?<![^\W_])a(?:s)?[\W_]+b(?:s)?(?![^\W_])"
    ),
    ("prompts/relate_contexts.py", "f'\\\\W*(?:is\\\\s+)?{phrase}\\\\b'"): r"\W*(?:is\s+)?no relation\b",
    ("prompts/replies.py", "f'\\\\b{re.escape(option)}\\\\b'"): r"\ba\ b\b",
    ("text/abbreviations.py", "f'{case}(?<![\\\\w-]){re.escape(short)}s?(?![\\\\w-])'"): (
        r"(?i)(?<![\w-])seos\-a\-as?(?![\w-])"
    ),
    ("text/concepts.py", "f'(?<!\\\\w){re.escape(term)}(?!\\\\w)'"): r"(?<!\w)a\ a\ a\ b(?!\w)",
    ("text/dates.py", "form"): r"[12]\d{3}",
    ("text/document_dates.py", "form"): r"[12]\d{3}",
    ("text/exact.py", "f'(?<![\\\\w-]){any_of_form}(?![\\\\w-])'"): (r"(?<![\w-])[A-Za-z]+\-\d+(?![\w-])"),
    ("text/exact.py", "f\"(?<![^\\\\W_]){'[-_./:#+ ]?'.join(map(re.escape, runs))}(?![^\\\\W_])\""): (
        r"(?<![^\W_])GX[-_./:#+ ]?2290(?![^\W_])"
    ),
    ("text/exact.py", "f'{at_line_start}|{behind_word}'"): (
        r"^[ \t#*]*(?:§ ?)?4\.2[.):]?(?=[ \t]+[^\d\s]|$)|(?:\b(?:sub-?)?(?:claus"
        r"es?|sections?|articles?|paragraphs?|regulations?) |§ ?)4\.2(?![\d.]*\d)"
    ),
    ("text/exact.py", "f'(?<![\\\\w-]){form}(?![\\\\w-])'"): (r"(?<![\w-])PU-\d{2}(?![\w-])"),
    ("text/exact.py", "f'(?<![\\\\w@])(?<!\\\\w[.\\\\-/:@]){re.escape(text)}(?!\\\\w)(?![.\\\\-/:@]\\\\w)'"): (
        r"(?<![\w@])(?<!\w[.\-/:@])GX\-2290(?!\w)(?![.\-/:@]\w)"
    ),
    ("text/names.py", "f'{case}(?<!\\\\w){re.escape(name)}(?!\\\\w)'"): r"(?i)(?<!\w)aa\ aa\ b(?!\w)",
    ("text/numbered_parts.py", "f\"{_LINE_START}(?P<kind>(?i:{'|'.join(kinds)}))\\\\s?{number}{_AFTER_NUMBER}\""): (
        r"^[ \t]{0,8}(?:#{1,6}[ \t]+|\*\*)?(?P<kind>(?i:article))\s?5"
        r"(?:\*\*)?(?:[ \t]{0,8}$|[ \t]{0,4}[.):–—][ \t]|[ \t]{0,4}[.:]$|[ \t]{1,4}(?=[A-ZÀ-Þ“\"(\[]))"
    ),
}
"""For patterns that are made of data when they are used, what one may become."""
USED_BY = {"library/search/roles.py:_HEADINGS": {"fullmatch"}}
"""How tables of patterns are used where the source does not show it plainly."""
CUT_TO = {"prompts/replies.py:_THINKING": "</think>", "prompts/visible.py:_ENDED_THOUGHT": "</think>"}
"""What the texts end with that reach a pattern: its code gives it only what stands before the last such end."""
LENGTH = 100_000
SECONDS, MOST, RATIO = 0.2, 1.0, 3.0
"""Processor time for `LENGTH`; on a busy machine up to the second, if half of it takes more than a third."""

FOUND, MISSING = collect(LEFT_OUT, EXAMPLES)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_a_pattern_takes_linear_time_on_its_worst_input(name: str) -> None:
    assert_linear(name, FOUND[name])


def assert_linear(name: str, found: Found) -> None:
    methods = next((used for place, used in USED_BY.items() if name.startswith(place)), found.methods)
    end = CUT_TO.get(name, "")
    for attack in worst(found.pattern, methods, end):
        whole = half = 0.0
        for length in (3_000, 12_000, LENGTH):  # what is quadratic fails before it takes minutes
            half, whole = whole, seconds(found.pattern, methods, attack.text(length) + end, 2 * MOST)
            assert whole < MOST, (found.pattern.pattern, attack)
        if whole > SECONDS:
            half = min(seconds(found.pattern, methods, attack.text(LENGTH // 2) + end) for _ in range(3))
            whole = min(seconds(found.pattern, methods, attack.text(LENGTH) + end) for _ in range(3))
            assert whole < max(SECONDS, RATIO * half), (found.pattern.pattern, attack)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_no_possessive_quantifier_is_over_more_than_one_character(name: str) -> None:
    """Python 3.11.0 to 3.11.4, Debian 12's among them, match `(?:...)*+` wrongly; `(?>(?:...)*)` is the same."""
    pattern = FOUND[name].pattern
    assert not possessive_over_more(re._parser.parse(pattern.pattern, pattern.flags)), pattern.pattern


@pytest.mark.parametrize(
    ("pattern", "found"), [(r"a(?:\s++|[b]*+|.?+)", False), (r"(x(?:ab)*+|c)", True), (r"(?=(?>(?:a|bc){2}+))", True)]
)
def test_possessive_quantifiers_are_found(pattern: str, found: bool) -> None:
    assert possessive_over_more(re._parser.parse(pattern)) is found


def possessive_over_more(tree: object) -> bool:
    """Whether a parsed expression has a possessive quantifier over something else than one character."""
    if isinstance(tree, tuple) and len(tree) == 2 and tree[0] is re._constants.POSSESSIVE_REPEAT:
        _, _, body = tree[1]
        one = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
        return len(body) != 1 or str(body[0][0]) not in one
    is_tree = isinstance(tree, tuple | list | re._parser.SubPattern)
    return is_tree and any(possessive_over_more(part) for part in tree)


def test_patterns_that_are_made_of_data_have_an_example() -> None:
    assert not MISSING
    sources = {path: ast.parse((PACKAGE / path).read_text("utf-8")) for path in files(LEFT_OUT)}
    known = {(path, ast.unparse(call.args[0])) for path, tree in sources.items() for call, _ in calls(tree)}
    assert not set(EXAMPLES) - known, "of patterns that are gone"


def test_no_pattern_is_overlooked() -> None:
    """Counted another way: what the source hands to `re` by its text, and the names that the modules have by import."""
    for path in files(LEFT_OUT):
        source = (PACKAGE / path).read_text("utf-8")
        written = re.findall(rf"(?<![\w.])re\.(?:compile|{'|'.join(METHODS)})\(", source)
        assert len(written) == len(list(calls(ast.parse(source)))), path
        assert not re.search(r"^\s*(?:from re import|import (?:regex|re as))", source, re.MULTILINE), path
    places = {place for each in FOUND.values() for place in each.places}
    assert "text/citations.py:MARK" in places
    assert any(place.startswith("library/search/roles.py:_CUES") for place in places), "in tables"
    assert any(each.pattern.pattern == r"\S+" for each in FOUND.values()), "in functions"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+x",
        r"\s*(?:[,;/&+]|\band\b)\s*",
        r"^#{1,6}[ \t]+(.+?)[ \t]*#*$",
        r"[\w.-]+\.(?:pdf|docx)\b",
        r"(?:(?:the|all|all the|any) )*papers",
        r"which (?P<topic>[^?]+?)(?: (?:here|in the library))*[\s?.!]*",
        r"((?:\b[\w'-]+ ){2,6})\(([A-Z]{2,6})s?\)",
        r"\[[^\]]*\]|x",
        r"(?:\s{3,}\S+){3,}",
        r"(?:a|a b|b| )*c",
        r'[1] : (?:"[^"]*"(?: in [^.]*)?)*\n',
    ],
)
def test_the_generator_finds_patterns_that_are_not_linear(pattern: str) -> None:
    """Kinds that the package had."""
    compiled = re.compile(pattern)
    methods = {"search", "fullmatch"}
    slowest = max(seconds(compiled, methods, attack.text(24_000), 0.15) for attack in worst(compiled, methods))
    assert slowest > 0.1


def test_attacks_have_any_length() -> None:
    texts = [attack.text(1_000) for attack in attacks(re.compile(r"(?:ab|c)+\d"))]
    assert len(texts) > 100
    assert all(900 < len(text) < 1_100 for text in texts)
