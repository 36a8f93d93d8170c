"""Contradictions between a claim and the sentences around its quote, worked out by hand, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.judges.search_qa.passage import Passage
from gigamind.judges.search_qa.support import support
from gigamind.spans import Span


def supported_by(claim, text, **beside):
    return support(claim, Passage("", text), **{"note": text, **beside})


CONTRADICTED = [
    ("number", "연차는 52일입니다.", "연차는 최대 25일까지 생깁니다."),
    ("number", "환불은 14일 안에 신청합니다.", "이용이 끝난 날부터 7일 안에 신청해야 합니다."),
    ("number", "The outage lasted 38 minutes.", "The outage lasted 83 minutes."),
    ("number", "The team has three offices in 2024.", "The team has 5 offices."),
    ("number", "회의는 3월 6일에 열립니다.", "회의는 3월 5일에 열립니다."),
    ("number", "The fee is 500 EUR.", "The fee is 500 USD."),
    ("negation", "카드 번호는 평문으로 저장합니다.", "카드 번호는 평문으로 저장하지 않습니다."),
    ("negation", "표면 온도가 45도를 넘는 배터리는 옮긴다.", "표면 온도가 45도를 넘는 배터리는 옮기지 않는다."),
    ("negation", "환불을 받을 수 없습니다.", "환불을 받을 수 있습니다."),
    ("negation", "재택근무 중에는 촬영이 금지됩니다.", "재택근무 중에는 촬영이 됩니다."),
    ("negation", "Card numbers are stored in plain text.", "Card numbers are never stored in plain text."),
    ("negation", "The API does not support batch requests.", "The API supports batch requests."),
    ("negation", "Guests can enter the warehouse.", "Guests cannot enter the warehouse."),
    ("negation", "You will be blamed for losing it.", "You will not be blamed for losing it."),
    ("polarity", "매출은 작년보다 감소했다.", "매출은 작년보다 증가했다."),
    ("polarity", "로그 수집은 기본으로 활성화되어 있다.", "로그 수집은 기본으로 비활성화되어 있다."),
    ("polarity", "비밀번호는 12자 이하여야 합니다.", "비밀번호는 12자 이상이어야 한다."),
    ("polarity", "Revenue decreased last year.", "Revenue increased last year."),
    ("polarity", "The cache is enabled by default.", "The cache is disabled by default."),
    ("limit", "모든 직원이 삭제할 수 있습니다.", "관리자 직원만 삭제할 수 있습니다."),
    ("limit", "어느 지점에서나 짐을 맡길 수 있습니다.", "서울 지점에서만 짐을 맡길 수 있습니다."),
    ("limit", "인턴은 장비를 받습니다.", "인턴을 제외한 직원은 장비를 받습니다."),
    ("limit", "All staff get a laptop.", "All staff except interns get a laptop."),
    ("limit", "Interns get a laptop.", "All staff except interns get a laptop."),
    ("limit", "Everyone may delete notes.", "Only admins may delete notes."),
    ("roles", "영희가 철수에게 보고한다.", "철수가 영희에게 보고한다."),
    ("roles", "회사가 직원을 고소했다.", "직원이 회사를 고소했다."),
    ("roles", "자료를 부산에서 서울로 옮긴다.", "자료를 서울에서 부산으로 옮긴다."),
    ("roles", "개발팀이 디자인팀에 시안을 전달한다.", "디자인팀이 개발팀에 시안을 전달한다."),
    ("negation", "Guests must sign the book.", "Guests are not required to sign the book."),
    ("number", "비밀번호는 13자 이상입니다.", "비밀번호는 12자 이상입니다."),
    ("negation", "운영 서버에 직접 접속하세요.", "운영 서버에 직접 접속하지 마세요."),
    ("negation", "배터리는 따로 보관해야 합니다.", "배터리는 따로 보관하면 안 됩니다."),
    ("negation", "배터리는 따로 보관합니다.", "배터리는 따로 보관해서는 안된다."),
    ("negation", "이 요금은 제공됩니다.", "이 요금은 제공되진 않습니다."),
    ("negation", "파일을 실행하는 것입니다.", "파일을 실행하는 것이 아닙니다."),
    ("question", "환불은 7일 안에 됩니다.", "환불은 7일 안에 되나요?"),
    ("question", "The gateway failed in January.", "Did the gateway fail in January?"),
    ("question", "환불은 90일 이내에 가능합니다.", "Q: 환불은 90일 이내에 가능한가요?"),
    ("question", "환불은 90일입니다.", "# 환불 정책은 90일 입니까"),
    ("reported", "회사가 매각된다.", "회사가 매각된다는 소문이 있다."),
    ("reported", "결함이 있었다.", "회사는 결함이 있었다는 주장을 부인했다."),
    ("reported", "The company will be sold.", "The company denied that it will be sold."),
    ("reported", "The CEO is leaving.", "There is a rumour that the CEO is leaving."),
]  # fmt: skip


@pytest.mark.each("kind, claim, passage", CONTRADICTED)
def test_a_sentence_that_says_something_else_contradicts(kind, claim, passage):
    found = supported_by(claim, passage)
    assert found.contradictions == (kind,)
    assert found.doubtful


@pytest.mark.each(
    "claim, passage",
    [
        ("Marketing reviews the drafts of Legal.", "Legal reviews the drafts of Marketing."),
        ("Bob reports to Alice.", "Alice reports to Bob."),
        ("Globex acquired Initech.", "Initech acquired Globex."),
        ("The train goes from Porto to Lisbon.", "The train goes from Lisbon to Porto."),
    ],
)
def test_two_words_of_an_english_copy_in_each_others_place_are_refused(claim, passage):
    assert supported_by(claim, passage).refusal == "other_word"


@pytest.mark.each(
    "claim, passage",
    [
        ("김 과장은 사고를 당하지 않았다.", "김 과장은 사고를 당했다."),
        ("비용은 따로 들지 않는다.", "비용은 따로 든다."),
        ("환불은 7일 안에 되지 않는다.", "환불은 7일 안에 된다."),
        ("주차장은 지하에 있지 않다.", "주차장은 지하에 있다."),
        ("주차장은 지하에 있다.", "주차장은 지하에 있지 않다."),
        ("서버는 밤에 재시작되지 않는다.", "서버는 밤에 재시작된다."),
    ],
)
def test_a_negated_auxiliary_or_short_korean_verb_contradicts(claim, passage):
    assert supported_by(claim, passage).contradictions == ("negation",)


@pytest.mark.each(
    "claim, passage, contradictions",
    [
        ("2주 안에 신청해야 한다.", "14일 이내에 신청해야 한다.", ()),
        ("15일 안에 신청해야 한다.", "2주 안에 신청해야 한다.", ("number",)),
        ("금리는 0.5%p 올랐다.", "금리는 0.5퍼센트포인트 올랐다.", ()),
        ("금리는 0.5%p 올랐다.", "금리는 0.7%p 올랐다.", ("number",)),
        ("회의는 90분이다.", "회의는 1시간 30분이다.", ()),
        ("The trial lasts two weeks.", "The trial lasts 14 days.", ()),
        ("The trial lasts 18 months.", "The trial lasts one year.", ("number",)),
    ],
)
def test_numbers_are_compared_over_units_of_one_quantity(claim, passage, contradictions):
    assert supported_by(claim, passage).contradictions == contradictions


def test_a_claim_that_takes_words_of_the_next_sentence_is_refused():
    note = "Roses need water at dawn. Tulips need sand and shade in summer."
    passage = Passage.of(Span(0, 25), note)
    found = support("Roses need water and shade in summer.", passage, note=note)
    assert found.refusal == "other_sentence"


HONEST = [
    ("병가는 1년에 10일까지 유급입니다.", "1년에 10일까지 유급입니다."),
    ("재발급에는 영업일 4일이 걸립니다.", "재발급은 영업일 4일 걸립니다. 그동안은 팀장 카드를 같이 씁니다."),
    ("연차는 5일까지 이월됩니다.", "못 쓴 연차는 5일까지만 이월되고, 이월분은 다음 해 3월 31일에 소멸합니다."),
    ("배포하려면 승인이 필요합니다.", "승인이 없으면 배포할 수 없습니다."),
    ("Deploying requires approval.", "You cannot deploy without approval."),
    (
        "8월 4일까지 정류소 50곳이 준비되지 않으면 출시를 2주 늦춥니다.",
        "8월 4일까지 정류소 50곳이 안 되면 출시를 2주 늦춘다.",
    ),
    ("시간이 아니라 주행 거리를 기준으로 합니다.", "주행 거리 기준이지 시간 기준이 아니다."),
    ("진단서는 이틀까지 필요하지 않습니다.", "이틀까지는 진단서가 필요 없고, 사흘 이상 이어지면 진단서를 내 주세요."),
    ("Alice was hired by Bob.", "Bob hired Alice."),
    ("철수는 영희에게 보고를 받는다.", "영희가 철수에게 보고한다."),
    ("Refunds are not only fast but free.", "Refunds are fast and free."),
    ("It opens at 15:00.", "It opens at 3 pm on weekdays and closes at 18:00."),
    ("직원은 노트북을 받는다.", "인턴을 제외한 직원은 노트북을 받는다."),
    ("Admins may delete notes.", "Only admins may delete notes."),
    ("No approval is needed.", "You do not need approval."),
    ("Guests need not sign the book.", "Guests do not need to sign the book."),
    ("The cache is not disabled.", "The cache is enabled."),
    (
        "Elvis impersonators have existed since the 1950s.",
        "Contrary to popular belief, Elvis impersonators have existed since the 1950s.",
    ),
    ("사흘 안에 답합니다.", "3일 안에 답합니다."),
    ("Latency increased.", "Latency increased while throughput decreased."),
    ("There is a rumour that the CEO is leaving.", "There is a rumour that the CEO is leaving."),
    ("The office in Porto opens on Monday.", "On Monday the Porto office opens."),
    ("Samples lie in the grey cabinet.", "In the grey cabinet lie samples."),
    ("The price is 500 KRW.", "## Price: 500 KRW"),
    ("A and B differ.", "B and A differ."),
    ("왜 게이트웨이가 느린가?", "왜 게이트웨이가 느린가?"),
    ("모두가 동의한 것은 아니다.", "일부는 동의하지 않았다."),
    ("The price is 500 EUR plus VAT.", "The price is 500 EUR excluding VAT."),
    ("금액은 부가세 별도 500원입니다.", "부가세를 제외한 금액은 500원입니다."),
    ("The team uses Kafka, not RabbitMQ.", "RabbitMQ is not used; the team uses Kafka."),
    ("The reactor was shut down in 1999.", "In 1999 the reactor was shut down, not in 2001."),
    ("디자인팀이 만든 시안을 개발팀이 받는다.", "디자인팀이 개발팀에 시안을 전달한다."),
    ("Badges are not required for visitors.", "Visitors do not need a badge."),
    ("환불은 불가능합니다.", "환불이 불가합니다."),
    ("You have to wear a helmet unless you ride indoors.", "Helmets must be worn except indoors."),
    ("회의는 오후 3시에 시작합니다.", "회의는 15:00에 시작한다."),
    ("Gateway outage", "## Gateway outage"),
    (
        "They work with nurse practitioners, registered nurses, registered pnactical nurses and registered therapists.",
        "They work with nurse practitioners, registered nurses, registered practical nurses and registered therapists.",
    ),
    ("운영 서버에 직접 접속하지 말아야 합니다.", "운영 서버에 직접 접속하지 마세요."),
    ("이 요금은 제공되지 않습니다.", "이 요금은 제공되진 않습니다."),
    ("배터리는 따로 보관하지 말아야 합니다.", "배터리는 따로 보관하면 안 됩니다."),
    ("부산에서 서울은 가깝다.", "서울은 부산에서 가깝다."),
    ("회사는 공식적으로 재단의 일부가 아닙니다.", "(회사는 공식적으로 재단의 일부는 아닙니다.)"),
    ("There were over 900 developers.", "There were over nine hundred developers."),
    ("The Developers elect the Project Leader.", "The Project Leader is elected by the Developers."),
]  # fmt: skip


@pytest.mark.each("claim, passage", HONEST)
def test_what_is_said_in_other_words_or_in_part_is_no_contradiction(claim, passage):
    assert supported_by(claim, passage).contradictions == ()


DOUBTFUL = [
    ("김민주 님이 서버를 관리합니다.", "김민수 님이 서버를 관리합니다."),
    ("Mr. Andersen signs every contract.", "Mr. Anderson signs every contract."),
    ("회의는 화요일에 엽니다.", "회의는 월요일에 엽니다."),
    ("The office moved north of the river.", "The office moved south of the river."),
    ("연차는 5일까지 이월됩니다.", "연차는 5일까지만 이월됩니다."),
    ("Admins may delete notes.", "Only admins may delete notes."),
    ("직원은 노트북을 받아야 합니다.", "직원은 노트북을 받을 수 있습니다."),
    ("Leads must visit the other office.", "Leads may visit the other office."),
    ("새벽 8시에 자전거 8대를 모읍니다.", "새벽 3시에 자전거 8대를 모읍니다."),
    ("연차는 10일, 병가는 15일입니다.", "연차는 15일, 병가는 10일입니다."),
    ("At night Maria Silva answers the phone.", "At night the team answers the phone."),
    ("Rui에게 한 시간 안에 전화합니다.", "Lost or stolen: call Rui within one hour."),
    ("The office has a garden and a large kitchen.", "고양이는 지붕 위에서 잠을 잔다."),
    ("동호회를 만들면 지원금을 받습니다.", "영수증은 그날 사진으로 남깁니다."),
    ("The club gets a yearly grant.", "Photograph the receipt the same day."),
]


@pytest.mark.each("claim, passage", DOUBTFUL)
def test_what_code_cannot_tell_is_doubtful_and_no_contradiction(claim, passage):
    found = supported_by(claim, passage)
    assert found.contradictions == ()
    assert found.doubtful


BELIEVED = [
    ("병가는 1년에 10일까지 유급입니다 [노트 1].", "병가는 1년에 10일까지 유급이다."),
    ("일주일에 이틀까지 집에서 일할 수 있습니다.", "일주일에 이틀까지 집에서 일할 수 있다."),
    ("The outage lasted 83 minutes [Note 1].", "The outage lasted 83 minutes, until noon."),
    ("요금은 비싸지만 문은 넓습니다.", "요금은 비싸지만, 문은 넓습니다."),
    ("MySQL stays readable for 72 hours.", "**Keep MySQL** readable for 72 hours."),
]


@pytest.mark.each("claim, passage", BELIEVED)
def test_a_sentence_with_the_words_of_the_claim_supports_it(claim, passage):
    found = supported_by(claim, passage)
    assert (found.contradictions, found.doubtful) == ((), False)


def test_a_number_elsewhere_in_the_note_is_doubtful_and_one_of_title_or_question_is_known():
    claim, passage = "서버는 3대이고 백업은 40GB입니다.", "서버는 3대이고 백업도 있습니다."
    elsewhere = supported_by(claim, passage, note=f"{passage} 백업은 40GB이다.")
    assert (elsewhere.contradictions, elsewhere.doubtful) == ((), True)
    assert supported_by(claim, passage).contradictions == ("number",)
    for beside in ({"title": "백업 40GB"}, {"question": "백업 40GB는 어디 있나요?"}):
        assert supported_by(claim, passage, **beside).contradictions == ()


def test_a_number_of_the_note_stands_not_for_another_of_the_same_unit_in_the_sentence():
    passage = "The outage lasted 83 minutes."
    note = f"{passage} The call lasted 38 minutes."
    assert supported_by("The outage lasted 38 minutes.", passage, note=note).contradictions == (
        "number",
    )


def test_the_share_counts_words_of_passage_and_title():
    assert supported_by("red blue", "red").share == 0.5
    assert supported_by("red blue", "red", title="Blue").share == 1.0
    assert supported_by("red blue", "red", question="blue?").share == 0.5  # it proves nothing
    assert supported_by("red blue", "yoke").share == 0.0


def test_a_number_that_only_the_question_has_is_doubtful_beside_another_of_the_sentence():
    passage, question = "환불은 7일 안에 신청합니다.", "환불은 14일 안에 신청하나요?"
    found = supported_by("환불은 14일 안에 신청합니다.", passage, question=question)
    assert (found.contradictions, found.refusal) == ((), "new_number")


def test_the_words_of_the_question_alone_support_nothing():
    passage, question = "휴가는 규정을 보면 됩니다.", "성수 사무실의 주차 자리는 몇 면인가요?"
    found = supported_by("성수 사무실의 주차 자리는 여섯 면입니다.", passage, question=question)
    assert found.share < 0.2
    assert found.doubtful


NOTE = """# 규정

