"""What the tiny checkpoints of the families are put together from."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from snellen.models.hf.processor import without_video_processor

TORCHVISION = importlib.util.find_spec("torchvision") is not None
ROLES = ["<pad>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
CORPUS = [
    "What color is the circle in the picture? Answer with one word.",
    "Which option is right? A. red B. green C. blue D. yellow",
    "Is there a red square above the blue star? Please answer yes or no.",
]


class Made(NamedTuple):
    """A model and its processor, to be saved."""

    model: Any
    processor: Any
    video: str = ""
    """Class of the processor's part for videos, which nobody can make without torchvision."""


class Family(NamedTuple):
    """A family of models, and how a tiny one of it is made."""

    name: str
    """As its makers write it."""
    make: Callable[[], Made]
    pictures: int = 3
    """Most pictures in one prompt."""
    words_alone: bool = True
    """Whether it answers prompts without pictures."""
    torchvision: bool = False
    """Whether its processor works with torchvision alone."""
    needs: str = ""
    """A class of transformers that older versions lack."""
    library: str = ""
    """A further package that its vision tower comes from."""
    since: tuple[int, int] = (5, 17)
    """The oldest version of transformers that answers all of it is asked."""

    def build(self, folder: Path) -> Path:
        """Saves it, random weights of a fixed seed, as its makers' checkpoints are saved."""
        torch.manual_seed(1)
        made = self.make()
        made.model.save_pretrained(folder)
        saveable(made.processor).save_pretrained(folder)
        described = folder / "processor_config.json"
        if made.video and described.is_file():
            settings = json.loads(described.read_text())
            if not settings.get("video_processor"):
                settings["video_processor"] = {"video_processor_type": made.video}
                described.write_text(json.dumps(settings))
        return folder


def saveable(processor: Any) -> Any:
    """A processor, what it lacks left out of what is saved."""
    kind = type(processor)
    held = [name for name in kind.get_attributes() if getattr(processor, name, None) is not None]
    changed = {
        "get_attributes": classmethod(lambda _: held),
        "save_pretrained": transformers.ProcessorMixin.save_pretrained,
    }
    processor.__class__ = type(kind.__name__, (kind,), changed)
    return processor


def template(image: str = "<image>", before: str = "", after: str = "") -> str:
    """A chat template that writes a picture as `before` + `image` + `after`."""
    return (
        "{%- for m in messages -%}<|{{ m['role'] }}|>{%- if m['content'] is string -%}"
        "{{ m['content'] }}{%- else -%}{%- for c in m['content'] -%}"
        "{%- if c['type'] == 'image' -%}" + before + image + after + "{%- else -%}{{ c['text'] }}"
        "{%- endif -%}{%- endfor -%}{%- endif -%}<|end|>{%- endfor -%}"
        "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
    )


def words(*specials: str, bos: str = "", **named: str) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that knows special tokens: of `specials`, and of those that the
    processor of a family asks its tokenizer for by name."""
    starts = [bos] if bos else []
    signs = list(dict.fromkeys([*ROLES, *starts, *specials, *named.values()]))
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300 + len(signs),
        special_tokens=signs,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    start = {"bos_token": bos} if bos else {}
    made = PreTrainedTokenizerFast(
        **start,
        tokenizer_object=bpe,
        pad_token="<pad>",
        eos_token="<|end|>",
        extra_special_tokens={**named} if named else None,
        additional_special_tokens=[*specials],
    )
    return made


def text(tokenizer: PreTrainedTokenizerFast, model_type: str = "llama", **more: Any) -> Any:
    """Settings of a small language model."""
    return {
        "model_type": model_type,
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 1024,
        "initializer_range": 0.4,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
        "tie_word_embeddings": False,
        **more,
    }


def vision(model_type: str, **more: Any) -> Any:
    """Settings of a small vision tower for pictures of 32 x 32 in patches of 8 x 8."""
    return {
        "model_type": model_type,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
        "initializer_range": 0.3,
        **more,
    }


def resizer(family: str, name: str, **settings: Any) -> Any:
    """An image processor of a module of transformers: the one of Pillow, where there is one."""
    module = f"transformers.models.{family}"
    for file, suffix in ((f"image_processing_pil_{family}", "Pil"), (f"image_processing_{family}", "")):
        try:
            found = getattr(importlib.import_module(f"{module}.{file}"), name + suffix)
        except (ModuleNotFoundError, AttributeError):
            continue
        return found(**settings)
    raise LookupError(f"{module} has no {name}")


def with_video(kind: Any, video: str, pictures: Any, tokenizer: Any, **more: Any) -> Any:
    """A processor that takes videos as well; without torchvision, the same without that part."""
    # ERNIE's writes times into frames, with a font that it does not bring along.
    settings = {"draw_on_frames": False} if "Ernie" in video else {}
    films = getattr(transformers, video)(**settings) if TORCHVISION else None
    more["video_processor"] = films
    made = kind if TORCHVISION else without_video_processor(kind)
    return made(image_processor=pictures, tokenizer=tokenizer, **more)


def square(edge: int = 32) -> dict[str, int]:
    return {"height": edge, "width": edge}
