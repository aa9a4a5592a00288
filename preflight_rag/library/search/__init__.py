"""Retrieval: hybrid search, fusion, filters, reranking, diversity, selection within a token budget, order."""
