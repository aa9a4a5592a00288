"""Plain functions over strings: sentences, words, values, names, dates, quotes.

`headers.py` has the lines that stand above what is shown from the documents.
"""
