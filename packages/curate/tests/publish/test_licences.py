"""Licence names, the table by source, and the identifiers of the hub's cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import UsageError
from snellen_curate.attribution import join_images, licence_at, licence_named, licence_url, split_images
from snellen_curate.publish.licences import (
    check_licence,
    hub_licences,
    licences_of,
    read_licence_table,
    strictest_conditions,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CC-BY-4.0", "CC-BY-4.0"),
        (" cc-by-sa-4.0 ", "CC-BY-SA-4.0"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("LicenseRef-Flickr-terms", "LicenseRef-Flickr-terms"),
        ("https://creativecommons.org/licenses/by/2.0/", "CC-BY-2.0"),
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
        'names = {"Attribution License" = "cc-by-2.0"}\n'
        '["Flickr"]\nlicence = "CC-BY-NC-2.0"\noverride = true\n'
        '["*"]\nlicence = "CC0-1.0"\n'
    )
    table = read_licence_table(str(path))
    cases = [
        ({"source": "COCO"}, "CC-BY-4.0"),
        ({"source": "COCO", "license": "MIT"}, "MIT"),
        ({"source": "COCO", "licence": "MIT"}, "MIT"),
        ({"source": "elsewhere"}, "CC0-1.0"),
        ({}, "CC0-1.0"),
        ({"source": "COCO", "license": "Attribution License"}, "CC-BY-2.0"),
        ({"source": "Flickr", "license": "Attribution License"}, "CC-BY-NC-2.0"),
    ]
    assert [licences_of(cells, table, 1) for cells, _ in cases] == [[each] for _, each in cases]
    several = {"source": "COCO", "license": '["Attribution License", "MIT"]'}
    assert licences_of(several, table, 2) == ["CC-BY-2.0", "MIT"]
    entry = table.entry("COCO")
    assert entry.url == "https://cocodataset.org"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('["COCO"]\nlicense = "MIT"\n', "expected a table for each source"),
        ('["COCO"]\nlicence = "cc4"\n', "COCO: 'cc4' is no SPDX licence"),
        ("COCO = 1\n", "expected a table for each source"),
        ('["COCO"]\nurl = "https://example.org"\n', "COCO: it has no licence"),
        ('["COCO"]\nnames = {a = "cc4"}\n', "COCO: 'cc4' is no SPDX licence"),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "licences.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        read_licence_table(str(path))


def test_the_hub_has_names_of_its_own() -> None:
    names = ["CC-BY-4.0", "ODbL-1.0", "GPL-3.0-only", "CC-BY-4.0", ""]
    assert hub_licences(names) == ["cc-by-4.0", "odbl", "gpl-3.0", "unknown"]
    for other in ("LicenseRef-x", "MIT OR Apache-2.0", "CC-BY-ND-2.0"):
        assert hub_licences(["CC-BY-4.0", other]) == ["other"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://creativecommons.org/licenses/by-nc-sa/2.0/", "CC-BY-NC-SA-2.0"),
        ("https://www.creativecommons.org/licenses/by/4.0/deed.en", "CC-BY-4.0"),
        ("creativecommons.org/licenses/by-nd/2.0", "CC-BY-ND-2.0"),
        ("https://creativecommons.org/licenses/by-nc-sa/2.0/fr/", "CC-BY-NC-SA-2.0-FR"),
        ("http://creativecommons.org/licenses/by-nd-nc/1.0/", "CC-BY-NC-ND-1.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://creativecommons.org/publicdomain/mark/1.0/", "CC-PDM-1.0"),
        ("http://flickr.com/commons/usage/", ""),
        ("https://example.org/creativecommons.org/licenses/by/2.0/", ""),
        ("https://creativecommons.org/licenses/", ""),
        ("CC-BY-4.0", ""),
    ],
)
def test_an_address_says_which_licence_it_is(url: str, expected: str) -> None:
    assert licence_at(url) == expected
    if expected:
        assert check_licence(url, "here") == expected
        assert licence_at(licence_url(expected)) == expected


def test_a_licence_without_such_an_address_keeps_its_name() -> None:
    assert licence_named("No known copyright restrictions", "http://flickr.com/commons/usage/") == (
        "LicenseRef-No-known-copyright-restrictions"
    )
    assert licence_named("", "http://example.org") == ""
    assert licence_url("MIT") == "https://spdx.org/licenses/MIT.html"
    assert licence_url("LicenseRef-x") == licence_url("MIT OR Apache-2.0") == ""


def test_a_cell_holds_one_value_for_all_images_or_a_list() -> None:
    for values in (["a", "b"], ["a", "a"], ["", "b"], ["[a]"]):
        assert split_images(join_images(values), len(values)) == values
    assert split_images('["a", "b"]', 3) == ['["a", "b"]'] * 3


@pytest.mark.parametrize(
    ("counts", "parts"),
    [
        (
            {"CC-BY-2.0": 3, "CC-BY-NC-ND-2.0": 2},
            ["no commercial use (2); no changed copies (2)", "attribution (5)", "of 5"],
        ),
        ({"GPL-3.0-only": 1, "ODbL-1.0": 1, "MIT": 1}, ["same licence only (2); attribution (3)"]),
        (
            {"": 4, "LicenseRef-x": 1, "MIT OR Apache-2.0": 1},
            ["nobody states a licence (4); ", "terms of their own, to be read (2)"],
        ),
        ({"CC0-1.0": 7}, ["No picture of 7 asks for anything"]),
        ({"CC-BY-2.0 AND CC-BY-SA-2.0": 1}, ["same licence only (1); attribution (1)"]),
    ],
)
def test_the_strictest_conditions_are_one_sentence(counts, parts) -> None:
    sentence = strictest_conditions(counts)
    assert sentence.count(".") == 1
    for part in parts:
        assert part in sentence
