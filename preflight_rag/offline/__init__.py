"""The keyless reader: evidence, answers, verdicts and relations without a language model."""
