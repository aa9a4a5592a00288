"""Documents from web addresses: fetched by the server, only from addresses that its operator allows.

An address must begin with an allowed prefix, and so must each one to which it is redirected. A name is resolved once,
addresses in private networks are refused, and the connection goes to the address that was checked, so that a changed
name cannot lead elsewhere. The body is received up to a maximum size, and stored like an upload.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import httpx
from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from preflight_rag.ingest.loaders import SUFFIXES
from preflight_rag.ingest.loaders.files import suffix_of
from preflight_rag.server.dependencies import ServiceOf, WriterOf
from preflight_rag.server.errors import Refused
from preflight_rag.server.options import MEGABYTE
from preflight_rag.server.service import Service
from preflight_rag.server.upload_state import FileState, Upload
from preflight_rag.server.uploads import INCOMING, ReceivedFile, safe_name, start_taking_in
from preflight_rag.state.errors import UsageError

router = APIRouter(prefix="/api", tags=["library"])
MOST_REDIRECTS = 5
SECONDS = 30.0  # seconds for one document, redirects included: a guess
MOST_BYTES = 50 * MEGABYTE  # and never more than one upload: a guess
OFF = "this server fetches nothing from the web"
HOW = "Its operator allows it with `--fetch-from https://HOST/`; or save the page, and add the file."
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # IPv6 addresses that gateways translate to those of IPv4
_ENDINGS = {
    "text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/plain": ".txt",
    "text/markdown": ".md", "text/csv": ".csv", "application/json": ".json", "application/rtf": ".rtf",
    "application/epub+zip": ".epub", "text/xml": ".xml", "application/xml": ".xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}  # fmt: skip


class UrlBody(BaseModel):
    """A web address to add."""

    model_config = ConfigDict(extra="forbid")

    url: str


@dataclass(frozen=True)
class Fetched:
    """The content of a fetched address."""

    name: str
    content: bytes


@router.post("/documents/url", status_code=202)
async def add_by_url(body: UrlBody, service: ServiceOf, user: WriterOf) -> JSONResponse:
    """Fetch a document from a web address that the operator allows; /api/uploads shows the progress."""
    with service.uploads.receiving(user):
        fetched = await fetch(body.url.strip(), service)
        received = await asyncio.to_thread(_kept, fetched, service)
    begun = Upload(user.name, [FileState(received.name)])
    start_taking_in(service, [received], begun)
    return JSONResponse(begun.to_json(), 202)


def checked_prefixes(given: Sequence[str]) -> tuple[str, ...]:
    """Return the prefixes that an operator allows, in full form; a host alone stands for all of it over https.

    Raises:
        UsageError: One is not a web address.
    """
    found = tuple(each if "://" in each else f"https://{each}/" for each in given)
    for each in found:
        try:
            _parts(each)
        except ValueError:
            help = "Write it as https://example.org/ or https://example.org/papers/"
            raise UsageError(f"--fetch-from {each!r} is no web address", help=help) from None
    return found


def is_allowed(url: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether an address matches one of the prefixes: the same scheme, host and port, and a path below it."""
    try:
        asked = _parts(url)
        return any(
            asked[0] == scheme and asked[1] == host and asked[2] == port and _is_below(asked[3], path)
            for scheme, host, port, path in map(_parts, prefixes)
        )
    except ValueError:  # an invalid port
        return False


