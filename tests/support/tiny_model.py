"""A tiny real ONNX model of sentence vectors, for the tests of fastembed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz.:배터리교체매일밤"
TINY_DIMENSIONS = 16


def tiny_matrix() -> np.ndarray:
    """The vector of each letter, shape (letters + 2, 16); rows 0 and 1 are padding and unknown characters."""
    return np.random.default_rng(5).normal(size=(len(LETTERS) + 2, TINY_DIMENSIONS)).astype("f4")


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    """A step of a graph; the names of its inputs are words."""
    import onnx

    return onnx.helper.make_node(kind, inputs.split(), [output], **attributes)


def model_of(
    nodes: Sequence[Any],
    inputs: Sequence[str],
    output: tuple[str, Sequence[int | str]],
    constants: Mapping[str, np.ndarray],
) -> Any:
    """A checked model from tokens, of shape batch by length, to an output of this name and shape."""
    import onnx

    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kinds.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info(output[0], kinds.FLOAT, output[1])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def write_tiny_model(folder: Path, *, of_pairs: bool = False) -> None:
    """A model whose last hidden state is the vector of each character, in the layout of sentence-transformers.

    One `of_pairs` is a cross-encoder: its logit is the mean of the vectors of all characters of both texts.
    """
    import onnx
    import tokenizers

    nodes = [
        node("Gather", "matrix input_ids", "gathered"),
        node("Unsqueeze", "attention_mask last", "column"),
        node("Cast", "column", "mask", to=onnx.TensorProto.FLOAT),
        node("Mul", "gathered mask", "last_hidden_state"),
    ]
    output = ("last_hidden_state", ["batch", "length", TINY_DIMENSIONS])
    if of_pairs:
        nodes.append(node("ReduceMean", "last_hidden_state", "each", axes=[2], keepdims=0))
        nodes.append(node("ReduceMean", "each", "logits", axes=[1], keepdims=1))
        output = ("logits", ["batch", 1])
    constants = {"matrix": tiny_matrix(), "last": np.array([2])}
    model = model_of(nodes, ("input_ids", "attention_mask"), output, constants)
    onnx.save(model, folder / "model.onnx")

    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", *LETTERS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.WhitespaceSplit(),
            tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated"),
        ]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
        "config.json": {"hidden_size": TINY_DIMENSIONS, "pad_token_id": 0},
    }
    for name, content in settings.items():
        (folder / name).write_text(json.dumps(content))


def tiny_vector(text: str) -> np.ndarray:
    """What the tiny model says of a text, by hand: the mean of its letters' vectors, at length 1."""
    rows = [LETTERS.find(c) + 2 if c in LETTERS else 1 for c in text.lower() if c != " "]
    mean = tiny_matrix()[rows].mean(axis=0)
    return mean / np.linalg.norm(mean)
