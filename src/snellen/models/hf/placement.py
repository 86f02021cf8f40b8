"""Where and how weights are loaded: quantised, over several devices, with a LoRA adapter."""

from __future__ import annotations

import importlib.util
import json
import logging
import warnings
from pathlib import Path
from typing import Any

from snellen.core.errors import MissingExtra, UsageError
from snellen.models.file_hash import files_digest
from snellen.models.hf.loaded import LoadOptions

DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
QUANTISATIONS = ("8bit", "4bit")
_ADAPTER_CONFIG = "adapter_config.json"


def placement_arguments(options: LoadOptions, device: str) -> dict[str, Any]:
    """Arguments of `from_pretrained` for placement and quantisation. Raises MissingExtra."""
    arguments: dict[str, Any] = {}
    if options.device_map is not None:
        arguments["device_map"] = options.device_map
    if options.quantisation is not None:
        arguments["quantization_config"] = _quantisation_config(options.quantisation, device, options.dtype)
        arguments.setdefault("device_map", device)
    return arguments


def is_placed(options: LoadOptions) -> bool:
    """Whether `from_pretrained` itself puts the weights onto their devices."""
    return options.device_map is not None or options.quantisation is not None


def quantisation_library(bits: str, device: str) -> str:
    """The library that quantises to `8bit` or `4bit` on a device.

    On GPUs bitsandbytes, or torchao if only that is installed. On a CPU torchao for 8 bits, where
    it is faster, or bitsandbytes if only that is installed; for 4 bits bitsandbytes, since torchao
    cannot do that on a CPU. Raises MissingExtra with the one to install.
    """
    candidates = ["bitsandbytes", "torchao"]
    if not device.startswith("cuda"):
        candidates = ["torchao", "bitsandbytes"] if bits == "8bit" else ["bitsandbytes"]
    for library in candidates:
        if importlib.util.find_spec(library) is not None:
            return library
    raise MissingExtra(f"quantisation={bits} on {device}", "quantised", candidates[0])


def _quantisation_config(bits: str, device: str, dtype: str) -> Any:
    import torch
    import transformers

    if quantisation_library(bits, device) == "bitsandbytes":
        # It warns for each layer and each prompt about the dtype it multiplies in.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        if bits == "8bit":
            return transformers.BitsAndBytesConfig(load_in_8bit=True)
        return transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=getattr(torch, dtype)
        )
    from torchao.quantization import Int4WeightOnlyConfig, Int8WeightOnlyConfig

    scheme = Int8WeightOnlyConfig() if bits == "8bit" else Int4WeightOnlyConfig()
    return transformers.TorchAoConfig(scheme)


def find_adapter(name: str) -> Path:
    """The folder of an adapter: a local folder, else a hub id, which is downloaded to the cache.

    Raises UsageError if it is not an adapter, and MissingExtra.
    """
    if importlib.util.find_spec("peft") is None:
        raise MissingExtra(f"adapter={name}", "adapters", "peft")
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if name.startswith((".", "/", "~")) or name.count("/") != 1:
            raise UsageError(f"there is no adapter folder {name}; expected one that peft saved")
        from snellen.models.hf.hub import fetch_folder

        folder = fetch_folder(name)
    config = folder / _ADAPTER_CONFIG
    if not config.is_file():
        raise UsageError(
            f"{name} has no {_ADAPTER_CONFIG}, so it is not an adapter; expected what peft's save_pretrained writes"
        )
    try:
        description = json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{config} cannot be read as JSON: {error}") from error
    if not isinstance(description, dict) or not list(folder.glob("adapter_model.*")):
        raise UsageError(f"{name} holds no adapter weights (adapter_model.safetensors)")
    return folder


def adapter_digest(folder: Path) -> str:
    """SHA-256 (hex) over an adapter's configuration and weights."""
    return files_digest(folder, [folder / _ADAPTER_CONFIG, *folder.glob("adapter_model.*")])


def merge_adapter(model: Any, folder: str) -> Any:
    """Merge an adapter into the weights of a model. Raises ValueError if the adapter belongs to
    another model."""
    from peft import PeftModel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        adapted = PeftModel.from_pretrained(model, folder)
    for warning in caught:
        if "missing adapter keys" in str(warning.message):
            raise ValueError(f"the adapter {folder} was not trained on this model")
    if getattr(model, "hf_quantizer", None) is not None:
        # Merging would round the quantised weights once more: the adapter stays separate.
        return adapted.get_base_model()
    return adapted.merge_and_unload()
