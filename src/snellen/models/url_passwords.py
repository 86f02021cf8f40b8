"""Refuse URLs that contain a password or a key, because URLs are recorded with a run."""

from __future__ import annotations

import re

from snellen.core.errors import UsageError

_USERINFO = re.compile(r"://[^/?#]*@([^/?#@:,]*)")
_QUERY = re.compile(r"://(?:[^/?#]*@)?([^/?#@:,]*)[^?#,]*\?")
_VARIABLE = re.compile(r"[:,]key_env=(\w+)")


def refuse_password(spec: str) -> None:
    """Raise UsageError for a model or URL such as `https://user:password@host` or
    `https://host/v1?key=...`. The message does not repeat the password."""
    userinfo, query = _USERINFO.search(spec), _QUERY.search(spec)
    if userinfo is None and query is None:
        return
    variable = _VARIABLE.search(spec)
    advice = (
        f"put the key into {variable[1]}"
        if variable
        else ("put the key into an environment variable and name that with key_env=NAME")
    )
    if userinfo is not None:
        raise UsageError(
            f"the address of {userinfo[1]} holds a user or a password before the @, and addresses "
            f"are recorded with the run; leave it out, {advice}"
        )
    if query is not None:
        raise UsageError(
            f"the address of {query[1]} holds a ? and what follows it, which is no part of a base "
            f"URL, and addresses are recorded with the run; leave it out, {advice}"
        )
