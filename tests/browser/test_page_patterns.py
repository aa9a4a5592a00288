"""Every regular expression of the page takes linear time on the worst input that it has, in a real browser.

As for Python's (`tests/faults/test_patterns.py`): the patterns are found in the page's files, the inputs come from the
pattern itself, so a new one is tried without being listed here. PDF.js, which is not ours, is left out. Since browsers
differ in what they pass over, each pattern is tried in Python's matcher, too, which passes over nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostile_text import attacks, seconds, worst
from pygments.lexers.javascript import JavascriptLexer
from pygments.token import Comment, Error, String

import preflight_rag.server

pytestmark = pytest.mark.slow

FOLDER = Path(preflight_rag.server.__file__).parent / "page" / "static"
SCRIPTS = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.js"))}
ALL = 100_000
LENGTHS = {30: ALL, 300: ALL, 6_000: 16, 25_000: 4, 100_000: 4}
"""At which lengths attacks are tried, and how many of the slowest go on. What is worse than quadratic shows early; the
rest cannot be ranked by short texts, since a browser's clock goes in steps of a tenth of a millisecond."""
SECONDS, MOST, RATIO = 0.2, 1.0, 3.0
"""For the last length, as for Python's patterns, but by the clock: a browser gives no processor time."""
LIMIT = 60.0
"""Seconds for all attacks on one pattern. All of them together take about a tenth of a second where it is linear."""
FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}

TRY = """
onmessage = ({ data: { source, flags, attacks, lengths, slow, most } }) => {
  const pattern = new RegExp(source, [...new Set(flags.replace("y", "") + "g")].join(""));
  const seconds = ({ prefix, pump, end }, length) => {
    const text = prefix + pump.repeat(Math.floor(length / pump.length)) + end;
    const began = performance.now();
    for (const match of text.matchAll(pattern)) void match;
    return (performance.now() - began) / 1000;
  };
  const least = (attack, length) => Math.min(...[1, 2, 3].map(() => seconds(attack, length)));
  let left = attacks.map((attack) => ({ attack, whole: 0, half: 0 }));
  let last;
  for (const [length, keep] of lengths) {
    last = length;
    for (const each of left) {
      postMessage({ trying: { ...each.attack, length } });
      each.whole = seconds(each.attack, length);
      if (each.whole > 2 * most) return postMessage({ results: [each] });
    }
    left = left.sort((one, other) => other.whole - one.whole).slice(0, keep);
  }
  for (const each of left) {
    if (each.whole <= slow) continue;
    each.half = least(each.attack, last / 2);
    each.whole = least(each.attack, last);
  }
  postMessage({ results: left });
};
"""
"""Times a pattern on its attacks, through all of its matches, whichever method the page uses."""
IN_A_WORKER = """
([program, given, limit]) => new Promise((resolve) => {
  const worker = new Worker(URL.createObjectURL(new Blob([program])));
  let trying;
  const end = (reply) => { clearTimeout(timer); worker.terminate(); resolve(reply); };
  const timer = setTimeout(() => end({ tooSlow: trying ?? {} }), limit * 1000);
  worker.onerror = (event) => end({ error: event.message });
  worker.onmessage = ({ data }) => data.trying ? trying = data.trying : end(data);
  worker.postMessage(given);
})
"""
"""An exponential pattern never comes back: a worker can be ended from outside, a page can not."""


@dataclass(frozen=True)
class Literal:
    """A regular expression as it stands in a script."""

    place: str
    source: str
    flags: str

    def in_python(self) -> re.Pattern[str]:
        """The same for Python's parser, which the attacks are made with: near enough to sample what it matches."""
        source = re.sub(r"\\p\{[^}]*\}", r"\\w", self.source, flags=re.IGNORECASE)
        source = re.sub(r"\(\?<(?![=!])", "(?P<", source).replace("[^]", r"[\s\S]")
        source = re.sub(r"\\k<(\w+)>", r"(?P=\1)", source)
        source = re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda found: f"\\U{found[1]:0>8}", source)
        return re.compile(source, sum(FLAGS.get(flag, 0) for flag in self.flags))


def tokens(script: str) -> Iterator[tuple[int, object, str]]:
    """`(where, kind, text)` of each token: whether a slash divides or opens a pattern, Pygments knows."""
    yield from JavascriptLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(script)


def literals(name: str, script: str) -> Iterator[Literal]:
    """All regular expressions of a script."""
    for at, kind, text in tokens(script):
        assert kind is not Error, (name, text)
        if kind is String.Regex:
            source, _, flags = text[1:].rpartition("/")
            yield Literal(f"{name}:{script.count(chr(10), 0, at) + 1}:{source}", source, flags)


