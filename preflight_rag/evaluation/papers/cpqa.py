"""What CPQA (He et al., on query pipeline optimization for cancer patient question answering) published."""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

RRF_SHARE, ENTROPY, IN_TOP = "RRF share", "entropy, bits", "in top 5"
ACCURACY, PRECISION, RECALL, F1 = "accuracy", "precision", "recall", "F1"
CLOSED_BOOK, NAIVE, PIPELINE = "closed book, CoT", "naive RAG", "query pipeline"
NEGATIVE = "50 cancer questions that both baselines answer wrongly; Claude-3-haiku reads"
RETRIEVERS = {"Pubmedbert-matryoshka": "dense", "BM25": "BM25", "MedCPT": "second dense"}


def _shares(*scores: float) -> list[float]:
    """RRF scores as shares of their sum, in percent."""
    return [round(100 * score / sum(scores), 1) for score in scores]


def _table_ii(
    name: str, asked: str, rrf: tuple[float, ...], entropies: tuple[float, ...], top: tuple[float, ...]
) -> PublishedTable:
    rows = zip(("E1 semantic", "E2 term-based", "E3 both"), rrf, _shares(*rrf), entropies, top, strict=True)
    return PublishedTable(
        where=f"CPQA, Table II: {name}",
        made_with=f"{asked}; live PubMed and PMC; MedCPT finds E1; its RRF score is a sum over questions",
        columns={"RRF score": "", "RRF share %": RRF_SHARE, "entropy": ENTROPY, "in top 5 %": IN_TOP},
        rows={group: (score, share, bits, round(100 * part, 1)) for group, score, share, bits, part in rows},
        percent=frozenset({RRF_SHARE, IN_TOP}),
    )


TABLES: dict[str, tuple[PublishedTable, ...]] = {
    "sources": (
        _table_ii(
            "HealthSearchQA",
            "44 consumer questions of 6.9 tokens",
            (20.848, 6.202, 1.358),
            (0.716, 0.539, 0.469),
            (0.736, 0.218, 0.045),
        ),
        _table_ii(
            "Negative Cancer QA",
            "50 cancer questions of 38 tokens that both baselines answer wrongly",
            (19.473, 11.319, 1.490),
            (1.488, 1.162, 0.440),
            (0.62, 0.336, 0.044),
        ),
    ),
    "cpqa": (
        PublishedTable(
            where="CPQA, Table V",
            made_with=(
                "344 cancer questions (23 MMLU, 86 MedQA, 93 MedMCQA, 60 PubMedQA, 82 BioASQ, by the fractions); live "
                "PubMed and PMC; Claude-3-haiku reads"
            ),
            columns={name: name for name in ("MMLU", "MedQA", "MedMCQA", "PubMedQA", "BioASQ", "Avg")},
            rows={
                CLOSED_BOOK: (78.26, 68.60, 65.59, 45.00, 80.49, 67.15),
                NAIVE: (82.61, 67.44, 65.59, 56.67, 81.71, 69.48),
                PIPELINE: (82.61, 69.77, 68.82, 65.00, 81.71, 72.39),
            },
        ),
    ),
    "cpqa-sources": (
        PublishedTable(
            where="CPQA, Table III",
            made_with=f"{NEGATIVE}; D1 PubMed abstracts, D2 PMC reviews, D3 other PMC articles, live",
            columns={name: name for name in (ACCURACY, PRECISION, RECALL, F1)},
            rows={
                "D1": (44.00, 41.12, 40.12, 39.14),
                "D1+D2": (46.00, 43.78, 38.13, 38.77),
                "D1+D2+D3": (46.00, 40.12, 33.86, 35.33),
            },
        ),
    ),
    "cpqa-splitters": (
        PublishedTable(
            where="CPQA, Table IV",
            made_with=f"{NEGATIVE}; MedCPT's reranker behind each retriever",
            columns=RETRIEVERS,
            rows={
                "fixed 512, overlap 0": (46, 20, 22),
                "fixed 512, overlap 32": (52, 18, 24),
                "fixed 512, overlap 128": (42, 16, 22),
                "SEOS": (54, 36, 38),
            },
        ),
    ),
}
