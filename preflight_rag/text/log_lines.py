"""Lines that are independent of their neighbours, and so quoted alone: log lines with a level, settings, code."""

from __future__ import annotations

import re

from preflight_rag.text.tables import is_row

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVEL_WORDS = (
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|FATAL|CRIT(?:ICAL)?|SEVERE|ALERT|EMERG(?:ENCY)?|PANIC)"
)
_LOG_LINE_START = re.compile(
    r"\s{0,8}(?:<\d{1,3}>\d?\s?)?[\[(]?(?:"
    rf"\d{{4}}[-/.]\d{{2}}[-/.]\d{{2}}[T ,]+{_CLOCK}"  # 2025-02-09 03:14:07
    rf"|(?:[A-Z][a-z]{{2}},? )?{_MONTH} [ \d]\d(?: \d{{4}})?,? {_CLOCK}"  # Feb  9 03:14:07, [Sun Feb 09 03:14:07
    rf"|\d{{1,2}}[/ -]{_MONTH}[/ -]\d{{4}}[: ]{_CLOCK}"  # 09/Feb/2025:03:14:07
    rf"|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}},? {_CLOCK}"  # 09.02.2025 03:14
    r"|\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?[\])]?\s"
    r"|\s{0,8}\d{1,7}\.\d{6}\]\s"  # [   12.345678], seconds since a system started
    r"|1\d{9}(?:\.\d{1,9}|\d{3})?[\])]?\s"  # seconds or milliseconds since 1970
    r"|[IWEF]\d{4} \d{2}:\d{2}:\d{2}"  # glog
    rf"|{_LEVEL_WORDS}(?:[\])]|[:|\t])"
    r"|(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b[\])]?(?: +- +| +(?=[^A-Z\s]|\S[a-z]))"
    r"|(?:\d{1,3}\.){3}\d{1,3} \S{1,64} \S{1,64} \[\d"  # a web server's access log
    r"|(?:time|ts|timestamp|level)=)"
)
"""The beginning of a log line, as nginx, syslog, Java, Python, Go and others write it."""
_SETTING = re.compile(r"\s{0,40}(?:- )?[\"']?[A-Za-z_][\w.\-/]{0,80}[\"']?\s{0,20}(?:=|:=|:(?=\s))\s{0,20}\S")
_CODE_LINE = re.compile(
    r"[{}]\s*$|^\s*(?:#include\b|from \S{1,80} import\b|import [\w.]+$|def \w+\(|@\w+$|//|/\*|>>> |\$ )"
)
_NAMED_LEVEL = re.compile(r"\b(?:level|severity|lvl|levelname|loglevel)[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z]{3,9})\b")
_LEVEL_WORD = re.compile(rf"(?<![\w-])({_LEVEL_WORDS})(?![\w-])|[\[<]({_LEVEL_WORDS.lower()})[\]>]")
_LEVEL_BEFORE_COLON = re.compile(r"(?:^|[\]:>|\s])(error|fatal|critical|crit|panic|alert|emerg|warning|warn)(?=:)")
_SAYS_FAILURE = re.compile(
    r"\b(?:failed|failure|failing|refused|denied|exceeded|timed out|unable to|could not|exception|traceback|aborted"
    r"|crashed)\b",
    re.IGNORECASE,
)
"""Words by which a log line without a level reports a failure."""
_GLOG_START = re.compile(r"\s{0,8}([IWEF])\d{4} \d{2}:")
_HTTP_ERROR_STATUS = re.compile(r"\" ([45])\d\d [\d-]")
"""The status after the request in a web server's access log."""
_LEVEL_CHARS = 200
"""Characters at the beginning of a line in which its level is looked for; a guess."""
_GLOG_LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "error"}
_LEVEL_OF_LOWER_WORD = {
    "trace": "info",
    "debug": "info",
    "info": "info",
    "notice": "info",
    "warn": "warning",
    "warning": "warning",
}
"""Level words below "error", with the level that each stands for; all other level words are errors."""
_ASKS_ERRORS = re.compile(
    r"\b(?:errors?|fail(?:s|ed|ing|ures?)?|crash(?:e[sd])?|exceptions?|fatal|warnings?|went wrong|goes wrong|broke"
    r"|aborted|problems?)\b",
    re.IGNORECASE,
)
ERROR_WORDS = frozenset(
    (
        *("error", "err", "fatal", "critic", "crit", "sever", "emerg", "alert", "panic", "fail", "failur", "crash"),
        *("except", "warn", "abort", "wrong", "problem"),
    )
)
"""Index terms of error lines, and of questions about errors."""
_ASKS_WARNINGS = re.compile(r"\bwarn", re.IGNORECASE)


def asks_errors(question: str) -> bool:
    """Return whether a question asks for errors."""
    return _ASKS_ERRORS.search(question) is not None


def error_lines(text: str, question: str = "") -> list[str]:
    """Return the log lines and table rows in a text whose level is "error"; [] if there are none.

    If the question names warnings, those with the level "warning" instead, if there are any.
    """
    errors: list[str] = []
    warnings: list[str] = []
    for line in text.split("\n"):
        level = level_of_record(line)
        if level == "error":
            errors.append(line.strip())
        elif level == "warning":
            warnings.append(line.strip())
    return (warnings or errors) if _ASKS_WARNINGS.search(question) else errors


def level_of_record(line: str) -> str:
    """Return the level of a log line, or of a table row that names one ("level: error"); "" for other lines."""
    if is_row(line):
        match = _NAMED_LEVEL.search(line)
        return _level_of_word(match[1]) if match else ""
    return level_of(line) if is_log_line(line) else ""


def is_log_line(line: str) -> bool:
    """Return whether a line begins like a log line: with a time, a level, or the address of a web server's client."""
    return _LOG_LINE_START.match(line) is not None


def is_setting(line: str) -> bool:
    """Return whether a line is a name and its value, as in a configuration file: `port = 8080`, `port: 8080`."""
    return _SETTING.match(line) is not None


def is_code(line: str) -> bool:
    """Return whether a line looks like program code."""
    return _CODE_LINE.search(line) is not None


def level_of(line: str) -> str:
    """Return the level of a log line: "info", "warning" or "error"; "" if it has none.

    An HTTP status of 500 or more is an error, one of 400 or more a warning; words such as "failed" mean an error.
    """
    beginning = line[:_LEVEL_CHARS]
    if match := _NAMED_LEVEL.search(line):
        return _level_of_word(match[1])
    if match := _LEVEL_WORD.search(beginning):
        return _level_of_word(match[1] or match[2])
    if match := _GLOG_START.match(beginning):
        return _GLOG_LEVELS[match[1]]
    if match := _HTTP_ERROR_STATUS.search(line):
        return "error" if match[1] == "5" else "warning"
    if match := _LEVEL_BEFORE_COLON.search(beginning):
        return _level_of_word(match[1])
    return "error" if _SAYS_FAILURE.search(line) else ""


def _level_of_word(word: str) -> str:
    """Return the level for a word: "info", "warning" or "error" for "debug", "warn" or "fatal"; else ""."""
    is_level = re.fullmatch(_LEVEL_WORDS, word, re.IGNORECASE) is not None
    return _LEVEL_OF_LOWER_WORD.get(word.lower(), "error") if is_level else ""
