"""Any benchmark under a control: without its images, with others, or with shuffled options.

A control is named `blind`, `black`, `blur[:PERCENT]`, `wrong-image[:SEED]` or
`shuffled-options[:SEED]`; a run records it with its setting, e.g. `blur:5`.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import get_args

from msgspec import structs

from snellen.core.benchmark import REQUIRES_TEXT, Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary
from snellen.prompts.control import Control, ImagePool, blacken_images, blur_images, remove_media, shuffle_options

OPTION = "control"
CONTROLS: tuple[Control, ...] = get_args(Control)
BLACK: Control = "black"
BLUR = 5.0
"""Radius in percent of the longer side where none is named: scenes stay, letters and faces go."""
_MAX_BLUR = 100.0


@dataclass(frozen=True, slots=True)
class ControlSetting:
    """A control and its number: a radius in percent, or a seed."""

    control: Control
    number: float | None = None

    def __str__(self) -> str:
        return self.control if self.number is None else f"{self.control}:{self.number:g}"

    @property
    def seed(self) -> int:
        return int(self.number or 0)


def parse_control(text: str) -> ControlSetting:
    """Parse a control and its setting. Raises UsageError for an unknown one."""
    name, colon, setting_text = text.partition(":")
    control = next((candidate for candidate in CONTROLS if candidate == name), None)
    if control is None:
        near = difflib.get_close_matches(name, CONTROLS, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"control {name!r}: expected one of {', '.join(CONTROLS)}{meant}")
    if control in ("blind", "black"):
        if colon:
            raise UsageError(f"control {text!r}: {control} has no setting")
        return ControlSetting(control)
    if control == "blur":
        return ControlSetting(control, _parse_radius(text, setting_text) if colon else BLUR)
    if colon and not setting_text.isdecimal():
        raise UsageError(f"control {text!r}: expected a whole number as seed after the colon")
    return ControlSetting(control, float(setting_text) if colon else 0.0)


def apply_control(benchmark: Benchmark, control: str) -> Benchmark:
    """The benchmark asked under a control, which its parameters record.

    Text-only models may be asked blind. Raises UsageError for an unknown control.
    """
    setting = parse_control(control)
    controlled = replace(benchmark, parameters={**benchmark.parameters, OPTION: str(setting)})
    if setting.control == "shuffled-options":
        return replace(controlled, samples=_shuffle_samples(benchmark, setting.seed))
    controlled = replace(controlled, prepare=_prepare_under(benchmark, setting))
    if setting.control == BLACK:
        return replace(controlled, summarise=partial(_summarise_without_media, benchmark.summarise))
    if setting.control != "blind":
        return controlled
    unsupported_reason = benchmark.unsupported_reason

    def blind_reason(sample: Sample, capabilities: Capabilities) -> str | None:
        return unsupported_reason(structs.replace(sample, media=()), capabilities) if unsupported_reason else None

    return replace(controlled, requires=REQUIRES_TEXT, unsupported_reason=blind_reason if unsupported_reason else None)


def _summarise_without_media(summarise: Callable[[Sequence[Record]], Summary], records: Sequence[Record]) -> Summary:
    """Summarise without media: black images of one size have one digest, which must not cluster
    their samples."""
    return summarise([structs.replace(record, media=()) for record in records])


def _prepare_under(benchmark: Benchmark, setting: ControlSetting) -> Callable[[Sample], Sample]:
    """Change what is shown. Wrong images replace the data's own first, and are then stitched or
    boxed as these would be; the other controls change the finished images."""
    own, lock = benchmark.prepare, Lock()

    @functools.cache
    def read_pool() -> ImagePool:
        return ImagePool.from_samples(benchmark.samples(benchmark.open()))

    def image_pool() -> ImagePool:
        with lock:  # samples are prepared in threads, and the data are read once
            return read_pool()

    def prepare(sample: Sample) -> Sample:
        if setting.control == "wrong-image":
            sample = image_pool().swap_images(sample, setting.seed)
        prepared = own(sample) if own else sample
        if setting.control == "blind":
            return remove_media(prepared)
        if setting.control == BLACK:
            return blacken_images(prepared)
        return blur_images(prepared, setting.number or BLUR) if setting.control == "blur" else prepared

    return prepare


def _shuffle_samples(benchmark: Benchmark, seed: int) -> Callable[[Iterable[Row]], Iterator[Sample]]:
    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        return (shuffle_options(sample, seed) for sample in benchmark.samples(rows))

    return samples


def _parse_radius(text: str, setting_text: str) -> float:
    try:
        radius = float(setting_text.removesuffix("%"))
    except ValueError:
        radius = 0.0
    if not 0 < radius <= _MAX_BLUR:
        raise UsageError(
            f"control {text!r}: the radius is a percentage of the longer side, above 0 and at most {_MAX_BLUR:g}"
        )
    return radius