def _parts(url: str) -> tuple[str, str, int | None, str]:
    """Return scheme, host, port and path of a web address."""
    split = urlsplit(url)
    port = split.port or {"http": 80, "https": 443}.get(split.scheme)
    if split.scheme not in ("http", "https") or not split.hostname or split.username is not None:
        raise ValueError(f"not a plain web address: {url!r}")
    return split.scheme, split.hostname.rstrip("."), port, unquote(split.path) or "/"


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path lies in a folder, without `..` segments."""
    folder = folder if folder.endswith("/") else f"{folder}/"
    return ".." not in path.split("/") and "\\" not in path and f"{path}/".startswith(folder)


async def fetch(url: str, service: Service) -> Fetched:
    """Return the content of an address.

    Raises:
        Refused: It is not allowed, or leads elsewhere; it cannot be reached; it is too large, or not a document.
    """
    options = service.options
    if not options.fetch_from:
        raise Refused(403, OFF, help=HOW, code="fetch_off")
    most = min(MOST_BYTES, options.upload_bytes)
    try:
        async with asyncio.timeout(SECONDS), httpx.AsyncClient(trust_env=False, timeout=SECONDS) as client:
            for _ in range(MOST_REDIRECTS + 1):
                if not is_allowed(url, options.fetch_from):
                    allowed = ", ".join(options.fetch_from)
                    raise Refused(
                        403, f"{url[:200]!r} is not allowed here", help=f"Allowed is what begins with {allowed}."
                    )
                request = await _request(client, url, private=options.fetch_private)
                response = await client.send(request, stream=True)
                try:
                    if response.is_redirect:
                        url = urljoin(url, response.headers["location"])
                        continue
                    return await _received(response, url, most)
                finally:
                    await response.aclose()
        raise Refused(502, f"it is redirected more than {MOST_REDIRECTS} times", help="Give the address where it ends.")
    except TimeoutError:
        raise Refused(504, f"it took longer than {SECONDS:g} s", help="Save it, and add the file.") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        help = "Check the address, or save it and add the file."
        raise Refused(502, f"{urlsplit(url).hostname} cannot be reached ({type(error).__name__})", help=help) from None


async def _request(client: httpx.AsyncClient, url: str, *, private: bool) -> httpx.Request:
    """Return the request for an address, sent to the IP address that was checked, even if the name changes meanwhile.

    Raises:
        Refused: It is in a private network, or there is no such name.
    """
    _, host, port, _ = _parts(url)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise Refused(502, f"there is no host {host[:100]!r}", help="Check the address.") from None
    machines = [str(each[4][0]) for each in found]
    if not private and not all(map(_is_public, machines)):
        raise Refused(403, f"{host[:100]!r} is in a private network", help="Save the document, and add the file.")
    target = httpx.URL(url)
    headers = {"Host": target.netloc.decode(), "User-Agent": "preflight-rag", "Accept-Encoding": "identity"}
    asked = client.build_request("GET", target.copy_with(host=machines[0]), headers=headers)
    asked.extensions["sni_hostname"] = host
    return asked


def _is_public(machine: str) -> bool:
    """Return whether an IP address is public, also an IPv6 address that wraps an IPv4 one."""
    address = ipaddress.ip_address(machine.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address in _TRANSLATED:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        else:
            address = address.ipv4_mapped or address.sixtofour or address
    return address.is_global and not address.is_multicast


async def _received(response: httpx.Response, url: str, most: int) -> Fetched:
    """Return the body of a response as a file, unless it is larger than `most` bytes."""
    if response.status_code != 200:
        raise Refused(502, f"the address answers {response.status_code}", help="Check it in a browser.")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > most:
            raise Refused(413, f"it is larger than {most:,} bytes", help="Save it, and add the file.")
    if not content:
        raise Refused(502, "the address gives an empty document", help="Check it in a browser.")
    return Fetched(_name(url, response.headers.get("content-type", "")), bytes(content))


def _name(url: str, kind: str) -> str:
    """Return the file's name, with the extension of its type.

    Raises:
        Refused: It is of no kind that can be read.
    """
    split = urlsplit(url)
    last = safe_name(unquote(split.path.rstrip("/").rpartition("/")[2]) or split.hostname or "page")
    ending = _ENDINGS.get(kind.partition(";")[0].strip().lower(), "")
    if suffix_of(Path(last)) in SUFFIXES and ending in ("", ".txt", ".xml", suffix_of(Path(last))):
        return last
    if not ending:
        kinds = "It has to be a web page, a PDF, an office document or text."
        raise Refused(415, f"{kind.partition(';')[0][:80]!r} cannot be read", help=kinds)
    return safe_name(f"{last}{ending}")


def _kept(fetched: Fetched, service: Service) -> ReceivedFile:
    """Write a fetched file to the place of uploads."""
    kept = service.kept_files
    if kept.size() + len(fetched.content) > service.options.kept_bytes:
        raise Refused(507, "there is no room for more uploads", help="Delete documents that were uploaded.")
    (kept.folder / INCOMING).mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256(fetched.content).hexdigest()[:16]
    number, path = tempfile.mkstemp(dir=kept.folder / INCOMING)
    with os.fdopen(number, "wb") as file:
        file.write(fetched.content)
    return ReceivedFile(fetched.name, kept.keep(Path(path), kept.folder / digest / fetched.name), digest)
