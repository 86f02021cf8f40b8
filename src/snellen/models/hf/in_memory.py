"""A transformers model that is in memory already, asked by the same code as `hf/...`."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.errors import UsageError
from snellen.core.model import Identity
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.models.hf.checkpoint import Checkpoint, find_checkpoint
from snellen.models.hf.loaded import LoadedModel, LoadOptions
from snellen.models.hf.loading import assemble, silence_library, use_greedy_decoding
from snellen.models.hf.model import HuggingFace
from snellen.models.hf.options import OPTIONS, identity_facts, optional_int
from snellen.models.hf.processor import load_processor, processor_digest
from snellen.models.hf.weights_digest import TensorHash, are_those_of_folder, combine_hashes, hash_weights
from snellen.models.naming.code_digest import unwrap_module
from snellen.models.naming.provider import read_options
from snellen.settings import force_offline

_PROVIDER = "hf"
_TASKS = ("image-text-to-text", "text-generation")
_ASKING_OPTIONS = frozenset({"batch_size", "images", "max_new_tokens", "reasoning", "sharing", "threads"})
"""Options of `hf/...` models that do not concern how weights are loaded."""
_TORCHVISION_CLASSES = frozenset({"TorchvisionBackend", "BaseImageProcessorFast"})
"""Bases of image processors that resize with torchvision, in transformers 5 and 4."""
_VOLATILE = frozenset({"dtype", "torch_dtype", "use_cache", "transformers_version"})
"""Fields of a configuration that change no reply, or are facts of the identity themselves."""


class InMemoryModel(HuggingFace):
    """A model of the user's process. Its weights are not copied, and after each batch it is as it
    was before. `refresh` recomputes its identity, since training may have changed it."""

    def __init__(
        self,
        module: Any,
        processor: Any,
        checkpoint: Checkpoint,
        load_options: LoadOptions,
        identity: Identity,
        values: Mapping[str, str],
        arguments: tuple[Any, ...],
    ) -> None:
        """`values` are the options as text, `arguments` those of `wrap_checkpoint`."""
        super().__init__(checkpoint, load_options, identity, values)
        self._module, self._processor = module, processor
        self._arguments = arguments

    def load(self) -> LoadedModel:
        """Take the model as it is, ready to answer. Raises UsageError without a chat template."""
        if self._loaded is None:
            with keep_state(self._module):
                self._module.eval()
                # A copy of the processor: padding is set on it.
                processor = copy.deepcopy(self._processor)
                device = str(self._module.device)
                name, options = self._checkpoint.name, self.load_options
                self.adopt(assemble(name, self._module, processor, options, device))
        assert self._loaded is not None
        return self._loaded

    def answer_batch(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests; a request that fails does not affect the others."""
        loaded = self.load()
        with keep_state(self._module):
            self._module.eval()
            use_greedy_decoding(self._module, loaded.tokenizer, loaded.eos_token_ids)
            return super().answer_batch(requests)

    def refresh(self) -> InMemoryModel:
        """The model with the identity of its present weights, and no prefix cached."""
        return wrap_checkpoint(*self._arguments)


