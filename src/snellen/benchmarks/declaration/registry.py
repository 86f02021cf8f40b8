"""Benchmarks by name: `eyechart`, `eyechart:split=photos`, or a data file of one's own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from snellen.benchmarks.declaration.data_file import data_file_benchmark
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.toml import description_benchmark, is_description
from snellen.benchmarks.declaration.units import refuse_units
from snellen.benchmarks.protocol.control import OPTION, apply_control
from snellen.benchmarks.protocol.few_shot import select_few_shot
from snellen.benchmarks.protocol.gate import apply_gate, split_gate
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UnknownName, UsageError

GROUP = "snellen.benchmarks"
FILE = "file"
"""Option of every benchmark: a data file in place of its own, for this benchmark alone."""
_OPTIONS = re.compile(r":(?=[a-z_-]+=)")
_DATA_SUFFIX = re.compile(r"\.(tsv|csv|jsonl?|parquet|xlsx)(\.gz)?$", re.IGNORECASE)


class BenchmarkSpec(NamedTuple):
    name: str
    options: dict[str, str]


class BenchmarkListing(NamedTuple):
    """A line of `snellen list benchmarks`."""

    name: str
    title: str
    aliases: tuple[str, ...]


def split_spec(spec: str) -> BenchmarkSpec:
    """Take `name:key=value,...` apart. Raises UsageError for a malformed option."""
    name, *rest = _OPTIONS.split(spec.strip(), maxsplit=1)
    options: dict[str, str] = {}
    for pair in rest[0].split(",") if rest else []:
        key, equals, value = pair.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"benchmark {spec!r}: option {pair!r} is not of the form key=value")
        options[key] = value
    if not name:
        raise UsageError("a benchmark's name is empty; expected a name or a data file")
    return BenchmarkSpec(name, options)


def open_benchmark(spec: str, variant: Variant = Variant()) -> Benchmark:  # noqa: B008 - frozen
    """The benchmark of that name, or a benchmark made of the data file at that path.

    A registered name wins over a file of the same name; write `./mme` for the folder.
    `name:file=PATH` reads that file in place of the benchmark's own. Raises UnknownName, and
    UsageError for an option the benchmark does not know.
    """
    name, options = split_spec(spec)
    options = {**variant.options, **options}
    if FILE in options and is_data_source(name):
        raise UsageError(f"{name} is a data file itself; {FILE}= goes with a benchmark's name")
    if variant.data is not None and is_data_source(name) and not is_description(name):
        raise UsageError(
            f"{name} is a data file itself, and --data {variant.data} would replace it; name one "
            "of the two alone, or a benchmark whose data --data replaces"
        )
    variant = replace(variant, data=options.pop(FILE, variant.data))
    control = options.pop(OPTION, variant.control)
    variant, share = split_gate(replace(variant, options=options, control=control))
    asked = select_few_shot(partial(_open_with_data, name), variant)
    return apply_gate(apply_control(asked, control), share)


def _open_with_data(name: str, variant: Variant, data: str | None) -> Benchmark:
    """The benchmark as it stands in its data, or in others of the same form."""
    if data is None:
        return _open_plain(name, variant)
    if is_data_source(name) and not is_description(name):
        return _open_plain(data, variant)
    return _open_plain(name, replace(variant, data=data))


def _open_plain(name: str, variant: Variant) -> Benchmark:
    if is_description(name):
        return description_benchmark(name, variant)
    if is_data_source(name):
        return data_file_benchmark(name, variant)
    registered = _find_registered(name)
    if registered is not None and variant.columns and variant.data is None:
        raise UsageError(
            f"{name} knows its columns; --columns is for a data file of your own, or with --data"
        )
    if registered is None:
        raise UnknownName("benchmark", name, plugin_entry_points(GROUP), _data_file_hint(name))
    refuse_units(name, variant.columns)
    if variant.options:
        declared = registered.factory(Variant(data=variant.data)).options
        _check_options(name, variant, declared)
    benchmark = registered.factory(
        replace(variant, options={**registered.options, **variant.options})
    )
    other = names_in_other_tools(registered.factory).get(name.lower())
    if other is not None and other.protocol and other.differs(variant.options):
        benchmark = replace(benchmark, notice=other.sentence(name))
    return benchmark


def names_in_other_tools(factory: BenchmarkFactory) -> Mapping[str, OtherToolName]:
    """Names, in small letters, that mean something else in another tool: the factory's own
    `names_in_other_tools`, else its file's `ELSEWHERE`."""
    declared: Mapping[str, OtherToolName] = getattr(factory, "elsewhere", None) or getattr(
        sys.modules[factory.__module__], "ELSEWHERE", {}
    )
    return declared


