"""Loads a checkpoint's processor and weights, quietly, with one sentence for what goes wrong."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from snellen.core.errors import MissingExtra, UsageError
from snellen.models.hf_checkpoint import Checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How a checkpoint is to be loaded."""

    dtype: str
    device: str
    """`auto` is resolved when the weights are loaded."""
    attention: str | None = None
    """None: what transformers chooses for the architecture."""
    processor: str = "pil"
    remote_code: bool = False
    threads: int | None = None
    """CPU threads of torch. None: one for a model too small to share out, else torch's own."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to answer."""

    model: Any
    processor: Any
    """The multimodal processor; for a text-only model its tokenizer."""
    tokenizer: Any
    device: str
    ends: frozenset[int]
    """Token ids that end a reply."""
    longest: int | None
    """Tokens the model was made for; None when its configuration does not say."""
    threads: int
    """CPU threads that its batches are computed with."""

    @property
    def multimodal(self) -> bool:
        return self.processor is not self.tokenizer


_TOO_SMALL_TO_SHARE = 30_000_000
"""Parameters below which one thread is as fast as two, and many times faster where other
processes want the cores: waiting threads spin."""


def require(what: str, *libraries: str) -> None:
    """Raises MissingExtra for the first library that is not installed."""
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(what, "hf", library)


def choose_device(asked: str) -> str:
    """The device, `auto` resolved to `cuda` where there is one. Raises UsageError."""
    require(f"device={asked}", "torch")
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(asked)
    except RuntimeError as error:
        raise UsageError(
            f"option device={asked!r}: expected auto, cpu, cuda, cuda:<number> or mps"
        ) from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(
            f"option device={asked!r}: this machine has {torch.cuda.device_count()} CUDA devices "
            "that torch can use; use device=cpu, or install a torch built for CUDA"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("option device='mps': torch finds no Apple GPU here; use device=cpu")
    return asked


def load_checkpoint(checkpoint: Checkpoint, how: Loading) -> Loaded:
    """Raises UsageError (unsupported architecture, incomplete weights) and MissingExtra."""
    require(f"hf/{checkpoint.name}", "torch", "transformers")
    device = choose_device(how.device)
    folder = checkpoint.fetch()
    with quiet():
        processor = _processor(checkpoint, how, folder)
        model = _model(checkpoint, how, folder, device)
    tokenizer = getattr(processor, "tokenizer", processor)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if processor.chat_template is None and tokenizer.chat_template is None:
        raise UsageError(
            f"{checkpoint.name} has no chat template, so there is no telling how it wants to be "
            "asked; add a chat_template.jinja to the folder, or choose its instruct version"
        )
    ends = _ends(model, tokenizer)
    _keep_greedy(model, tokenizer, ends)
    text_config = model.config.get_text_config()
    longest = getattr(text_config, "max_position_embeddings", None)
    threads = _threads(model, how, device)
    return Loaded(model, processor, tokenizer, device, ends, longest, threads)


def _threads(model: Any, how: Loading, device: str) -> int:
    usual = _usual_threads()
    small = device == "cpu" and model.num_parameters() < _TOO_SMALL_TO_SHARE
    return how.threads or (1 if small else usual)


@functools.cache
def _usual_threads() -> int:
    """torch's own choice, asked for before any model changes it."""
    import torch

    return int(torch.get_num_threads())


def _processor(checkpoint: Checkpoint, how: Loading, folder: str) -> Any:
    from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer

    given = {"trust_remote_code": how.remote_code}
    auto = AutoProcessor if checkpoint.multimodal else AutoTokenizer
    try:
        processor = auto.from_pretrained(folder, **given)
        held = type(getattr(processor, "image_processor", None)).__name__
        if how.processor == "pil" and held.endswith("ImageProcessor"):
            # Not given to AutoProcessor: its tokenizer would take `backend` for its own.
            processor.image_processor = AutoImageProcessor.from_pretrained(
                folder, backend="pil", **given
            )
    except (ImportError, OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        raise _processor_error(checkpoint, error) from error
    if checkpoint.multimodal and getattr(processor, "tokenizer", None) is None:
        raise UsageError(
            f"{checkpoint.name} describes an image model, but its folder has no processor that "
            "joins pictures and text (processor_config.json); add the files of the original"
        )
    return processor


def _processor_error(checkpoint: Checkpoint, error: Exception) -> UsageError:
    without = importlib.util.find_spec("torchvision") is None
    if without and ("torchvision" in str(error).lower() or isinstance(error, AttributeError)):
        name = checkpoint.processor or "the processor"
        return UsageError(
            f"{name} of hf/{checkpoint.name} needs torchvision, in the build that belongs to "
            "the installed torch; install it with: pip install torchvision"
        )
    return UsageError(f"the processor of {checkpoint.name} cannot be loaded: {_first(error)}")


def _model(checkpoint: Checkpoint, how: Loading, folder: str, device: str) -> Any:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    auto = AutoModelForImageTextToText if checkpoint.multimodal else AutoModelForCausalLM
    given = {} if how.attention is None else {"attn_implementation": how.attention}
    try:
        model, report = auto.from_pretrained(
            folder,
            trust_remote_code=how.remote_code,
            dtype=getattr(torch, how.dtype),
            output_loading_info=True,
            **given,
        )
        model = model.to(device).eval()
    except (ImportError, OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        architecture = ", ".join(checkpoint.config.get("architectures") or ["unknown"])
        raise UsageError(
            f"{checkpoint.name} ({architecture}) cannot be loaded: {_first(error)}"
        ) from error
    absent = sorted(report.get("missing_keys") or ())
    if absent:
        raise UsageError(
            f"the weights of {checkpoint.name} are incomplete: {len(absent)} are missing, e.g. "
            f"{absent[0]}; its replies would come from random numbers"
        )
    return model


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    declared = model.generation_config.eos_token_id
    if declared is None:
        declared = tokenizer.eos_token_id
    if declared is None:
        return frozenset()
    return frozenset([declared] if isinstance(declared, int) else declared)


def _keep_greedy(model: Any, tokenizer: Any, ends: frozenset[int]) -> None:
    """Drop a vendor's sampling settings and penalties: greedy is the likeliest token, always."""
    from transformers import GenerationConfig

    old = model.generation_config
    model.generation_config = GenerationConfig(
        bos_token_id=old.bos_token_id,
        eos_token_id=sorted(ends) or None,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=old.decoder_start_token_id,
        suppress_tokens=old.suppress_tokens,
    )


@contextmanager
def quiet(library: str = "transformers") -> Iterator[None]:
    """A Hugging Face library without its bars and advice: what matters is raised."""
    logging = importlib.import_module(f"{library}.utils.logging")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _first(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
