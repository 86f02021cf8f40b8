"""Which benchmarks there are: those of this package, and those of plug-ins.

A family needs no registration: a module `snellen/benchmarks/mm_star.py`, or `benchmark.py` in a
package of that name, has a `BENCHMARK` and is the benchmark `mm-star`. The names of entries in
`data/listed.toml` come on top, and the entry points of other packages in the group
`snellen.benchmarks`. Names are listed without importing any family.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.listed import listed_declaration, listed_entries
from snellen.core.benchmark import BenchmarkFactory
from snellen.core.entry_points import load_entry_point, plugin_entry_points

GROUP = "snellen.benchmarks"
_PACKAGE = Path(__file__).parents[1]
_SHARED = frozenset({"declaration", "protocol"})
"""Packages of `snellen.benchmarks` that are not families."""

Source = Declaration | BenchmarkFactory


@functools.cache
def benchmark_sources() -> Mapping[str, Callable[[], Source]]:
    """Each registered name with what loads it. Loading raises UsageError for a broken plug-in."""
    families = {
        module.name.replace("_", "-"): partial(
            _load_family, f"{GROUP}.{module.name}{'.benchmark' if module.ispkg else ''}"
        )
        for module in pkgutil.iter_modules([str(_PACKAGE)])
        if module.name not in _SHARED
    }
    listed = {name: partial(listed_declaration, name) for name in listed_entries()}
    plugins = {name: partial(_load_plugin, name) for name in plugin_entry_points(GROUP)}
    return {**plugins, **listed, **families}


def is_registered(name: str) -> bool:
    """Whether a benchmark goes by this name, whatever its case; other tools' names do not count."""
    return name.lower() in benchmark_sources()


def _load_family(module: str) -> Source:
    declaration: Declaration = importlib.import_module(module).BENCHMARK
    return declaration


def _load_plugin(name: str) -> Source:
    return cast(Source, load_entry_point(plugin_entry_points(GROUP)[name]))
