"""A tokenizer of plain words, so that no client has to fetch one.

Clients that send text need a tokenizer to make a prompt of N tokens, and most of them load it from
a model hub by default. This one has 2,048 words separated by blanks; whatever it does not know is
the word "word", which is no special token: some clients drop those and are left without a prompt.
"""

import json
from pathlib import Path

from gauntlet.core.files import write_atomic

WORDS = 2048
# Room for any prompt: some clients cut or warn above the model's length.
_MODEL_LENGTH = 1 << 20


def write_word_tokenizer(folder: Path) -> Path:
    """Write it in Hugging Face's format into ``folder`` and return that."""
    vocabulary = {"word": 0, **{f"w{n}": n for n in range(1, WORDS)}}
    tokenizer: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "word"},
    }
    # The class is told by the first file, the architecture (any that is known) by the second.
    kind = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": _MODEL_LENGTH,
        "clean_up_tokenization_spaces": False,
    }
    config = {"model_type": "llama", "vocab_size": WORDS, "max_position_embeddings": _MODEL_LENGTH}
    for name, content in (
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", kind),
        ("config.json", config),
    ):
        write_atomic(folder / name, json.dumps(content))
    return folder
