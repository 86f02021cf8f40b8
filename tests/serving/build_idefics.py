"""Makes a small IDEFICS of random weights, or asks it by hand, in an environment of its own.

python build_idefics.py FOLDER                    # writes the checkpoint
python build_idefics.py FOLDER PICTURE QUESTION   # prints a reply of 8 tokens, as the card asks
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoProcessor,
    IdeficsConfig,
    IdeficsForVisionText2Text,
    IdeficsImageProcessor,
    IdeficsProcessor,
    LlamaTokenizerFast,
)

MARKS = ["<image>", "<fake_token_around_image>", "<end_of_utterance>"]


def build(folder: Path) -> None:
    words = ["<unk>", "<s>", "</s>", *MARKS, *map(chr, range(32, 127)), "\n"]
    letters = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    letters.decoder = decoders.Fuse()
    tokenizer = LlamaTokenizerFast(tokenizer_object=letters, pad_token="<unk>", additional_special_tokens=MARKS)
    torch.manual_seed(1)
    size = {"num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 48}
    config = IdeficsConfig(
        vocab_size=len(words),
        hidden_size=32,
        cross_layer_interval=1,
        use_resampler=True,
        alpha_initializer="ones",
        initializer_range=0.1,
        vision_config={"embed_dim": 32, "image_size": 28, "patch_size": 7, **size},
        perceiver_config={
            "use_resampler": True,
            "resampler_n_latents": 4,
            "resampler_depth": 1,
            "resampler_n_heads": 2,
            "resampler_head_dim": 16,
        },
        **size,
    )
    model = IdeficsForVisionText2Text(config)
    # What the initialisation leaves as it was in memory.
    for name, values in model.named_parameters():
        if values.dim() > 1 or "latents" in name:
            torch.nn.init.normal_(values, std=0.3)
    model.save_pretrained(folder)
    images = IdeficsImageProcessor(image_size=28)
    IdeficsProcessor(images, tokenizer, image_size=28).save_pretrained(folder)


def ask(folder: Path, picture: Path, question: str) -> str:
    model = IdeficsForVisionText2Text.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    image = Image.open(picture).convert("RGB")
    prompt = ["User:", image, question, "<end_of_utterance>", "\nAssistant:"]
    inputs = processor(prompt, add_end_of_utterance_token=False, return_tensors="pt")
    tokenizer = processor.tokenizer
    made = model.generate(
        **inputs,
        max_new_tokens=8,
        do_sample=False,
        eos_token_id=tokenizer.convert_tokens_to_ids("<end_of_utterance>"),
        bad_words_ids=[[tokenizer.convert_tokens_to_ids(mark)] for mark in MARKS[:2]],
    )
    return tokenizer.decode(made[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        build(Path(sys.argv[1]))
    else:
        reply = ask(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
        print(f"reply: {reply!r}")
