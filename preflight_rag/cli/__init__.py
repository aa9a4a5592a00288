"""The command line `preflight`: one file per family of commands, each command a few lines over the Python API."""

from __future__ import annotations

from preflight_rag.cli import ask, calibrate, collection, demo, doctor, evaluate, keys, mcp, serve, summarize, threads
from preflight_rag.cli.main import app

__all__ = [
    "app",
    "ask",
    "calibrate",
    "collection",
    "demo",
    "doctor",
    "evaluate",
    "keys",
    "main",
    "mcp",
    "serve",
    "summarize",
    "threads",
]


def main() -> None:
    """Run the command line."""
    app()
