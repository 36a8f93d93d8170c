"""What the project card and the five documents ask for, row by row, and what shows that it holds; `python -m demands` writes the page.

A document is a module; in each part of it, rows that tests alone prove stand together.  Quotes are short: the documents are not ours to publish.
"""
