"""The tools of `snellen mcp`, over the package `mcp`."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ImageContent, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from snellen import __version__
from snellen.core.errors import SnellenError
from snellen.mcp_server.run_starter import RunStarter, plan_json
from snellen.mcp_server.served_runs import MAX_IMAGES, MAX_RUNS, MAX_SAMPLES, SampleFilter, ServedRuns

P = ParamSpec("P")
T = TypeVar("T")

INSTRUCTIONS = (
    "Results of evaluations of multimodal models. `runs` lists them; every other tool takes the "
    "names it gives. Every number has n and a confidence interval: two scores differ only if "
    "`compare` says so. `why` splits a difference by its causes. Tools read and change nothing, "
    "except `start_run`, where it is offered."
)
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_STARTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)

RunName = Annotated[str, Field(description="name of a run, as `runs` lists it")]
Offset = Annotated[int, Field(ge=0, description="number of items to skip")]


class _Server(MCPServer[Any]):
    """A server whose errors about the arguments of a tool are one sentence, as its other errors are."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Raises ToolError."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            raise ToolError(f"{name}: {_wrong_arguments(error.__cause__)}") from error


def _wrong_arguments(error: ValidationError) -> str:
    """What is wrong with the arguments: the names, the rules, and what was given."""
    parts = []
    for one in error.errors(include_url=False):
        where = ".".join(map(str, one["loc"])) or "arguments"
        given = "" if one["type"] == "missing" else f" (got {str(one['input'])[:80]!r})"
        parts.append(f"{where}: {one['msg'][:1].lower()}{one['msg'][1:]}{given}")
    return "; ".join(parts)


def build_server(served: ServedRuns, starter: RunStarter | None = None) -> MCPServer[Any]:
    """The server; without a `starter` it offers no tool that starts a run."""
    server = _Server("snellen", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    _add_reading_tools(server, served)
    if starter is not None:
        _add_queue_tools(server, starter)
    return server


def _add_reading_tools(server: MCPServer[Any], served: ServedRuns) -> None:
    """Add the tools that only read: they return JSON text, `samples` also images."""

    @_tool(server)
    def runs(
        model: Annotated[str, Field(description="part of the model's name")] = "",
        benchmark: Annotated[str, Field(description="part of the benchmark's name")] = "",
        offset: Offset = 0,
        limit: Annotated[int, Field(ge=1, le=MAX_RUNS)] = 50,
    ) -> str:
        """List runs, the newest first: model, benchmark, status, score, interval, n, settings."""
        return served.listing(model, benchmark, offset, limit)

    @_tool(server)
    def status(run: RunName) -> str:
        """Progress of a run, what it has spent (requests, tokens, money), and what failed."""
        return served.status(run)

    @_tool(server)
    def report(run: RunName) -> str:
        """All numbers of a run: metrics with intervals, groups, outcomes, bounds, notices."""
        return served.report(run)

    @_tool(server)
    def compare(
        runs: Annotated[list[str], Field(min_length=2, description="names of runs")],
        common: Annotated[bool, Field(description="only samples that all runs share")] = False,
        baseline: Annotated[bool, Field(description="compare only with the first run")] = False,
    ) -> str:
        """Compare runs on the same samples: paired differences, intervals, tests, ranks."""
        return served.compare(runs, common, baseline)

    @_tool(server)
    def why(first: RunName, second: RunName, examples: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] = 2) -> str:
        """Split the difference of two runs by what caused it: prompt, parsing, images, model."""
        return served.why(first, second, examples)

    @_tool(server)
    def samples(
        run: RunName,
        result: Literal["right", "partly", "wrong", "unscored"] | None = None,
        outcome: Annotated[str, Field(description="e.g. refused, unparsed, failed")] = "",
        text: Annotated[str, Field(description="in the id, the question or the reply")] = "",
        group: Annotated[str, Field(description="COLUMN=LABEL, e.g. category=colour")] = "",
        ids: Annotated[list[str] | None, Field(description="ids of samples")] = None,
        offset: Offset = 0,
        limit: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] = 5,
        pictures: Annotated[bool, Field(description=f"with up to {MAX_IMAGES} pictures, as thumbnails")] = False,
    ) -> list[TextContent | ImageContent]:
        """Samples of a run: question, options, gold answer, replies, what was read, score."""
        wanted = SampleFilter(result, outcome, text, group, tuple(ids or ()))
        page = served.samples(run, wanted, offset, limit, pictures)
        content: list[TextContent | ImageContent] = [TextContent(type="text", text=page.text)]
        for _, _, data in page.images:
            encoded = base64.b64encode(data).decode()
            content.append(ImageContent(type="image", data=encoded, mime_type="image/jpeg"))
        return content

    @_tool(server)
    def plan(
        models: Annotated[list[str], Field(min_length=1, description="e.g. openai/gpt-4o")],
        benchmarks: Annotated[list[str], Field(min_length=1, description="e.g. mmbench")],
        limit: Annotated[int | None, Field(ge=1, description="questions of each")] = None,
    ) -> str:
        """What a run would ask, take and cost, and what is missing. Sends nothing."""
        return plan_json(models, benchmarks, served.folders, limit=limit)


def _add_queue_tools(server: MCPServer[Any], starter: RunStarter) -> None:
    @_tool(server, _STARTS, f"Models that may be asked: {', '.join(starter.models)}.")
    def start_run(
        model: Annotated[str, Field(description="one that may be asked")],
        benchmark: Annotated[str, Field(description="e.g. eyechart:split=test")],
        limit: Annotated[int | None, Field(ge=1, description="size of a random sample")] = None,
        wait_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0,
    ) -> str:
        """Ask a model about a benchmark, which may cost money, within the server's budget. One run
        goes on at a time, others wait in a queue that outlives this server. Returns when the run
        has ended, or after `wait_seconds`: see `queue` and `status`. The same call follows the
        same run, and continues one that was stopped."""
        return starter.start(model, benchmark, wait_seconds, limit)

    @_tool(server)
    def queue(limit: Annotated[int, Field(ge=1, le=100)] = 20) -> str:
        """The newest runs that were asked for here, by number: waiting, running, ended, stopped or
        failed, and why."""
        return starter.listing(limit)

    @_tool(server, _STARTS)
    def stop_run(job: Annotated[int, Field(description="its number in `queue`")]) -> str:
        """Stop a run that waits or goes on. Replies are kept: `start_run` continues it."""
        return starter.stop(job)


def _tool(
    server: MCPServer[Any], annotations: ToolAnnotations = _READ_ONLY, more: str = ""
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Offer a function as a tool, described by its docstring and `more`. Errors that Snellen
    raises on purpose become errors of the tool, in one sentence."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            try:
                return function(*args, **keywords)
            except SnellenError as error:
                raise ToolError(str(error)) from error
            except OSError as error:
                where = error.filename or "a file"
                raise ToolError(f"{where}: {error.strerror or error}") from error

        about = " ".join(f"{function.__doc__} {more}".split())
        server.add_tool(call, description=about, annotations=annotations, structured_output=False)
        return call

    return decorate
