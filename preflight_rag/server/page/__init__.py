"""The web page: one HTML file, plain ES modules and CSS on the HTTP API; nothing is built or fetched."""

from preflight_rag.server.page.page import page_router

__all__ = ["page_router"]
