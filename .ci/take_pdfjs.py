"""Take pdf.js anew, which shows PDFs on the page: `python .ci/take_pdfjs.py [VERSION]`.

The built files come with the package, since the page loads nothing from any other host and nobody should need npm to
install it. Of the package `pdfjs-dist` are taken: the build for older browsers, too, with its worker; the decoders of
JPEG 2000, JBIG2 (scans) and colour profiles; the fonts that PDFs may leave out; and the licences of each. Left out are
character maps for East Asian fonts that a file does not bring along (1.2 MB), the scripting sandbox, the viewer of
Firefox, and maps of sources. What lies in the folder is checked against `SHA256SUMS` by the tests.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "5.6.205"
FOLDER = Path(__file__).parents[1] / "preflight_rag" / "server" / "page" / "static" / "pdfjs"
STYLES = ("", "Bold", "BoldItalic", "Italic")
FONTS = (
    *("FoxitDingbats.pfb", "FoxitSymbol.pfb"),
    *(f"Foxit{family}{style}.pfb" for family in ("Fixed", "Serif") for style in STYLES),
    *(f"LiberationSans-{style or 'Regular'}.ttf" for style in STYLES),
)
FILES = {
    "LICENSE": "LICENSE",
    "legacy/build/pdf.min.mjs": "pdf.min.mjs",
    "legacy/build/pdf.worker.min.mjs": "pdf.worker.min.mjs",
    **{f"standard_fonts/{name}": name for name in FONTS},
    "standard_fonts/LICENSE_FOXIT": "LICENSE_FOXIT",
    "standard_fonts/LICENSE_LIBERATION": "LICENSE_LIBERATION",
    "wasm/LICENSE_JBIG2": "LICENSE_JBIG2",
    "wasm/LICENSE_OPENJPEG": "LICENSE_OPENJPEG",
    "wasm/LICENSE_PDFJS_JBIG2": "LICENSE_PDFJS_JBIG2",
    "wasm/LICENSE_PDFJS_OPENJPEG": "LICENSE_PDFJS_OPENJPEG",
    "wasm/LICENSE_PDFJS_QCMS": "LICENSE_PDFJS_QCMS",
    "wasm/LICENSE_QCMS": "LICENSE_QCMS",
    "wasm/jbig2.wasm": "jbig2.wasm",
    "wasm/openjpeg.wasm": "openjpeg.wasm",
    "wasm/qcms_bg.wasm": "qcms_bg.wasm",
}
README = """pdf.js {version}, built files of the npm package `pdfjs-dist`, by Mozilla and contributors.
Apache License 2.0 (LICENSE); the decoders and fonts have licences of their own (LICENSE_...).
Taken by `python .ci/take_pdfjs.py`, unchanged; SHA256SUMS has their checksums.
"""


def main() -> None:
    """Fetch the package with npm and put its files in place."""
    version = sys.argv[1] if len(sys.argv) > 1 else VERSION
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", f"pdfjs-dist@{version}", "--silent"], cwd=scratch, check=True)
        (packed,) = Path(scratch).glob("*.tgz")
        with tarfile.open(packed) as archive:
            for name, target in FILES.items():
                content = archive.extractfile(f"package/{name}")
                assert content is not None, name
                (FOLDER / target).write_bytes(content.read())
    sums = [f"{hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()}  {name}" for name in sorted(FILES.values())]
    (FOLDER / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    (FOLDER / "README").write_text(README.format(version=version), encoding="utf-8")


if __name__ == "__main__":
    main()
