"""The prompts for language models, and how their replies are parsed: one file per prompting stage."""
