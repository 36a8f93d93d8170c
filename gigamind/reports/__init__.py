"""How runs, comparisons and judge cards are shown: Markdown, report.html and its charts."""
