"""A claim in the language that its note is not in shares no words with it, so it is looked at once more."""

import pytest
from second_looks import is_second_look, looks

from gigamind.errors import LlmError
from gigamind.judges.search_qa.asking import load_search_qa_judge

LEAVE = "연차는 입사 첫해에 15일을 준다."
CLAIM = "New hires get fifteen days."


@pytest.fixture
def looker(scripted, reply_of, found):
    """A client that judges claims as told, and answers second looks by `says`."""

    def make(*claims, says=lambda _: True, able=True, on_claim=()):
        whole = reply_of(*claims or [found(1, "supported", 1, LEAVE)])

        class Looker(scripted):
            async def send(self, request):
                text = request.messages[-1]["content"]
                if is_second_look(text) and CLAIM in text and on_claim != ():
                    self.replies = [on_claim]
                elif is_second_look(text):
                    self.replies = [looks(text, says, able=able)]
                else:
                    self.replies = [whole]
                return await super().send(request)

            @property
            def asked(self):
                """The second looks at claims, those at the pairs aside."""
                texts = [request.messages[-1]["content"] for request in self.requests]
                return [one for one in texts if is_second_look(one) and CLAIM in one]

        return Looker()

    return make


def test_a_doubtful_claim_is_supported_once_its_sentence_is_seen_to_say_it(judge_by, looker):
    client = looker()
    judged = judge_by(client, CLAIM)
    (claim,) = judged.claims
    assert (claim.verdict, claim.confirmed, claim.doubt) == ("supported", True, None)
    # the whole, two calls with the 24 pairs, and the look
    assert len(client.requests) == 4
    (text,) = client.asked
    assert LEAVE in text
    assert "반차" not in text  # the sentence of the quote alone
    assert "연차는 며칠?" in text  # the question
    assert (judged.trial.stated, judged.trial.unstated) == ((12, 12), (12, 12))


def test_one_that_the_sentence_does_not_say_is_not(judge_by, looker):
    (claim,) = judge_by(looker(says=lambda _: False), CLAIM).claims
    assert (claim.reported_verdict, claim.verdict, claim.doubt) == (
        "supported",
        "unverified",
        "not_confirmed",
    )
    assert (claim.confirmed, claim.note) == (False, None)
    assert claim.passage.text == LEAVE


def test_a_model_that_does_not_tell_the_pairs_apart_is_not_asked_about_claims(judge_by, looker):
    client = looker(able=False)
    judged = judge_by(client, CLAIM)
    assert (judged.claims[0].verdict, judged.claims[0].doubt) == ("unverified", "not_looked_at")
    assert (judged.trial.stated, judged.trial.unstated) == ((12, 12), (12, 0))
    assert judged.trial.balanced_accuracy == 0.5
    assert client.asked == []


def test_a_statement_that_the_model_leaves_out_stays_unverified(judge_by, looker):
    (claim,) = judge_by(looker(says=lambda _: None), CLAIM).claims
    assert (claim.verdict, claim.doubt, claim.confirmed) == ("unverified", "not_looked_at", None)


def test_a_model_that_names_unsaid_words_does_not_say_that_all_is_said(judge_by, looker):
    torn = looker(on_claim={"looks": [{"id": 1, "unsaid": "fifteen", "said": True}]})
    assert judge_by(torn, CLAIM).claims[0].doubt == "not_confirmed"


def test_claims_in_the_words_of_their_sentence_need_no_second_look(judge_by, looker):
    client = looker()
    judged = judge_by(client, "연차는 입사 첫해에 15일이다.")
    assert (judged.correctness, judged.trial, len(client.requests)) == (1.0, None, 1)


def test_all_claims_are_looked_at_where_the_file_says_so(judge_by, looker, judge_file):
    client = looker(says=lambda _: False)
    judged = judge_by(client, "연차는 입사 첫해에 15일이다.", file=judge_file(second_look="all"))
    assert judged.claims[0].doubt == "not_confirmed"


def test_nobody_looks_where_the_file_says_never(judge_by, looker, judge_file):
    never = judge_file(second_look="never")
    client = looker()
    # of another language: nothing can be said for or against it
    assert judge_by(client, CLAIM, file=never).claims[0].verdict == "supported"
    own = judge_by(client, "모든 사원은 보너스와 식권을 받는다.", file=never).claims[0]
    assert (own.verdict, own.doubt) == ("unverified", "little_in_common")
    assert len(client.requests) == 2


def test_a_second_look_that_is_refused_leaves_the_item_unscored(judge_by, looker):
    with pytest.raises(LlmError) as caught:
        judge_by(looker(on_claim=None), CLAIM)
    assert caught.value.code == "refused"


def test_the_fingerprint_changes_with_the_second_look(judge_file):
    marks = [
        load_search_qa_judge(judge_file(**fields), "ko").fingerprint
        for fields in ({}, {"second_look": "all"}, {"second_look": "never"}, {"second_model": "x"})
    ]
    assert len(set(marks)) == 4
