"""Models from a user's function, object or `answer_batch`, with an identity and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.core.model import BatchModel, Capabilities, Identity, Model, ModelDefaults, SingleModel
from snellen.core.request import Request

PROVIDER = "custom"
_ANSWER_METHODS = ("answer", "answer_batch")
_OPTIONAL_METHODS = ("cannot_sample", "check", "load", "prepare", "render_prompt")
"""Abilities that a model may have (see `core.model`), which its wrapper passes on."""
_OPTIONAL_VALUES = ("batch_limit", "by_row", "concurrency", "coordinates", "first_timeout", "max_new_tokens")


class _UserDefaults(ModelDefaults):
    """Base of the wrappers of users' models."""

    concurrency = 8

    def __init__(self, owner: Any, identity: Identity) -> None:
        self.identity = identity
        self.capabilities: Capabilities = getattr(owner, "capabilities", None) or Capabilities()
        self.notes: tuple[str, ...] = ()
        """Remarks besides those of the owner."""
        self.remake: Callable[[], Model] | None = None
        """Makes the model again, with an identity from its present content; None if the identity
        is not made of that."""
        self._owner = owner
        for name in _OPTIONAL_METHODS:
            if callable(getattr(owner, name, None)):
                setattr(self, name, getattr(owner, name))
        for name in _OPTIONAL_VALUES:
            if hasattr(owner, name):
                setattr(self, name, getattr(owner, name))

    def refresh(self) -> Model:
        """The model with an identity from its present content: what it holds may have changed."""
        return self if self.remake is None else self.remake()

    @property
    def largest_batch(self) -> int:
        return int(getattr(self._owner, "largest_batch", 0))

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*self.notes, *getattr(self._owner, "remarks", ()))


class UserModel(_UserDefaults):
    """A model from a user's `answer`, which may be async."""

    def __init__(self, owner: Any, identity: Identity) -> None:
        """`owner` is a function of a request, or an object with `answer`."""
        super().__init__(owner, identity)
        answer = getattr(owner, "answer", owner)
        self.answer = answer if _is_async(answer) else partial(_answer_in_thread, answer)
        if _is_async(answer) and not inspect.iscoroutinefunction(answer):
            self.answer = partial(_await_answer, answer)


class UserBatchModel(_UserDefaults):
    """A model from a user's `answer_batch`."""

    def __init__(self, owner: Any, identity: Identity) -> None:
        super().__init__(owner, identity)
        self.answer_batch = owner.answer_batch

    @property
    def batch_size(self) -> int:
        """Requests of the next batch."""
        return int(getattr(self._owner, "batch_size", 8))


def answers_requests(value: object) -> bool:
    """Whether an object, or the instances of a class, answer requests."""
    return any(callable(getattr(value, method, None)) for method in _ANSWER_METHODS)


def user_model(
    value: Any,
    name: str,
    facts: Mapping[str, str],
    options: Mapping[str, str] | None = None,
    *,
    given_name: str | None = None,
) -> Model:
    """A model from a user's function or object.

    Its `identity` may be an `Identity`, or the name of one with `facts`; without it, `name` is
    used. `given_name` overrides a name. `options` are those it was made with: each becomes a fact.
    A complete model is returned as it is. Raises UsageError if `answer_batch` is async.
    """
    identity = getattr(value, "identity", None) or name
    if given_name and not isinstance(identity, Identity):
        identity = given_name
    if not isinstance(identity, Identity):
        identity = Identity(PROVIDER, str(identity), dict(facts))
    if options:
        identity = replace(identity, facts={**options, **identity.facts})
    if _is_complete(value) and value.identity == identity:
        model: Model = value
        return model
    if callable(getattr(value, "answer_batch", None)):
        if _is_async(value.answer_batch):
            raise UsageError(
                f"answer_batch of {name} is async; make it a plain function, which is called from "
                "one thread, or offer `async def answer(self, request)`"
            )
        return UserBatchModel(value, identity)
    return UserModel(value, identity)


def _is_complete(value: object) -> bool:
    """Whether the engine can ask an object as it is."""
    return (
        isinstance(value, BatchModel | SingleModel)
        and isinstance(value.identity, Identity)
        and isinstance(value.capabilities, Capabilities)
    )


def _is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it returns a coroutine: also a partial of an async function, or an object
    with an async `__call__`."""
    while isinstance(function, partial):
        function = function.func
    if inspect.iscoroutinefunction(function):
        return True
    # Of a class's instance alone: the `__call__` of a function is a slot wrapper.
    return inspect.iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004


async def _await_answer(answer: Callable[[Request], Any], request: Request) -> object:
    return await answer(request)


def _answer_in_thread(answer: Callable[[Request], Any], request: Request) -> object:
    """Call a plain function. If it returns an awaitable, as a lambda around an async function
    does, wait for it: one request at a time, since only an `async def` shows that it may overlap.
    """
    value = answer(request)
    if not inspect.isawaitable(value):
        return value
    from snellen.core.event_loop import run_coroutine

    return run_coroutine(_wait_for(value))


async def _wait_for(value: Any) -> object:
    return await value
