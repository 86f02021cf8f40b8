"""`measure_space`: in which coordinate space a model writes places."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from snellen.api.options import DEFAULT_OUT
from snellen.api.resolve_models import resolve_served_model
from snellen.core.errors import UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import AnyModel, Model, abilities
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import MAIN, Generation
from snellen.engine.loop.preflight import check_models
from snellen.engine.loop.request_broker import ask_all
from snellen.engine.offline.space_fit import (
    MarkedPlace,
    PlaceReply,
    SpaceMeasurement,
    draw_questions,
    fit_spaces,
    judge,
)
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Notify
from snellen.extract.places.read import read_numbers
from snellen.models.naming.custom import load_files
from snellen.models.naming.registry import declared_space
from snellen.store.responses import STORE_FILE, ResponseStore

_MAX_NEW_TOKENS = 256
_SHOWN_FITS = 3


def measure_space(
    model: AnyModel,
    *,
    limit: int = 64,
    seed: int = 0,
    out: Path | str = DEFAULT_OUT,
    store: Path | str | None = None,
    max_new_tokens: int | None = None,
    load: Sequence[Path | str] = (),
    serve_timeout: float | None = None,
    serving: Notify | None = None,
) -> SpaceMeasurement:
    """Ask a model for the place of a red square in drawn pictures of several sizes, and find the
    coordinate space that explains its numbers.

    At most `limit` questions are asked, of 64; replies are stored and reused. Raises a UsageError
    subclass if a name, option or file cannot be used, or the model takes no pictures.
    """
    if limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 question")
    out = Path(out)
    custom = load_files(load)
    with ExitStack() as stack:
        servers = stack.enter_context(Servers(out, timeout=serve_timeout, notify=serving))
        name, opened = resolve_served_model(model, custom.models, servers)
        if not {"image"} <= opened.capabilities.inputs or "text" not in opened.capabilities.outputs:
            raise UsageError(f"{name} takes no pictures or gives no text, so that it cannot be asked for places in one")
        length = max_new_tokens or abilities(opened).max_new_tokens or _MAX_NEW_TOKENS
        questions = draw_questions(limit, seed, Generation(max_new_tokens=length), MAIN)
        responses = stack.enter_context(ResponseStore(Path(store) if store else out / STORE_FILE))
        check_models((opened,), responses)
        outputs = run_coroutine(_ask(opened, questions, responses))
    shown = model if isinstance(model, str) else name
    return measure(shown, questions, outputs, _declared_text(name, opened))


def measure(
    name: str, questions: Sequence[MarkedPlace], outputs: Sequence[Output], declared: str = ""
) -> SpaceMeasurement:
    """The space that explains the replies to questions about marked places."""
    replies = [
        reply
        for question, output in zip(questions, outputs, strict=True)
        if isinstance(output, Generated) and (reply := _read(question, output)).numbers
    ]
    failures = [output for output in outputs if isinstance(output, Failure)]
    fits = fit_spaces(replies)
    verdict, resized = judge(replies, fits)
    return SpaceMeasurement(
        model=name,
        verdict=verdict,
        questions=len(questions),
        failed=len(failures),
        with_numbers=len(replies),
        fits=fits[:_SHOWN_FITS],
        resized=resized,
        declared=declared,
        failure=failures[0].message if failures else "",
    )


def _read(question: MarkedPlace, output: Generated) -> PlaceReply:
    numbers = read_numbers(output.text, question.asked)
    sent = output.image_sizes[0] if output.image_sizes else ()
    return PlaceReply(question, numbers, sent)


def _declared_text(name: str, model: Model) -> str:
    space = declared_space(name, model)
    return f"{space.name} ({space.origin})" if space else ""


async def _ask(model: Model, questions: Sequence[MarkedPlace], store: ResponseStore) -> list[Output]:
    async with ask_all(model, MAIN, [question.request for question in questions], store) as outputs:
        return outputs
