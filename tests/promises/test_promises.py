"""Cards, verdicts, stored runs, request digests and outputs of commands are as they were frozen."""

from __future__ import annotations

from collections.abc import Mapping

import freeze
import pytest

ADVICE = 'if it is meant: python tests/promises/freeze.py {} --because "..."'


def differences(name: str, now: Mapping[str, str]) -> list[str]:
    old = freeze.frozen()[name]
    return sorted(key for key in {*old, *now} if old.get(key) != now.get(key))


@pytest.mark.parametrize("name", freeze.DIGESTS)
def test_nothing_frozen_has_changed(name: str) -> None:
    changed = differences(name, freeze.DIGESTS[name]())
    assert not changed, f"{name} changed: {', '.join(changed)}; {ADVICE.format(name)}"


@pytest.mark.parametrize("page", freeze.PAGES)
def test_the_commands_of_a_page_print_what_they_printed(page: str) -> None:
    printed = freeze.command_output(page)
    assert printed == freeze.frozen_output(page).read_text(encoding="utf-8"), f"{page}; {ADVICE.format('outputs')}"


def test_a_changed_digest_is_named() -> None:
    now = dict(freeze.frozen()["cards"])
    now["mme"] = "another"
    now["new-benchmark"] = "1 abc"
    assert differences("cards", now) == ["mme", "new-benchmark"]
