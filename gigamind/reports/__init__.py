"""How runs, comparisons and judge reports are shown: Markdown, report.html and its charts."""
