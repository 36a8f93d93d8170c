"""report.html: one file to look at, and its figures."""
