"""Values of loading: the options a checkpoint is loaded with, and the loaded model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from snellen.models.hf.profile import FamilyProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How to load a checkpoint."""

    dtype: str
    device: str
    """`auto` is resolved when the weights are loaded."""
    attention: str | None = None
    """None: what transformers chooses for the architecture."""
    processor: str = "pil"
    remote_code: bool = False
    split_thoughts: bool = True
    """Whether thoughts in tags are split off the replies."""
    threads: int | None = None
    """CPU threads of torch. None: one for a small model, torch's default otherwise."""
    adapter: str | None = None
    """Folder of a LoRA adapter to merge into the weights."""
    quantisation: str | None = None
    """`8bit` or `4bit`: quantise the weights while loading."""
    device_map: str | None = None
    """How accelerate distributes the layers over devices; None: all on `device`."""
    min_pixels: int | None = None
    """Pixels to which the processor enlarges smaller images; None: as it comes."""
    max_pixels: int | None = None
    """Pixels to which the processor shrinks larger images."""
    thinking: bool | None = None
    """The switch `enable_thinking` of the chat template; None: as it comes."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to answer."""

    model: Any
    processor: Any
    """The multimodal processor; for a text-only model its tokenizer."""
    tokenizer: Any
    device: str
    eos_token_ids: frozenset[int]
    """Token ids that end a reply."""
    max_length: int | None
    """Context length in tokens; None if the configuration does not state it."""
    threads: int
    """CPU threads that its batches are computed with."""
    profile: FamilyProfile | None = None
    """Peculiarities of the model family, if it has any."""
    uses_profile_prompt: bool = False
    """Whether prompts are rendered by the profile, because there is no chat template."""
    template_values: Mapping[str, object] = field(default_factory=dict)
    """Further values for the chat template."""

    @property
    def multimodal(self) -> bool:
        return self.processor is not self.tokenizer

    @property
    def takes_videos(self) -> bool:
        """Whether its processor has a part for videos, which needs torchvision."""
        return getattr(self.processor, "video_processor", None) is not None

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether an encoder reads the prompt and a decoder starts the reply."""
        config = self.model.config
        parts = (config, config.get_text_config(), getattr(config, "text_config", None))
        return any(getattr(part, "is_encoder_decoder", False) for part in parts)
