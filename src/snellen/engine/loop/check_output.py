"""Checks that a model's output answers the request it was made for."""

from __future__ import annotations

import math

import msgspec

from snellen.core.errors import ModelError
from snellen.core.output import Compared, Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Draw, Generate, Rank, Request

_OUTPUT_TYPES: dict[type, type] = {
    Generate: Generated,
    Rank: Ranked,
    Draw: Drawn,
    Compare: Compared,
}


def as_output(value: object) -> Output:
    """Convert a model's return value: plain text becomes `Generated`. Raises ModelError for
    anything that is neither text nor an Output."""
    if isinstance(value, str):
        return Generated(value)
    if isinstance(value, Generated | Ranked | Drawn | Compared | Failure):
        return value
    raise ModelError(
        f"the model returned {type(value).__name__}; expected text or an Output "
        "(Generated, Ranked, Drawn, Compared or Failure)"
    )


def check_output(request: Request, output: Output) -> Output:
    """Return the output if it answers that kind of request; else a Failure.

    A text refusal is a valid answer to an image request. Log-likelihoods and similarities that
    are not finite are a Failure of kind `nan`: candidates cannot be ranked by them, and JSON
    cannot store them.
    """
    if isinstance(request, Draw) and is_refusal(output):
        return output
    if not isinstance(output, (_OUTPUT_TYPES[type(request)], Failure)):
        got, kind = type(output).__name__, type(request).__name__
        return Failure("unsupported", f"the model answered {kind} with {got}")
    numbers: list[float] = []
    if isinstance(output, Generated):
        return _replace_surrogates(output)
    if isinstance(output, Ranked):
        numbers = [candidate.logprob for candidate in output.candidates]
    elif isinstance(output, Compared):
        numbers = list(output.similarities)
    elif isinstance(output, Drawn):
        images = {name: output.data.get(name) for name in output.images}
        if not images or any(data is None for data in images.values()):
            return Failure("request", "the model drew nothing, or named images it did not return")
    if isinstance(request, Rank | Compare) and not isinstance(output, Failure):
        expected = len(request.candidates)
        if len(numbers) != expected:
            return Failure("request", f"{len(numbers)} scores came back for {expected} candidates")
    if all(map(math.isfinite, numbers)):
        return output
    return Failure("nan", "the model's scores of the candidates are not all finite numbers")


def is_refusal(output: Output) -> bool:
    """Whether a content filter replied instead of the model."""
    return isinstance(output, Generated) and output.is_refusal


def _replace_surrogates(output: Generated) -> Output:
    """Replace unpaired surrogates (an emoji cut at the token limit) by U+FFFD: they cannot be
    encoded as UTF-8, so neither JSON nor the store can keep them."""
    if not isinstance(output.text, str):
        return Failure("request", f"the reply is {type(output.text).__name__}; expected text")
    try:
        output.text.encode()
    except UnicodeEncodeError:
        text = output.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return msgspec.structs.replace(output, text=text)
    return output
