"""Benchmarks by name: `eyechart`, `eyechart:split=photos`, or the user's own data file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from snellen.benchmarks.declaration.build import all_options, build
from snellen.benchmarks.declaration.builtin import Source, benchmark_sources, is_registered
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.toml import is_description, load_declaration
from snellen.benchmarks.declaration.units import refuse_units
from snellen.benchmarks.protocol.control import OPTION
from snellen.benchmarks.protocol.few_shot import SHOTS_FROM
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UnknownName, UsageError
from snellen.data.tables.hub import SCHEME

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
    """Split `name:key=value,...` into name and options. Raises UsageError for a malformed
    option."""
    name, *option_text = _OPTIONS.split(spec.strip(), maxsplit=1)
    options: dict[str, str] = {}
    for pair in option_text[0].split(",") if option_text else []:
        key, equals, value = pair.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"benchmark {spec!r}: option {pair!r} is not of the form key=value")
        options[key] = value
    if not name:
        raise UsageError("a benchmark's name is empty; expected a name or a data file")
    return BenchmarkSpec(name, options)


def open_benchmark(spec: str, variant: Variant = Variant()) -> Benchmark:  # noqa: B008 - frozen
    """Open a benchmark by its name, or make one of the data file at that path.

    A registered name wins over a file of the same name; write `./mme` for the folder.
    `name:file=PATH` reads that file in place of the benchmark's own. Raises UnknownName, and
    UsageError for an option the benchmark does not have.
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
    data = options.pop(FILE, variant.data)
    control = options.pop(OPTION, variant.control)
    variant = replace(variant, options=options, data=data, control=control)
    named = _find_source(name, variant)
    other = names_in_other_tools(named.source).get(name.lower())
    notice = ""
    if other is not None and other.protocol and other.differs(options):
        notice = other.sentence(name)
    return build(
        named.source, replace(variant, options={**named.options, **options}), notice=notice
    )


def _find_source(name: str, variant: Variant) -> NamedSource:
    """What a name means: a description, a data file, or a registered benchmark. Raises
    UnknownName, and UsageError for choices that do not go with it."""
    if is_description(name):
        return NamedSource(load_declaration(name), {})
    if is_data_source(name):
        return NamedSource(_hub_task(name) or data_file_declaration(name), {})
    registered = _find_registered(name)
    if registered is None:
        raise UnknownName("benchmark", name, benchmark_sources(), _data_file_hint(name))
    if variant.columns and variant.data is None:
        raise UsageError(
            f"{name} knows its columns; --columns is for a data file of your own, or with --data"
        )
    refuse_units(name, variant.columns)
    if variant.options:
        _check_options(name, variant, registered.source)
    return registered


def _hub_task(name: str) -> Declaration | None:
    """The task of a data set's `eval.yaml`; None if it has none."""
    if not name.startswith(SCHEME):
        return None
    from snellen.benchmarks.declaration.hub_task import hub_task_declaration

    return hub_task_declaration(name)


def names_in_other_tools(source: Source) -> Mapping[str, OtherToolName]:
    """Names, in lower case, that mean something else in another tool."""
    return source.other_tools if isinstance(source, Declaration) else {}


def _check_options(name: str, variant: Variant, source: Source) -> None:
    """Raises UnknownName for an option that the benchmark does not declare."""
    if isinstance(source, Declaration):
        declared: Iterable[str] = all_options(source, variant.data)
    else:
        declared = source(Variant(data=variant.data)).options
    for key in variant.options:
        if key not in declared and key != SHOTS_FROM:
            hint = f"`snellen info {name}` explains them."
            raise UnknownName(f"option of {name}", key, declared, hint)


def is_data_source(name: str) -> bool:
    """Whether a name means a data file, a description or a folder, not a registered benchmark."""
    if is_registered(name):
        return False
    return (
        "://" in name
        or is_description(name)
        or _DATA_SUFFIX.search(name) is not None
        or Path(name).exists()
    )


def list_benchmarks() -> list[BenchmarkListing]:
    """All registered benchmarks by name; the line of a broken plug-in has the reason."""
    listings = []
    for name, load in sorted(benchmark_sources().items()):
        try:
            source = load()
        except UsageError as error:
            listings.append(BenchmarkListing(name, str(error), ()))
            continue
        title = source.title if isinstance(source, Declaration) else source(Variant()).title
        listings.append(BenchmarkListing(name, title, tuple(_aliases(source))))
    return listings


def _data_file_hint(name: str) -> str:
    """How to name a data file, with a file of that name if there is one here."""
    here = [path for path in Path().glob(f"{name}.*") if _DATA_SUFFIX.search(path.name)]
    return f"a data file of your own is given by its path{f', e.g. {here[0]}' if here else ''}."


def data_facts(spec: str) -> dict[str, str]:
    """Which data a named benchmark declares, whether they are on this machine, and what its names
    mean in other tools; nothing for the user's own data."""
    name, options = split_spec(spec)
    named = _find_registered(name)
    if named is None or FILE in options or not isinstance(named.source, Declaration):
        return {}
    sentences = [other.sentence(name) for name, other in names_in_other_tools(named.source).items()]
    elsewhere = {"elsewhere": "; ".join(sentences)} if sentences else {}
    variant = Variant(options={**named.options, **options})
    return {**named.source.data.facts(variant, spec), **elsewhere}


class NamedSource(NamedTuple):
    """What a name means: a declaration or factory, and the options that the name stands for."""

    source: Source
    options: Mapping[str, str]


def _find_registered(name: str) -> NamedSource | None:
    """Find a benchmark by its own name, importing only that family, else by another tool's name.

    Other tools' names match as they are spelt there, or in any case if that is unambiguous. Raises
    UsageError if it is not.
    """
    sources = benchmark_sources()
    if name.lower() in sources:
        return NamedSource(sources[name.lower()](), {})
    matches: dict[str, NamedSource] = {}
    for load in sources.values():
        try:
            source = load()
        except UsageError:
            continue  # a broken plug-in must not stand in the way of the others
        for alias, options in _aliases(source).items():
            if alias.lower() == name.lower():
                matches[alias] = NamedSource(source, options)
    if name in matches or len(matches) == 1:
        return matches.get(name) or next(iter(matches.values()))
    if matches:
        raise UsageError(f"{name} may mean {' or '.join(matches)}: spell it as one of these")
    return None


def _aliases(source: Source) -> Mapping[str, Mapping[str, str]]:
    """Other tools' names for variants of a benchmark, name to options."""
    return source.aliases if isinstance(source, Declaration) else {}