FOUND = {each.place: each for name, script in SCRIPTS.items() for each in literals(name, script)}


@pytest.fixture(scope="module")
def empty_page(browser):
    page = browser.new_page()
    yield page
    page.close()


def slowest(page, literal: Literal, limit: float = LIMIT) -> list[dict]:
    """The worst attacks on a pattern: `{attack, whole, half}`, in seconds for the last length and for half of it."""
    given = {
        "source": literal.source,
        "flags": literal.flags,
        "attacks": [vars(each) for each in attacks(literal.in_python())],
        "lengths": list(LENGTHS.items()),
        "slow": SECONDS,
        "most": MOST,
    }
    reply = page.evaluate(IN_A_WORKER, [TRY, given, limit])
    if "tooSlow" in reply:
        return [{"attack": reply["tooSlow"], "whole": limit, "half": 0.0}]
    return reply["results"]


def slowest_in_python(literal: Literal) -> dict:
    """The worst attack, as `slowest` gives it, by Python's matcher; the first that takes more than `MOST` is enough."""
    pattern = literal.in_python()
    results = []
    for attack in worst(pattern, {"finditer"}):
        for length in (3_000, 12_000, ALL):
            whole = seconds(pattern, {"finditer"}, attack.text(length), 2 * MOST)
            half = seconds(pattern, {"finditer"}, attack.text(length // 2)) if SECONDS < whole < MOST else 0.0
            results.append({"attack": attack, "whole": whole, "half": half})
            if whole > MOST:
                return results[-1]
    return max(results, key=lambda each: each["whole"])


def is_linear(result: dict) -> bool:
    return result["whole"] < SECONDS or result["whole"] < min(MOST, RATIO * result["half"])


@pytest.mark.parametrize("place", sorted(FOUND))
def test_a_pattern_of_the_page_takes_linear_time_on_its_worst_input(place: str, empty_page) -> None:
    results = slowest(empty_page, FOUND[place])
    assert results
    assert [each for each in results if not is_linear(each)] == []


@pytest.mark.parametrize("place", sorted(FOUND))
def test_a_pattern_of_the_page_is_linear_for_a_plain_backtracking_matcher(place: str) -> None:
    """Chromium passes over what another browser, or an older one, tries again at each character: `\\s+x` on spaces."""
    assert is_linear(slowest_in_python(FOUND[place]))


@pytest.mark.parametrize("source", [r"\w+\d+=", r"(?<name>\p{L}+).*=", r"(?:a|a b|b| )*c", r"(?:\d+,?)+;"])
def test_a_pattern_that_is_not_linear_in_chromium_is_found_out(source: str, empty_page) -> None:
    """None that looks for one character alone, which Chromium does by vector instructions: `<[^>]*>` takes 0.2 s."""
    results = slowest(empty_page, Literal("", source, "u" if "{L}" in source else ""), limit=5.0)
    assert [each for each in results if not is_linear(each)]


@pytest.mark.parametrize("source", [r"\s*\[\d+\]", r"^\s*(?:[-*]|\d+\.)\s+(.*)$", r"\s+$", r"(?<name>\p{L}+)="])
def test_a_pattern_that_is_not_linear_elsewhere_is_found_out(source: str) -> None:
    """The first two the page had."""
    assert not is_linear(slowest_in_python(Literal("", source, "")))


def test_no_pattern_of_the_page_is_overlooked() -> None:
    """Counted another way, by the text alone; and no pattern is made of data, where nothing could be read here."""
    assert len(SCRIPTS) > 20
    for name, script in SCRIPTS.items():
        found = {each.source for each in literals(name, script)}
        written = re.findall(r"(?:[(=,?:!&|]|=>|return)\s*/(?![/*])((?:\\.|\[(?:\\.|[^]\\\n])*\]|[^/\\\n[])+)/", script)
        assert set(written) <= found, name
        code = "".join(text for _, kind, text in tokens(script) if kind not in Comment and kind not in String)
        assert not re.search(r"\bRegExp\b|\.(?:compile|match|matchAll|search)\(", code), f"{name}: give it an example"
    assert {"words.js", "answer.js", "quote.js"} <= {place.split(":")[0] for place in FOUND}


def test_patterns_are_told_from_divisions_and_found_in_templates() -> None:
    script = 'const a = b / c / d; // /x+/\nconst e = `${f.replace(/g+"/gu, "")} /h+/`; /* /i+/ */ const j = "/k+/";'
    assert [(each.source, each.flags) for each in literals("", script)] == [('g+"', "gu")]
