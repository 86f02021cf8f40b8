"""The tokenizer: byte-level pieces learnt from the prompts and a page of English."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from training.tiny.lessons import ALL, Mix, lesson
from training.tiny.several import ORDINALS
from training.tiny.world import COLOURS, SHAPES, WORDS, stream

PAD, USER, ASSISTANT, SYSTEM = "<pad>", "<|user|>", "<|assistant|>", "<|system|>"
END, IMAGE, PICTURE = "<|end|>", "<image>", "<|picture|>"
SPECIALS = [PAD, USER, ASSISTANT, SYSTEM, END, IMAGE, PICTURE]
VOCABULARY = 1024
ENGLISH = Path(__file__).parent / "english.txt"
WORD_PIECES = Regex(r" ?\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
DIGITS = "0123456789"
SINGLE = (*COLOURS, *SHAPES, *WORDS, *ORDINALS, *"ABCD", *DIGITS[1:], "Yes", "No", "empty")

CHAT_TEMPLATE = (
    "{%- set names = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth']"
    " -%}{%- set seen = namespace(n=0) -%}"
    "{%- for m in messages -%}<|{{ m['role'] }}|>"
    "{%- if m['content'] is string -%}{{ m['content'] }}"
    "{%- else -%}{%- for c in m['content'] -%}"
    "{%- if c['type'] in ('image', 'image_url') -%}"
    "<|picture|>{{ names[seen.n] if seen.n < 8 else 'next' }}<image>"
    "{%- set seen.n = seen.n + 1 -%}"
    "{%- else -%}{{ c['text'] }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def learn(seed: int, lessons: int = 3000) -> PreTrainedTokenizerFast:
    """The tokenizer; a word is one piece whether it starts a reply, a line or follows a space."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(" "), normalizers.Replace("\n", "\n ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(WORD_PIECES, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.ByteLevel(), decoders.Replace("\n ", "\n"), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(seed, lessons), trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        extra_special_tokens={"image_token": IMAGE},
        padding_side="left",
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )
    for word in SINGLE:
        piece(wrapped, word)
    return wrapped


def piece(tokenizer: PreTrainedTokenizerFast, word: str) -> int:
    """The id of a word that must be one piece."""
    ids = tokenizer.encode(word, add_special_tokens=False)
    if len(ids) != 1:
        raise ValueError(f"{word!r} is {len(ids)} pieces")
    return int(ids[0])


def digit_piece(tokenizer: PreTrainedTokenizerFast, digit: str) -> int:
    """The id of a digit that follows another one, without a space before it."""
    return int(tokenizer.encode(f"1{digit}", add_special_tokens=False)[1])


def _texts(seed: int, lessons: int) -> Iterator[str]:
    """What it learns from: prompts and replies of lessons, the words, and the English page."""
    for index in range(lessons):
        rng = stream("train", seed, -1 - index)
        for exchange in lesson(rng, Mix(abilities=ALL, several=0.2)).exchanges:
            yield exchange.prompt
            yield exchange.reply
    for _ in range(1000):
        yield from SINGLE
    for _ in range(20):
        yield from ENGLISH.read_text("utf-8").splitlines()
