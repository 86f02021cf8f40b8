"""Any benchmark under a control: without its pictures, with others, or with other options first.

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

from snellen.core.benchmark import TEXT, Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary
from snellen.prompts.control import Control, Pictures, black, blind, blurred, shuffled

OPTION = "control"
CONTROLS: tuple[Control, ...] = get_args(Control)
BLACK: Control = "black"
BLUR = 5.0
"""Radius in percent of the longer side where none is named: scenes stay, letters and faces go."""
_MOST_BLUR = 100.0


@dataclass(frozen=True, slots=True)
class Setting:
    """A control and its number: a radius in percent, or a seed."""

    control: Control
    number: float | None = None

    def __str__(self) -> str:
        return self.control if self.number is None else f"{self.control}:{self.number:g}"

    @property
    def seed(self) -> int:
        return int(self.number or 0)


def control_of(text: str) -> Setting:
    """Raises UsageError for a control or a setting that there is not."""
    name, colon, told = text.partition(":")
    control = next((known for known in CONTROLS if known == name), None)
    if control is None:
        near = difflib.get_close_matches(name, CONTROLS, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"control {name!r}: expected one of {', '.join(CONTROLS)}{meant}")
    if control in ("blind", "black"):
        if colon:
            raise UsageError(f"control {text!r}: {control} has no setting")
        return Setting(control)
    if control == "blur":
        return Setting(control, _radius(text, told) if colon else BLUR)
    if colon and not told.isdecimal():
        raise UsageError(f"control {text!r}: expected a whole number as seed after the colon")
    return Setting(control, float(told) if colon else 0.0)


def with_control(benchmark: Benchmark, control: str | None) -> Benchmark:
    """The benchmark asked under a control, which is recorded in its parameters; unchanged for
    None. Text-only models may be asked blind. Raises UsageError for an unknown control."""
    if control is None:
        return benchmark
    setting = control_of(control)
    changed = replace(benchmark, parameters={**benchmark.parameters, OPTION: str(setting)})
    if setting.control == "shuffled-options":
        return replace(changed, samples=_shuffling(benchmark, setting.seed))
    changed = replace(changed, prepare=_prepared(benchmark, setting))
    if setting.control == BLACK:
        return replace(changed, summarise=partial(_unlinked, benchmark.summarise))
    if setting.control != "blind":
        return changed
    beyond = benchmark.beyond

    def blind_beyond(sample: Sample, capabilities: Capabilities) -> str | None:
        return beyond(structs.replace(sample, media=()), capabilities) if beyond else None

    return replace(changed, needs=TEXT, beyond=blind_beyond if beyond else None)


def _unlinked(
    summarise: Callable[[Sequence[Record]], Summary], records: Sequence[Record]
) -> Summary:
    """All black pictures of a size are the same, which is no reason to err together."""
    return summarise([structs.replace(record, media=()) for record in records])


def _prepared(benchmark: Benchmark, setting: Setting) -> Callable[[Sample], Sample]:
    """What is shown. Wrong pictures take the place of the data's own, and are then stitched or
    boxed as these would be; the others change what would have been shown."""
    own, reading = benchmark.prepare, Lock()

    @functools.cache
    def read() -> Pictures:
        return Pictures.of(benchmark.samples(benchmark.open()))

    def pictures() -> Pictures:
        with reading:  # samples are prepared in threads, and the data are read once
            return read()

    def prepare(sample: Sample) -> Sample:
        if setting.control == "wrong-image":
            sample = pictures().wrong(sample, setting.seed)
        shown = own(sample) if own else sample
        if setting.control == "blind":
            return blind(shown)
        if setting.control == BLACK:
            return black(shown)
        return blurred(shown, setting.number or BLUR) if setting.control == "blur" else shown

    return prepare


def _shuffling(benchmark: Benchmark, seed: int) -> Callable[[Iterable[Row]], Iterator[Sample]]:
    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        return (shuffled(sample, seed) for sample in benchmark.samples(rows))

    return samples


def _radius(text: str, told: str) -> float:
    try:
        radius = float(told.removesuffix("%"))
    except ValueError:
        radius = 0.0
    if not 0 < radius <= _MOST_BLUR:
        raise UsageError(
            f"control {text!r}: the radius is a percentage of the longer side, above 0 and at "
            f"most {_MOST_BLUR:g}"
        )
    return radius