소개입니다.

## 환불

이용이 끝난 날부터 7일 안에 신청합니다. 그 뒤에는 받지 않습니다.

다음은 돌려주지 않습니다:

- 쿠폰
- 포인트로 낸 금액

**금액**

| 항목 | 금액 |
|---|---|
| 기본 | 500원 |
| 야간 | 700원 |

A line that is long enough to be wrapped goes
on in the next. Another.
"""

PASSAGES = [
    ("7일 안에", "환불", "이용이 끝난 날부터 7일 안에 신청합니다."),
    (
        "신청합니다. 그 뒤",
        "환불",
        "이용이 끝난 날부터 7일 안에 신청합니다. 그 뒤에는 받지 않습니다.",
    ),
    ("소개", "규정", "소개입니다."),
    ("포인트로", "환불", "다음은 돌려주지 않습니다:\n- 포인트로 낸 금액"),
    ("700원", "금액", "| 항목 | 금액 |\n| 야간 | 700원 |"),
    ("goes\non", "금액", "A line that is long enough to be wrapped goes\non in the next."),
    ("# 규정", "", "# 규정"),
]


@pytest.mark.each("quote, heading, text", PASSAGES)
def test_a_quote_is_read_in_its_whole_sentences_and_what_they_stand_under(quote, heading, text):
    at = NOTE.index(quote)
    passage = Passage.of(Span(at, at + len(quote)), NOTE)
    assert (passage.heading, passage.text) == (heading, text)


def test_a_list_under_a_denial_does_not_support_its_items():
    at = NOTE.index("- 쿠폰")
    found = support("쿠폰은 돌려줍니다.", Passage.of(Span(at, at + 4), NOTE), note=NOTE)
    assert found.contradictions == ("negation",)


LINES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)


@given(LINES)
def test_a_text_never_contradicts_itself(text):
    passage = Passage.of(Span(0, len(text)), text)
    assert support(passage.text, passage, note=text).contradictions == ()


@given(LINES, LINES, LINES)
def test_a_share_is_a_share_and_a_passage_holds_its_quote(before, quote, after):
    note = f"{before}{quote}{after}"
    place = align(quote, note)
    if isinstance(place, Aligned):
        passage = Passage.of(place.span, note)
        assert place.span.slice(note).strip() in passage.text
        assert 0.0 <= support(quote, passage, note=note).share <= 1.0
