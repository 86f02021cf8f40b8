"""Asking models in a step: any number of roles, with the engine, store and limits of a run.

A job is a generator that yields requests and returns a value, as a flow does. What the model says
is stored before the job sees it, so that a step that is started again asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Generic, NamedTuple, TypeVar
from uuid import uuid4

import msgspec

from snellen.api.budget import Prices, request_limits
from snellen.api.progress import ProgressChoice, open_progress
from snellen.api.resolve_models import resolve_served_model
from snellen.core.errors import SnellenError
from snellen.core.event_loop import run_coroutine
from snellen.core.media import Source
from snellen.core.model import AnyModel, Identity, Model, RemoteModel
from snellen.core.output import Drawn, Failure, Generated, Output, ParsedAnswer
from snellen.core.record import Steps
from snellen.core.request import GREEDY, Generate, Generation, Message, Ref, Request, Text, user
from snellen.core.run import RoleUsage
from snellen.data_sets.decisions import FAILED, Decision, Evidence
from snellen.engine.loop.concurrent_runs import ConcurrentRuns
from snellen.engine.loop.driving import StepsResult, advance, drive_each, start
from snellen.engine.loop.plan import check_fresh
from snellen.engine.loop.preflight import check_models
from snellen.engine.loop.progress import Progress
from snellen.engine.loop.request_broker import RequestBroker, RequestLimits, model_concurrency
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import Notify
from snellen.extract.json_reply import parse_json_reply as find_json_answer
from snellen.models.naming.custom import load_files
from snellen.store.responses import STORE_FILE, ResponseStore
from snellen_curate.spending import SpentLine, note_spending
from snellen_curate.step_options import StepOptions

T = TypeVar("T")

JSON_ATTEMPTS = 3
"""Times that a model is asked for JSON of the right form before the job gives up."""
_NOTE_EVERY = 2.0
"""Seconds between two notes of what was spent: a kill loses no more."""
_MAX_REPLY = 20_000
"""Characters of a reply that a decision records; the store has all of them."""


class AskFailed(SnellenError):
    """A model gave no reply to a request of a job. `Models.drive` turns it into a result."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class NotJson(AskFailed):
    """A model's replies were not JSON of the expected form, however often it was asked."""

    def __init__(self, sentence: str) -> None:
        super().__init__(Failure("request", sentence, sent=0))


class Job(NamedTuple, Generic[T]):
    """Something to ask about an item: a generator that yields requests and returns a T."""

    id: str
    steps: Steps[T]
    asked: list[Evidence] | None = None
    """Where the requests of the job with their replies are noted, if it looks at them itself."""


class Result(NamedTuple, Generic[T]):
    """How a job ended: with a value, or with the failure of a request."""

    id: str
    value: T | None
    asked: tuple[Evidence, ...]
    """Every request of the job with its reply, in order."""
    failure: Failure | None = None

    def failed_decision(self, step: str) -> Decision:
        """The decision about an item whose job failed: the next start asks again."""
        assert self.failure is not None
        reason = f"{self.failure.kind}: {self.failure.message}"
        return Decision(self.id, "flag", step, FAILED, reason, self.asked)


