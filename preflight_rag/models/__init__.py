"""What runs weights or calls a model: chat models, embedders, extractive readers, rerankers."""
