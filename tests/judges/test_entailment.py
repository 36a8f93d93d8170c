"""A local model of entailment: exact probabilities of a tiny real ONNX model, its files, and what is refused."""

import asyncio
import json
import math
import os
import subprocess
import sys
from hashlib import sha256

import pytest
from tiny_nli import write_tiny_nli

from gigamind.errors import InputError, LlmError
from gigamind.judges.search_qa.by_nli import _load_entailment_model

ROWS = {"yes": (2.0, 0.0, -1.0), "no": (-1.0, 0.0, 3.0), "leave": (0.5, 0.25, 0.0)}
TWO = {"yes": (-2.0, 1.0), "no": (0.5, -0.5)}


def probabilities(model, *pairs):
    return asyncio.run(model.probabilities(pairs))


def softmax(*logits):
    powers = [math.exp(logit) for logit in logits]
    return [power / sum(powers) for power in powers]


@pytest.fixture
def folder(tmp_path):
    return write_tiny_nli(tmp_path / "tiny", ROWS)


def test_the_probabilities_are_the_softmax_of_the_logits(folder):
    model = _load_entailment_model(str(folder))
    (found,) = probabilities(model, ("yes leave", "leave yes other"))
    logits = [2 * 2.0 + 2 * 0.5, 2 * 0.25, 2 * -1.0]  # the sum of the rows of four words
    assert [found[name] for name in ("entailment", "neutral", "contradiction")] == pytest.approx(
        softmax(*logits), abs=1e-7
    )


def test_each_pair_has_its_own_probabilities_whatever_its_length_and_place(folder):
    model = _load_entailment_model(str(folder))
    words = ["yes", "no", "leave", "other"]
    pairs = [(" ".join(words[: n % 4 + 1] * (n % 7 + 1)), words[n % 3]) for n in range(30)]
    together = probabilities(model, *pairs)
    alone = [probabilities(model, pair)[0] for pair in pairs]
    assert together == [pytest.approx(one, abs=1e-7) for one in alone]
    assert probabilities(model) == []


def test_token_types_are_given_to_a_graph_that_takes_them(tmp_path):
    folder = write_tiny_nli(tmp_path / "typed", ROWS, types=True)
    (found,) = probabilities(_load_entailment_model(str(folder)), ("yes yes yes", "no"))
    assert found["contradiction"] == pytest.approx(softmax(-1, 0, 3)[2])  # of the hypothesis alone


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("ENTAILMENT", "Neutral", "contradiction"), ("entailment", "neutral", "contradiction")),
        (("contradiction", "entailment", "neutral"), ("contradiction", "entailment", "neutral")),
        (("Entailment", "NOT_ENTAILMENT"), ("entailment", "not_entailment")),
        (("not-entailment", "entailment"), ("not_entailment", "entailment")),
        (("non entailment", "entailment"), ("not_entailment", "entailment")),
    ],
)
def test_labels_may_have_any_order_and_case(tmp_path, names, labels):
    rows = {"yes": [float(at + 1) for at in range(len(names))]}
    model = _load_entailment_model(str(write_tiny_nli(tmp_path / "m", rows, names)))
    assert model.labels == labels
    (found,) = probabilities(model, ("yes", "other"))
    assert list(found.values()) == pytest.approx(softmax(*rows["yes"]))


@pytest.mark.parametrize(
    "id2label",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, {"0": "entailment", "1": "neutral"},
        {"0": "entailment", "1": "entailment", "2": "contradiction"},
        {"0": "entailment", "1": "neutral", "2": "contradiction", "3": "neutral"},
        {"1": "entailment", "2": "neutral", "3": "contradiction"},
        {"0": "positive", "1": "negative"}, {}, ["entailment", "neutral", "contradiction"],
        {"a": "entailment", "1": "not_entailment"}, None,
    ],
)  # fmt: skip
def test_other_labels_are_refused(folder, id2label):
    (folder / "config.json").write_text(json.dumps({"id2label": id2label}), "utf-8")
    with pytest.raises(InputError, match=r"config\.json.*id2label"):
        _load_entailment_model(str(folder))


def test_more_labels_than_outputs_give_no_probabilities(folder):
    labels = {"0": "entailment", "1": "not_entailment"}
    (folder / "config.json").write_text(json.dumps({"id2label": labels}), "utf-8")
    with pytest.raises(LlmError) as raised:
        probabilities(_load_entailment_model(str(folder)), ("yes", "yes"))
    assert raised.value.code == "malformed_response"


def test_logits_that_are_not_finite_give_no_probabilities(tmp_path):
    folder = write_tiny_nli(tmp_path / "m", {"yes": (1e38, 0.0, 0.0)})
    with pytest.raises(LlmError) as raised:
        probabilities(_load_entailment_model(str(folder)), ("yes yes yes yes", "yes"))
    assert raised.value.code == "malformed_response"


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.onnx"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe broken", b"version https://git-lfs"])
def test_a_missing_or_broken_file_is_named(folder, name, content):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        _load_entailment_model(str(folder))


