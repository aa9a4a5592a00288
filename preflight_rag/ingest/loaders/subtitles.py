"""Subtitles and transcripts (.srt, .vtt): what is spoken as paragraphs, each with when it begins and who speaks.

A cue ends where a line on the screen is full, mostly inside a sentence; cues of one speaker that follow each other are
put together. Live captions repeat the lines of the cue before, which are read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.fields import clean, file_document, one_line
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s[^\n]*)?")
"""The line of a cue's times: "00:00:04,500 --> 00:00:08,900", "04:05.000 --> 04:06.000 align:start"."""
_VOICE = re.compile(r"<v(?:\.[\w.]{1,40})?\s([^<>]{1,80})>")
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^{}]{0,40}\}", re.IGNORECASE)
"""Marks for how words look: "<i>", "<00:01.000>", "{\\an8}"; no "5 < 6"."""
_DASH = re.compile(r"[-–—]\s?(?=\S)")
"""What begins the line of another speaker."""
_PAUSE = 3.0
"""Seconds of silence that end a paragraph; this number and the next two are guesses."""
_ROLLING = 0.1
"""Seconds between cues of live captions."""
_ENOUGH = 400
"""Characters of a paragraph that ends with its next sentence."""


@dataclass
class _Turn:
    """Words of one speaker: when they begin and end, in seconds, and who speaks; "" where the file does not say."""

    begins: float
    ends: float
    speaker: str
    words: str

    def goes_on(self, begins: float, speaker: str) -> bool:
        """Return whether words of a speaker that begin at a time go on with these."""
        is_full = len(self.words) > _ENOUGH and self.words.endswith((".", "!", "?"))
        return speaker == self.speaker and begins - self.ends < _PAUSE and not is_full

    def line(self) -> str:
        """Return the turn as a paragraph."""
        minutes, seconds = divmod(int(self.begins), 60)
        hours, minutes = divmod(minutes, 60)
        who = f"{self.speaker} said: " if self.speaker else ""
        return f"[{hours}:{minutes:02}:{seconds:02}] {who}{self.words}"


@dataclass
class _Cue:
    """What is on the screen at a time: when it begins and ends, in seconds, and its lines as `(speaker, words)`."""

    begins: float
    ends: float
    lines: list[tuple[str, str]]

    @classmethod
    def of(cls, timing: str, lines: list[str]) -> _Cue:
        """Return the cue of a line of times and of the lines below it."""
        match = _TIMING.fullmatch(timing)
        begins, ends = (_seconds(*match.groups()[at : at + 4]) for at in (0, 4)) if match else (0.0, 0.0)
        found, speaker = [], ""
        for line in lines:
            voice = _VOICE.search(line)
            speaker = one_line(unescape(voice[1])) if voice else speaker
            if words := one_line(unescape(_TAG.sub("", line))):
                found.append((speaker, words))
        return cls(begins, ends, found)

    def repeated(self, before: _Cue) -> int:
        """Return how many of the first lines are those with which the cue before ended, as live captions roll up.

        A cue after a pause repeats nothing, nor does a line of another speaker, which may be the same answer again.
        """
        if abs(self.begins - before.ends) > _ROLLING and not before.begins <= self.begins <= before.ends:
            return 0
        for count in range(min(len(self.lines), len(before.lines)), 0, -1):
            is_same = self.lines[:count] == before.lines[-count:]
            if is_same and (count == len(before.lines) or not _DASH.match(self.lines[0][1])):
                return count
        return 0


def load_subtitles(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the file as one document.

    Raises:
        UnreadableDocument: No line of it is that of a cue's times.
    """
    text = clean(decode(read_bytes(path, max_bytes), path))
    blocks = [block.split("\n") for block in re.split(r"\n[ \t]*\n", text) if block.strip()]
    if not any(_TIMING.fullmatch(line) for block in blocks for line in block):
        raise UnreadableDocument(f"{path} has no times of subtitles, such as 00:00:04,500 --> 00:00:08,900")
    report = ReadReport()
    title, notes, turns = "", [], list[_Turn]()
    shown = _Cue(0.0, 0.0, [])
    for block in blocks:
        first = block[0].strip()
        at = next((number for number, line in enumerate(block) if _TIMING.fullmatch(line)), None)
        if at is not None:
            report.count("cues")
            cue = _Cue.of(block[at], block[at + 1 :])
            _add_cue(turns, cue, cue.repeated(shown))
            shown = cue
        elif first.startswith("WEBVTT"):
            title = first.removeprefix("WEBVTT").strip(" -–\t")
        elif first.startswith("NOTE"):
            notes.append(f"Note: {one_line(' '.join(block).removeprefix('NOTE'))}")
        elif first not in ("STYLE", "REGION") and not first.isdigit():
            notes.append(one_line(" ".join(block)))
    lines = [*notes, *(turn.line() for turn in turns if turn.words)]
    yield file_document(path, "\n\n".join(lines), title=title, report=report)


def _add_cue(turns: list[_Turn], cue: _Cue, repeated: int) -> None:
    """Append the lines of a cue to the turns, without the first ones, which repeat the cue before."""
    several = sum(1 for _, words in cue.lines if _DASH.match(words)) > 1
    if turns and repeated:
        turns[-1].ends = cue.ends
    for speaker, words in cue.lines[repeated:]:
        if turns and turns[-1].goes_on(cue.begins, speaker) and not (several and _DASH.match(words)):
            turns[-1].words = f"{turns[-1].words} {words}".strip()
            turns[-1].ends = cue.ends
        else:
            turns.append(_Turn(cue.begins, cue.ends, speaker, words))


def _seconds(hours: str | None, minutes: str, seconds: str, parts: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{parts}")
