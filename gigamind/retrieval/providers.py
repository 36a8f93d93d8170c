"""The embedders by name.

`use-multilingual`: the default, bundled (see `use_multilingual.py`).
`fastembed:<model or folder>`: an ONNX model of fastembed's list, or a local folder that holds one (see `fastembed.py`).
`litellm:<model>`: an embedding API through litellm; needs its key in the environment and costs money.
"""

from gigamind.errors import InputError
from gigamind.retrieval.embed import DEFAULT_EMBEDDER, Embedder


def load_embedder(name: str, *, api_base: str | None = None) -> Embedder:
    """The embedder of that name, ready to use.

    Raises:
        InputError: no such provider or model.
        EmbeddingError: the model cannot be loaded or reached.
    """
    provider, _, model = name.partition(":")
    if name == DEFAULT_EMBEDDER:
        from gigamind.retrieval.use_multilingual import UseMultilingual

        return UseMultilingual()
    if provider == "fastembed" and model:
        from gigamind.retrieval.fastembed import load_fastembed

        return load_fastembed(model)
    if provider == "litellm" and model:
        from gigamind.llm.embeddings import LitellmEmbedder

        return LitellmEmbedder(model, api_base=api_base)
    raise InputError(
        f'unknown embedder "{name}": use {DEFAULT_EMBEDDER}, fastembed:<model or folder> or litellm:<model>'
    )
