"""The prompts for language models and the parsers of their replies: one file per prompting stage."""
