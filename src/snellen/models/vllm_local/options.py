"""Names and options of `vllm-local/` models, and the facts that make up their identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snellen.core.errors import UsageError
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.hf.options import DTYPES, PROMPT_OPTIONS, REPLY_OPTIONS, optional_int
from snellen.models.naming.provider import ModelListing, ModelOption

NAME = "vllm-local"
MODELS = (ModelListing("vllm-local/<hub id>", "A checkpoint answered by vLLM in this process; needs a GPU."),)
DEFAULT_CONCURRENCY = 256
_GPU_MEMORY = 0.9
"""vLLM's own default is 0.92; the rest is left to others on the same GPU."""
OPTIONS = (
    ModelOption("dtype", "default bfloat16; auto: as stored", DTYPES),
    ModelOption("revision", "branch, tag or commit of a hub model"),
    ModelOption(
        "concurrency",
        "requests handed to the engine at once, which batches them; default "
        f"{DEFAULT_CONCURRENCY}, fewer where their memory is short",
        kind="count",
    ),
    ModelOption("tensor_parallel", "GPUs that share the weights; default 1", kind="count"),
    ModelOption("gpu_memory", f"part of each GPU that vLLM may take; default {_GPU_MEMORY}"),
    ModelOption("context", "longest prompt and reply in tokens; default the model's", kind="count"),
    ModelOption("quantisation", "weights rounded as they are loaded", ("fp8", "bitsandbytes")),
    ModelOption("eager", "yes: starts faster, answers slower", ("yes", "no")),
    ModelOption("trust_remote_code", "run the checkpoint's own Python", ("yes", "no")),
    ModelOption("images", "first: of several images the first alone", ("native", "first")),
    *PROMPT_OPTIONS,
    *REPLY_OPTIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmOptions:
    """How vLLM loads a checkpoint and is asked. None leaves a setting to vLLM."""

    dtype: str
    concurrency: int
    tensor_parallel: int
    gpu_memory: float
    """Part of each GPU's memory, above 0, at most 1."""
    context: int | None
    quantisation: str | None
    eager: bool
    remote_code: bool
    images: str
    min_pixels: int | None
    max_pixels: int | None
    thinking: bool | None
    max_new_tokens: int | None
    split_thoughts: bool

    @property
    def template_values(self) -> dict[str, object]:
        """Further values for the chat template."""
        return {} if self.thinking is None else {"enable_thinking": self.thinking}

    def engine_arguments(self, folder: str, on_cpu: bool) -> dict[str, Any]:
        """The arguments of `vllm.AsyncEngineArgs` for the checkpoint in a folder.

        None of them samples: each request brings all of its settings, and the checkpoint's
        `generation_config.json` only its end tokens.
        """
        arguments: dict[str, Any] = {
            "model": folder,
            "dtype": self.dtype,
            "tensor_parallel_size": self.tensor_parallel,
            "max_num_seqs": self.concurrency,
            "trust_remote_code": self.remote_code,
            "enforce_eager": self.eager,
            # Requests may ask for the log-probabilities of more tokens than vLLM's default of 20.
            "max_logprobs": -1,
            "disable_log_stats": True,
            "generation_config": "auto",
        }
        if not on_cpu:
            arguments["gpu_memory_utilization"] = self.gpu_memory
        if self.context is not None:
            arguments["max_model_len"] = self.context
        if self.quantisation is not None:
            arguments["quantization"] = self.quantisation
        pixels = {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels}
        limits = {name: value for name, value in pixels.items() if value is not None}
        if limits:
            arguments["mm_processor_kwargs"] = limits
        return arguments


def read_vllm_options(values: Mapping[str, str], checkpoint: Checkpoint) -> VllmOptions:
    """The options as values. Raises UsageError."""
    dtype = values.get("dtype", "bfloat16")
    return VllmOptions(
        dtype=checkpoint.stored_dtype() if dtype == "auto" else dtype,
        concurrency=optional_int(values, "concurrency") or DEFAULT_CONCURRENCY,
        tensor_parallel=optional_int(values, "tensor_parallel") or 1,
        gpu_memory=_read_fraction(values),
        context=optional_int(values, "context"),
        quantisation=values.get("quantisation"),
        eager=values.get("eager") == "yes",
        remote_code=values.get("trust_remote_code") == "yes",
        images=values.get("images", "native"),
        min_pixels=optional_int(values, "min_pixels"),
        max_pixels=optional_int(values, "max_pixels"),
        thinking=values["thinking"] == "on" if "thinking" in values else None,
        max_new_tokens=optional_int(values, "max_new_tokens"),
        split_thoughts=values.get("reasoning", "auto") == "auto",
    )


def _read_fraction(values: Mapping[str, str]) -> float:
    text = values.get("gpu_memory", str(_GPU_MEMORY))
    try:
        fraction = float(text)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction <= 1:
        raise UsageError(f"option gpu_memory={text!r} of {NAME} models: expected a number above 0, at most 1")
    return fraction


def vllm_identity_facts(checkpoint: Checkpoint, options: VllmOptions) -> dict[str, str]:
    """Everything that can change a reply. How many GPUs share the work is left out."""
    facts = {
        "revision": checkpoint.revision,
        "dtype": options.dtype,
        "quantisation": options.quantisation or checkpoint.quantisation(),
        "context": str(options.context or ""),
        "remote_code": "yes" if options.remote_code else "",
        "reasoning": "" if options.split_thoughts else "off",
        "min_pixels": str(options.min_pixels or ""),
        "max_pixels": str(options.max_pixels or ""),
        "thinking": "" if options.thinking is None else ("on" if options.thinking else "off"),
        "images": options.images if checkpoint.multimodal else "",
    }
    return {name: value for name, value in facts.items() if value}
