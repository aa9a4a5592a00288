"""Plain functions over strings: sentences, words, values, names, dates, quotes.

`headers.py` has the lines that are shown above quotes and answers.
"""
