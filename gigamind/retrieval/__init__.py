"""Finds the notes that answer a query: chunks, keyword and vector legs, fusion, graph rerank."""
