"""The environment is read in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.settings import Settings


@pytest.mark.parametrize(
    ("environment", "field", "value"),
    [
        ({"SNELLEN_CACHE": "/c"}, "cache", Path("/c")),
        ({"LMUData": "/d"}, "lmu_data", Path("/d")),
        ({}, "hf_endpoint", "https://huggingface.co"),
        ({"HF_ENDPOINT": "https://mirror.org/"}, "hf_endpoint", "https://mirror.org"),
        ({}, "offline", False),
        ({"HF_HUB_OFFLINE": "1"}, "offline", True),
        ({"HF_HUB_OFFLINE": "False"}, "offline", False),
    ],
)
def test_settings_from_environment_variables(tmp_path, environment, field: str, value) -> None:
    environment = {"HOME": str(tmp_path), **environment}
    assert getattr(Settings.from_environment(environment), field) == value


def test_the_usual_folder_of_vlmevalkit_counts_where_it_exists(tmp_path) -> None:
    environment = {"HOME": str(tmp_path)}
    assert Settings.from_environment(environment).lmu_data is None
    (tmp_path / "LMUData").mkdir()
    assert Settings.from_environment(environment).lmu_data == tmp_path / "LMUData"


def test_the_cache_has_a_default() -> None:
    assert Settings.from_environment({}).cache.name == "snellen"
