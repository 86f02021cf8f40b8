"""`snellen hub doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import option
from snellen.cli.output import TABLE, FormatOptions, print_document, print_line
from snellen.core.errors import COMPLETE, INCOMPLETE
from snellen_hub.commands import hub_folder

if TYPE_CHECKING:
    from snellen_hub.hub import Hub

_LABELS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen hub doctor` takes."""

    folder: str = hub_folder()
    repair: bool = option(False, "--repair")
    """Delete old files that nothing refers to, and queue stuck submissions again."""
    quick: bool = option(False, "--quick", "do not read every file to see whether it is intact", is_switch=True)
    upgrade: bool = option(
        False,
        "--upgrade",
        "only bring the database to the schema of this version; stop servers and workers before",
        is_switch=True,
    )


def main(options: Options) -> int:
    """Check a hub, or upgrade it; returns INCOMPLETE if there are problems, warnings not
    counted."""
    from snellen.report.document import Column, Document, Table
    from snellen_hub.doctor.examine import examine_hub
    from snellen_hub.hub import open_hub

    findings = []
    form = options.form
    with open_hub(options.folder, check=False) as hub:
        if options.upgrade:
            return _upgrade(hub, options.folder)
        for finding in examine_hub(hub, fix=options.repair, quick=options.quick):
            findings.append(finding)
            if form == TABLE:
                # At once: files are read for a while.
                label = _LABELS[finding.level]
                print_line(f"{label}  {finding.what}: {finding.detail}", flush=True)
    if form != TABLE:
        columns = [Column(name) for name in ("level", "what", "detail")]
        data = [finding._asdict() for finding in findings]
        print_document(Document([Table("checks", columns, findings)], data=data), form)
    return INCOMPLETE if any(each.level == "problem" for each in findings) else COMPLETE


def _upgrade(hub: Hub, folder: str) -> int:
    """Bring the schema to that of this version, completely or not at all; a SQLite database is
    copied before."""
    from snellen_hub.database.schema import SCHEMA, check_known

    database = hub.database
    before = database.schema()
    check_known(before)
    if before not in (SCHEMA, None) and database.file is not None:
        copy = database.file.with_name(f"{database.file.name}.schema-{before}")
        database.copy(copy)
        print_line(f"the database as it was: {copy}")
    database.upgrade()
    done = f"upgraded from schema {before or 'none'} to {SCHEMA}"
    done = f"current (schema {SCHEMA})" if before == SCHEMA else done
    print_line(f"{folder}: {done}")
    return COMPLETE
