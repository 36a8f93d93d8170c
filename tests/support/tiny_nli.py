"""A tiny real ONNX model of entailment, for the tests of the judge of kind `nli`.

The logits of a pair are the sum of the rows of its words.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tiny_model import model_of, node

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
    inputs, counted, nodes = ["input_ids", "attention_mask"], "attention_mask", []
    if types:
        inputs.append("token_type_ids")
        counted, nodes = "counted", [node("Mul", "attention_mask token_type_ids", "counted")]
    nodes += [
        node("Gather", "matrix input_ids", "gathered"),
        node("Unsqueeze", f"{counted} last", "column"),
        node("Cast", "column", "mask", to=onnx.TensorProto.FLOAT),
        node("Mul", "gathered mask", "own"),
        node("ReduceSum", "own middle", "logits", keepdims=0),
    ]
    constants = {"matrix": matrix, "last": np.array([2]), "middle": np.array([1])}
    model = model_of(nodes, inputs, ("logits", ["batch", len(labels)]), constants)
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
