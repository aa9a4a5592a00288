"""What the paper BriefContext (Zhang et al., npj Digital Medicine 8:239, 2025) published."""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

TABLES: dict[str, tuple[PublishedTable, ...]] = {}
