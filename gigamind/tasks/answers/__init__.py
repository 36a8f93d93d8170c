"""Answer evaluation: are answers grounded in their notes, and are they useful?"""

from gigamind.i18n import Language

NO_NOTES: dict[Language, str] = {
    "ko": "노트에서 관련 내용을 찾을 수 없습니다.",
    "en": "I could not find anything about this in the notes.",
}
"""The answer without notes, in the languages of the prompts. Judges recognise it, so it is not a message."""
