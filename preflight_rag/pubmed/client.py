"""A client of NCBI's E-utilities: `esearch` and `efetch` of PubMed and PMC, within NCBI's limits.

NCBI counts the requests of a whole machine, so one clock (`Spacing`) serves all threads and clients of a process, and,
through a file in the user's cache, all of the user's processes. Other users of the machine have clocks of their own.
"""

from __future__ import annotations

import getpass
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar

from preflight_rag.cache import cache_dir
from preflight_rag.ingest.loaders.fields import iso_date
from preflight_rag.pubmed.replies import (
    TOO_FAST,
    PassingFailure,
    SearchReply,
    check_records,
    error_in_json,
    raise_refusal,
    read_search,
)
from preflight_rag.state.errors import PubMedRefused, PubMedUnavailable, UsageError

if TYPE_CHECKING:
    import httpx

NCBI_URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
TOOL = "preflight-rag"
PER_SECOND, PER_SECOND_WITH_KEY = 3, 10
"""NCBI's own limits: https://www.ncbi.nlm.nih.gov/books/NBK25497."""
TIMEOUT = 10.0
"""Seconds that NCBI may be silent; a guess."""
PATIENCE = 30.0
"""Timeout of a request including all retries, in seconds; a guess."""
ATTEMPTS = 3

Database = Literal["pubmed", "pmc"]
T = TypeVar("T")

ALLOWANCE = 1.05
"""Factor by which requests start further apart than the limit requires, since their latencies differ."""

_LONGEST_QUERY = 1_500
"""Longer queries are sent by POST: servers truncate long URLs."""
_MAX_BYTES = 64 * 1024 * 1024
"""Largest reply that is accepted; a guess, far above 100 abstracts or 10 articles."""
_POLL = 0.01
"""Seconds between two tries of another process's lock; a guess, far below the interval."""
_FIRST_PAUSE = 0.5
"""Seconds before the first retry, doubled for each further one; a guess."""
_TOLD_WITHIN = 0.5
"""Seconds that writing a pause for other processes may take; a guess: without it, they get the server's refusal
themselves."""
_LONGEST_PAUSE = 3600.0
"""Longest pause in seconds that is read from the shared file, so that a damaged file cannot block all processes
forever."""
_TOO_FAST_PAUSE = 1.0
"""Seconds to pause after "too many requests": NCBI counts the requests of a second."""
_PASSING_STATUS = (408, 500, 502, 503, 504)
_OPEN_END = "3000"
"""The year that NCBI's own pages use for "until now"."""
_HELP = "Try again later, or ask without PubMed"


