"""Rerankers: the second stage of retrieval."""
