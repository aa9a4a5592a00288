"""Plain functions over strings: sentences, words, values, names, dates, quotes."""
