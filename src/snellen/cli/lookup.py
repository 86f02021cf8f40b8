"""`snellen list` and `snellen info`."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from snellen.benchmarks.registry import is_data, known_benchmarks, open_benchmark, split_spec
from snellen.benchmarks.seed_levels import level_of
from snellen.cli.main import COMPLETE
from snellen.core.benchmark import Variant
from snellen.core.doors import doors
from snellen.core.errors import UnknownName
from snellen.models.registry import describe_model, known_models

_BENCHMARKS, _MODELS = "snellen.benchmarks", "snellen.models"


def main(arguments: Namespace) -> int:
    if arguments.what == "models":
        _print_names([(known.name, known.title) for known in known_models()], arguments.json)
    elif arguments.what == "benchmarks":
        _print_names([(known.name, known.title) for known in known_benchmarks()], arguments.json)
    else:
        _print_facts(_facts(arguments.name))
    return COMPLETE


def _print_names(rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"name": name, "title": title} for name, title in rows]))
        return
    width = max(len(name) for name, _ in rows)
    for name, title in rows:
        print(f"{name:<{width}}  {title}")


def _facts(name: str) -> dict[str, str]:
    stem = split_spec(name).name.lower()
    is_model = name.partition("/")[0] in doors(_MODELS)
    if stem in doors(_BENCHMARKS) or (is_data(stem) and not is_model):
        return _benchmark_facts(name)
    try:
        return _model_facts(name)
    except UnknownName as no_model:
        try:
            return _benchmark_facts(name)
        except UnknownName:
            known = [*(one.name for one in known_models()), *doors(_BENCHMARKS)]
            raise UnknownName("model or benchmark", name, known) from no_model


def _benchmark_facts(name: str) -> dict[str, str]:
    benchmark = open_benchmark(name, Variant())
    (aliases,) = [
        ", ".join(known.aliases) for known in known_benchmarks() if known.name == benchmark.name
    ] or [""]
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "version": benchmark.version,
        "headline": benchmark.headline,
        "parameters": ", ".join(f"{k}={v}" for k, v in benchmark.parameters.items()),
        "options": "; ".join(f"{k}={'|'.join(v)}" for k, v in benchmark.options.items()),
        "also called": aliases,
        "paper": benchmark.paper,
        "source": benchmark.source,
        "longest reply": f"{benchmark.max_new_tokens} tokens",
    }


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
        sys.stdout.write(f"{key:<{width}}  {value}\n")
