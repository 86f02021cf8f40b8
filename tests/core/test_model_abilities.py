"""Optional abilities of models: one place, one default."""

from __future__ import annotations

import pytest

from snellen.core.model import ModelDefaults, abilities


class Bare:
    """A user's model that says nothing of itself."""


class Talkative:
    batch_limit = 64
    by_row = True
    concurrency = 3
    first_timeout = 5
    max_new_tokens = 9000
    largest_batch = 12
    remarks = ("in half precision",)

    def load(self) -> str:
        return "loaded"


NAMES = ("batch_limit", "by_row", "concurrency", "first_timeout", "largest_batch", "max_new_tokens", "remarks")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_without_the_base_has_the_defaults_of_the_base(name: str) -> None:
    assert getattr(abilities(Bare()), name) == getattr(ModelDefaults(), name)


@pytest.mark.parametrize("name", NAMES)
def test_own_attributes_override_the_defaults(name: str) -> None:
    assert getattr(abilities(Talkative()), name) == getattr(Talkative, name)


def test_weights_are_loaded_where_it_can() -> None:
    assert abilities(Talkative()).load() == "loaded"
    assert abilities(Bare()).load() is None


def test_model_with_the_base_class_is_used_directly() -> None:
    model = ModelDefaults()
    assert abilities(model) is model


def test_values_are_those_of_now() -> None:
    model = Talkative()
    seen = abilities(model)
    model.remarks = ("lost a replica",)
    assert seen.remarks == ("lost a replica",)
