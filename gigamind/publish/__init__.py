"""The only package that uses Prefect: runs flow files, publishes artifacts and names end states."""
