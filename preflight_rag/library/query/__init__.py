"""What a query is made of: spelling, Boolean search expressions, MeSH."""
