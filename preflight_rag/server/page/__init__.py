"""Routes of the web page: `/` and its static files, under a strict Content-Security-Policy.

All static files lie in one folder named by the hash of all of them, so that a module's relative imports find their
own version, browsers may cache every file forever, and a new version is fetched as a whole. PDFs are shown by pdf.js,
built files of Mozilla's in `static/pdfjs`, which a page loads when the first PDF is opened.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

FOLDER = Path(__file__).parent
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
VIEWER_KINDS = {
    ".mjs": "text/javascript",
    ".pfb": "application/octet-stream",
    ".ttf": "font/ttf",
    ".wasm": "application/wasm",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A worker has the policy of its own file. pdf.js's worker fetches nothing; it decodes scans with WebAssembly.
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@cache
def assets() -> dict[str, bytes]:
    """Return the page's own static files by name."""
    found = sorted((FOLDER / "static").iterdir())
    return {path.name: path.read_bytes() for path in found if path.suffix in KINDS}


@cache
def viewer() -> dict[str, bytes]:
    """Return the files of pdf.js by name, `pdfjs/…`."""
    found = sorted((FOLDER / "static" / "pdfjs").iterdir())
    return {f"pdfjs/{path.name}": path.read_bytes() for path in found if path.suffix in VIEWER_KINDS}


@cache
def version() -> str:
    """Return the name of the static files' folder: a hash of their names and contents."""
    digest = hashlib.sha256()
    for name, content in (assets() | viewer()).items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


@cache
def document() -> bytes:
    """Return the page, with the URLs of its files; modules are preloaded, so that they load in parallel."""
    base = f"/static/{version()}"
    named = [name for name in assets() if name.endswith(".js") and name not in ("app.js", "theme.js")]
    preloads = "\n".join(f'    <link rel="modulepreload" href="{base}/{name}">' for name in named)
    sheets = [name for name in assets() if name.endswith(".css")]
    styles = "\n".join(f'    <link rel="stylesheet" href="{base}/{name}">' for name in sheets)
    text = (FOLDER / "index.html").read_text(encoding="utf-8")
    filled = text.replace("<!-- styles -->", styles.strip()).replace("<!-- modules -->", preloads.strip())
    return filled.replace("{{assets}}", base).encode()


def page_router() -> APIRouter:
    """Return the routes `/` and `/static/VERSION/NAME`.

    Neither needs a key, since neither contains anything of the library.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def page(request: Request) -> Response:
        tag = f'"{hashlib.sha256(document()).hexdigest()[:16]}"'
        headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(document(), media_type="text/html", headers=headers)

    @router.get("/static/{folder}/{name:path}")
    def static(folder: str, name: str) -> Response:
        content = assets().get(name) or viewer().get(name)
        if content is None or folder != version():
            return Response("no such file", status_code=404, media_type="text/plain")
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        if name.endswith(".worker.min.mjs"):
            headers["Content-Security-Policy"] = WORKER_POLICY
        kind = (KINDS | VIEWER_KINDS)[Path(name).suffix]
        return Response(content, media_type=kind, headers={**headers, "ETag": f'"{folder}"'})

    return router
