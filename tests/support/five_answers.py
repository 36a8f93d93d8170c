"""Five answers over a vault of five notes, and what a judge says of them."""

from answer_reply import answer_reply, aside, finding, supported

MODEL = "openai/judge"
LEAVE = "연차는 입사 첫해에 15일을 준다."
NOTES = {
    "휴가.md": f"---\ntitle: 휴가 규정\n---\n{LEAVE}\n\n반차는 0.5일로 계산한다.\n",
    "garden.md": "The garden has roses and tulips near the gate.\n",
    # BM25 finds nothing in two notes: a word that stands in half of them weighs nothing.
    "parking.md": "Cars stand behind the depot.\n",
    "배포.md": "배포는 금요일에 시작한다.\n",
    "invoices.md": "Invoices are paid on Mondays.\n",
}


def item(item_id, answer, **changes):
    given = {
        "id": item_id,
        "question": "연차는 며칠?",
        "answer": answer,
        "language": "ko",
        "context_notes": [{"path": "휴가.md"}, {"path": "garden.md"}],
    }
    return given | changes


ITEMS = [
    item(
        "good",
        "연차는 15일이다 [노트 1].",
        labels={
            "correctness": 1.0,
            "utility": 1.0,
            "abstains": False,
            "claims": [{"text": "연차는 15일이다 [노트 1].", "verdict": "supported", "note": 1}],
        },
        tags=["plain"],
    ),
    item(
        "mixed",
        "연차는 15일이다. 장미는 없다.",
        labels={
            "claims": [
                {"text": "장미는 없다.", "verdict": "contradicted"},
                {"text": "없는 말이다.", "verdict": "not_found"},
            ]
        },
    ),
    item("forged", "연차는 20일이다."),
    item("silent", "노트에는 관련 정보가 없습니다.", labels={"abstains": True, "utility": 0.0}),
    item("alone", "연차는 15일이다.", context_notes=[]),
]


def reply(*claims, **changes):
    return answer_reply(claims, LEAVE, **changes)


GOOD = reply(supported(LEAVE))
MIXED = reply(
    supported(LEAVE),
    finding(2, "contradicted", 2, "The garden has roses"),
    utility=0.75,
)
FORGED = reply(supported("연차는 입사 첫해에 20일을 준다."), utility=0.5)
SILENT = reply(aside("abstention", "관련 정보가 없습니다"), utility=0.9)
EVERY = [GOOD, MIXED, FORGED, SILENT]
"""What a judge says of "good", "mixed", "forged" and "silent"."""


def checks(*items, **quotes):
    names = items or ("direct", "grounded", "sources", "uncertainty")
    given = [(name, quotes.get(name, "")) for name in names]
    return {"items": [{"id": name, "yes": bool(q), "quote": q} for name, q in given]}


PASSING = checks(direct="연차는 15일이다", grounded=LEAVE, sources="[노트 1]")
FAILING = checks(direct="연차는 15일이다", grounded="연차는 없다고 한다.")