def wrap_checkpoint(
    model: Any,
    name: str | None = None,
    processor: Any = None,
    revision: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> InMemoryModel:
    """A model of `transformers` or `peft`, a pipeline, or a tuple of a model and its processor.

    If weights, configuration and processor are those of the checkpoint that the model was loaded
    from, its identity is that of `hf/CHECKPOINT`; else it holds a digest of the weights, or
    `revision`. Raises UsageError (no processor, unknown option, weights outside of this process).
    """
    arguments = (model, name, processor, revision, options)
    module, processor = _module_and_processor(model, processor)
    values = _option_values(options or {})
    # Skipped if the caller gives a revision: large files would have to be hashed first.
    source = _find_source(module) if processor is None or revision is None else None
    if processor is None:
        processor = _load_own_processor(module, source)
    _check_processor(module, processor)
    load_options = _load_options(module, processor, values)
    checkpoint = _checkpoint_of(module, processor, source, name or _name_of(module, source), revision)
    facts = identity_facts(checkpoint, load_options, values.get("images", "native"))
    if checkpoint.source == "":
        facts["preprocessing"] = f"sha256:{processor_digest(processor)}"
        facts["decoding"] = " ".join(map(str, _decoding(module.generation_config)))
        if adapters := _adapter_states(module):
            facts["adapters"] = adapters
    identity = Identity(_PROVIDER, checkpoint.name, facts)
    return InMemoryModel(module, processor, checkpoint, load_options, identity, values, arguments)


def _checkpoint_of(
    module: Any, processor: Any, source: Checkpoint | None, name: str, revision: str | None
) -> Checkpoint:
    """`source` if the model is as its files are, so that its stored replies are reused; else one
    without files, whose revision is `revision` or a digest of the weights."""
    if revision is None:
        hashes = hash_weights(module)
        if source is not None and _is_unchanged(module, processor, hashes, source):
            return replace(source, name=name)
        revision = f"weights:{combine_hashes(hashes)}"
    return Checkpoint(
        name=name,
        source="",
        commit=None,
        revision=revision,
        config=module.config.to_dict(),
        processor=type(processor).__name__,
        multimodal=processor is not getattr(processor, "tokenizer", processor),
    )


def _module_and_processor(model: Any, processor: Any) -> tuple[Any, Any]:
    """The transformers module of a model, and its processor if one was passed with it."""
    if isinstance(model, tuple):
        model, processor = model
    task = getattr(model, "task", None)
    if task is not None and hasattr(model, "model") and hasattr(model, "tokenizer"):
        if task not in _TASKS:
            raise UsageError(f"the pipeline's task is {task}; expected one that writes text: " + " or ".join(_TASKS))
        processor = processor or getattr(model, "processor", None) or model.tokenizer
        model = model.model
    module = unwrap_module(model)
    if hasattr(module, "peft_config") and hasattr(module, "get_base_model"):
        # The adapters are in its layers, and stay active.
        module = module.get_base_model()
    return module, processor


def _option_values(options: Mapping[str, Any]) -> dict[str, str]:
    """The options as text, checked. Raises UsageError."""
    known = tuple(option for option in OPTIONS if option.name in _ASKING_OPTIONS)
    return read_options("in-memory", {name: str(value) for name, value in options.items()}, known)


def _find_source(module: Any) -> Checkpoint | None:
    """The checkpoint that a model was loaded from, if its files are on this machine."""
    name = str(getattr(module, "name_or_path", "") or "")
    if not name:
        return None
    commit = getattr(module.config, "_commit_hash", None)
    with force_offline(), suppress(UsageError):
        is_folder = Path(name).is_dir()
        return find_checkpoint(name, None if is_folder else commit)
    return None


def _name_of(module: Any, source: Checkpoint | None) -> str:
    if source is not None:
        return source.name
    name = str(getattr(module, "name_or_path", "") or "")
    return Path(name).name if name else type(module).__name__


def _load_own_processor(module: Any, source: Checkpoint | None) -> Any:
    """The processor of the checkpoint that the model was loaded from. Raises UsageError."""
    if source is None:
        raise UsageError(
            f"{type(module).__name__} has no processor: give it, or the tokenizer of a text model, "
            "as snellen.wrap_model(model, processor=processor)"
        )
    with silence_library():
        return load_processor(source, LoadOptions(dtype="", device=""), source.source)


def _check_processor(module: Any, processor: Any) -> None:
    """Raises UsageError if it cannot turn the prompts of this model into inputs."""
    tokenizer = getattr(processor, "tokenizer", processor)
    if not hasattr(tokenizer, "special_tokens_map"):
        raise UsageError(
            f"the processor is of type {type(processor).__name__}, which has no tokenizer; "
            "expected the model's processor, or the tokenizer of a text model"
        )
    if processor is tokenizer and hasattr(module.config, "vision_config"):
        raise UsageError(
            f"{type(module).__name__} takes images, and {type(processor).__name__} is a tokenizer "
            "alone; give the processor: snellen.wrap_model(model, processor=processor)"
        )


def _load_options(module: Any, processor: Any, values: Mapping[str, str]) -> LoadOptions:
    """How `hf/...` would have loaded the model."""
    attention = getattr(module.config, "_attn_implementation", None)
    usual = "sdpa" if getattr(module, "_supports_sdpa", False) else "eager"
    resizers = {base.__name__ for base in type(getattr(processor, "image_processor", None)).__mro__}
    return LoadOptions(
        dtype=str(module.dtype).removeprefix("torch."),
        device=str(module.device),
        attention=None if attention in (None, usual) else attention,
        processor="torchvision" if resizers & _TORCHVISION_CLASSES else "pil",
        remote_code=type(module).__module__.startswith("transformers_modules."),
        split_thoughts=values.get("reasoning", "auto") == "auto",
        threads=optional_int(values, "threads"),
    )


def _is_unchanged(module: Any, processor: Any, hashes: Mapping[str, TensorHash], source: Checkpoint) -> bool:
    """Whether a model would answer as the checkpoint that it was loaded from: configuration, end
    tokens, processor and weights are those of its files."""
    from transformers import AutoConfig, GenerationConfig

    try:
        with silence_library():
            config = AutoConfig.from_pretrained(source.source)
            if _settings(config.to_dict()) != _settings(module.config.to_dict()):
                return False
            if (Path(source.source) / "generation_config.json").is_file():
                generation = GenerationConfig.from_pretrained(source.source)
            else:
                generation = GenerationConfig.from_model_config(config)
            if _decoding(generation) != _decoding(module.generation_config):
                return False
            # Before the processor is loaded: after training, the first tensor differs.
            if not are_those_of_folder(hashes, Path(source.source)):
                return False
            own = load_processor(source, LoadOptions(dtype="", device=""), source.source)
    except (OSError, ValueError, KeyError, UsageError):
        return False
    return processor_digest(own) == processor_digest(processor)


def _settings(config: Any) -> Any:
    """A configuration without what changes no reply or is a fact of the identity itself."""
    if not isinstance(config, dict):
        return config
    return {
        name: _settings(value)
        for name, value in config.items()
        if name not in _VOLATILE and not str(name).startswith("_")
    }


def _decoding(generation: Any) -> tuple[object, ...]:
    """The fields of a generation configuration that greedy decoding keeps."""
    ends = generation.eos_token_id
    return (
        sorted([ends] if isinstance(ends, int) else ends or ()),
        list(generation.suppress_tokens or ()),
        generation.decoder_start_token_id,
        generation.bos_token_id,
    )


def _adapter_states(module: Any) -> str:
    """Which adapters of peft are active, a digest over all layers; "" without adapters. Their
    weights are hashed with the others."""
    states = [
        f"{name} {layer.active_adapters} {layer.disable_adapters} {layer.merged_adapters}"
        for name, layer in module.named_modules()
        if hasattr(layer, "active_adapters") and hasattr(layer, "merged_adapters")
    ]
    return f"sha256:{hashlib.sha256(repr(states).encode()).hexdigest()}" if states else ""


@contextmanager
def keep_state(model: Any) -> Iterator[None]:
    """Restore, at the end of the block, the public attributes and buffers of every module: training
    mode, generation configuration, positions and tables that a forward pass leaves behind (made
    under inference mode, they could not be trained with). torch's number of threads is restored
    too.

    Weights are not copied, and changes of their values stay.
    """
    import torch

    threads = torch.get_num_threads()
    before = [(module, dict(vars(module)), dict(getattr(module, "_buffers", {}))) for module in model.modules()]
    try:
        yield
    finally:
        for module, attributes, buffers in before:
            _restore(vars(module), attributes)
            _restore(module._buffers, buffers)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def _restore(namespace: dict[str, Any], before: dict[str, Any]) -> None:
    """Make a namespace what it was, the same dictionary with the same objects.

    Names with an underscore are the library's own: a flag that hooks are installed, say, which
    belongs to hooks that stay.
    """
    for name in namespace.keys() - before.keys():
        if not name.startswith("_"):
            del namespace[name]
    for name, value in before.items():
        if not name.startswith("_") and namespace.get(name, namespace) is not value:
            namespace[name] = value