@dataclass
class Models:
    """The models of a step by role, open; made by `open_models`."""

    models: Mapping[str, Model]
    store: ResponseStore
    limits: RequestLimits
    prices: Prices
    progress: Progress
    fresh: str
    folder: Path
    """Where spending is noted."""
    abort_reason: str = ""
    """Why no more is asked (a spent budget, too many failures): a clause; empty if nothing stopped
    the step."""
    spent: dict[str, RoleUsage] = field(default_factory=dict)
    """What each role used in this start, by role."""
    start: str = field(default_factory=lambda: uuid4().hex)
    """The name of this start."""
    noted: float = 0.0
    """When spending was noted last."""

    def drive(
        self, jobs: Iterable[Job[T]], on_result: Callable[[Result[T]], None], title: str = "asking", total: int = 0
    ) -> None:
        """Drive jobs, many at once, and call `on_result` with each result in the order they end.

        Jobs are taken from the iterable as models become free. A job that the budget or too many
        failures cut off has no result: see `abort_reason`. `title` and `total` are for the display.
        Raises whatever a job raises but AskFailed, and KeyboardInterrupt on Ctrl-C.
        """
        if not self.abort_reason:
            run_coroutine(self._drive(iter(jobs), on_result, title, total))

    async def _drive(
        self, jobs: Iterator[Job[T]], on_result: Callable[[Result[T]], None], title: str, total: int
    ) -> None:
        """Drive jobs in the event loop: report progress with each result, and note spending every
        few seconds and at the end."""
        prices = {role: self.prices.price(model) for role, model in self.models.items()}
        known = {role: price for role, price in prices.items() if price is not None}
        broker = RequestBroker(self.models, self.store, self.limits, known, self.fresh)
        concurrent_runs = broker.concurrent_runs = ConcurrentRuns(self.store)
        done = failed = 0
        self.progress.on_start(title, total, 0)

        def add_result(result: Result[T]) -> None:
            nonlocal done, failed
            failed += result.failure is not None
            done += result.failure is None
            on_result(result)
            usages = [client.usage for client in broker.clients.values()]
            sent, reused = sum(usage.sent for usage in usages), sum(usage.reused for usage in usages)
            self.progress.on_advance(done, failed, sent, reused, 0, None)
            if monotonic() - self.noted > _NOTE_EVERY:
                self._note_spending(broker)

        try:
            await concurrent_runs.start(broker.in_flight)
            await drive_each(
                jobs, partial(_drive_job, broker, self.models), broker, add_result, _concurrency(self.models.values())
            )
        finally:
            self.abort_reason = broker.abort_signal.reason
            self.spent = self._note_spending(broker)
            await broker.stop()
            await concurrent_runs.stop()
            self.progress.on_finish("interrupted" if self.abort_reason else "complete")

    def _note_spending(self, broker: RequestBroker) -> dict[str, RoleUsage]:
        """What was spent in this start so far, also written into the step's folder."""
        spent = dict(self.spent)
        for role, client in broker.clients.items():
            spent[role] = client.usage.add_to(self.spent.get(role), client.price)
        free = tuple(role for role in spent if not isinstance(self.models.get(role), RemoteModel))
        note_spending(self.folder, SpentLine(self.start, spent, free))
        self.noted = monotonic()
        return spent


@contextmanager
def open_models(
    models: Mapping[str, AnyModel],
    options: StepOptions,
    out: Path | str,
    *,
    progress: ProgressChoice = None,
    notify: Notify | None = None,
) -> Iterator[Models]:
    """Open models by role, and the response store; servers that Snellen starts end with the block.

    `out` is the step's folder. Raises a UsageError subclass if a name cannot be resolved, a server
    does not answer (unless the store has replies of its model), or an option cannot be used.
    """
    limits = request_limits(options.retries, options.max_failures, options.budget)
    prices = Prices(options.prices)
    check_fresh(options.fresh)
    folder = Path(out).expanduser()
    custom = load_files(options.load)
    store = Path(options.store) if options.store else folder / STORE_FILE
    with Servers(folder, None, options.serve_timeout, notify) as servers, open_progress(progress) as followed:
        opened = {role: resolve_served_model(model, custom.models, servers)[1] for role, model in models.items()}
        prices.check([("", model) for model in opened.values()], limits.budget)
        folder.mkdir(parents=True, exist_ok=True)
        with ResponseStore(store) as responses:
            check_models(opened.values(), responses, fresh=options.fresh is not None)
            responses.set_run_folder(folder)
            yield Models(opened, responses, limits, prices, followed, options.fresh or "", folder)


def model_setting(model: AnyModel | None) -> str:
    """A model as a step's settings hold it: its name, or who an object says it is."""
    if model is None or isinstance(model, str):
        return model or ""
    identity = getattr(model, "identity", None)
    if isinstance(identity, Identity):
        return f"{identity.provider}/{identity.name} {identity.digest()[:12]}"
    return str(getattr(model, "__name__", type(model).__name__))


