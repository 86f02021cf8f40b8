"""How families without a chat template are asked: data, by `model_type` (profiles.toml)."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Sequence
from importlib import resources

import msgspec

from snellen.core.message import Media, Message
from snellen.models.split_batch import Unsupported

_FILE = "profiles.toml"
_CONTENT = "{content}"


class FamilyProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The prompt of a family."""

    source: str
    prompt: str = ""
    """Text with `{content}` where the words stand; "": its checkpoints have chat templates."""
    image: str = ""
    """Sign of a picture among the words; "": the processor puts the picture in front."""
    between: str = ""
    """White space between the prompt and a reply."""
    max_images: int | None = None
    """Most pictures in a prompt; None: as many as fit."""
    forced: bool = False
    """Whether a reply that is ranked must be said behind the prompt, not read along with it."""
    concatenates: bool = False
    """Whether embeddings of several pictures can stand where one's would."""
    unbatched: bool = False
    """Whether prompts cannot share a batch: the processor, when it fills up, loses the places of
    the pictures, or changes what is seen of them."""

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that change with whatever changes a prompt."""
        parts = "\0".join([self.prompt, self.image, self.between])
        return hashlib.sha256(parts.encode()).hexdigest()[:8]

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt of a conversation. Raises Unsupported for too many pictures."""
        image_count = sum(len(message.media()) for message in messages)
        if self.max_images is not None and image_count > self.max_images:
            raise Unsupported(
                f"the model takes {self.max_images} picture in a prompt, this one has "
                f"{image_count}; take images=first, or have the benchmark stitch them"
            )
        lines = []
        for message in messages:
            image_tokens = "".join(self.image for part in message.parts if isinstance(part, Media))
            lines.append(image_tokens + message.text())
        return self.prompt.replace(_CONTENT, "\n".join(lines))


@functools.cache
def profiles() -> dict[str, FamilyProfile]:
    """Every profile by `model_type`."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, FamilyProfile])
