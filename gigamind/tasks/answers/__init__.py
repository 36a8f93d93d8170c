"""Answer evaluation: are answers grounded in their notes, and are they useful?"""

from gigamind.i18n import _

NO_NOTES = _("I could not find anything about this in the notes.")
"""The answer without notes. Judges recognise it in Korean and English: do not change these texts."""
