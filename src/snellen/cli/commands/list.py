"""`snellen list` and `snellen info`."""

from __future__ import annotations

import json
from argparse import Namespace

from snellen.benchmarks.declaration.builtin import benchmark_sources
from snellen.benchmarks.declaration.evidence import evidence_level, evidence_of
from snellen.benchmarks.declaration.option_docs import OptionDoc, option_docs
from snellen.benchmarks.declaration.registry import (
    data_facts,
    is_data_source,
    list_benchmarks,
    open_benchmark,
    split_spec,
)
from snellen.benchmarks.declaration.results_files import RESULTS_FILES
from snellen.benchmarks.declaration.suites import builtin_suites
from snellen.benchmarks.protocol.parsers import describe_rules
from snellen.benchmarks.seedbench.levels import level_of
from snellen.cli.main import COMPLETE
from snellen.cli.printing import print_line
from snellen.core.benchmark import Variant
from snellen.core.entry_points import plugin_entry_points
from snellen.core.errors import UnknownName, UsageError
from snellen.models.naming.catalog import CatalogEntry, catalog_names, facts_of
from snellen.models.naming.registry import describe_model, registered_models

_MODELS = "snellen.models"


def main(arguments: Namespace) -> int:
    if arguments.what == "models" and arguments.filter:
        _print_catalog(arguments.filter, arguments.json)
    elif arguments.what == "models":
        _print_names([(known.name, known.title) for known in registered_models()], arguments.json)
        if not arguments.json:
            print_line("and models of the catalog by their names: snellen list models --filter all")
    elif arguments.what == "benchmarks":
        if arguments.filter:
            raise UsageError("--filter chooses models; benchmarks have no facts to filter by")
        _print_benchmarks(arguments.json)
    elif arguments.what == "suites":
        _print_names(
            [(name, suite.title) for name, suite in builtin_suites().items()], arguments.json
        )
    elif arguments.name.lower() in builtin_suites():
        _print_facts(_suite_facts(arguments.name.lower()))
    else:
        _print_facts(_facts(arguments.name))
    return COMPLETE


def _suite_facts(name: str) -> dict[str, str]:
    suite = builtin_suites()[name]
    return {
        "suite": name,
        "title": suite.title,
        "members": "; ".join(f"{one.name} ({', '.join(one.benchmarks)})" for one in suite.members),
        "average": "plain mean of the members" if suite.average else "none",
        "source": suite.source,
    }


def _print_names(rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"name": name, "title": title} for name, title in rows]))
        return
    width = max(len(name) for name, _ in rows)
    for name, title in rows:
        print_line(f"{name:<{width}}  {title}")


def _print_benchmarks(as_json: bool) -> None:
    """Name, level of evidence and title of each registered benchmark."""
    rows = [(known.name, evidence_level(known.name), known.title) for known in list_benchmarks()]
    if as_json:
        print(
            json.dumps([{"name": n, "title": title, "evidence": level} for n, level, title in rows])
        )
        return
    name_width, level_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, level, title in rows:
        print_line(f"{name:<{name_width}}  {level:<{level_width}}  {title}")


def _print_catalog(filter: str, as_json: bool) -> None:
    import msgspec

    from snellen.models.naming.catalog import catalog
    from snellen.models.naming.filters import choose
    from snellen.report.console import Terminal
    from snellen.report.terminal.catalog import print_entries

    entries = choose(catalog(), filter)
    if as_json:
        print(msgspec.json.encode(entries).decode())
    else:
        print_entries(entries, Terminal())


def _facts(name: str) -> dict[str, str]:
    stem = split_spec(name).name.lower()
    if name.startswith(("http://", "https://")):
        return _model_facts(name)
    is_model = name.partition("/")[0] in plugin_entry_points(_MODELS)
    if stem in benchmark_sources() or (is_data_source(stem) and not is_model):
        return _benchmark_facts(name)
    entry = facts_of(name)
    if entry is not None:
        return _catalog_facts(name, entry)
    try:
        return _model_facts(name)
    except UnknownName as no_model:
        try:
            return _benchmark_facts(name)
        except UnknownName:
            models = [*(one.name for one in registered_models()), *catalog_names()]
            known = [*models, *benchmark_sources()]
            raise UnknownName("model or benchmark", name, known) from no_model


def _benchmark_facts(name: str) -> dict[str, str]:
    benchmark = open_benchmark(name, Variant())
    evidence = evidence_of(benchmark.name)
    (aliases,) = [
        ", ".join(known.aliases) for known in list_benchmarks() if known.name == benchmark.name
    ] or [""]
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "version": benchmark.version,
        "headline": benchmark.headline,
        "parameters": ", ".join(f"{k}={v}" for k, v in benchmark.parameters.items()),
        **{f"  {one.name}": _option_line(one) for one in option_docs(benchmark.options)},
        "rules": describe_rules(benchmark.rules),
        "also called": aliases,
        "paper": benchmark.paper,
        "source": benchmark.provenance,
        **data_facts(name),
        "coverage": benchmark.coverage,
        "evidence": evidence.summary() if evidence else "",
        "not scored": benchmark.unscorable,
        "results files": _advice(benchmark.name),
        "longest reply": f"{benchmark.max_new_tokens} tokens",
    }


def _advice(name: str) -> str:
    """What has to be said for a published file of results, if anything."""
    known = RESULTS_FILES.get(name)
    return "" if known is None else known.advice


def _option_line(option: OptionDoc) -> str:
    """An option's default, values and meaning in a line."""
    line = f"{option.values.replace('`', '')} (default {option.default})"
    return f"{line}: {option.meaning}" if option.meaning else line


def _catalog_facts(name: str, entry: CatalogEntry) -> dict[str, str]:
    """The catalog's facts, and what this machine can tell of the model, or why it cannot."""
    from snellen.report.terminal.catalog import entry_facts

    try:
        here = _model_facts(name)
    except UsageError as error:
        here = {"on this machine": str(error)}
    return {**here, **entry_facts(entry)} if "model" in here else {**entry_facts(entry), **here}


def _model_facts(name: str) -> dict[str, str]:
    info = describe_model(name)
    can = info.capabilities
    return {
        "model": info.spec,
        "provider": info.identity.provider,
        **info.identity.facts,
        "takes": ", ".join(sorted(can.inputs)) + ("" if can.many_images else " (one image)"),
        "gives": ", ".join(sorted(can.outputs)),
        "log-likelihood": "yes" if can.log_likelihood else "no",
        "SEED-Bench-H level": level_of(can) or "none: it gives no text",
        "identity": info.identity.digest(),
    }


def _print_facts(facts: dict[str, str]) -> None:
    shown = {key: value for key, value in facts.items() if value}
    width = max(map(len, shown))
    for key, value in shown.items():
        print_line(f"{key:<{width}}  {value}")
