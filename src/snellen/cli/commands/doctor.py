"""`snellen doctor`: what works on this machine, what is missing and how to install it; and whether
a store of replies is intact."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from snellen import __version__
from snellen.api.flags import argument, option
from snellen.api.options import DEFAULT_STORE
from snellen.cli.output import OutputOptions, write_document
from snellen.cli.packages import PACKAGES
from snellen.core.errors import COMPLETE, INCOMPLETE, SnellenError, UsageError
from snellen.report.document import Column, Document, Table
from snellen.report.format import plural, size
from snellen.settings import Settings

_LOW_DISK = 2 << 30
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""At the start of a requirement: `pypdfium2` of `pypdfium2>=4.30`."""


class HealthCheck(NamedTuple):
    state: Literal["ok", "optional", "problem"]
    what: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen doctor` takes."""

    store: str | None = argument("STORE", "check this store.sqlite, or the one in this folder, row by row", "?")
    repair: bool = option(False, "--repair")
    """Copy the intact rows into a new store; the damaged store is kept next to it."""
    compact: bool = option(False, "--compact", "make the store smaller, also while runs use it", is_switch=True)


def main(options: Options) -> int:
    """Print what works and what does not."""
    for flag, asked in (("--repair mends", options.repair), ("--compact shrinks", options.compact)):
        if asked and options.store is None:
            raise UsageError(f"{flag} a store: name it, e.g. {DEFAULT_STORE}")
    if options.repair and options.compact:
        raise UsageError("--repair and --compact: give one of them; a repaired store is compact")
    if options.store is None:
        findings = list(examine(Settings.from_environment()))
    elif options.compact:
        findings = [compact_store(_store_path(options.store))]
    else:
        findings = list(examine_store(_store_path(options.store), repair=options.repair))
    write_document(health_document(findings), options)
    return INCOMPLETE if any(finding.state == "problem" for finding in findings) else COMPLETE


def _store_path(text: str) -> Path:
    """The store that is meant: a folder stands for the store in it. Raises UsageError."""
    path = Path(text)
    if not path.is_dir():
        return path
    store = path / Path(DEFAULT_STORE).name
    if not store.exists():
        raise UsageError(f"{path} is a folder without a {store.name}; name a store, e.g. {DEFAULT_STORE}")
    return store


def health_document(checks: Sequence[HealthCheck]) -> Document:
    """A line for each check."""
    labels = {"ok": "ok", "optional": "optional", "problem": "PROBLEM"}
    lines = [(labels[check.state], f"{check.what}: {check.detail}") for check in checks]
    names = [Column(name) for name in HealthCheck._fields]
    return Document(
        [Table("checks", [Column("state"), Column("check")], lines, on_terminal="lines")],
        data=[check._asdict() for check in checks],
        records=Table("", names, checks),
    )


def examine(settings: Settings) -> Iterator[HealthCheck]:
    yield HealthCheck("ok", "snellen", f"{__version__}, Python {platform.python_version()}")
    yield from _check_folder("cache", settings.cache)
    if settings.lmu_data is not None:
        yield from _check_folder("LMUData", settings.lmu_data)
    yield from _check_extras("snellen")
    for name, package in PACKAGES.items():
        yield from _check_package(name, package)
    yield _check_tex()
    yield from _check_accelerator()
    yield from _check_bundled_model()


def examine_store(path: Path, *, repair: bool) -> Iterator[HealthCheck]:
    """Check every row of a store of replies; with `repair`, copy the intact ones to a new store."""
    from snellen.store.repair import check
    from snellen.store.repair import repair as repair_store

    repaired = repair_store(path) if repair else None
    status = repaired.before if repaired is not None else check(path)
    state: Literal["ok", "problem"] = "ok" if status.is_sound or repaired else "problem"
    yield HealthCheck("ok", "store", f"{path}, {plural(status.replies, 'sound reply', 'sound replies')}")
    if status.media:
        yield HealthCheck("ok", "store", plural(status.media, "sound drawn picture"))
    if any(status.batches):
        count, requests = status.batches
        what = f"{plural(requests, 'request')} in {plural(count, 'batch', 'batches')}"
        yield HealthCheck("ok", "waiting", f"{what} at a provider, paid for; the same command takes the replies")
    if status.lost_batches:
        detail = "some that wait at a provider cannot be read; what was in them is asked, and paid for, again"
        yield HealthCheck(state, "damaged", f"batches: {detail}")
    if status.without_checksum:
        detail = f"{plural(status.without_checksum, 'reply', 'replies')} from before checksums, readable"
        yield HealthCheck("ok", "store", detail)
    for complaint in status.errors:
        yield HealthCheck(state, "file", f"{complaint}; replies may be out of reach")
    if status.damaged:
        yield HealthCheck(state, "damaged", f"{plural(status.damaged, 'reply', 'replies')}, asked again when owed")
    if status.damaged_media:
        detail = f"{plural(status.damaged_media, 'drawn picture')}, asked again when owed"
        yield HealthCheck(state, "damaged", detail)
    if repaired is not None:
        detail = f"{path} holds the sound rows; the damaged store is kept as {repaired.damaged_file}"
        yield HealthCheck("ok", "repaired", detail)
    elif not status.is_sound:
        yield HealthCheck("optional", "repair", f"snellen doctor {path} --repair")


def compact_store(path: Path) -> HealthCheck:
    """Make a store smaller; how small it became."""
    from snellen.store.compaction import compact

    done = compact(path)
    return HealthCheck("ok", "compacted", f"{path}, {size(done.before)} before, {size(done.after)} now")


def _check_folder(what: str, path: Path) -> Iterator[HealthCheck]:
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        yield HealthCheck("problem", what, f"{path} cannot be written; fix its rights")
        return
    free = shutil.disk_usage(existing).free
    state: Literal["ok", "problem"] = "ok" if free > _LOW_DISK else "problem"
    yield HealthCheck(state, what, f"{path}, {free / 1e9:.0f} GB free")


def _check_extras(package: str) -> Iterator[HealthCheck]:
    """Check the requirements of each extra of a package."""
    packages: dict[str, list[str]] = {}
    for line in metadata(package).get_all("Requires-Dist") or []:
        requirement, _, marker = line.partition(";")
        extra = marker.partition("extra ==")[2].strip().strip("'\"")
        named = _PACKAGE_NAME.match(requirement)
        name = named[0] if named else requirement
        if extra and name != "snellen":
            packages.setdefault(extra, []).append(name)
    for extra, names in packages.items():
        missing = [name for name in names if not _is_installed(name)]
        if missing:
            advice = f"missing {', '.join(missing)}; pip install '{package}[{extra}]'"
            yield HealthCheck("optional", f"extra {extra}" if package == "snellen" else f"{package}[{extra}]", advice)
        else:
            yield HealthCheck("ok", f"extra {extra}", ", ".join(f"{n} {version(n)}" for n in names))


def _check_package(name: str, package: str) -> Iterator[HealthCheck]:
    """Check another package of the repository, and its extras."""
    if not _is_installed(package):
        advice = f"not installed; in a clone: pip install ./packages/{name}"
        yield HealthCheck("optional", f"snellen {name}", advice)
    elif version(package) != __version__:
        advice = f"version {version(package)}, expected {__version__}; install both from one clone"
        yield HealthCheck("problem", package, advice)
    else:
        yield HealthCheck("ok", package, __version__)
        yield from _check_extras(package)


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _check_tex() -> HealthCheck:
    """TeX, by which formulas of pages are drawn (`formulas=cdm`)."""
    from snellen.generated_code.tex import check_tex, find_tex

    try:
        check_tex("formulas=cdm")
    except UsageError as error:
        return HealthCheck("optional", "TeX", str(error))
    tex = find_tex()
    return HealthCheck("ok", "TeX", tex.pdflatex if tex else "")


def _check_accelerator() -> Iterator[HealthCheck]:
    if find_spec("torch") is None:
        return
    import torch

    if torch.cuda.is_available():
        names = {torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())}
        count = torch.cuda.device_count()
        yield HealthCheck("ok", "accelerator", f"{count} x {', '.join(sorted(names))}")
    else:
        detail = f"none; models run on the CPU, {torch.get_num_threads()} threads"
        yield HealthCheck("optional", "accelerator", detail)


def _check_bundled_model() -> Iterator[HealthCheck]:
    from snellen.models.naming.registry import describe_model

    if find_spec("transformers") is None:
        return
    try:
        info = describe_model("snellen/tiny")
    except SnellenError as error:
        yield HealthCheck("problem", "snellen/tiny", str(error))
    else:
        yield HealthCheck("ok", "snellen/tiny", f"identity {info.identity.digest()[:12]}")
