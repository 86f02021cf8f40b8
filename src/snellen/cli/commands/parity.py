"""`snellen parity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from snellen.api.flags import GENERATION_KEYS, REQUEST_KEYS, option
from snellen.api.options import DEFAULT_OUT
from snellen.cli.output import OutputOptions, download_printer, line_printer, write_document
from snellen.core.benchmark import Variant
from snellen.core.errors import COMPLETE, INCOMPLETE, UsageError

_LENGTH, _TIMEOUT = "max_new_tokens", "serve_timeout"


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen parity` takes. The folder is that of replies and logs."""

    models: Sequence[str] = option(MISSING, "--model")
    """Two, e.g. hf/ORG/NAME and vllm/ORG/NAME; with --coordinates one."""
    benchmark: str | None = option(None, "--benchmark")
    coordinates: bool = option(
        False, "--coordinates", "measure the coordinate space in which one model writes places", is_switch=True
    )
    limit: int = option(64, "--limit")
    seed: int = option(0, "--seed")
    tolerance: float = option(
        0.02, "--tolerance", "tolerated difference of a token's log-probability", metavar="NATS", parse=float
    )
    generation: Mapping[str, Any] = option(
        {}, "--generation", keys={_LENGTH: GENERATION_KEYS[_LENGTH]._replace(field="")}
    )
    """The length alone: decoding is greedy."""
    requests: Mapping[str, Any] = option({}, "--requests", keys={_TIMEOUT: REQUEST_KEYS[_TIMEOUT]._replace(field="")})
    out: Path | str = option(DEFAULT_OUT, "--out")
    store: Path | str | None = option(None, "--store")
    load: Sequence[Path | str] = option((), "--load")


def main(options: Options) -> int:
    """Ask both backends and print where they differ, or one model for marked places."""
    if options.coordinates:
        return _measure_space(options)
    from snellen.api.backend_parity import parity
    from snellen.report.console import Terminal
    from snellen.report.documents.parity import parity_document

    if options.benchmark is None:
        raise UsageError("parity asks two backends the questions of a benchmark; name it: -b NAME")
    console = Terminal(stderr=True)
    result = parity(
        options.models,
        options.benchmark,
        limit=options.limit,
        seed=options.seed,
        out=options.out,
        store=options.store,
        variant=Variant(max_new_tokens=options.generation.get(_LENGTH)),
        load=options.load,
        tolerance=options.tolerance,
        serve_timeout=options.requests.get(_TIMEOUT),
        serving=line_printer(console),
        fetching=download_printer(console),
    )
    write_document(parity_document(result), options)
    return COMPLETE if result.equal else INCOMPLETE


def _measure_space(options: Options) -> int:
    """Print the coordinate space of a model. Raises UsageError for two models, or a benchmark."""
    from snellen.api.measured_space import measure_space
    from snellen.report.console import Terminal
    from snellen.report.documents.parity import space_document

    if len(options.models) != 1 or options.benchmark is not None:
        raise UsageError("--coordinates asks one model about pictures of its own: give one -m, and no -b")
    result = measure_space(
        options.models[0],
        limit=options.limit,
        seed=options.seed,
        out=options.out,
        store=options.store,
        max_new_tokens=options.generation.get(_LENGTH),
        load=options.load,
        serve_timeout=options.requests.get(_TIMEOUT),
        serving=line_printer(Terminal(stderr=True)),
    )
    write_document(space_document(result), options)
    return COMPLETE if result.verdict == "certain" else INCOMPLETE
