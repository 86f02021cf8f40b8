"""How the makers of a model ask it: wording, sampling, longest reply, pixels and frames.

Kept as data, `maker_setups/<maker>.toml`, with the source of each; matched by model and benchmark.
A file holds families; a family what all its benchmarks share, and `by_benchmark` what differs: the
first row that matches counts, its fields before those of the family.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct, structs

from snellen.core.request import Sampling

FOLDER = "maker_setups"
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "@video": (
        "video-mme",
        "mvbench",
        "mmbench-video",
        "mlvu",
        "tempcompass",
        "moviechat1k",
        "vdc",
        "video-mmlu",
        "worldsense",
    )
}
"""Names for several benchmarks, in `benchmarks` and `not_for`."""


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the makers ask a model about one benchmark. None and "" leave a setting as it is."""

    name: str = ""
    """Name of the family."""
    title: str = ""
    prompt: str = ""
    """Name of the prompt template, which may hold a system message."""
    max_new_tokens: int | None = None
    """The longest reply in tokens, thoughts included."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    min_pixels: int | None = None
    """Pixels to which the processor enlarges smaller images."""
    max_pixels: int | None = None
    """Pixels to which the processor shrinks larger images."""
    thinking: str = ""
    """`on` or `off`, for chat templates with such a switch."""
    video: str = ""
    """`native`: videos are handed over as such; `frames`."""
    frames: int | None = None
    """Frames of a video; with `fps` the most there may be."""
    fps: float | None = None
    judge: str = ""
    """The model that judges replies, where the benchmark needs one; named, never asked unbidden."""
    note: str = ""
    """What the makers do beyond these settings; it is not applied."""
    source: str = ""
    read: str = ""
    """The day on which the source was read."""

    @property
    def sampling(self) -> Sampling:
        """The sampling settings; those of greedy decoding are left open."""
        if not self.temperature:
            return Sampling(repetition_penalty=self.repetition_penalty, presence_penalty=self.presence_penalty)
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
        )

    @property
    def video_options(self) -> dict[str, str]:
        """The options of a benchmark about videos that it sets."""
        options = {"video": self.video, "frames": self.frames, "fps": self.fps}
        return {name: f"{value}" for name, value in options.items() if value}

    @property
    def model_options(self) -> dict[str, str]:
        """The options of a model that it sets: `min_pixels`, `max_pixels`, `thinking`."""
        options = {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels, "thinking": self.thinking}
        return {name: str(value) for name, value in options.items() if value}

    def settings(self) -> dict[str, str]:
        """What it sets, by name, as text."""
        values = {name: getattr(self, name) for name in _FIELDS if name not in _DESCRIPTIONS}
        return {
            name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in values.items()
            if value not in (None, "")
        }


class BenchmarkRow(Recipe, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a family does otherwise on some benchmarks."""

    benchmarks: tuple[str, ...]
    """Patterns of benchmark names, or groups (`@video`)."""
    not_for: tuple[str, ...] = ()
    """Patterns of benchmarks to which the row does not apply although `benchmarks` matches."""

    def applies_to(self, benchmark: str) -> bool:
        return _matches_any(benchmark, self.benchmarks) and not _matches_any(benchmark, self.not_for)


class MakerSetup(Recipe, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the makers of a family of models ask them."""

    models: tuple[str, ...]
    """Patterns of hub ids in lower case, `org/name-*`, or of names at an API, `name-*`."""
    basis: Literal["maker", "toolkit"]
    """Whose source it is: the makers' own repository or model card, or the class for the model in
    an evaluation toolkit."""
    by_benchmark: tuple[BenchmarkRow, ...] = ()

    def recipe_for(self, benchmark: str) -> Recipe | None:
        """The recipe for a benchmark; None if nothing is known for it."""
        row = next((row for row in self.by_benchmark if row.applies_to(benchmark)), None)
        merged = {name: getattr(self, name) for name in _FIELDS}
        for name in _FIELDS if row is not None else ():
            if getattr(row, name) not in (None, ""):
                merged[name] = getattr(row, name)
        recipe = Recipe(**merged)
        return recipe if recipe.settings() else None


_FIELDS = tuple(field.name for field in structs.fields(Recipe))
_DESCRIPTIONS = frozenset({"name", "title", "note", "source", "read"})
"""Fields that set nothing."""


@functools.cache
def load_setups() -> tuple[MakerSetup, ...]:
    """All families, by file and in the order of each file."""
    folder = files("snellen.prompts") / FOLDER
    found: list[MakerSetup] = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            families = msgspec.toml.decode(file.read_bytes(), type=dict[str, MakerSetup])
            found += [structs.replace(family, name=name) for name, family in families.items()]
    return tuple(found)


def find_setup(model: str) -> MakerSetup | None:
    """The family of a model, named as on the command line; its provider (`hf/`, `vllm/`,
    `http://host/v1#`) and options (`:dtype=...`) do not matter."""
    name = _hub_id(model).lower()
    if not name:
        return None
    return next((setup for setup in load_setups() if _matches_any(name, setup.models)), None)


def find_recipe(model: str, benchmark: str) -> Recipe | None:
    """How the makers of a model ask it about a benchmark; None if that is not known."""
    setup = find_setup(model)
    return None if setup is None else setup.recipe_for(benchmark.lower())


def recipe_templates() -> Iterator[str]:
    """The names of all prompt templates that recipes use."""
    for setup in load_setups():
        for part in (setup, *setup.by_benchmark):
            if part.prompt:
                yield part.prompt


def _hub_id(model: str) -> str:
    """`org/name` of `hf/org/name:dtype=float16` or `http://host:8000/v1#org/name@commit`."""
    _, hash_sign, served = model.rpartition("#")
    name = served.split(":")[0].split("@")[0]
    return name if hash_sign else name.partition("/")[2]


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for listed in patterns for pattern in _GROUPS.get(listed, (listed,)))
