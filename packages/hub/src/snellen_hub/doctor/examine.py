"""All checks of a hub, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snellen.core.errors import UsageError
from snellen_hub.doctor.content import check_clock, check_files, check_rows, check_schema
from snellen_hub.doctor.findings import HubFinding, problem
from snellen_hub.doctor.place import check_disks, check_left_copies, check_rights, check_settings
from snellen_hub.doctor.work import check_stuck_jobs, check_workers
from snellen_hub.hub import Hub


def examine_hub(hub: Hub, *, fix: bool = False, quick: bool = False) -> Iterator[HubFinding]:
    """Check a hub. With `fix` what is safe to fix is fixed; with `quick` files are not read."""
    yield from _guard("rights", check_rights(hub))
    yield from _guard("disk", check_disks(hub))
    yield from _guard("clear copies", check_left_copies(fix=fix))
    yield from check_settings(hub)
    schema = list(_guard("schema", check_schema(hub)))
    yield from schema
    if any(finding.level == "problem" for finding in schema):
        return
    yield from _guard("database", check_rows(hub))
    yield from _guard("clock", check_clock(hub))
    yield from _guard("storage", check_files(hub, fix=fix, quick=quick))
    yield from _guard("workers", check_workers(hub))
    yield from _guard("leases", check_stuck_jobs(hub, fix=fix))


def _guard(what: str, findings: Iterable[HubFinding]) -> Iterator[HubFinding]:
    """The findings of a check; one that cannot be made is a problem, and the others go on."""
    try:
        yield from findings
    except UsageError as error:
        yield problem(what, str(error))
    except OSError as error:
        yield problem(what, f"{error.filename or 'a file'}: {error.strerror or error}")
