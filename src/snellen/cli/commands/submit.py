"""`snellen submit`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.api.flags import argument, option
from snellen.cli.output import OutputOptions, print_line, write_document
from snellen.core.errors import COMPLETE, INCOMPLETE, UsageError
from snellen.report import format as fmt
from snellen.report.document import Column, Document, Line, Table

if TYPE_CHECKING:
    from snellen.api.hub_client import HubClient, Upload

_PATIENCE = 60.0
"""Seconds for which a hub that is starting is tried."""


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen submit` takes."""

    predictions: str | None = argument("RUN|FILE", "a run folder, or a predictions file", "?")
    hub: str = option(MISSING, "--hub", "address of the hub", metavar="URL")
    list: bool = option(False, "--list")
    """Your submissions, the latest first."""
    withdraw: str | None = option(None, "--withdraw")
    benchmark: str | None = option(None, "--benchmark")
    """Its name on the hub; None: the run's."""
    name: str | None = option(None, "--name")
    """The name of the model; None: the run's."""
    facts: Mapping[str, str] = option({}, "--facts")
    """About the model: `parameters` in billions, `weights`, `released`, `organisation`, `link`,
    `route`, `capability`, `notes`."""
    replaces: str = option("", "--replaces", "an earlier submission of yours", metavar="ID")
    allow_missing: bool = option(False, "--allow-missing")
    wait: float | None = option(
        None,
        "--wait",
        "wait for the score, at most this long (an hour); a hub that is starting is tried for a "
        "minute, or for less if this is less",
        metavar="SECONDS",
        parse=float,
        bare_value="3600",
    )
    publish: bool = option(False, "--publish")
    """Waits for the score, too."""


def main(options: Options) -> int:
    """Submit, list or withdraw; print what the hub answers."""
    from snellen.api.hub_client import HubClient, read_upload

    _check_flags(options)
    upload = None
    if options.predictions is not None:
        upload = read_upload(Path(options.predictions), options.benchmark, options.name)
    patience = _PATIENCE if options.wait is None else min(_PATIENCE, options.wait)
    client = HubClient(options.hub, patience=patience, notify=lambda text: print_line(text, error=True))
    if upload is not None:
        states = [_submit(client, upload, options)]
    elif options.withdraw is not None:
        states = [client.withdraw(options.withdraw)]
    else:
        states = client.submissions()
    write_document(_states_document(states, states if options.list else states[0]), options)
    for state in states:
        if state["problem"]:
            print_line(state["problem"], error=True)
    failed = upload is not None and states[0]["status"] == "failed"
    return INCOMPLETE if failed else COMPLETE


def _check_flags(options: Options) -> None:
    """Raises UsageError unless one thing is to be done."""
    given = {options.predictions or "": options.predictions, "--list": options.list, "--withdraw": options.withdraw}
    named = [name for name, value in given.items() if value]
    if not named:
        raise UsageError("expected a run folder or a file of predictions, --list, or --withdraw ID")
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are two things to do; give one")


def _submit(client: HubClient, upload: Upload, options: Options) -> Any:
    """Send predictions; with --wait and --publish, until there is a score."""
    sent = client.submit(
        upload, facts=_facts_json(options.facts), replaces=options.replaces, allow_missing=options.allow_missing
    )
    if options.wait is not None or options.publish:
        sent = client.wait(sent["id"], options.wait)
        if options.publish and sent["status"] == "scored":
            sent = client.publish(sent["id"])
    return sent


def _facts_json(facts: Mapping[str, str]) -> str:
    """The facts as the hub takes them, where `parameters` is a number. Raises UsageError."""
    values: dict[str, str | float] = dict(facts)
    if "parameters" in facts:
        try:
            values["parameters"] = float(facts["parameters"])
        except ValueError:
            raise UsageError(f"--facts parameters={facts['parameters']}: expected a number, in billions") from None
    return json.dumps(values)


def _states_document(states: Any, data: object) -> Document:
    """A line for each submission."""
    lines = [Line(_state_line(state), is_unbroken=True) for state in states]
    names = [Column(name) for name in ("id", "benchmark", "model", "status", "visibility", "problem")]
    columns = [*names, Column("score", "number"), Column("n", "count")]
    rows = []
    for state in states:
        headline = state["score"]["headline"] if "score" in state else {"value": None, "n": None}
        rows.append([*(state[name.name] for name in names), headline["value"], headline["n"]])
    nothing = [] if states else [Line("you have submitted nothing to this hub")]
    return Document([*lines, *nothing], data=data, records=Table("", columns, rows))


def _state_line(state: Any) -> str:
    score = ""
    if "score" in state:
        headline = state["score"]["headline"]
        score = f"; {state['score']['name']} {fmt.score_text(headline['value'])}"
        score += f", n = {headline['n']:,}"
    return f"{state['id']}: {state['benchmark']}, {state['model']}: {state['status']}, {state['visibility']}{score}"
