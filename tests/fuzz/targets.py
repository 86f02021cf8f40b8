"""Every target, by name. A new family is a module with `TARGETS`, and a line here."""

from __future__ import annotations

from tests.fuzz import files, flows, pictures, readers, replies

FAMILIES = {"files": files, "pictures": pictures, "readers": readers, "flows": flows, "replies": replies}
TARGETS = {target.name: target for family in FAMILIES.values() for target in family.TARGETS}
