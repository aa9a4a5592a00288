"""What runs weights or calls a model: chat models, embedders, extractive readers, rerankers.

By their names, chat models are opened in `chat/chat_models.py`, and the three others in `opening.py`.
"""
