"""Addresses with a password in them, which nothing that is recorded may hold."""

from __future__ import annotations

import re

from snellen.core.errors import UsageError

_PLACE = re.compile(r"://[^/?#]*@([^/?#@:,]*)")
_VARIABLE = re.compile(r"[:,]key_env=(\w+)")


def refuse_password(spec: str) -> None:
    """Raises UsageError for a model or a URL such as `https://user:password@host`: what the
    command says is recorded. The sentence does not hold the password, for the same reason."""
    place = _PLACE.search(spec)
    if place is None:
        return
    variable = _VARIABLE.search(spec)
    how = (
        f"put the key into {variable[1]}"
        if variable
        else ("put the key into an environment variable and name that with key_env=NAME")
    )
    raise UsageError(
        f"the address of {place[1]} holds a user or a password before the @, and addresses are "
        f"recorded with the run; leave it out, {how}"
    )
