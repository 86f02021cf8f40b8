"""Load a checkpoint's processor and weights, without library output, errors in one sentence.

A checkpoint's own code may be older than transformers 5, which creates models without memory for their weights. What no
file of weights holds is filled by the model's class: by `post_init`, which older code does not call, and by
`_init_weights`, which older code does not write for its buffers. Without the first the model does not load; without the
second its positions or masks are whatever the memory held, and so are its replies.
"""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.util
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from snellen.core.errors import MissingExtra, UsageError, first_line
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.hf.loaded import LoadedModel, LoadOptions
from snellen.models.hf.placement import is_placed, merge_adapter, placement_arguments
from snellen.models.hf.processor import load_processor
from snellen.models.hf.profile import FamilyProfile, find_profile
from snellen.models.hf.routing import NoRoute

_SINGLE_THREAD_PARAMETERS = 30_000_000
"""Parameters below which one thread is as fast as two, and many times faster on a busy machine,
because waiting threads spin."""

_LIBRARY_LOCK = threading.RLock()


def require(what: str, *libraries: str) -> None:
    """Check that libraries are installed. Raises MissingExtra for the first that is not."""
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(what, "hf", library)


def choose_device(device_option: str) -> str:
    """Resolve the option `device`; `auto` is `cuda` if available. Raises UsageError."""
    require(f"device={device_option}", "torch")
    import torch

    if device_option == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(device_option)
    except RuntimeError as error:
        raise UsageError(f"option device={device_option!r}: expected auto, cpu, cuda, cuda:<number> or mps") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UsageError(
            f"option device={device_option!r}: this machine has {count} CUDA devices that torch "
            "can use; use device=cpu, or install a torch built for CUDA"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("option device='mps': torch finds no Apple GPU here; use device=cpu")
    return device_option


def load_checkpoint(checkpoint: Checkpoint, options: LoadOptions) -> LoadedModel:
    """Load a checkpoint's processor and weights onto its device, ready to answer.

    Raises UsageError (unsupported architecture, incomplete weights) and MissingExtra.
    """
    require(f"hf/{checkpoint.name}", "torch", "transformers")
    device = choose_device(options.device)
    with silence_library():
        # Before the weights, which take minutes.
        processor = load_processor(checkpoint, options, checkpoint.fetch(weights=False))
        profile = find_profile(checkpoint.name, checkpoint.config.get("model_type"))
        check_prompt_format(checkpoint.name, processor, profile)
    folder = checkpoint.fetch()
    with silence_library():
        model = load_weights(checkpoint, options, folder, device)
    loaded = assemble(checkpoint.name, model, processor, options, device)
    use_greedy_decoding(model, loaded.tokenizer, loaded.eos_token_ids)
    return loaded


def assemble(name: str, model: Any, processor: Any, options: LoadOptions, device: str) -> LoadedModel:
    """A model and its processor, ready to answer; `device` is that of the model, unless its parts
    were placed one by one. A tokenizer without a padding token is given one.

    Raises UsageError if nothing says how prompts are formatted.
    """
    tokenizer = getattr(processor, "tokenizer", processor)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    profile = find_profile(name, model.config.model_type)
    uses_profile_prompt = check_prompt_format(name, processor, profile)
    eos_token_ids = find_eos_token_ids(model, tokenizer)
    text_config = model.config.get_text_config()
    max_length = getattr(text_config, "max_position_embeddings", None)
    threads = thread_count(model, options, device)
    if is_placed(options):
        device = str(model.device)
    return LoadedModel(
        model,
        processor,
        tokenizer,
        device,
        eos_token_ids,
        max_length,
        threads,
        profile,
        uses_profile_prompt,
        {} if options.thinking is None else {"enable_thinking": options.thinking},
    )


def check_prompt_files(checkpoint: Checkpoint, options: LoadOptions) -> None:
    """Raises NoRoute if all files of a checkpoint are here and none says how prompts are formatted.
    The checkpoint's own code may say it too, which is left to `load_checkpoint`."""
    if options.remote_code or not checkpoint.is_here or checkpoint.declares_chat_template():
        return
    profile = find_profile(checkpoint.name, checkpoint.config.get("model_type"))
    _require_prompt(checkpoint.name, profile)


def check_prompt_format(name: str, processor: Any, profile: FamilyProfile | None) -> bool:
    """Whether prompts are written by the profile, because there is no chat template.

    Raises NoRoute if nothing says how prompts are formatted.
    """
    tokenizer = getattr(processor, "tokenizer", processor)
    if getattr(processor, "chat_template", None) or tokenizer.chat_template:
        return False
    _require_prompt(name, profile)
    return True


def _require_prompt(name: str, profile: FamilyProfile | None) -> None:
    if profile is None or not profile.prompt:
        raise NoRoute(
            f"{name} has no chat template, so the format of its prompts is unknown; "
            "add a chat_template.jinja to the folder, or choose its instruct version"
        )


def thread_count(model: Any, options: LoadOptions, device: str) -> int:
    """CPU threads for a model: as requested, one for a small one, else torch's default."""
    default = _default_threads()
    small = device == "cpu" and model.num_parameters() < _SINGLE_THREAD_PARAMETERS
    return options.threads or (1 if small else default)


def use_threads(count: int) -> None:
    """Set torch's threads, which are those of the process: every model sets its own."""
    import torch

    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


@functools.cache
def _default_threads() -> int:
    """torch's default, read once before any model changes the setting."""
    import torch

    return int(torch.get_num_threads())


def load_weights(
    checkpoint: Checkpoint, options: LoadOptions, folder: str, device: str, auto_class: str | None = None
) -> Any:
    """Load the weights in the requested dtype, quantised and with an adapter if requested, by an
    auto class of transformers: the one that has the architecture, unless it is named.

    Raises UsageError if they cannot be loaded, or if some are missing: transformers would fill
    them with random numbers.
    """
    import torch
    import transformers

    arguments: dict[str, Any] = {"trust_remote_code": options.remote_code}
    if options.attention is not None:
        arguments["attn_implementation"] = options.attention
    try:
        auto = getattr(transformers, auto_class) if auto_class else _auto_class(checkpoint, folder, options)
        if options.remote_code:
            finish_construction(checkpoint.config, folder)
        dtype = getattr(torch, options.dtype)
        arguments |= placement_arguments(options, device)
        model, report = auto.from_pretrained(folder, dtype=dtype, output_loading_info=True, **arguments)
        if options.remote_code:
            restore_buffers(model, dtype)
        if options.adapter is not None:
            model = merge_adapter(model, options.adapter)
        model = (model if is_placed(options) else model.to(device)).eval()
    except _loading_errors(options.remote_code) as error:
        architecture = ", ".join(checkpoint.config.get("architectures") or ["unknown"])
        raise UsageError(f"{checkpoint.name} ({architecture}) cannot be loaded: {first_line(error)}") from error
    absent = sorted(report.get("missing_keys") or ())
    if absent:
        raise UsageError(
            f"the weights of {checkpoint.name} are incomplete: {len(absent)} are missing, e.g. "
            f"{absent[0]}; its replies would come from random numbers"
        )
    return model


def _loading_errors(remote_code: bool) -> tuple[type[Exception], ...]:
    """What may be raised for a checkpoint that cannot be loaded."""
    from safetensors import SafetensorError

    errors = (ImportError, OSError, ValueError, RuntimeError, KeyError, SafetensorError)
    # Code for another version of transformers, which lacks what it names or asserts.
    return (*errors, AttributeError, TypeError, AssertionError, IndexError) if remote_code else errors


_THINKERS = {
    "qwen2_5_omni": "Qwen2_5OmniThinkerForConditionalGeneration",
    "qwen3_omni_moe": "Qwen3OmniMoeThinkerForConditionalGeneration",
}
"""The part that writes, of checkpoints that hold one for speech as well."""


def _auto_class(checkpoint: Checkpoint, folder: str, options: LoadOptions) -> Any:
    """The auto class of transformers that has the architecture, or that loads the checkpoint's own
    code. Image models first, for a text-only checkpoint last."""
    import transformers

    thinker = _THINKERS.get(str(checkpoint.config.get("model_type")))
    if thinker is not None:
        return getattr(transformers, thinker)
    names = ["AutoModelForImageTextToText", "AutoModelForMultimodalLM", "AutoModelForCausalLM"]
    if not checkpoint.multimodal:
        names.reverse()
    auto_map = checkpoint.config.get("auto_map") or {}
    if options.remote_code and auto_map:
        name = next((name for name in names if name in auto_map), "AutoModel")
        return getattr(transformers, name)
    config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=options.remote_code)
    for name in names:
        auto = getattr(transformers, name, None)
        if auto is not None and type(config) in auto._model_mapping:
            return auto
    return getattr(transformers, names[0])


