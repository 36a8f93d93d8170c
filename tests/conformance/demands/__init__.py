"""What the project card and the five documents ask for, row by row, and what shows that it holds; `python -m demands` writes the page.

A document is a module; its rows are in the order of its lines.  Quotes are short: the documents are not ours to publish.
"""
