"""Subtitles and transcripts (.srt, .vtt): spoken words as paragraphs, each with its time and speaker.

A cue ends where the screen is full, mostly inside a sentence, so consecutive cues of one speaker are joined to one
paragraph. Live captions repeat the lines of the previous cue; these are read once.
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
"""The line with a cue's times: "00:00:04,500 --> 00:00:08,900", "04:05.000 --> 04:06.000 align:start"."""
_VOICE = re.compile(r"<v(?:\.[\w.]{1,40})?\s([^<>]{1,80})>")
"""The tag with a speaker's name in WebVTT: "<v Ada>"."""
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^{}]{0,40}\}", re.IGNORECASE)
"""Formatting tags: "<i>", "<00:01.000>", "{\\an8}"; not "5 < 6"."""
_DASH = re.compile(r"[-–—]\s?(?=\S)")
"""The dash that begins the line of another speaker."""
_MAX_PAUSE = 3.0
"""Seconds of silence from which on a new paragraph begins; this number and the next two are guesses."""
_ROLLING_GAP = 0.1
"""Maximum number of seconds between two cues of live captions."""
_LONG_PARAGRAPH = 400
"""Characters of a paragraph from which on it ends with the next complete sentence."""


@dataclass
class _Turn:
    """Consecutive words of one speaker, a paragraph of the document.

    Attributes:
        begins: When the first word is spoken, in seconds from the start.
        ends: When the last cue ends, in seconds.
        speaker: The speaker's name; "" if the file does not tell it.
        words: The words.
    """

    begins: float
    ends: float
    speaker: str
    words: str

    def accepts(self, begins: float, speaker: str) -> bool:
        """Return whether words of a speaker that begin at a time (in seconds) belong to this turn.

        They do not after a pause, or if the turn is long and ends with a sentence.
        """
        is_full = len(self.words) > _LONG_PARAGRAPH and self.words.endswith((".", "!", "?"))
        return speaker == self.speaker and begins - self.ends < _MAX_PAUSE and not is_full

    def paragraph(self) -> str:
        """Return the turn with its time and speaker: "[0:01:30] Ada said: We begin."."""
        minutes, seconds = divmod(int(self.begins), 60)
        hours, minutes = divmod(minutes, 60)
        speaker = f"{self.speaker} said: " if self.speaker else ""
        return f"[{hours}:{minutes:02}:{seconds:02}] {speaker}{self.words}"


@dataclass
class _Cue:
    """The text on the screen during a time: its begin and end in seconds, and its lines as `(speaker, words)`."""

    begins: float
    ends: float
    lines: list[tuple[str, str]]

    @classmethod
    def parse(cls, timing: str, lines: list[str]) -> _Cue:
        """Return the cue with a line of times and the lines of text below it; at 0 seconds if the times are invalid.

        A speaker's name holds for the following lines, too; tags and blank lines are left out.
        """
        begins = ends = 0.0
        if match := _TIMING.fullmatch(timing):
            begin_parts, end_parts = match.groups()[:4], match.groups()[4:]
            begins, ends = _to_seconds(*begin_parts), _to_seconds(*end_parts)
        spoken, speaker = [], ""
        for line in lines:
            voice = _VOICE.search(line)
            speaker = one_line(unescape(voice[1])) if voice else speaker
            if words := one_line(unescape(_TAG.sub("", line))):
                spoken.append((speaker, words))
        return cls(begins, ends, spoken)

    def count_repeated_lines(self, previous: _Cue) -> int:
        """Return how many of the first lines repeat the last lines of the previous cue, as live captions do.

        After a pause, nothing counts as repeated. Neither does a line with a dash unless the whole previous cue is
        repeated: another speaker may have given the same answer.
        """
        follows_at_once = abs(self.begins - previous.ends) <= _ROLLING_GAP
        overlaps = previous.begins <= self.begins <= previous.ends
        if not follows_at_once and not overlaps:
            return 0
        for count in range(min(len(self.lines), len(previous.lines)), 0, -1):
            _, first_words = self.lines[0]
            is_same = self.lines[:count] == previous.lines[-count:]
            if is_same and (count == len(previous.lines) or not _DASH.match(first_words)):
                return count
        return 0


def load_subtitles(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the file as one document: its notes, then the spoken words, a paragraph for each speaker's turn.

    Raises:
        UnreadableDocument: It contains no line with the times of a cue.
    """
    text = clean(decode(read_bytes(path, max_bytes), path))
    blocks = [block.split("\n") for block in re.split(r"\n[ \t]*\n", text) if block.strip()]
    if not any(_TIMING.fullmatch(line) for block in blocks for line in block):
        raise UnreadableDocument(f"{path} has no times of subtitles, such as 00:00:04,500 --> 00:00:08,900")
    report = ReadReport()
    title, notes, turns = "", [], list[_Turn]()
    previous = _Cue(0.0, 0.0, [])
    for block in blocks:
        first = block[0].strip()
        timing_index = next((index for index, line in enumerate(block) if _TIMING.fullmatch(line)), None)
        if timing_index is not None:
            report.count("cues")
            cue = _Cue.parse(block[timing_index], block[timing_index + 1 :])
            _add_cue(turns, cue, cue.count_repeated_lines(previous))
            previous = cue
        elif first.startswith("WEBVTT"):
            title = first.removeprefix("WEBVTT").strip(" -–\t")
        elif first.startswith("NOTE"):
            notes.append(f"Note: {one_line(' '.join(block).removeprefix('NOTE'))}")
        elif first not in ("STYLE", "REGION") and not first.isdigit():
            notes.append(one_line(" ".join(block)))
    paragraphs = [*notes, *(turn.paragraph() for turn in turns if turn.words)]
    yield file_document(path, "\n\n".join(paragraphs), title=title, report=report)


def _add_cue(turns: list[_Turn], cue: _Cue, repeated_lines: int) -> None:
    """Append the lines of a cue to the last turn, or as new turns if another speaker or paragraph begins.

    Args:
        turns: The turns so far, which are changed.
        cue: The next cue.
        repeated_lines: Number of the cue's first lines to leave out, since they repeat the previous cue.
    """
    has_several_speakers = sum(1 for _, words in cue.lines if _DASH.match(words)) > 1
    if turns and repeated_lines:
        turns[-1].ends = cue.ends
    for speaker, words in cue.lines[repeated_lines:]:
        is_new_speaker = has_several_speakers and _DASH.match(words)
        if turns and turns[-1].accepts(cue.begins, speaker) and not is_new_speaker:
            turns[-1].words = f"{turns[-1].words} {words}".strip()
            turns[-1].ends = cue.ends
        else:
            turns.append(_Turn(cue.begins, cue.ends, speaker, words))


def _to_seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    """Return a time as seconds; `fraction` are the digits after the decimal mark."""
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")