def find_eos_token_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Ids of the end tokens, from the generation configuration, else from the tokenizer."""
    declared = model.generation_config.eos_token_id
    if declared is None:
        declared = tokenizer.eos_token_id
    if declared is None:
        return frozenset()
    return frozenset([declared] if isinstance(declared, int) else declared)


def use_greedy_decoding(model: Any, tokenizer: Any, eos_token_ids: frozenset[int]) -> None:
    """Replace a vendor's sampling settings and penalties, so that greedy decoding always takes the
    most likely token."""
    from transformers import GenerationConfig

    old = model.generation_config
    model.generation_config = GenerationConfig(
        bos_token_id=old.bos_token_id,
        eos_token_id=sorted(eos_token_ids) or None,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=old.decoder_start_token_id,
        suppress_tokens=old.suppress_tokens,
    )


@contextmanager
def silence_library(library: str = "transformers") -> Iterator[None]:
    """Turn off progress bars and advice of a Hugging Face library inside a `with` block; whatever
    matters is raised.

    One thread at a time is inside: the libraries load weights under a changed default of torch, and
    what a second thread loads meanwhile would lack its numbers.
    """
    with _LIBRARY_LOCK:
        yield from _suppress_output(library)


def _suppress_output(library: str) -> Iterator[None]:
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


_TIED = "all_tied_weights_keys"
"""What `post_init` of transformers 5 sets, and the loading of weights reads."""


def finish_construction(config: Mapping[str, Any], folder: str) -> None:
    """Have the models of a checkpoint's own code call `post_init` when they are constructed, if
    they do not themselves. Imports that code; its errors are left to the loading of the weights."""
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    auto_map = config.get("auto_map") or {}
    named = {str(auto_map[name]) for name in auto_map if name.startswith("AutoModel")}
    for reference in sorted(named):
        try:
            model_class = get_class_from_dynamic_module(reference, folder)
        except (ImportError, OSError, ValueError, AttributeError, TypeError, SyntaxError):
            continue
        # A class with a `post_init` of its own calls it itself.
        if "post_init" in vars(model_class) or not hasattr(model_class, "post_init"):
            continue
        model_class.__init__ = _calling_post_init(model_class.__init__)


def _calling_post_init(construct: Any) -> Any:
    """A constructor that calls `post_init` afterwards, unless that was done."""

    @functools.wraps(construct)
    def finish(self: Any, *arguments: Any, **options: Any) -> None:
        construct(self, *arguments, **options)
        if _TIED not in vars(self):
            self.post_init()

    return finish


def restore_buffers(model: Any, dtype: Any) -> None:
    """Give the buffers that no file holds the values that the model's own code computes for them.

    `dtype` is that of the weights. The model is constructed once more, without memory for its
    weights.
    """
    if not type(model).__module__.startswith("transformers_modules."):
        return
    buffers = dict(model.named_non_persistent_buffers())
    if not buffers:
        return
    from accelerate import init_empty_weights

    with init_empty_weights(include_buffers=False), _default_dtype(dtype):
        constructed = type(model)(copy.deepcopy(model.config))
    for name, value in constructed.named_non_persistent_buffers():
        if name in buffers and buffers[name].shape == value.shape:
            buffers[name].copy_(value)


@contextmanager
def _default_dtype(dtype: Any) -> Iterator[None]:
    """In which tensors have a dtype unless they are given another, as when weights are loaded."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
