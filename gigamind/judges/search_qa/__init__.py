"""Judges an answer to a question over notes, claim by claim: is each grounded, and does the whole help (seed 004)?"""
