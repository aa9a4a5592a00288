"""Conversations: intents, follow-ups, history, questions made ready for search."""
