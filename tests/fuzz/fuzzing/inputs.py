"""Bytes to try a target with: its seeds with some of their words put in another place, left out, or made odd."""

import re
from collections.abc import Sequence

from hypothesis import strategies as st

# A text of JSON or TOML, a word or number, white space, or one byte: what stands for itself in most of the formats.
_WORD = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[\w.+-]+|\s+|.', re.DOTALL)
_MOST_EDITS = 6
ODD = (
    *(b"", b"0", b"-1", b"1e999", b"-0.0", b"NaN", b"Infinity", b"true", b"null", b"[]", b"{}"),
    *(b'""', b'" "', b'"\\ud800"', b'"\\u0000"', b'"a\\nb"', b'"../../etc/passwd"', b'"[1]"'),
    *(b"9" * 25, b"9" * 5_000, b"1e" + b"9" * 400, b"0" * 300, b"nan", b"inf"),
    *(b"[" * 3_000, b'{"a":' * 3_000, b"a.b" * 2_000, b"> " * 500, b"* " * 500, b"(" * 500),
    *(b'"' * 3, b"'" * 3, b"```", b"---\n", b"...\n", b"&a [*a,*a]", b"!!python/name:os.system"),
    *(b"\n", b"\r\n", b"\r", b"\t", b"\x00", b"\x0b"),
    *(b"\x1b[2J", b"\xff", b"\xc0\x80", b"\xed\xa0\x80"),
    *("\ufeff \u2028 \u202e \u200b \u0301 \ufffe \U0001f600 가 각 ㎏ ² ٣ İ ß".encode().split()),
    *(b"[[", b"]]", b"![[", b"](", b"%%", b"<!--", b"-->", b"$$", b"|", b"#", b"{{", b"{%", b"\\"),
)


def words(seed: bytes) -> list[bytes]:
    """A seed in pieces, which are it in their order."""
    return _WORD.findall(seed)


def dictionary(seeds: Sequence[bytes]) -> list[bytes]:
    """The odd pieces, and all that stand in the seeds."""
    return [*ODD, *sorted({word for seed in seeds for word in words(seed)})]


@st.composite
def inputs(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Any bytes, or a seed with up to six edits."""
    if not draw(st.integers(0, 9)):
        return draw(st.binary(max_size=200))
    pieces = words(draw(st.sampled_from(seeds)))
    texts = st.text(max_size=6).map(lambda text: text.encode("utf-8", "surrogatepass"))
    put = st.sampled_from(ODD) | st.sampled_from(dictionary(seeds)) | texts
    for _ in range(draw(st.integers(1, _MOST_EDITS))):
        at = draw(st.integers(0, max(0, len(pieces) - 1)))
        left_out = draw(st.sampled_from((1, 1, 0, 2, 5)))
        repeated = draw(st.sampled_from((1, 1, 1, 0, 2, 40)))
        pieces[at : at + left_out] = [draw(put)] * repeated
    return b"".join(pieces)
