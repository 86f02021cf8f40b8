"""The values of an adapter's arguments, computed for each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from snellen.core.request import Generation
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.hf.own_code.tiles import TiledImages, TileSettings, tile_images
from snellen.models.hf.own_code.turns import Conversation
from snellen.models.split_batch import Unsupported


class OwnCode(NamedTuple):
    """A model that its own code has loaded, ready to be called."""

    model: Any
    tokenizer: Any
    processor: Any
    """None for an adapter without one."""
    device: str
    threads: int
    """CPU threads that it computes with."""
    thinking: bool | None = None
    """Whether it writes thoughts first; None: as its chat template does by itself."""


_TURNS = frozenset({"$history", "$pairs", "$messages", "$turns"})
"""Values that hold earlier turns."""


class RequestValues:
    """Values for the arguments of one request, each computed when an argument names it."""

    def __init__(
        self, own: OwnCode, adapter: CodeAdapter, conversation: Conversation, settings: Generation, folder: Path
    ) -> None:
        """`folder` is an empty one for pictures that the code reads as files.

        Raises Unsupported for earlier turns if no argument takes them.
        """
        self._own = own
        self._adapter = adapter
        takes_turns = not _TURNS.isdisjoint(map(str, adapter.arguments.values()))
        if len(conversation.turns) > 1 and not takes_turns:
            raise Unsupported("the model's code takes one question, without earlier turns")
        takes_system = "$system" in adapter.arguments.values()
        self._conversation = conversation if takes_system else conversation.with_system_first()
        self._settings = settings
        self._folder = folder
        self._tiles: TiledImages | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of the call, by name."""
        arguments: dict[str, Any] = {}
        for name, value in self._adapter.arguments.items():
            if isinstance(value, str) and value.startswith("$"):
                value = VALUES[value](self)
            arguments |= value if name == "**" else {name: value}
        return arguments

    def none(self) -> None:
        """For arguments that the code wants to be None."""

    def tokenizer(self) -> Any:
        return self._own.tokenizer

    def processor(self) -> Any:
        return self._own.processor

    def system(self) -> str:
        return self._conversation.system

    def question(self) -> str:
        """The last question, with marks where its pictures stand."""
        return self._texts()[-1]

    def pairs(self) -> list[tuple[str, str]]:
        """Earlier questions with their answers."""
        texts = self._texts()[:-1]
        return list(zip(texts[::2], texts[1::2], strict=True))

    def history(self) -> list[tuple[str, str]] | None:
        """Earlier questions with their answers; None if there are none."""
        return self.pairs() or None

    def turns(self) -> list[dict[str, str]]:
        """Messages whose content is a text, with marks where pictures stand."""
        return [
            {"role": turn.role, "content": text}
            for turn, text in zip(self._conversation.turns, self._texts(), strict=True)
        ]

    def messages(self) -> list[dict[str, Any]]:
        """Messages whose content is a list of pictures and texts."""
        return [{"role": turn.role, "content": list(turn.parts)} for turn in self._conversation.turns]

    def images(self) -> list[Any]:
        return self._conversation.images

    def image(self) -> Any:
        """The first picture, or None."""
        return next(iter(self._conversation.images), None)

    def files(self) -> list[str]:
        """The pictures as PNG files, which are deleted after the call."""
        return picture_files(self._conversation, self._folder)

    def file(self) -> str | None:
        return next(iter(self.files()), None)

    def pixels(self) -> Any:
        """The tiles of all pictures; None without pictures."""
        return self._all_tiles().pixels if self._conversation.images else None

    def counts(self) -> list[int]:
        """The number of tiles of each picture."""
        return self._all_tiles().counts if self._conversation.images else []

    def settings(self) -> dict[str, Any]:
        """Decoding settings under the names that the code knows."""
        return decoding_settings(self._adapter, self._settings)

    def generation(self) -> Any:
        """Decoding settings as a GenerationConfig of transformers, with the marks of the end."""
        from transformers import GenerationConfig

        tokenizer = self._own.tokenizer
        marks = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
        return GenerationConfig(**marks, **self.settings())

    def _texts(self) -> list[str]:
        """The text of each turn; the pictures become files if the marks name those."""
        named = "{file}" in self._adapter.one or "{file}" in self._adapter.several
        return self._conversation.texts(self._adapter, self.files() if named else ())

    def _all_tiles(self) -> TiledImages:
        if self._tiles is None:
            model = self._own.model
            settings = TileSettings.of_config(model.config, self._adapter.options)
            self._tiles = tile_images(self.images(), settings, model.dtype, self._own.device)
        return self._tiles


VALUES: Mapping[str, Callable[[RequestValues], Any]] = {
    f"${name}": getattr(RequestValues, name)
    for name in (
        "none",
        "tokenizer",
        "processor",
        "system",
        "question",
        "history",
        "pairs",
        "messages",
        "turns",
        "images",
        "image",
        "files",
        "file",
        "pixels",
        "counts",
        "settings",
        "generation",
    )
}
"""Values that arguments of `adapters.toml` may name."""


_LEFT_OPEN = Generation()
"""Settings that nobody has asked for."""


def picture_files(conversation: Conversation, folder: Path) -> list[str]:
    """The paths of a conversation's pictures as PNG files, which are written into a folder."""
    paths = []
    for number, image in enumerate(conversation.images):
        path = folder / f"{number}.png"
        if not path.exists():
            image.save(path)
        paths.append(str(path))
    return paths


def decoding_settings(adapter: CodeAdapter, settings: Generation) -> dict[str, Any]:
    """Decoding settings under the names that an adapter's code knows. Raises Unsupported."""
    if settings.presence_penalty:
        raise Unsupported("the checkpoint's own code takes no presence_penalty; leave it out")
    values: dict[str, Any] = {adapter.max_tokens: settings.max_new_tokens}
    if settings.repetition_penalty != 1:
        values["repetition_penalty"] = settings.repetition_penalty
    if settings.temperature == 0:
        values |= adapter.greedy
    else:
        names = ("temperature", "top_p", "top_k")
        values |= adapter.drawn | {name: getattr(settings, name) for name in names}
    if adapter.takes:
        asked = [
            name
            for name in ("repetition_penalty", "top_k")
            if name not in adapter.takes and getattr(settings, name) != getattr(_LEFT_OPEN, name)
        ]
        if asked:
            raise Unsupported(f"the checkpoint's own code takes no {asked[0]}; leave it out")
        values = {name: value for name, value in values.items() if name in adapter.takes}
    return {name: None if value == "$none" else value for name, value in values.items()}