def ask(request: Request) -> Steps[Output]:
    """A request's output. Raises AskFailed if there is none."""
    output = yield request
    if isinstance(output, Failure):
        raise AskFailed(output)
    return output


def ask_text(
    role: str,
    messages: Sequence[Message],
    item: str,
    *,
    media: Mapping[str, Source] | None = None,
    settings: Generation = GREEDY,
    attempt: int = 0,
) -> Steps[str]:
    """The text that a role's model replies. Raises AskFailed; a refusal is a failure too."""
    request = Generate(
        messages=tuple(messages), ref=Ref(item), settings=settings, media=media or {}, to=role, attempt=attempt
    )
    output = yield from ask(request)
    assert isinstance(output, Generated)
    if output.is_refusal:
        raise AskFailed(Failure("unsupported", "the model's provider refused the request", sent=0))
    if output.stop_reason == "length":
        raise AskFailed(Failure("too_long", f"the reply was cut at {settings.max_new_tokens} tokens", sent=0))
    return output.text


def ask_json(
    role: str,
    messages: Sequence[Message],
    form: type[T],
    item: str,
    *,
    media: Mapping[str, Source] | None = None,
    settings: Generation = GREEDY,
    attempts: int = JSON_ATTEMPTS,
    check: Callable[[T], str] | None = None,
) -> Steps[T]:
    """A reply as a value of a msgspec type.

    A reply that is not JSON of this form, or of which `check` returns what is wrong with it, is
    sent back with that sentence, up to `attempts` times in all. Raises NotJson after the last, and
    AskFailed.
    """
    conversation = list(messages)
    problem = ""
    for attempt in range(attempts):
        reply = yield from ask_text(role, conversation, item, media=media, settings=settings, attempt=attempt)
        try:
            value = parse_json_reply(reply, form)
            problem = check(value) if check is not None else ""
            if not problem:
                return value
        except ValueError as error:
            problem = str(error)
        conversation += [
            Message("assistant", (Text(reply),)),
            user(Text(f"This cannot be used: {problem}. Reply with the corrected JSON alone.")),
        ]
    raise NotJson(f"no usable JSON in {attempts} replies: {problem}")


def parse_json_reply(reply: str, form: type[T]) -> T:
    """The JSON value in a reply, which may stand in a code block or between sentences.

    Raises ValueError with a clause that says what is wrong, for the model to read.
    """
    found = find_json_answer(reply)
    if not isinstance(found, ParsedAnswer):
        raise ValueError("it holds no JSON object or list that is whole")
    try:
        return msgspec.json.decode(found.value, type=form)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


async def _drive_job(broker: RequestBroker, models: Mapping[str, Model], job: Job[T]) -> Result[T]:
    asked: list[Evidence] = [] if job.asked is None else job.asked
    try:
        step = start(job.steps)
        while not isinstance(step, StepsResult):
            keyed = await broker.ask(step)
            asked.append(_evidence(models[step.to].identity.name, keyed.digest, keyed.output))
            step = advance(partial(job.steps.send, keyed.output))
    except AskFailed as error:
        return Result(job.id, None, tuple(asked), error.failure)
    return Result(job.id, step.value, tuple(asked))


def _evidence(name: str, digest: bytes, output: Output) -> Evidence:
    if isinstance(output, Failure):
        return Evidence(name, digest.hex(), verdict=f"failed: {output.kind}")
    reply = output.text if isinstance(output, Generated) else ""
    if isinstance(output, Drawn):
        reply = " ".join(output.images)
    return Evidence(name, digest.hex(), reply[:_MAX_REPLY])


def _concurrency(models: Iterable[Model]) -> int:
    """Jobs to drive at once: enough to keep every model busy."""
    accounts: dict[str, int] = {}
    local = 0
    for model in models:
        if isinstance(model, RemoteModel):
            accounts[model.account] = model.concurrency
        else:
            local = max(local, model_concurrency(model))
    return max(1, sum(accounts.values()) + local)
