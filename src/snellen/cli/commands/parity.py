"""`snellen parity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from snellen.api.flags import GENERATION_KEYS, REQUEST_KEYS, option
from snellen.api.options import DEFAULT_OUT
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.output import OutputOptions, write_document
from snellen.cli.printing import download_printer, line_printer
from snellen.core.benchmark import Variant

_LENGTH, _TIMEOUT = "max_new_tokens", "serve_timeout"


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen parity` takes. The folder is that of replies and logs."""

    models: Sequence[str] = option(MISSING, "--model")
    """Two, e.g. hf/ORG/NAME and vllm/ORG/NAME."""
    benchmark: str = option(MISSING, "--benchmark")
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
    """Ask both backends and print where they differ."""
    from snellen.api import parity
    from snellen.report.console import Terminal
    from snellen.report.documents.parity import parity_document

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
