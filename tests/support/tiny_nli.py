"""A tiny real ONNX model of entailment, for the tests of the judge of kind `nli`.

The logits of a pair are the sum of the rows of its words.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
THREE = ("entailment", "neutral", "contradiction")


def write_tiny_nli(
    folder: Path,
    rows: dict[str, Sequence[float]],
    labels: Sequence[str] = THREE,
    *,
    file: str = "model.onnx",
    types: bool = False,
    external: bool = False,
    scale: float = 1.0,
    **config: object,
) -> Path:
    """Write a model whose logits are the sum of the rows of a pair's words; all other words have zeros.

    Args:
        types: the graph takes token types, and counts only the words of the hypothesis.
        external: the weights are in a file of their own.
        scale: factor of all logits.
    """
    import onnx
    import tokenizers

    words = [*SPECIAL, *rows]
    matrix = scale * np.array([[0.0] * len(labels)] * len(SPECIAL) + list(rows.values()), "f4")
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    counted = "counted" if types else "attention_mask"
    nodes = [
        *([helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["counted"])] if types else []),
        helper.make_node("Gather", ["matrix", "input_ids"], ["gathered"]),
        helper.make_node("Unsqueeze", [counted, "last"], ["column"]),
        helper.make_node("Cast", ["column"], ["mask"], to=kinds.FLOAT),
        helper.make_node("Mul", ["gathered", "mask"], ["own"]),
        helper.make_node("ReduceSum", ["own", "middle"], ["logits"], keepdims=0),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kinds.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, ["batch", len(labels)])],
        [
            onnx.numpy_helper.from_array(matrix, "matrix"),
            onnx.numpy_helper.from_array(np.array([2], np.int64), "last"),
            onnx.numpy_helper.from_array(np.array([1], np.int64), "middle"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    if external:
        name = f"{Path(file).name}_data"
        onnx.save(
            model, folder / file, save_as_external_data=True, location=name, size_threshold=64
        )
    else:
        onnx.save(model, folder / file)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_truncation(16)  # as many files of the hub; the judge must not cut anything
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"id2label": {str(at): label for at, label in enumerate(labels)}, **config}
    (folder / "config.json").write_text(json.dumps(named), "utf-8")
    return folder