class Spacing:
    """Lets requests start one after another, each at least an interval after the last.

    Threads wait for their turn under one lock, processes under the lock of a file that holds when the last request
    started, and until when the server told all to wait; the interval counts from when a request really started.

    Args:
        file: Returns the file that the processes of this machine share; None for this process alone. If it cannot be
            written, a file of the user's own in the system's folder for temporary files is used.
    """

    def __init__(self, file: Callable[[], Path] | None = None) -> None:
        self._turn = threading.Lock()
        self._last = float("-inf")
        self._resume = float("-inf")
        self._file = file

    def wait(self, per_second: float, deadline: float) -> float:
        """Block until the next request may start, and return that time in `time.monotonic()`.

        Args:
            per_second: Most requests that may start in a second.
            deadline: The latest start, in the same clock.

        Raises:
            TimeoutError: No start is free before the deadline; none was reserved.
        """
        left = deadline - time.monotonic()
        if left < 0 or not self._turn.acquire(timeout=left):
            raise TimeoutError
        try:
            with self._among_processes(deadline) as shared:
                last, resume = shared.read()
                self._last, self._resume = max(self._last, last), max(self._resume, resume)
                while (start := max(self._next(per_second), now := time.monotonic())) > now:
                    if start > deadline:
                        raise TimeoutError
                    time.sleep(start - now)
                self._last = time.monotonic()
                shared.write(self._last, self._resume)
            return self._last
        finally:
            self._turn.release()

    def pause(self, seconds: float) -> None:
        """Let no request of any process start for `seconds`, because the server said that they come too fast."""
        self._resume = max(self._resume, time.monotonic() + min(seconds, _LONGEST_PAUSE))
        with suppress(TimeoutError), self._among_processes(time.monotonic() + _TOLD_WITHIN) as shared:
            last, resume = shared.read()
            # The other time tells since which start of the machine the pause is valid.
            shared.write(max(last, time.monotonic() - 1), max(resume, self._resume))

    def paused(self, deadline: float) -> float:
        """Return the seconds that all clients have to wait, if the wait ends after the deadline; else 0."""
        return self._resume - time.monotonic() if self._resume > deadline else 0.0

    def _next(self, per_second: float) -> float:
        """Return the time at which the next request may start."""
        return max(self._last + ALLOWANCE / per_second, self._resume)

    @contextmanager
    def _among_processes(self, deadline: float) -> Iterator[_LastStart]:
        """Lock the shared file and yield its times; without a usable file, yield times of this process alone."""
        if self._file is None:
            yield _LastStart(None)
            return
        from filelock import FileLock, Timeout

        for file in (self._file, _own_temporary_file):
            try:
                path = file()
                path.parent.mkdir(parents=True, exist_ok=True)
                lock = FileLock(path.with_suffix(".lock"))
                lock.acquire(timeout=max(deadline - time.monotonic(), 0), poll_interval=_POLL)
            except Timeout:
                raise TimeoutError from None
            except OSError:  # it cannot be written, e.g. in a read-only home
                continue
            try:
                yield _LastStart(path)
            finally:
                lock.release()
            return
        # If nothing can be written, requests are still allowed.
        yield _LastStart(None)


@dataclass(frozen=True)
class _LastStart:
    """The start of the last request of any process, and the earliest start of the next, in a file."""

    path: Path | None

    def read(self) -> tuple[float, float]:
        """Return both times in `time.monotonic()`, which all processes share until the machine restarts."""
        never = float("-inf")
        try:
            written = self.path.read_text("ascii").split() if self.path else []
            last, resume = [*map(float, written), never, never][:2]
        except (OSError, ValueError):
            return never, never
        # A time in the future was written before the machine was restarted.
        now = time.monotonic()
        return (last, min(resume, now + _LONGEST_PAUSE)) if last <= now else (never, never)

    def write(self, last: float, resume: float) -> None:
        """Write both times; if that fails, requests of other processes are not waited for."""
        if self.path is not None:
            with suppress(OSError):
                self.path.write_text(f"{last!r} {resume!r}", "ascii")


def _own_temporary_file() -> Path:
    """Return a file in a folder for temporary files that belongs to the user alone.

    Raises:
        PermissionError: Another user owns the folder of that name.
    """
    folder = Path(tempfile.gettempdir()) / f"preflight-rag-{getpass.getuser()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        raise PermissionError(folder)
    return folder / "ncbi-last-request"


def _shared_file() -> Path:
    """Return the file by which all processes of the machine keep to NCBI's rate limit."""
    return cache_dir() / "ncbi" / "last-request"


PROCESS = Spacing(_shared_file)
"""The spacing that all clients of the process share, and with it all of the user's processes."""