def test_the_layout_of_the_hub_is_accepted_and_a_file_can_be_named(tmp_path):
    full = write_tiny_nli(tmp_path / "m", ROWS, file="onnx/model.onnx")
    assert probabilities(_load_entailment_model(str(full)), ("yes", "yes"))
    write_tiny_nli(full, TWO | {"yes": (9.0, 0.0, 0.0), "no": (0, 0, 0)}, file="onnx/model_quantized.onnx")  # fmt: skip
    (found,) = probabilities(_load_entailment_model(str(full)), ("yes", "other"))
    assert found["entailment"] == pytest.approx(softmax(9, 0, 0)[0])
    (found,) = probabilities(_load_entailment_model(str(full), "onnx/model.onnx"), ("yes", "other"))
    assert found["entailment"] == pytest.approx(softmax(2, 0, -1)[0])
    with pytest.raises(InputError, match=r"onnx/other\.onnx"):
        _load_entailment_model(str(full), "onnx/other.onnx")


def test_weights_in_a_file_of_their_own_are_read_and_part_of_the_fingerprint(tmp_path):
    folder = write_tiny_nli(tmp_path / "m", ROWS, file="onnx/model.onnx", external=True)
    data = folder / "onnx/model.onnx_data"
    model = _load_entailment_model(str(folder))
    (found,) = probabilities(model, ("yes", "other"))
    assert found["entailment"] == pytest.approx(softmax(2, 0, -1)[0])
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    assert _load_entailment_model(str(folder)).fingerprint != model.fingerprint
    data.unlink()
    with pytest.raises(InputError, match=r"model\.onnx"):
        _load_entailment_model(str(folder))


def test_the_fingerprint_is_that_of_the_files_wherever_they_are(folder, tmp_path):
    first = _load_entailment_model(str(folder)).fingerprint
    parts = [
        sha256((folder / name).read_bytes()).digest()
        for name in ("model.onnx", "tokenizer.json", "config.json")
    ]
    assert first == sha256(b"".join(parts)).hexdigest()
    folder.rename(tmp_path / "elsewhere")
    folder = tmp_path / "elsewhere"
    assert _load_entailment_model(str(folder)).fingerprint == first
    fingerprints = {first}
    for name in ("config.json", "tokenizer.json"):
        path = folder / name
        path.write_text(path.read_text("utf-8") + "\n", "utf-8")
        fingerprints.add(_load_entailment_model(str(folder)).fingerprint)
    write_tiny_nli(folder, ROWS, scale=2.0)
    fingerprints.add(_load_entailment_model(str(folder)).fingerprint)
    assert len(fingerprints) == 4


def test_no_pair_is_cut_though_the_tokenizer_file_says_so(folder):
    model = _load_entailment_model(str(folder))
    (found,) = probabilities(model, ("other " * 300 + "yes", "no no"))
    assert found["entailment"] == pytest.approx(softmax(0, 0, 5)[0])
    assert model.fits("other " * 507, "no no")  # 507 + 2 words and three tokens around them
    assert not model.fits("other " * 508, "no no")


def test_more_tokens_than_the_model_reads_are_refused(tmp_path):
    folder = write_tiny_nli(tmp_path / "m", ROWS, max_position_embeddings=512)
    assert _load_entailment_model(str(folder), max_tokens=512)
    with pytest.raises(InputError, match="512"):
        _load_entailment_model(str(folder), max_tokens=513)


def test_a_graph_with_other_inputs_is_refused(folder):
    import onnx

    model = onnx.load(folder / "model.onnx")
    for node in model.graph.node:
        node.input[:] = ["pixels" if name == "input_ids" else name for name in node.input]
    model.graph.input[0].name = "pixels"
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(InputError, match="pixels"):
        _load_entailment_model(str(folder))


@pytest.mark.parametrize("name", ["no/such/folder", "nowhere", "a b/c", "/no/such"])
def test_what_is_neither_a_folder_nor_an_id_is_refused_without_network(name):
    with pytest.raises(InputError, match="owner/name"):
        _load_entailment_model(name)


_OFFLINE = """
import sys
from gigamind.errors import InputError
from gigamind.judges.load import OF_ANSWERS, load_judge
heavy = {"onnxruntime", "tokenizers", "huggingface_hub"} & set(sys.modules)
assert not heavy, heavy
try:
    load_judge("nli:no-such-owner/no-such-model", kinds=OF_ANSWERS)
except InputError as error:
    print(error.message)
"""


def test_an_id_without_network_is_refused_and_nothing_is_imported_before(tmp_path):
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    command = [sys.executable, "-c", _OFFLINE]
    done = subprocess.run(command, check=True, env=env, capture_output=True, text=True, timeout=60)
    assert "no-such-owner/no-such-model" in done.stdout
