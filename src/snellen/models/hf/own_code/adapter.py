"""How a checkpoint's own code is asked, as data: which method, with which arguments, how pictures
and earlier turns are given (`adapters.toml`)."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources
from typing import Any, Literal

import msgspec

_FILE = "adapters.toml"

PictureForm = Literal["tiles", "messages", "list", "files"]
Tried = Literal["small model", "same interface", "provider", "read"]
"""What was tried on the machine of the developers: a model with random weights and the same layout;
another model by the same interface; what the evidence of its provider says; nothing but reading."""


class CodeAdapter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one layout of checkpoints is asked by its own code."""

    title: str
    source: str
    """Where it is documented how it is asked."""
    layouts: tuple[str, ...]
    """Layouts of `naming/routes/types.toml`."""
    loads: str = "AutoModel"
    """Auto class of transformers that loads the model."""
    processor: str = ""
    """Auto class that loads what prepares pictures; "": a tokenizer alone."""
    attributes: dict[str, str] = {}
    """Attributes of the model that are set once it is loaded: `$tokenizer` or `$processor`."""
    method: str = "chat"
    """Method of the model that is called for each request."""
    arguments: dict[str, Any] = {}
    """Arguments by name: constants, or values that are computed for the request, `$question` for
    example. `**` stands for arguments of any name."""
    call: str = ""
    """A way of `own_code/calls.py`, for code that one call does not ask; then `method` and
    `arguments` are not used."""
    reply: str = ""
    """The key of the reply's text, for code that returns a dict."""
    pictures: PictureForm
    """How pictures are given: as normalised tiles, inside of messages, as a list, or as files."""
    one: str = ""
    """What stands in the text for the only picture of a conversation."""
    several: str = ""
    """What stands there for each of several. In both {n} is its number, from 1, and {file} the path
    of the picture as a file."""
    reserved: tuple[str, ...] = ()
    """Marks of pictures, which no question may contain."""
    max_images: int | None = None
    """Maximum of pictures in a conversation; None: no limit."""
    words_alone: bool = True
    """Whether it can be asked without any picture."""
    greedy: dict[str, Any] = {}
    """Settings without sampling."""
    drawn: dict[str, Any] = {}
    """Settings with sampling, besides temperature and top_p."""
    max_tokens: str = "max_new_tokens"
    """Name of the setting for the longest reply."""
    takes: tuple[str, ...] = ()
    """Names of the only settings that the code knows; (): any that `generate` of transformers
    does."""
    options: dict[str, Any] = {}
    """Sizes of the tiles and the like, in place of those in the configuration."""
    tried: Tried = "read"
    note: str = ""

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits over the fields that are set and can change a reply."""
        fields = msgspec.to_builtins(self)
        for name in ("title", "source", "layouts", "tried", "note"):
            fields.pop(name, None)
        return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()[:8]


@functools.cache
def code_adapters() -> dict[str, CodeAdapter]:
    """Every adapter by its name."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=dict[str, CodeAdapter])


@functools.cache
def adapter_names() -> dict[str, str]:
    """The name of the adapter of each layout."""
    return {layout: name for name, adapter in code_adapters().items() for layout in adapter.layouts}
