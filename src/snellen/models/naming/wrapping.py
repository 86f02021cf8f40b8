"""Models that are passed from code: functions, classes, objects, transformers, OpenAI clients.

`wrap_model` recognises what it is given; what a library defines is recognised by the names of its
classes, so that none is imported for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from snellen.core.errors import UsageError
from snellen.core.model import AnyModel, Capabilities, Identity, Model
from snellen.models.naming.code_digest import CodeDigest, digest_code, inherits, library_of, unwrap_module
from snellen.models.naming.registry import open_model
from snellen.models.naming.user_model import UserBatchModel, UserModel, answers_requests, user_model

_ACCEPTED = (
    "a name, a function of a request, a class or object with answer(self, request) or "
    "answer_batch(self, requests), a transformers model (with its processor: "
    "snellen.wrap_model(model, processor=processor)), a transformers pipeline, or an OpenAI client "
    "(snellen.wrap_model(client, 'gpt-4o'))"
)
_TRANSFORMERS, _PEFT, _OPENAI = "transformers", "peft", "openai"
_LIBRARIES = frozenset({"torch", "diffusers", "vllm", "sklearn", _TRANSFORMERS, _PEFT, _OPENAI})
"""Libraries whose objects are not functions of a request, although some are callable."""


def is_model(value: object) -> bool:
    """Whether it is one model, by what `wrap_model` recognises."""
    return answers_requests(value) or callable(value) or _is_checkpoint(value) or _is_openai_client(value)


def wrap_model(
    model: AnyModel,
    name: str | None = None,
    *,
    processor: Any = None,
    revision: str | None = None,
    capabilities: Capabilities | None = None,
    **options: Any,
) -> Model:
    """Make a model from an object in this process, for use in `evaluate` like any other.

    `model` is one of

    - a function of a request, also async, a lambda or a partial; an object with `answer` or
      `answer_batch`; or a class, which is made with `options`;
    - a `transformers` model; `processor` is its processor, or the tokenizer of a text model, and
      by default that of its checkpoint; or a pipeline, which has both. `options` are those of
      `hf/...` models that do not concern loading, such as `batch_size` and `images`;
    - an `openai.OpenAI` or `AsyncOpenAI` client, also Azure's; `name` is the model it asks for, and
      `options` are those of `openai/...` models, such as `reasoning_effort`.

    `name` is shown in tables. Replies are stored under an identity that is derived from the
    source of a function, the weights of a checkpoint, or the address of a client; `revision` takes
    its place, and must change whenever the replies do. `capabilities` are those of a function or
    object that declares none. Raises UsageError for anything else, and for unknown options.
    """
    if isinstance(model, str):
        return open_model(model, {key: str(value) for key, value in options.items()})
    if _is_checkpoint(model):
        from snellen.models.hf.in_memory import wrap_checkpoint

        return wrap_checkpoint(model, name, processor, revision, options)
    if _is_openai_client(model):
        from snellen.models.remote.sdk_client import wrap_client

        return wrap_client(model, name, revision, options)
    if processor is not None:
        raise UsageError(f"a processor belongs to a transformers model; got one with {_describe(model)}")
    return _wrap_code(_with_options(model, options), name, revision, capabilities)


def _with_options(model: Any, options: Mapping[str, Any]) -> Any:
    """A function or an object of the user; a class is made with the options. Raises UsageError for
    options that nothing takes, and for anything else."""
    if inspect.isclass(model) and answers_requests(model):
        model = _instantiate(model, options)
        options = {}
    if options:
        raise UsageError(
            f"{_describe(model)} takes no options; got {', '.join(options)}; a class takes those "
            "of its __init__, a function those that functools.partial gives it"
        )
    if not answers_requests(model) and not _is_function(model):
        raise UsageError(f"{_describe(model)} is not a model; expected {_ACCEPTED}")
    return model


def _wrap_code(value: Any, name: str | None, revision: str | None, capabilities: Capabilities | None) -> Model:
    """A model from a user's function or object, with an identity from its code."""
    declared = getattr(value, "identity", None)
    if isinstance(declared, Identity) and (name or revision):
        raise UsageError(
            f"{_describe(value)} has an Identity of its own ({declared.name}), which holds its "
            "name and revision; leave name and revision out"
        )
    own_name = name or (declared if isinstance(declared, str) else None) or _own_name(value)
    if isinstance(declared, Identity) or revision is not None:
        facts = {} if revision is None else {"revision": revision}
        model = user_model(value, own_name, facts, given_name=name)
    else:
        digest = digest_code(value)
        facts = {"revision": f"sha256:{digest.digest}"}
        model = user_model(value, own_name, facts, given_name=name)
        _remark_on(model, digest)
        if isinstance(model, UserModel | UserBatchModel):
            model.remake = partial(_wrap_code, value, name, revision, capabilities)
    if capabilities is not None and getattr(value, "capabilities", None) is None:
        model.capabilities = capabilities  # type: ignore[misc]
    return model


def _remark_on(model: Model, digest: CodeDigest) -> None:
    """Add a remark that replies are reused in this process only, if the identity holds an
    object."""
    if digest.opaque and isinstance(model, UserModel | UserBatchModel):
        names = ", ".join(digest.opaque[:3]) + (", ..." if len(digest.opaque) > 3 else "")
        model.notes = (
            f"{model.identity.name}: stored replies are reused in this Python process alone, since "
            f"the content of {names} is unknown; name it with revision=, or set `identity`",
        )


def _instantiate(model_class: type, options: Mapping[str, Any]) -> object:
    try:
        inspect.signature(model_class).bind(**options)
    except TypeError as error:
        raise UsageError(
            f"the class {model_class.__name__} cannot be made: {error}; make an object of it, or "
            f"give its arguments: snellen.wrap_model({model_class.__name__}, ...)"
        ) from None
    return model_class(**options)


def _is_function(value: object) -> bool:
    """Whether it can be called with a request alone."""
    if not callable(value) or inspect.isclass(value) or library_of(type(value)) in _LIBRARIES:
        return False
    try:
        inspect.signature(value).bind(None)
    except TypeError as error:
        raise UsageError(
            f"{_describe(value)} cannot be called with a request alone: {error}; expected a "
            "function of one argument, the request"
        ) from None
    except ValueError:  # no signature, as of some functions in C
        return False
    return True


def _own_name(value: Any) -> str:
    while isinstance(value, partial):
        value = value.func
    name = getattr(value, "__name__", None) or type(value).__name__
    return "lambda" if name == "<lambda>" else str(name)


def _describe(value: object) -> str:
    """What an error message calls an object."""
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    if inspect.isroutine(value) or isinstance(value, partial):
        return f"the function {_own_name(value)}"
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}."
    return f"an object of type {module}{kind.__qualname__}"


def _is_checkpoint(value: object) -> bool:
    """Whether it is a transformers model or pipeline, a model of peft, one in the wrapper of
    torch.compile or of a distributed run, or a tuple of a model and its processor."""
    if isinstance(value, tuple):
        return len(value) == 2 and _is_checkpoint(value[0]) and not _is_checkpoint(value[1])
    inner = unwrap_module(value)
    return inherits(inner, _TRANSFORMERS, "PreTrainedModel", "Pipeline") or inherits(inner, _PEFT, "PeftModel")


def _is_openai_client(value: object) -> bool:
    return inherits(value, _OPENAI, "OpenAI", "AsyncOpenAI")
