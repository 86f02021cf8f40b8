"""Every target, by name. A new family is a module with `TARGETS`, and a line here."""

from __future__ import annotations

from tests.fuzz import files, pictures

TARGETS = {target.name: target for family in (files, pictures) for target in family.TARGETS}
