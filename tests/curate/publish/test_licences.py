"""Licence names, the table by source, and the identifiers of the hub's cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import UsageError
from snellen.curate.publish.licences import (
    check_licence,
    hub_licences,
    licence_of,
    read_licence_table,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CC-BY-4.0", "CC-BY-4.0"),
        (" cc-by-sa-4.0 ", "CC-BY-SA-4.0"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("LicenseRef-Flickr-terms", "LicenseRef-Flickr-terms"),
    ],
)
def test_names_become_those_of_spdx(name: str, expected: str) -> None:
    assert check_licence(name, "here") == expected


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("CC BY 4.0", "here: 'CC BY 4.0' is no SPDX licence.*did you mean CC-BY-4.0"),
        ("flickr", "LicenseRef-NAME"),
        ("MIT OR", "'MIT OR' is no SPDX licence"),
    ],
)
def test_other_names_are_refused_with_the_nearest(name: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        check_licence(name, "here")


def test_a_row_has_precedence_over_the_table_and_the_table_over_nothing(tmp_path: Path) -> None:
    path = tmp_path / "licences.toml"
    path.write_text(
        '["COCO"]\nlicence = "cc-by-4.0"\nurl = "https://cocodataset.org"\n'
        '["*"]\nlicence = "CC0-1.0"\n'
    )
    table = read_licence_table(str(path))
    cases = [
        ({"source": "COCO"}, "CC-BY-4.0"),
        ({"source": "COCO", "license": "MIT"}, "MIT"),
        ({"source": "COCO", "licence": "MIT"}, "MIT"),
        ({"source": "elsewhere"}, "CC0-1.0"),
        ({}, "CC0-1.0"),
    ]
    assert [licence_of(cells, table) for cells, _ in cases] == [each for _, each in cases]
    entry = table.entry("COCO")
    assert entry is not None
    assert entry.url == "https://cocodataset.org"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('["COCO"]\nlicense = "MIT"\n', "expected a table for each source"),
        ('["COCO"]\nlicence = "cc4"\n', "COCO: 'cc4' is no SPDX licence"),
        ("COCO = 1\n", "expected a table for each source"),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "licences.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        read_licence_table(str(path))


def test_the_hub_has_names_of_its_own() -> None:
    names = ["CC-BY-4.0", "ODbL-1.0", "GPL-3.0-only", "LicenseRef-x", "MIT OR Apache-2.0"]
    assert hub_licences(names) == ["cc-by-4.0", "odbl", "gpl-3.0", "other"]
