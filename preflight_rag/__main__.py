"""`python -m preflight_rag`: the command line."""

from .cli import main

main()
