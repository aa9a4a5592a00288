"""The keyless reader: evidence, answers, verdicts and relations without a language model.

`reader.py` is what the stages call, `answers.py` decides between claim, evidence and nothing, `relations.py` between
relations of contexts; the lines above what is shown are in `preflight_rag/text/headers.py`.
"""
