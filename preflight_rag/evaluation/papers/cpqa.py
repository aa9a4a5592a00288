"""What CPQA (He et al., on query pipeline optimization for cancer patient question answering) published."""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

TABLES: dict[str, tuple[PublishedTable, ...]] = {}