def _check_options(name: str, variant: Variant, declared: Iterable[str]) -> None:
    """Raises UnknownName for an option that the benchmark does not declare."""
    for key in variant.options:
        if key not in declared:
            hint = f"`snellen info {name}` explains them."
            raise UnknownName(f"option of {name}", key, declared, hint)


def is_data_source(name: str) -> bool:
    """Whether a name means a data file, its description or a folder rather than a registered
    benchmark."""
    if name.lower() in plugin_entry_points(GROUP):
        return False
    return (
        "://" in name
        or is_description(name)
        or _DATA_SUFFIX.search(name) is not None
        or Path(name).exists()
    )


def list_benchmarks() -> list[BenchmarkListing]:
    """Registered benchmarks by name; a plug-in that is broken says so in its line."""
    found = []
    for name, entry in sorted(plugin_entry_points(GROUP).items()):
        try:
            factory = cast(BenchmarkFactory, load_entry_point(entry))
        except UsageError as error:
            found.append(BenchmarkListing(name, str(error), ()))
            continue
        found.append(BenchmarkListing(name, factory(Variant()).title, tuple(_aliases(factory))))
    return found


def _data_file_hint(name: str) -> str:
    """How a data file is given; the very one, where a file of that name lies here."""
    here = [path for path in Path().glob(f"{name}.*") if _DATA_SUFFIX.search(path.name)]
    return f"a data file of your own is given by its path{f', e.g. {here[0]}' if here else ''}."


def data_facts(spec: str) -> dict[str, str]:
    """Which data a named benchmark declares, whether they are on this machine, and what its names
    mean in other tools; nothing for data of one's own."""
    name, options = split_spec(spec)
    named = _find_registered(name)
    if named is None or FILE in options:
        return {}
    module = sys.modules[named.factory.__module__]
    declared = getattr(named.factory, "published", None) or getattr(module, "DATA", None)
    told = [one.sentence(known) for known, one in names_in_other_tools(named.factory).items()]
    means = {"elsewhere": "; ".join(told)} if told else {}
    if not isinstance(declared, Published):
        return means
    return declared.facts(Variant(options={**named.options, **options}), spec) | means


class _RegisteredBenchmark(NamedTuple):
    factory: BenchmarkFactory
    options: Mapping[str, str]


def _find_registered(name: str) -> _RegisteredBenchmark | None:
    """By canonical name, loading only that file; else by another tool's name for a variant, as
    it is spelt there or, where that is clear, in any case. Raises UsageError where it is not."""
    entries = plugin_entry_points(GROUP)
    if name.lower() in entries:
        return _RegisteredBenchmark(
            cast(BenchmarkFactory, load_entry_point(entries[name.lower()])), {}
        )
    found: dict[str, _RegisteredBenchmark] = {}
    for entry in entries.values():
        try:
            factory = cast(BenchmarkFactory, load_entry_point(entry))
        except UsageError:
            continue  # a broken plug-in must not stand in the way of the others
        for alias, options in _aliases(factory).items():
            if alias.lower() == name.lower():
                found[alias] = _RegisteredBenchmark(factory, options)
    if name in found or len(found) == 1:
        return found.get(name) or next(iter(found.values()))
    if found:
        raise UsageError(f"{name} may mean {' or '.join(found)}: spell it as one of these")
    return None


def _aliases(factory: BenchmarkFactory) -> Mapping[str, Mapping[str, str]]:
    """Other tools' names for variants of a benchmark, name to options: the factory's own
    `aliases`, else its file's `ALIASES`."""
    declared: Mapping[str, Mapping[str, str]] = getattr(factory, "aliases", None) or getattr(
        sys.modules[factory.__module__], "ALIASES", {}
    )
    return declared
