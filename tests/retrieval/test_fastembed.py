"""The fastembed provider, with a tiny real ONNX model and onnxruntime."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tiny_model import tiny_vector

from gigamind.errors import EmbeddingError, InputError
from gigamind.retrieval.embedders import load_embedder

TEXTS = ["battery", "배터리 교체", "a", "zzz abc", "밤 Q!"]


def test_a_vector_is_the_mean_of_its_tokens_at_length_one(tiny_model):
    embedder = load_embedder(f"fastembed:{tiny_model()}")

    with_others = embedder.embed_passages([*TEXTS, "much longer text than the others " * 9])
    vectors = embedder.embed_passages(TEXTS)

    assert vectors.shape == (5, 16)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert vector == pytest.approx(tiny_vector(text), abs=1e-6)
        assert embedder.embed_query(text).tolist() == vector.tolist()
    assert with_others[:5].tolist() == vectors.tolist()


@pytest.mark.parametrize(
    ("query", "of_passage"), [("query: ", "passage"), ("query: ", "document"), ("", "document")]
)
def test_the_models_prompts_stand_before_a_query_and_a_passage(query, of_passage, tiny_model):
    prompts = {"prompts": {"query": query, of_passage: "text: "}}
    folder = tiny_model(config_sentence_transformers=prompts)
    embedder = load_embedder(f"fastembed:{folder}")

    assert embedder.embed_query("밤") == pytest.approx(tiny_vector(f"{query}밤"), abs=1e-6)
    assert embedder.embed_passages(["밤"])[0] == pytest.approx(tiny_vector("text: 밤"), abs=1e-6)


@pytest.mark.parametrize(
    ("pooling", "counted"),
    [
        ("pooling_mode_cls_token", "b"),
        ("pooling_mode_lasttoken", "y"),
        ("pooling_mode_mean_tokens", "battery"),
    ],
)
def test_the_models_own_pooling_is_used(pooling, counted, tiny_model):
    folder = tiny_model(pooling, **{"1_Pooling__config": {pooling: True}})

    vector = load_embedder(f"fastembed:{folder}").embed_query("battery")

    assert vector == pytest.approx(tiny_vector(counted), abs=1e-6)


def test_a_text_is_cut_at_the_models_limit(tiny_model):
    folder = tiny_model(tokenizer_config={"model_max_length": 4, "pad_token": "[PAD]"})

    vector = load_embedder(f"fastembed:{folder}").embed_query("batt" + "z" * 100)

    assert vector == pytest.approx(tiny_vector("batt"), abs=1e-6)


def test_a_model_in_a_subfolder_is_found(tiny_model):
    folder = tiny_model()
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")

    vector = load_embedder(f"fastembed:{folder}").embed_query("battery")

    assert vector == pytest.approx(tiny_vector("battery"), abs=1e-6)


def test_the_name_is_that_of_the_folder_and_the_same_wherever_it_stands(tiny_model, tmp_path):
    name = load_embedder(f"fastembed:{tiny_model()}").name
    shutil.copytree(tiny_model(), tmp_path / "elsewhere" / "tiny")

    assert name.startswith("fastembed:tiny#")
    assert load_embedder(f"fastembed:{tmp_path / 'elsewhere' / 'tiny'}").name == name


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config_sentence_transformers", {"prompts": {"query": "q: "}}),
        ("1_Pooling__config", {"pooling_mode_cls_token": True}),
        ("tokenizer_config", {"model_max_length": 4, "pad_token": "[PAD]"}),
    ],
)
def test_every_file_that_changes_vectors_changes_the_name(file, content, tiny_model):
    # Vectors are kept by this name: two settings under one would give each other's vectors.
    plain = load_embedder(f"fastembed:{tiny_model()}")
    before = plain.embed_query("battery")
    changed = load_embedder(f"fastembed:{tiny_model(**{file: content})}")

    assert changed.name != plain.name
    assert changed.embed_query("battery").tolist() != before.tolist()
    assert plain.embed_query("battery").tolist() == before.tolist()


def test_threads_share_a_model(tiny_model):
    embedder = load_embedder(f"fastembed:{tiny_model()}")
    expected = embedder.embed_passages(TEXTS).tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: embedder.embed_passages(TEXTS).tolist(), range(20)))

    assert found == [expected] * 20


def test_an_unknown_model_is_an_input_error_that_points_to_the_list(tmp_path):
    with pytest.raises(InputError, match=r"no-such/model.*https://qdrant"):
        load_embedder("fastembed:no-such/model")
    with pytest.raises(InputError, match="nowhere"):
        load_embedder(f"fastembed:{tmp_path / 'nowhere'}")


def test_a_folder_without_a_model_is_an_input_error(tiny_model):
    folder = tiny_model()
    (folder / "model.onnx").unlink()

    with pytest.raises(InputError, match=r"model\.onnx"):
        load_embedder(f"fastembed:{folder}")


@pytest.mark.each(
    "file, text, named",
    [
        ("config", "{}", "hidden_size"),
        ("config", '{"hidden_size": "16"}', "hidden_size"),
        ("config", '{"hidden_size": null}', "hidden_size"),
        ("config_sentence_transformers", "{broken", "config_sentence_transformers.json"),
        ("config_sentence_transformers", "[1, 2]", "config_sentence_transformers.json"),
        ("config_sentence_transformers", '"text"', "config_sentence_transformers.json"),
        ("config_sentence_transformers", '{"prompts": ["query: "]}', "prompts"),
    ],
)
def test_a_setting_file_that_says_nothing_usable_is_an_input_error(file, text, named, tiny_model):
    whole = {"hidden_size": 16, "pad_token_id": 0}
    folder = tiny_model(config=whole, config_sentence_transformers={})
    (folder / f"{file}.json").write_text(text)

    with pytest.raises(InputError, match=re.escape(named)):
        load_embedder(f"fastembed:{folder}")


def test_a_broken_model_is_an_embedding_error(tiny_model):
    folder = tiny_model()
    (folder / "model.onnx").write_bytes(b"no model")

    with pytest.raises(EmbeddingError, match="fastembed:/path/to/folder"):
        load_embedder(f"fastembed:{folder}")


def test_a_model_that_fails_on_a_text_is_an_embedding_error(tiny_model):
    # The tokenizer knows more letters than the model has vectors.
    folder = tiny_model()
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["b"] = 9_999
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    embedder = load_embedder(f"fastembed:{folder}")

    with pytest.raises(EmbeddingError, match=re.escape(embedder.name)):
        embedder.embed_query("battery")


def test_the_folder_may_be_the_one_we_stand_in(tiny_model, monkeypatch):
    monkeypatch.chdir(tiny_model())

    assert load_embedder("fastembed:.").name.startswith("fastembed:tiny#")
