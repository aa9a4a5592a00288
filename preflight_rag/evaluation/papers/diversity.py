"""What Diversity (Wang et al., "Diversity enhances an LLM's performance in RAG") published.

Rows are named as ours are: SB is similarity alone, by SentenceBERT where sentences are selected and by E5 where chunks
are; "index sort", "sort" and m:n are the orderings of what was selected.
"""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

SETS = ("NQ", "TriviaQA", "NarrativeQA")
RATIOS = ("c_r 0.05", "c_r 0.1", "c_r 0.2")
WINDOWS = {
    "120k": "T_max 120,000", "50k": "T_max 50,000", "20k": "T_max 20,000",
    "10k": "T_max 10,000", "5k": "T_max 5,000", "2k": "T_max 2,000",
}  # fmt: skip
LEVELS = {"sentence": "sentence", "chunks of 256": "256 tokens", "chunks of 512": "512 tokens"}
ONE = "sentences of one document by spaCy, SentenceBERT; no other questions are named for the search of α and w"
MANY = "chunks of 512 tokens with 50 % overlap, E5, PCA and clusters; GPT-4 from T_max 20k on, GPT-3.5 below"
POOL = "all sentences (SentenceBERT) or chunks (E5) of SQuAD in one pool with PCA and clusters; GPT-3.5"

