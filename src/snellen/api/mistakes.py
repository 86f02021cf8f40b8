"""Short tracebacks for mistakes: what a notebook shows of a mistyped name is one sentence below the
line that holds it, not the files of Snellen."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from snellen.core.errors import UsageError

ParamT = ParamSpec("ParamT")
ResultT = TypeVar("ResultT")


def shorten_tracebacks(function: Callable[ParamT, ResultT]) -> Callable[ParamT, ResultT]:
    """A function of the Python API whose UsageErrors carry no frames from within Snellen, and no
    error that led to them; other errors keep both."""

    @wraps(function)
    def call(*arguments: ParamT.args, **options: ParamT.kwargs) -> ResultT:
        try:
            return function(*arguments, **options)
        except UsageError as error:
            mistake = error.with_traceback(None)
        # Outside of the handler, so that the error has no context either.
        mistake.__cause__ = mistake.__context__ = None
        raise mistake

    return call
