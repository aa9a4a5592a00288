"""`python -m preflight_rag`: the command line."""

from preflight_rag.cli import main

main()
