"""What reads bytes that come from outside, tried with any bytes.

A target is a function of bytes (`targets.py`): it ends in time, or raises what breaks a promise.  `inputs.py` makes the
bytes of seeds; `tests/fuzz/test_fuzz.py` tries a few of them in the ordinary suite, and `python -m fuzzing` as many as
minutes allow.
"""
