"""Models and the code that runs them: chat models, embedders, extractive readers, rerankers.

Chat models are opened by name in `chat/chat_models.py`, the three others in `opening.py`.
"""