class EntrezClient:
    """Searches and fetches; may be used by several threads at once. Close it, or use it as a context manager.

    Requests of all clients of the machine's user start at least a third of a second apart, a tenth with a key: NCBI
    blocks faster clients. A key is sent only by POST, since URLs are logged by servers on the way. After a temporary
    failure a request is retried, after the wait that the server requests.

    Args:
        url: The address of E-utilities.
        email: The address to which NCBI writes before it blocks a program.
        api_key: A key of NCBI's, which allows 10 requests a second instead of 3.
        tool: The program's name.
        timeout: Seconds that the server may be silent.
        attempts: Most attempts of a request.
        per_second: A mirror's own limit of requests a second; None for NCBI's.
        spacing: The spacing of the requests.
    """

    def __init__(
        self,
        *,
        url: str = NCBI_URL,
        email: str = "",
        api_key: str = "",
        tool: str = TOOL,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
        per_second: float | None = None,
        spacing: Spacing = PROCESS,
    ) -> None:
        import httpx

        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is not an address of E-utilities", help=f"The usual one is {NCBI_URL}")
        self.url = url.rstrip("/")
        self.per_second = per_second or (PER_SECOND_WITH_KEY if api_key else PER_SECOND)
        self._identity = {"tool": tool, "email": email, "api_key": api_key}
        self._timeout, self._attempts, self._spacing = timeout, attempts, spacing
        self._http = httpx.Client(headers={"User-Agent": tool})

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> EntrezClient:
        """Return a client by `PREFLIGHT_NCBI_EMAIL`, `NCBI_API_KEY` and, for a mirror, `PREFLIGHT_NCBI_URL`."""
        return cls(
            url=environ.get("PREFLIGHT_NCBI_URL") or NCBI_URL,
            email=environ.get("PREFLIGHT_NCBI_EMAIL", ""),
            api_key=environ.get("NCBI_API_KEY", ""),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> EntrezClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def search(
        self,
        database: Database,
        expression: str,
        *,
        limit: int = 20,
        since: str | None = None,
        until: str | None = None,
        deadline: float | None = None,
    ) -> SearchReply:
        """Return the documents that an expression finds, most relevant first.

        Args:
            database: "pubmed" or "pmc".
            expression: The search expression, in PubMed's syntax.
            limit: Most ids that are returned.
            since: First publication date: a year, month or day.
            until: Last publication date.
            deadline: When to give up, in `time.monotonic()`; None for half a minute from now.

        Raises:
            UsageError: The expression is empty, or a date is in no known form.
            ExpressionRefused: NCBI does not accept the expression.
            PubMedUnavailable: NCBI cannot be reached, is too slow, or its replies cannot be read.
            PubMedRefused: It does not accept the key, the address or the number of requests.
        """
        if not expression.strip():
            raise UsageError(f"The search expression is empty: {expression!r}", help="Name at least one term")
        asked = {"db": database, "term": expression, "retmax": str(limit), "sort": "relevance", "retmode": "xml"}
        asked |= date_window(since, until)
        return self._ask("esearch", asked, lambda body: read_search(body, expression), deadline)

    def fetch(self, database: Database, ids: Sequence[str], *, deadline: float | None = None) -> bytes:
        """Return the records of documents as XML: a PubmedArticleSet, or a pmc-articleset in JATS.

        Raises:
            PubMedUnavailable, PubMedRefused: As for `search`, or NCBI has none of them.
        """
        asked = {"db": database, "id": ",".join(ids), "retmode": "xml"}
        return self._ask("efetch", asked, check_records, deadline)

    def _ask(self, utility: str, asked: dict[str, str], read: Callable[[bytes], T], deadline: float | None) -> T:
        """Send a request and return its reply as parsed by `read`; retry after a temporary failure."""
        deadline = time.monotonic() + PATIENCE if deadline is None else deadline
        sent = asked | {name: value for name, value in self._identity.items() if value}
        reason = ""
        for attempt in range(1, self._attempts + 1):
            try:
                self._spacing.wait(self.per_second, deadline)
                return read(self._reply(utility, sent, deadline))
            except TimeoutError:
                left = self._spacing.paused(deadline)
                reason = reason or (f"has asked to wait {left:,.0f} s more" if left else "could not be asked in time")
                break
            except PassingFailure as failure:
                reason = failure.reason
                pause = _FIRST_PAUSE * 2 ** (attempt - 1) if failure.wait is None else failure.wait
                if reason.startswith(TOO_FAST):
                    self._spacing.pause(max(pause, _TOO_FAST_PAUSE))
                if attempt == self._attempts:
                    break
                if time.monotonic() + pause > deadline:
                    reason += f" and asks to wait {failure.wait:,.0f} s" if failure.wait else ""
                    break
                time.sleep(pause)
        raise PubMedUnavailable(f"NCBI {reason} ({utility}, attempt {attempt} of {self._attempts})", help=_HELP)

    def _reply(self, utility: str, sent: dict[str, str], deadline: float) -> bytes:
        """Send one request to NCBI, and return the reply's body.

        Raises:
            PubMedError: A permanent failure.
            PassingFailure: A temporary failure.
            TimeoutError: The deadline has passed.
        """
        import httpx

        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        address = f"{self.url}/{utility}.fcgi"
        posted = "api_key" in sent or sum(map(len, sent.values())) > _LONGEST_QUERY
        where = {"data": sent} if posted else {"params": sent}
        timeout = min(self._timeout, left)
        try:
            with self._http.stream("POST" if posted else "GET", address, timeout=timeout, **where) as response:  # type: ignore[arg-type]
                body = _read(response, deadline)
        except httpx.TimeoutException as error:
            silent = f"was silent for {timeout:g} s" if timeout == self._timeout else "was too slow"
            raise PassingFailure(silent) from error
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            raise PassingFailure("broke off its reply") from error
        except httpx.HTTPError as error:
            raise PassingFailure(f"cannot be reached at {self.url} ({error or type(error).__name__})") from error
        _check_status(response, body, utility, sent.get("term", ""))
        return body


def _read(response: httpx.Response, deadline: float) -> bytes:
    """Return the body, or raise an error if it arrives too slowly or is too large."""
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise PassingFailure("was too slow")
        if size > _MAX_BYTES:
            raise PubMedRefused(f"NCBI sent more than {_MAX_BYTES:,} bytes", help="Ask for fewer documents")
    return b"".join(parts)


def _check_status(response: httpx.Response, body: bytes, utility: str, expression: str) -> None:
    """Raise the error that a reply's status means, unless it is 200."""
    status = response.status_code
    wait = retry_after(response.headers.get("Retry-After"))
    if status == 200:
        return
    if status == 429:
        raise PassingFailure(f"{TOO_FAST} (status 429)", wait=wait)
    if status in _PASSING_STATUS:
        raise PassingFailure(f"failed (status {status})", wait=wait)
    message = error_in_json(body)
    if "api key" in message.lower():
        raise PubMedRefused(f"NCBI refuses the API key: {message}", help="Check NCBI_API_KEY, or unset it")
    if status in (400, 414) and utility == "esearch":
        raise_refusal(message or f"status {status}", expression)
    raise PubMedRefused(
        f"{response.url.host} answered with status {status} {message}".rstrip(), help="Check PREFLIGHT_NCBI_URL"
    )


def date_window(since: str | None, until: str | None) -> dict[str, str]:
    """Return the parameters that limit a search to publication dates; E-utilities need both ends or none.

    Raises:
        UsageError: A date is in no known form.
    """
    if not since and not until:
        return {}
    ends = {"mindate": (since, "0001"), "maxdate": (until, _OPEN_END)}
    return {"datetype": "pdat"} | {name: _date(given) if given else open for name, (given, open) in ends.items()}


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date; None for an unreadable one."""
    if value is None:
        return None
    try:
        return max(0.0, float(value) if value.strip()[:1].isdigit() else _seconds_until(value))
    except (TypeError, ValueError, OverflowError):
        return None


def _seconds_until(value: str) -> float:
    """Return the seconds until an HTTP date."""
    return parsedate_to_datetime(value).timestamp() - time.time()


def _date(given: str) -> str:
    """Return a date as E-utilities write it, e.g. `2020/06/01`."""
    found = iso_date(given)
    if found is None:
        raise UsageError(f"{given!r} is no date", help="Write it like 2020, 2020-03 or 2020-03-31")
    return found.replace("-", "/")
