"""Make a tiny random Llama with a tokenizer and a chat template: ``tiny_model.py FOLDER``.

Runs inside the engine's environment. The weights are noise; the point is a real engine's real
scheduling, streaming and HTTP with a model that two cores can serve.
"""

import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")
VOCABULARY = 1024
CONTEXT = 4096
SYLLABLES = (
    "ba",
    "con",
    "de",
    "fer",
    "gra",
    "in",
    "lo",
    "mar",
    "ne",
    "pos",
    "ri",
    "ta",
    "un",
    "ver",
)
CHAT_TEMPLATE = (
    "{%- if tools %}<s>tools: {{ tools | tojson }}</s>{% endif -%}"
    "{%- for message in messages -%}"
    "<s>{{ message['role'] }}: {{ message['content'] or '' }}</s>"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<s>assistant: {%- endif -%}"
)


def corpus(sentences: int) -> list[str]:
    """Text for the tokenizer to learn from: made-up words and numbers, always the same."""
    rng = random.Random(20)  # noqa: S311 - a fixture, not a secret
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(400)]
    return [
        f"{' '.join(rng.choices(words, k=rng.randint(5, 15)))} {rng.randint(0, 9999)}."
        for _ in range(sentences)
    ]


def tokenizer() -> PreTrainedTokenizerFast:
    """Train a byte-level BPE, so that any text can be encoded."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train_from_iterator(corpus(4000), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        unk_token=SPECIAL[0],
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[3],
        model_max_length=CONTEXT,
        chat_template=CHAT_TEMPLATE,
    )


def model(vocabulary: int) -> LlamaForCausalLM:
    """Initialise two layers of 256, always with the same weights."""
    torch.manual_seed(20)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=CONTEXT,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


def main() -> None:
    """Write model and tokenizer to the folder named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    words = tokenizer()
    words.save_pretrained(folder)
    model(len(words)).save_pretrained(folder)


if __name__ == "__main__":
    main()
