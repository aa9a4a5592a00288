"""Language models: opening (`chat_models.py`), calling (`chat_reader.py`), errors (`model_errors.py`).

A new provider is a branch of `chat_models.open_chat_model`; those with a LangChain package need none.
"""