_BY_RATIO = {f"{data}, {ratio}": ratio for data in SETS for ratio in RATIOS}
_BY_LEVEL = {
    f"{level}, {short}": f"{ours}, {WINDOWS[short]}" for level, ours in LEVELS.items() for short in ("10k", "5k", "2k")
}
_TABLE_1 = {
    "SB": (46.28, 58.6, 69.41, 63.44, 71.64, 78.33, 18.6, 21.04, 25.61),
    "SB+MMR": (50.43, 63.18, 72.47, 65.29, 74.02, 80.47, 20.88, 24.09, 27.59),
    "SB+FPS": (50.88, 63.23, 72.33, 65.25, 73.18, 80.07, 21.34, 24.24, 27.44),
}
_TABLE_2 = {
    "SB (index sort)": (40.44, 51.74, 64.25, 75.66, 75.95, 76.25, 15.4, 17.98, 18.6),
    "SB (sort)": (40.25, 50.81, 60.61, 75.76, 76.15, 76.38, 13.72, 15.55, 17.07),
    "SB (1:1)": (40.25, 51.55, 60.24, 75.29, 76.33, 76.47, 14.18, 16.31, 17.99),
    "SB (2:1)": (41.28, 50.99, 61.08, 75.31, 76.33, 76.87, 14.18, 16.46, 17.84),
    "SB (3:1)": (39.41, 51.09, 60.05, 75.56, 76.13, 76.57, 14.63, 16.01, 17.23),
    "SB+MMR (index sort)": (45.76, 57.25, 67.9, 75.73, 76.2, 76.72, 18.6, 19.05, 20.27),
    "SB+MMR (sort)": (44.45, 55.19, 64.35, 76.2, 76.85, 77, 16.31, 16.46, 17.38),
    "SB+MMR (1:1)": (45.48, 55.57, 63.6, 76.23, 76.77, 77.34, 16.46, 16.62, 16.92),
    "SB+MMR (2:1)": (45.2, 55.29, 63.32, 75.9, 76.2, 76.65, 15.09, 15.55, 16.01),
    "SB+MMR (3:1)": (43.8, 55.85, 63.51, 76.05, 76.72, 76.92, 16.16, 16.92, 16.31),
    "SB+FPS (index sort)": (46.79, 59.12, 67.71, 75.93, 76.13, 76.6, 17.68, 17.68, 19.05),
    "SB+FPS (sort)": (45.76, 57.25, 63.32, 75.83, 76.45, 76.87, 16.31, 16.62, 17.23),
    "SB+FPS (1:1)": (46.14, 57.9, 62.76, 75.78, 76.35, 77.09, 16.62, 17.07, 16.77),
    "SB+FPS (2:1)": (45.76, 56.13, 62.2, 75.88, 76.23, 77.02, 15.85, 16.62, 16.46),
    "SB+FPS (3:1)": (44.27, 55.1, 63.69, 76.4, 76.77, 76.95, 15.7, 16.46, 16.01),
}
_TABLE_3 = {
    "SB": (
        70.7, 69.4, 68.5, 66.2, 64.2, 57.4, 13.42, 10.06, 6.7, 4.88, 4.88, 4.57,
        84.62, 81.15, 74.01, 70.24, 65.08, 56.55,
    ),
    "SB+MMR": (
        71.5, 71.5, 69.8, 67.2, 65.1, 57.8, 22.56, 20.43, 15.85, 14.94, 12.2, 7.01,
        88.99, 85.81, 82.24, 78.57, 74.01, 65.08,
    ),
}  # fmt: skip
_TABLE_4 = {
    "SB (index sort)": (45.7, 50.5, 52.7, 45.9, 49.2, 45.4),
    "SB (sort)": (55.2, 56.6, 54.6, 51.5, 50.5, 47.8),
    "SB (1:1)": (53.5, 55.9, 55.8, 50.5, 50.9, 46.9),
    "SB (2:1)": (54.5, 57.5, 56.4, 51, 50.5, 47.1),
    "SB (3:1)": (54.7, 57, 54.8, 51.3, 49.8, 47.4),
    "SB+MMR (index sort)": (46.2, 50.3, 53.2, 47.6, 50.9, 48.6),
    "SB+MMR (sort)": (56.4, 57.9, 57, 51.3, 51.4, 47.7),
    "SB+MMR (1:1)": (55, 57.2, 55.9, 50.8, 50.7, 47.8),
    "SB+MMR (2:1)": (57.2, 55.3, 56.2, 50.7, 52.2, 48.7),
    "SB+MMR (3:1)": (56.3, 56.4, 55.6, 51.6, 52.3, 47.4),
}
_TABLE_5 = {
    "SB (index sort)": (10.37, 9.15, 8.54, 5.18, 4.57, 4.88),
    "SB (sort)": (10.67, 10.59, 8.23, 6.1, 4.57, 5.18),
    "SB (1:1)": (9.76, 9.45, 7.93, 4.88, 4.88, 5.18),
    "SB (2:1)": (10.06, 9.15, 7.93, 5.18, 3.96, 5.18),
    "SB (3:1)": (10.98, 9.45, 7.93, 5.79, 4.57, 4.88),
    "SB+MMR (index sort)": (10.67, 10.37, 11.28, 4.88, 6.1, 4.88),
    "SB+MMR (sort)": (12.8, 10.67, 10.37, 6.1, 6.1, 4.27),
    "SB+MMR (1:1)": (11.89, 10.06, 11.28, 6.4, 6.71, 4.88),
    "SB+MMR (2:1)": (11.59, 10.67, 10.98, 6.4, 5.79, 5.49),
    "SB+MMR (3:1)": (11.89, 10.98, 10.06, 6.7, 7.01, 4.88),
}
_TABLE_6 = {
    "SB (index sort)": (74.21, 73.21, 73.12, 65.18, 64.19, 64.68),
    "SB (sort)": (73.81, 73.91, 72.42, 63.59, 65.08, 65.57),
    "SB (1:1)": (74.4, 73.12, 72.92, 64.29, 64.29, 64.98),
    "SB (2:1)": (73.81, 73.81, 72.72, 64.09, 64.58, 64.29),
    "SB (3:1)": (73.31, 74.11, 72.72, 63.99, 64.38, 64.78),
    "SB+MMR (index sort)": (74.7, 74.9, 73.51, 66.47, 66.87, 64.88),
    "SB+MMR (sort)": (74.9, 74.8, 73.12, 64.29, 65.57, 66.07),
    "SB+MMR (1:1)": (75.2, 75.5, 73.31, 65.38, 65.38, 65.08),
    "SB+MMR (2:1)": (74.6, 74.11, 72.62, 64.88, 65.77, 65.38),
    "SB+MMR (3:1)": (74.7, 74.31, 73.02, 65.67, 65.48, 64.98),
}
_TABLE_7 = {
    "SB": (86.8, 83.7, 78.5, 95, 92.7, 86.3, 96.7, 94.3, 86.6),
    "SB+MMR": (90.1, 89.4, 86.6, 97, 96.6, 95.4, 99, 97.8, 96.7),
}
_TABLE_8 = {
    "SB (index sort)": (70.4, 73, 71.7, 78.2, 81.1, 79.2, 80.2, 82.9, 78.2),
    "SB (sort)": (71.3, 70.1, 67.9, 79.9, 80, 76.6, 82.9, 82.2, 76.5),
    "SB (1:1)": (72, 71.8, 69.5, 80.3, 80.4, 77.5, 82.7, 82, 77.4),
    "SB (2:1)": (71.9, 71.7, 69.4, 80.4, 80.1, 77.4, 82.9, 81.9, 77.5),
    "SB (3:1)": (71.8, 71, 68.7, 81.4, 79.9, 77.7, 82.7, 82.2, 77.3),
    "SB+MMR (index sort)": (68.7, 74.2, 75, 76.5, 81.4, 83, 76.1, 84.2, 84.9),
    "SB+MMR (sort)": (71.5, 71.8, 72.5, 82, 81.9, 82.6, 84.1, 84.5, 84.7),
    "SB+MMR (1:1)": (72.5, 73.6, 72.9, 81.3, 82.2, 81.7, 82.3, 82.9, 84.6),
    "SB+MMR (2:1)": (71.9, 73.1, 73.2, 81.8, 82.5, 83.1, 84.5, 84.5, 85),
    "SB+MMR (3:1)": (71.7, 73.4, 71.9, 81.4, 82.5, 82.9, 83.4, 84.3, 84.5),
}
_TABLE_9 = {"SB": (17.7, 24.24, 11.3, 35.82), "SB+MMR": (18.0, 75.26, 11.8, 64.18)}

