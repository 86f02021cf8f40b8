"""`snellen parity`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.api.options import RunOptions
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_json, add_models, add_options
from snellen.cli.printing import download_printer, line_printer
from snellen.core.benchmark import Variant


def add(parser: ArgumentParser) -> None:
    add_models(parser, "given twice, e.g. hf/ORG/NAME and vllm/ORG/NAME", required=True)
    parser.add_argument("-b", "--benchmark", required=True, metavar="BENCHMARK",
                        help="benchmark that provides the questions")  # fmt: skip
    parser.add_argument("-n", "--limit", type=int, default=64, metavar="N",
                        help="ask only N samples, selected at random (default: 64)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples")
    parser.add_argument(
        "--tolerance", type=float, default=0.02, metavar="NATS",
        help="tolerated difference of a token's log-probability (default: 0.02)",
    )  # fmt: skip
    add_options(
        parser, RunOptions, only=("max_new_tokens", "out", "store", "load", "serve_timeout"),
        help={"out": "folder for replies and logs"},
    )  # fmt: skip
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Ask both backends and print where they differ."""
    import msgspec

    from snellen.api import parity
    from snellen.report.console import Terminal
    from snellen.report.terminal.parity import print_parity

    console = Terminal(stderr=True)
    result = parity(
        arguments.model,
        arguments.benchmark,
        limit=arguments.limit,
        seed=arguments.seed,
        out=arguments.out,
        store=arguments.store,
        variant=Variant(max_new_tokens=arguments.max_new_tokens),
        load=arguments.load,
        tolerance=arguments.tolerance,
        serve_timeout=arguments.serve_timeout,
        serving=line_printer(console),
        fetching=download_printer(console),
    )
    if arguments.json:
        print(
            msgspec.json.encode({**msgspec.structs.asdict(result), "equal": result.equal}).decode()
        )
    else:
        print_parity(result, Terminal())
    return COMPLETE if result.equal else INCOMPLETE
