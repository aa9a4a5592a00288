"""Fixtures of the server's tests."""

from __future__ import annotations

from server_fixtures import client_of, offline_app, openai_client, scripted_app, small_folder

__all__ = ["client_of", "offline_app", "openai_client", "scripted_app", "small_folder"]