_LONG = {short: f"512 tokens, {ours}" for short, ours in WINDOWS.items()}
_THREE = {f"{data}, {short}": ours for data in ("NQ", "NarrativeQA", "TriviaQA") for short, ours in _LONG.items()}
TABLES: dict[str, tuple[PublishedTable, ...]] = {
    "diversity": (
        PublishedTable("Diversity, Table 1 (recall before reading)", ONE, _BY_RATIO, _TABLE_1),
        PublishedTable("Diversity, Table 2 (recall after reading)", f"{ONE}; GPT-4", _BY_RATIO, _TABLE_2),
    ),
    "pooled-levels": (
        PublishedTable("Diversity, Table 3 (recall before reading)", MANY, _THREE, _TABLE_3),
        PublishedTable("Diversity, Table 4 (Natural Questions, after reading)", MANY, _LONG, _TABLE_4),
        PublishedTable("Diversity, Table 5 (NarrativeQA, after reading)", MANY, _LONG, _TABLE_5),
        PublishedTable("Diversity, Table 6 (TriviaQA, after reading)", MANY, _LONG, _TABLE_6),
        PublishedTable("Diversity, Table 7 (recall before reading)", POOL, _BY_LEVEL, _TABLE_7),
        PublishedTable("Diversity, Table 8 (recall after reading)", POOL, _BY_LEVEL, _TABLE_8),
    ),
    "summaries": (
        PublishedTable(
            "Diversity, Table 9",
            "GovReport and legal documents of fewer than 15,000 tokens, sentences up to 8,000 tokens by SentenceBERT, "
            "summaries by GPT-3.5, judged by GPT-4; which ROUGE is not said",
            {
                "gov_report ROUGE": "ROUGE-L",
                "gov_report win rate": "win rate",
                "legal ROUGE": "ROUGE-L",
                "legal win rate": "win rate",
            },
            _TABLE_9,
        ),
    ),
}
