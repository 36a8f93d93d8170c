"""`python -m gigamind`: the command line."""

from gigamind.cli.main import main

main()
