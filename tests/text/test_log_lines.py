"""Lines of logs and their levels."""

from __future__ import annotations

import pytest

from preflight_rag.text.log_lines import asks_errors, error_lines, is_log_line, level_of
from preflight_rag.text.sentences import sentence_spans


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2025-02-09 03:14:07 ERROR worker-3 job failed", "error"),
        ("2025-04-01T09:41:07.456Z INFO [main] errors: 0", "info"),
        ('10.1.7.77 - - [05/Mar/2025:11:00:01 +0000] "POST /a HTTP/1.1" 502 157', "error"),
        ('10.1.7.77 - - [05/Mar/2025:11:00:01 +0000] "GET /a HTTP/1.1" 200 157', ""),
        ("2025/03/04 11:02:59 [error] 1201#0: open() failed", "error"),
        ("Jan 29 04:17:44 petrel sshd[4711]: error: no entry", "error"),
        ("[Sun Feb 09 03:14:07 2025] [warn] low space", "warning"),
        ("CRITICAL:importer:the catalogue ended", "error"),
        ("E0209 03:14:07.123 1 main.go:3] lost", "error"),
        ('time=2025-06-01T08:00:00Z level=warning msg="slow"', "warning"),
        ("09.02.2025 03:14:07 Backup finished", ""),
        ("[   88.120334] sdb3: reading directory failed", "error"),
    ],
)
def test_lines_of_logs(line: str, level: str) -> None:
    assert (is_log_line(line), level_of(line)) == (True, level)


@pytest.mark.parametrize(
    "line",
    [
        "On 9 February 2025 the worker failed.",
        "Error bars show the deviation.",
        "2025 was a dry year.",
        "Information: see below",
    ],
)
def test_lines_of_prose_are_none_of_a_log(line: str) -> None:
    assert not is_log_line(line)


def test_each_line_is_a_sentence_though_it_looks_wrapped() -> None:
    lines = [
        "2025-02-09 03:14:07 INFO the volume was mounted by worker-3 and",
        "2025-02-09 03:14:08 ERROR disk full. See /var/log. Giving up",
        "maximum_connections_of_each_process_at_once = 2048",
        "keepalive_timeout_of_connections_in_seconds = 75",
    ]
    text = "\n".join(lines)
    assert [text[slice(*span)] for span in sentence_spans(text)] == lines


def test_warnings_are_lines_of_errors_only_where_they_are_asked_for() -> None:
    text = "2025-02-09 03:14 WARN slow\n2025-02-09 03:15 ERROR lost\n2025-02-09 03:16 INFO up"
    assert error_lines(text) == ["2025-02-09 03:15 ERROR lost"]
    assert error_lines(text, "Were there warnings?") == ["2025-02-09 03:14 WARN slow"]
    assert asks_errors("Which worker failed?")
    assert not asks_errors("Which worker finished?")
