"""Subtitles and transcripts (.srt, .vtt): what is spoken as paragraphs, each with when it begins and who speaks.

A cue ends where a line on the screen is full, mostly inside a sentence; cues of one speaker that follow each other are
put together. Live captions repeat the line before, which is read once.
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
"""Seconds of silence that end a paragraph; this number and the next are guesses."""
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
    shown: list[str] = []
    for block in blocks:
        first = block[0].strip()
        at = next((number for number, line in enumerate(block) if _TIMING.fullmatch(line)), None)
        if at is not None:
            report.count("cues")
            lines = [line for line in map(str.strip, block[at + 1 :]) if line]
            _add_cue(turns, block[at], [line for line in lines if line not in shown])
            shown = lines
        elif first.startswith("WEBVTT"):
            title = first.removeprefix("WEBVTT").strip(" -–\t")
        elif first.startswith("NOTE"):
            notes.append(f"Note: {one_line(' '.join(block).removeprefix('NOTE'))}")
        elif first not in ("STYLE", "REGION") and not first.isdigit():
            notes.append(one_line(" ".join(block)))
    lines = [*notes, *(turn.line() for turn in turns if turn.words)]
    yield file_document(path, "\n\n".join(lines), title=title, report=report)


def _add_cue(turns: list[_Turn], timing: str, lines: list[str]) -> None:
    """Append the lines of a cue to the turns."""
    match = _TIMING.fullmatch(timing)
    begins, ends = (_seconds(*match.groups()[at : at + 4]) for at in (0, 4)) if match else (0.0, 0.0)
    speaker = ""
    several = sum(1 for line in lines if _DASH.match(line)) > 1
    for line in lines:
        voice = _VOICE.search(line)
        speaker = one_line(unescape(voice[1])) if voice else speaker
        words = one_line(unescape(_TAG.sub("", line)))
        if not words:
            continue
        if turns and turns[-1].goes_on(begins, speaker) and not (several and _DASH.match(line)):
            turns[-1].words = f"{turns[-1].words} {words}".strip()
            turns[-1].ends = ends
        else:
            turns.append(_Turn(begins, ends, speaker, words))


def _seconds(hours: str | None, minutes: str, seconds: str, parts: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{parts}")
