"""Answers: are they grounded in their notes, and do they help?"""
