"""The page on which the hosts of a benchmark set its phases and see who takes part."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request, Response

from snellen.core.errors import UsageError
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.entries import read_entries
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hosts import BOARD_ROLES, NotHost, board_role, check_host, host_phases, read_hosts, set_host
from snellen_hub.hub import Hub
from snellen_hub.moment_text import parse_moment
from snellen_hub.phase_text import MOST_PHASES, Phase, convert_phases
from snellen_hub.phases import read_phases
from snellen_hub.question_parts import describe_parts
from snellen_hub.web.access import client_address, note_request
from snellen_hub.web.browser import Browser
from snellen_hub.web.pages.forms import FormState, PostedForm, render_form
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import BoardName, Done, HubOf, SubmitterBrowser, SubmitterForm

router = APIRouter(include_in_schema=False)

_DONE = {"phases": "The phases are changed.", "hosts": "The hosts are changed."}
_FIELDS = ("name", "opens", "closes", "submissions", "final")
_EMPTY_ROWS = 2


@router.get("/manage/benchmarks/{name}")
def host_page(request: Request, hub: HubOf, browser: SubmitterBrowser, name: BoardName, done: Done = "") -> Response:
    """Phases, hosts and participants of a benchmark."""
    return _page(request, hub, browser, name, FormState(), _DONE.get(done))


@router.post("/manage/benchmarks/{name}")
def change_board(request: Request, hub: HubOf, browser: SubmitterForm, name: BoardName, form: PostedForm) -> Response:
    """Change the phases, or who is a host."""
    is_phases = form.value("action") == "phases"
    try:
        with hub.database.writing() as session:
            benchmark = find_hosted_benchmark(session, name, lock=True)
            if is_phases:
                host_phases(session, benchmark, browser.caller, _read_rows(form), client_address(request))
            else:
                check_host(session, benchmark, browser.caller, "owner")
                done = set_host(session, benchmark, form.value("account"), form.value("role"))
                note_request(session, request, "host", browser.account_id, name, done=done)
    except NotHost:
        raise
    except UsageError as error:
        form.refuse("" if is_phases else "account", error)
        return _page(request, hub, browser, name, form)
    return redirect(f"/manage/benchmarks/{name}?done={'phases' if is_phases else 'hosts'}")


def _page(
    request: Request, hub: Hub, browser: Browser, name: str, form: FormState, done: str | None = None
) -> Response:
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        check_host(session, benchmark, browser.caller)
        is_owner = board_role(session, benchmark, browser.caller) == "owner"
        hosts, entries = read_hosts(session, benchmark), read_entries(session, benchmark)
    if form.value("action") != "phases":
        form.values |= _row_values(benchmark)
    rows = sum(f"name-{row}" in form.values for row in range(MOST_PHASES))
    return render_form(
        request,
        "host.html",
        form,
        title="Competition",
        benchmark=benchmark,
        phases=read_phases(benchmark),
        parts=describe_parts(benchmark),
        rows=rows,
        hosts=hosts,
        entries=entries,
        is_owner=is_owner,
        roles=BOARD_ROLES,
        done=done,
    )


def _row_values(benchmark: HostedBenchmark) -> dict[str, str]:
    """The fields of the form for the phases as they are, and for more of them."""
    values: dict[str, str] = {}
    for row, phase in enumerate(read_phases(benchmark)):
        total = "" if phase.submissions is None else str(phase.submissions)
        cells = (phase.name, _local(phase.opens), _local(phase.closes), total, "yes" if phase.final else "")
        values |= {f"{field}-{row}": cell for field, cell in zip(_FIELDS, cells, strict=True)}
    for row in range(len(benchmark.phases), len(benchmark.phases) + _EMPTY_ROWS):
        values[f"name-{row}"] = ""
    return values


def _read_rows(form: FormState) -> list[Phase]:
    """The phases that were typed; a row without anything is none. Raises UsageError."""
    phases = []
    for row in range(MOST_PHASES):
        cells = {field: form.value(f"{field}-{row}") for field in _FIELDS}
        if not any(cells.values()):
            continue
        most = cells["submissions"]
        if most and not most.isdecimal():
            raise UsageError(f"{most!r} submissions; expected a number")
        phases.append(
            {
                "name": cells["name"],
                "opens": parse_moment(cells["opens"]),
                "closes": parse_moment(cells["closes"]),
                "final": bool(cells["final"]),
                "submissions": int(most) if most else None,
            }
        )
    return convert_phases(phases)


def _local(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")
