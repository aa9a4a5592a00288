"""Whether pyright finds every import of ours without an install.

    .venv/bin/python .ci/imports.py

It is given an interpreter that has no packages, so all imports of other people's are missing; none of ours may be.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = {"evaluation", "preflight_rag", "training", *(path.stem for path in (ROOT / "tests").glob("*.py"))}


def main() -> int:
    """Print the imports of ours that are not found."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", f"{folder}/bin/python"]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    report = json.loads(found.stdout)
    missing = [each for each in report["generalDiagnostics"] if each.get("rule") == "reportMissingImports"]
    if not any('"numpy' in each["message"] for each in missing):
        raise SystemExit(f"pyright was expected to miss numpy, but it said: {report['summary']}")
    of_ours = [each for each in missing if each["message"].split('"')[1].split(".")[0] in OURS]
    for each in of_ours:
        print(f"{each['file']}:{each['range']['start']['line'] + 1}: {each['message']}")
    print(f"pyright, {report['summary']['filesAnalyzed']} files: {len(of_ours)} imports of ours are not found")
    return 1 if of_ours else 0


if __name__ == "__main__":
    sys.exit(main())
