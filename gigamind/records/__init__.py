"""The files of an out folder as models, and how they are written whole or not at all."""
