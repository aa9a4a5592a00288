"""Embedders: from text to vectors."""
