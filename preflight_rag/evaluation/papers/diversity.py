"""What Diversity (Wang et al., "Diversity enhances an LLM's performance in RAG") published."""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

TABLES: dict[str, tuple[PublishedTable, ...]] = {}
