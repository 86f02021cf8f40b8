"""`snellen info`: what is known about one model, benchmark or suite."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.benchmarks.declaration.evidence import evidence_of
from snellen.benchmarks.declaration.option_docs import OptionDoc, option_docs
from snellen.benchmarks.declaration.registry import (
    benchmark_sources,
    builtin_suites,
    data_facts,
    is_data_source,
    list_benchmarks,
    open_benchmark,
    split_spec,
)
from snellen.benchmarks.declaration.results_files import RESULTS_FILES
from snellen.benchmarks.protocol.parsers import describe_rules
from snellen.benchmarks.seedbench.levels import level_of
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen.core.benchmark import Variant
from snellen.core.errors import UnknownName, UsageError
from snellen.models.naming.catalog import CatalogEntry, catalog_names, facts_of
from snellen.models.naming.registry import describe_model, is_provider, registered_models


def add(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a model, a benchmark, a suite or a data file")


def main(arguments: Namespace) -> int:
    suite = arguments.name.lower()
    _print_facts(_suite_facts(suite) if suite in builtin_suites() else _facts(arguments.name))
    return COMPLETE


def _suite_facts(name: str) -> dict[str, str]:
    suite = builtin_suites()[name]
    return {
        "suite": name,
        "title": suite.title,
        "members": "; ".join(
            f"{member.name} ({', '.join(member.benchmarks)})" for member in suite.members
        ),
        "average": "plain mean of the members" if suite.average else "none",
        "source": suite.source,
    }


def _facts(name: str) -> dict[str, str]:
    """Facts of a model or benchmark; a name that could be both is what is registered.

    Raises UnknownName, with the names that are near."""
    stem = split_spec(name).name.lower()
    if name.startswith(("http://", "https://")):
        return _model_facts(name)
    is_model = is_provider(name.partition("/")[0])
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
            models = [*(model.name for model in registered_models()), *catalog_names()]
            names = [*models, *benchmark_sources()]
            raise UnknownName("model or benchmark", name, names) from no_model


def _benchmark_facts(name: str) -> dict[str, str]:
    """What a benchmark declares, and the evidence that its numbers are right."""
    benchmark = open_benchmark(name, Variant())
    evidence = evidence_of(benchmark.name)
    (aliases,) = [
        ", ".join(listing.aliases)
        for listing in list_benchmarks()
        if listing.name == benchmark.name
    ] or [""]
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "version": benchmark.version,
        "headline": benchmark.headline,
        "parameters": ", ".join(f"{k}={v}" for k, v in benchmark.parameters.items()),
        **{f"  {option.name}": _option_line(option) for option in option_docs(benchmark.options)},
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
    """Advice on published files of results for this benchmark, or ""."""
    results_file = RESULTS_FILES.get(name)
    return "" if results_file is None else results_file.advice


def _option_line(option: OptionDoc) -> str:
    """Values, default and meaning of an option, in one line."""
    line = f"{option.values.replace('`', '')} (default {option.default})"
    return f"{line}: {option.meaning}" if option.meaning else line


def _catalog_facts(name: str, entry: CatalogEntry) -> dict[str, str]:
    """Facts of the catalog, and of the model on this machine, or why it cannot be opened here."""
    from snellen.report.terminal.catalog import entry_facts

    try:
        local = _model_facts(name)
    except UsageError as error:
        local = {"on this machine": str(error)}
    return {**local, **entry_facts(entry)} if "model" in local else {**entry_facts(entry), **local}


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
    known_facts = {key: value for key, value in facts.items() if value}
    width = max(map(len, known_facts))
    for key, value in known_facts.items():
        print_line(f"{key:<{width}}  {value}")
