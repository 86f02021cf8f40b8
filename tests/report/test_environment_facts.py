"""The section of a report on what was installed for a server that Snellen started."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs
from synthetic import build_report

from snellen.core.served_identity import ServedIdentity
from snellen.report.page.facts import fact_sections


def test_python_comes_first_among_packages(tmp_path: Path) -> None:
    report, _, _ = build_report(count=4)
    packages = {"torch": "2.5.1", "flash_attn": "2.6", "accelerate": "1.0", "python": "3.11.9"}
    served = {"model": (ServedIdentity(packages=packages, lock="ab" * 32),)}
    run = structs.replace(report.run, served=served)
    sections = fact_sections(structs.replace(report, run=run), tmp_path)
    (section,) = [one for one in sections if one.title == "Environment of the server"]
    assert [fact.name for fact in section.facts] == ["lock digest", "python", "accelerate", "flash_attn", "torch"]
    assert section.facts[1].value == "3.11.9"
