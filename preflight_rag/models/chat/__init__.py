"""Language models: opening them (`chat_models.py`), asking them (`chat_reader.py`), their errors (`model_errors.py`).

A new provider is a branch of `chat_models.open_chat_model`; those that LangChain has a package for need none.
"""
