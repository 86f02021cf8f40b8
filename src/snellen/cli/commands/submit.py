"""`snellen submit`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.printing import print_json, print_line

if TYPE_CHECKING:
    from snellen.api.hub_client import HubClient, Upload


_PATIENCE = 60.0


def add(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "predictions", nargs="?", metavar="RUN|FILE", help="a run folder, or a predictions file"
    )
    what.add_argument("--list", action="store_true", help="list your submissions, latest first")
    what.add_argument("--withdraw", metavar="ID", help="take a submission of yours off its board")
    parser.add_argument("--to", required=True, metavar="URL", help="address of the hub")
    parser.add_argument(
        "--benchmark", metavar="NAME", help="name of the benchmark there (default: the run's)"
    )
    parser.add_argument("--model", metavar="NAME", help="name of the model (default: the run's)")
    parser.add_argument(
        "--facts", metavar="JSON", default="{}",
        help='about the model, e.g. \'{"parameters": 8, "weights": "open"}\'',
    )  # fmt: skip
    parser.add_argument(
        "--replaces", default="", metavar="ID", help="an earlier submission of yours"
    )
    parser.add_argument(
        "--allow-missing", action="store_true",
        help="questions without a reply count as wrong (default: the file is refused)",
    )  # fmt: skip
    parser.add_argument("--wait", action="store_true", help="wait for the score")
    parser.add_argument("--publish", action="store_true", help="wait for the score, and publish it")
    parser.add_argument(
        "--timeout", type=float, default=_PATIENCE, metavar="SECONDS",
        help="how long a hub that is not reachable yet is tried (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(arguments: Namespace) -> int:
    """Submit, list or withdraw; print what the hub answers."""
    from snellen.api.hub_client import HubClient, read_upload

    upload = None
    if arguments.predictions is not None:
        upload = read_upload(Path(arguments.predictions), arguments.benchmark, arguments.model)
    client = HubClient(
        arguments.to, patience=arguments.timeout, notify=lambda text: print_line(text, error=True)
    )
    if upload is not None:
        states = [_submit(client, upload, arguments)]
    elif arguments.list:
        states = client.submissions()
    else:
        states = [client.withdraw(arguments.withdraw)]
    if arguments.json:
        print_json(states if arguments.list else states[0])
    else:
        for state in states:
            _print_state(state)
        if not states:
            print_line("you have submitted nothing to this hub")
    failed = upload is not None and states[0]["status"] == "failed"
    return INCOMPLETE if failed else COMPLETE


def _submit(client: HubClient, upload: Upload, arguments: Namespace) -> Any:
    """Send predictions; with --wait and --publish, until there is a score."""
    sent = client.submit(
        upload,
        facts=arguments.facts,
        replaces=arguments.replaces,
        allow_missing=arguments.allow_missing,
    )
    if arguments.wait or arguments.publish:
        sent = client.wait(sent["id"])
        if arguments.publish and sent["status"] == "scored":
            sent = client.publish(sent["id"])
    return sent


def _print_state(state: Any) -> None:
    score = ""
    if "score" in state:
        headline = state["score"]["headline"]
        value = "–" if headline["value"] is None else f"{headline['value']:.1f}"
        score = f"; {state['score']['name']} {value}, n = {headline['n']:,}"
    print_line(f"{state['id']}: {state['benchmark']}, {state['model']}: {state['status']}, "
               f"{state['visibility']}{score}")  # fmt: skip
    if state["problem"]:
        print_line(state["problem"], error=True)
