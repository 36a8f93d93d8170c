import numpy as np
import pytest

from gigamind.errors import InputError
from gigamind.retrieval.embedders import UseMultilingual, load_embedder

TEXTS = ["The cat sat.", "고양이가 앉았다.", "배터리 교체 절차", "", "👋", "x" * 500]


def test_vectors_have_length_one_and_never_depend_on_their_neighbours(encoder):
    vectors = encoder.embed_passages(TEXTS)

    assert (vectors.shape, vectors.dtype) == ((6, 512), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert encoder.embed_query(text).tolist() == vector.tolist()
    assert encoder.embed_passages(TEXTS[::-1]).tolist() == vectors[::-1].tolist()


def test_only_the_first_eight_thousand_characters_count(encoder):
    text = "배터리 교체. " * 1_000  # 8 000 characters
    vector = encoder.embed_query(text)

    assert len(text) == 8_000
    assert (encoder.embed_query(text + "cat") == vector).all()
    assert not (encoder.embed_query(text[:-4] + "cat.") == vector).all()


def test_the_default_is_loaded_by_name_and_once_a_process():
    embedder = load_embedder("use-multilingual")
    assert isinstance(embedder, UseMultilingual)
    assert load_embedder("use-multilingual") is embedder


@pytest.mark.each(
    "name",
    [
        "", "word2vec", "fastembed:", "litellm:", "fastembed", "use-multilingual:x", "e5-small:x",
        ":x",
    ],
)  # fmt: skip
def test_an_unknown_provider_is_an_input_error_that_names_the_known_ones(name):
    with pytest.raises(InputError, match="use-multilingual, e5-small") as caught:
        load_embedder(name)
    assert caught.value.exit_code == 1
    assert caught.value.message.values["name"] == name
