"""A tiny real ONNX model of sentence vectors, for the tests of fastembed."""

import json
from pathlib import Path

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz.:배터리교체매일밤"
TINY_DIMENSIONS = 16


def tiny_matrix() -> np.ndarray:
    """The vector of each letter, shape (letters + 2, 16); rows 0 and 1 are padding and unknown characters."""
    return np.random.default_rng(5).normal(size=(len(LETTERS) + 2, TINY_DIMENSIONS)).astype("f4")


def write_tiny_model(folder: Path, *, of_pairs: bool = False) -> None:
    """A model whose last hidden state is the vector of each character, in the layout of sentence-transformers.

    One `of_pairs` is a cross-encoder: its logit is the mean of the vectors of all characters of both texts.
    """
    import onnx
    import tokenizers

    helper, kinds = onnx.helper, onnx.TensorProto
    sums = [
        helper.make_node("ReduceMean", ["last_hidden_state"], ["each"], axes=[2], keepdims=0),
        helper.make_node("ReduceMean", ["each"], ["logits"], axes=[1], keepdims=1),
    ]
    name, shape = ("logits", 1) if of_pairs else ("last_hidden_state", TINY_DIMENSIONS)
    sizes = ["batch", shape] if of_pairs else ["batch", "length", shape]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["matrix", "input_ids"], ["gathered"]),
            helper.make_node("Unsqueeze", ["attention_mask", "last"], ["column"]),
            helper.make_node("Cast", ["column"], ["mask"], to=kinds.FLOAT),
            helper.make_node("Mul", ["gathered", "mask"], ["last_hidden_state"]),
            *(sums if of_pairs else ()),
        ],
        "tiny",
        [
            helper.make_tensor_value_info(name, kinds.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info(name, kinds.FLOAT, sizes)],
        [
            onnx.numpy_helper.from_array(tiny_matrix(), "matrix"),
            onnx.numpy_helper.from_array(np.array([2], np.int64), "last"),
            *(
                [onnx.numpy_helper.from_array(np.array([1], np.int64), "length")]
                if of_pairs
                else []
            ),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
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
