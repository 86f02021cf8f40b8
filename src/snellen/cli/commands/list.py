"""`snellen list`: the names of models, benchmarks, suites and recipes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from snellen.api.flags import argument, option
from snellen.cli.output import TABLE, OutputOptions, write_document
from snellen.core.errors import UsageError
from snellen.report.document import Column, Document, Line, Table

_UNBOUNDED = 100_000
"""Characters of a line in files and pipes, so that each row is one line."""


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen list` takes."""

    what: str = argument(
        "WHAT",
        "models, providers (with evidence), benchmarks, suites or recipes (how the makers of models ask them)",
        choices=("models", "providers", "benchmarks", "suites", "recipes"),
    )
    filter: str | None = option(None, "--filter")
    """None: registered names; with a filter the models of the catalog that match."""
    tool: str | None = option(None, "--from")
    """None: Snellen's own."""


def main(options: Options) -> None:
    """Print the names."""
    if options.tool:
        if options.what != "benchmarks":
            raise UsageError(f"--from names the tool whose benchmarks are listed; got {options.what}")
        write_document(_benchmarks_of(options.tool), options)
        return
    if options.filter:
        _write_catalog(options.filter, options)
        return
    documents = {
        "models": _models,
        "providers": _providers,
        "benchmarks": _benchmarks,
        "suites": _suites,
        "recipes": _recipes,
    }
    write_document(documents[options.what](), options)


def _write_catalog(filter: str, options: Options) -> None:
    """Print the models of the catalog that match; files and pipes get complete lines."""
    from snellen.models.naming.catalog import catalog
    from snellen.models.naming.filters import choose
    from snellen.report.console import Terminal
    from snellen.report.documents.catalog import catalog_document
    from snellen.report.writers.terminal import print_document

    if options.what != "models":
        raise UsageError(f"--filter chooses models; {options.what} have no facts to filter by")
    document = catalog_document(choose(catalog(), filter))
    if options.form == TABLE and not options.output and not sys.stdout.isatty():
        print_document(document, Terminal(width=_UNBOUNDED))
    else:
        write_document(document, options)


def _models() -> Document:
    from snellen.models.naming.registry import registered_models

    rows = [(model.name, model.title) for model in registered_models()]
    more = "and models of the catalog by their names: snellen list models --filter all"
    return _names("models", ("name", "title"), rows, more)


def _providers() -> Document:
    """Name, level of evidence and title of each provider of models behind servers."""
    from snellen.models.remote.evidence import provider_level
    from snellen.models.remote.profile import profiles

    rows = [(name, provider_level(name), profile.title) for name, profile in sorted(profiles().items())]
    return _names("providers", ("name", "evidence", "title"), rows, "and what was compared: snellen info NAME")


def _benchmarks() -> Document:
    """Name, level of evidence and title of each registered benchmark."""
    from snellen.benchmarks.declaration.evidence import evidence_level
    from snellen.benchmarks.declaration.registry import list_benchmarks

    rows = [(listing.name, evidence_level(listing.name), listing.title) for listing in list_benchmarks()]
    return _names("benchmarks", ("name", "evidence", "title"), rows)


def _benchmarks_of(tool: str) -> Document:
    """Name, inputs and kind of each benchmark of another tool, which family here is the same, what
    it needs beside its data, and what came of it when it was tried. There is no column of kinds where
    the tool names none."""
    from snellen.benchmarks.declaration.peers import PEERS
    from snellen.benchmarks.declaration.registry import own_name_of
    from snellen.bridge.catalogue import read_catalogue
    from snellen.core.errors import UnknownName

    if tool not in PEERS:
        raise UnknownName("tool", tool, PEERS)
    found = read_catalogue(tool)
    has_kinds = any(one.kind for one in found.tasks())
    columns = ("name", "inputs", *(["kind"] if has_kinds else []), "native", "needs", "status")
    rows = []
    for one in found.tasks():
        kind = [one.kind or "unknown"] if has_kinds else []
        inputs = " ".join(one.modality) or "unknown"
        own, needs = own_name_of(one.name, tool), ", ".join(one.wants())
        rows.append((f"{tool}/{one.name}", inputs, *kind, own, needs, one.status))
    at = f" at commit {found.commit[:8]}" if found.commit else ""
    more = f"the tasks of {PEERS[tool]} {found.version}{at}; docs/bridge.md says what running one needs"
    return _names(f"benchmarks of {PEERS[tool]}", columns, rows, more)


def _suites() -> Document:
    from snellen.benchmarks.declaration.registry import builtin_suites

    return _names("suites", ("name", "title"), [(name, suite.title) for name, suite in builtin_suites().items()])


def _recipes() -> Document:
    """Name, whose source it is, title and models of each family with a set-up of its makers."""
    from snellen.prompts.recipes import load_setups

    setups = load_setups()
    rows = sorted((each.name, each.basis, each.title, ", ".join(each.models)) for each in setups)
    more = "and what each sets: snellen info NAME, with the name of a recipe or of a model"
    return _names("recipes", ("name", "from", "title", "models"), rows, more)._replace(data=setups)


def _names(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], more: str = "") -> Document:
    """A line for each name, and one that says what there is besides."""
    table = Table(title, [Column(name) for name in columns], rows, on_terminal="lines")
    lines = [Line(more, is_unbroken=True)] if more else []
    return Document([table, *lines], data=[dict(zip(columns, row, strict=True)) for row in rows])
