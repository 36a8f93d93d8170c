"""The one room of the package that speaks to Prefect: runs flow files, publishes artifacts, names end states."""
