"""Names and options of `hf/` models, and the facts about them that make up their identity."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.core.errors import UsageError
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.hf.loaded import LoadOptions
from snellen.models.hf.loading import choose_device, require
from snellen.models.hf.placement import DEVICE_MAPS, QUANTISATIONS, adapter_digest, find_adapter, quantisation_library
from snellen.models.hf.profile import find_profile
from snellen.models.naming.provider import ModelListing, ModelOption

MODELS = (
    ModelListing("hf/<hub id>", "A Hugging Face vision-language or text model with chat template."),
    ModelListing("hf/<folder>", "The same from a local folder; ./folder alone will do."),
)
DTYPES = ("auto", "float32", "bfloat16", "float16")
DEFAULT_BATCH_SIZE = 32
"""Initial batch size without the option."""
PROMPT_OPTIONS = (
    ModelOption("min_pixels", "pixels to which smaller pictures are enlarged (Qwen-VL's kind)", kind="count"),
    ModelOption("max_pixels", "pixels to which larger pictures are shrunk (Qwen-VL's kind)", kind="count"),
    ModelOption("thinking", "the switch enable_thinking of chat templates that have one", ("on", "off")),
)
REPLY_OPTIONS = (
    ModelOption("max_new_tokens", "longest reply in tokens, thoughts included", kind="count"),
    ModelOption("reasoning", "auto: thoughts in tags are split off the reply", ("auto", "off")),
)
OPTIONS = (
    ModelOption("dtype", "default float32 on cpu, bfloat16 on cuda; auto: as stored", DTYPES),
    ModelOption("device", "auto (cuda where there is one), cpu, cuda, cuda:<number>, mps"),
    ModelOption("attention", "attention implementation", ("eager", "sdpa", "flash_attention_2")),
    ModelOption("revision", "branch, tag or commit of a hub model"),
    ModelOption(
        "batch_size",
        "requests answered at once, halved where memory is short; default "
        f"{DEFAULT_BATCH_SIZE}, and more where more fit and are faster",
        kind="count",
    ),
    ModelOption("threads", "CPU threads; default 1 for a model under 30 M parameters, else torch's own", kind="count"),
    ModelOption("adapter", "LoRA adapter: a folder that peft saved, or its hub id"),
    ModelOption("quantisation", "weights rounded as they are loaded, by bitsandbytes or torchao", QUANTISATIONS),
    ModelOption("device_map", "layers spread over several devices by accelerate", DEVICE_MAPS),
    ModelOption("trust_remote_code", "run the checkpoint's own Python", ("yes", "no")),
    ModelOption(
        "images",
        "of single-image models: first image alone, or the embeddings of all in place of one's",
        ("native", "first", "concat-embeddings"),
    ),
    ModelOption("processor", "library that resizes pictures", ("pil", "torchvision")),
    *PROMPT_OPTIONS,
    ModelOption("draws", "yes for a checkpoint of Emu3 that was trained to draw", ("yes", "no")),
    *REPLY_OPTIONS,
    ModelOption(
        "sharing",
        "auto: what prompts begin with in common is computed once, where that changes no answer",
        ("auto", "off"),
    ),
)


def _quantisation_of(checkpoint: Checkpoint, options: LoadOptions) -> str:
    """How the weights are quantised, in the file or while loading; "" if not. Raises UsageError."""
    stored = checkpoint.quantisation()
    if options.quantisation is None:
        return stored
    if stored:
        raise UsageError(f"{checkpoint.name} is stored quantised ({stored}); leave quantisation out")
    library = quantisation_library(options.quantisation, choose_device(options.device))
    return f"{library}-{options.quantisation}"


def optional_int(values: Mapping[str, str], name: str) -> int | None:
    """The number of an option, if it is given."""
    return int(values[name]) if name in values else None


def read_load_options(checkpoint: Checkpoint, values: Mapping[str, str]) -> LoadOptions:
    """Checked options, as far as they say how to load.

    torch is imported only if the device matters, so that a model with the option `dtype` is
    identified in milliseconds. Raises UsageError (adapter) and MissingExtra.
    """
    if values.get("processor") == "torchvision":
        require("processor=torchvision", "torchvision")
    device = values.get("device", "auto")
    if device != "auto" or "dtype" not in values:
        device = choose_device(device)
    dtype = values.get("dtype", "bfloat16" if device.startswith("cuda") else "float32")
    return LoadOptions(
        dtype=checkpoint.stored_dtype() if dtype == "auto" else dtype,
        device=device,
        attention=values.get("attention"),
        processor=values.get("processor", "pil"),
        remote_code=values.get("trust_remote_code") == "yes",
        split_thoughts=values.get("reasoning", "auto") == "auto",
        threads=optional_int(values, "threads"),
        adapter=str(find_adapter(values["adapter"])) if "adapter" in values else None,
        quantisation=values.get("quantisation"),
        device_map=values.get("device_map"),
        min_pixels=optional_int(values, "min_pixels"),
        max_pixels=optional_int(values, "max_pixels"),
        thinking=values["thinking"] == "on" if "thinking" in values else None,
    )


def identity_facts(checkpoint: Checkpoint, options: LoadOptions, images: str) -> dict[str, str]:
    """Everything that can change a reply, for the model's identity.

    Raises UsageError and MissingExtra."""
    facts = {
        "revision": checkpoint.revision,
        "dtype": options.dtype,
        "attention": options.attention or "default",
        "quantisation": _quantisation_of(checkpoint, options),
        "adapter": f"sha256:{adapter_digest(Path(options.adapter))}" if options.adapter else "",
        "remote_code": "yes" if options.remote_code else "",
        "reasoning": "" if options.split_thoughts else "off",
        "min_pixels": str(options.min_pixels or ""),
        "max_pixels": str(options.max_pixels or ""),
        "thinking": "" if options.thinking is None else ("on" if options.thinking else "off"),
    }
    profile = find_profile(checkpoint.name, checkpoint.config.get("model_type"))
    if profile is not None and profile.prompt:
        facts["profile"] = profile.digest
    if checkpoint.multimodal:
        facts["images"] = images
        facts["processor"] = " ".join(filter(None, (checkpoint.processor, options.processor)))
    return {name: value for name, value in facts.items() if value}
