"""The page to submit predictions to a benchmark."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, File, HTTPException, Query, Request, Response, UploadFile
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen.data.detect import TABLES
from snellen_hub.accounts.access import one_line
from snellen_hub.boards.layouts import has_levels
from snellen_hub.database.tables import HostedBenchmark, Submission
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hub import Hub
from snellen_hub.intake import ModelFacts, NewSubmission, TooManySubmissions
from snellen_hub.teams import team_of
from snellen_hub.web.browser import Browser
from snellen_hub.web.own_submissions import find_replaced, submit_replies
from snellen_hub.web.pages.forms import FormState, PostedForm, Sentence, render_form, sentence
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import BoardName, HubOf, SubmitterBrowser, SubmitterForm

router = APIRouter(include_in_schema=False)

_ID = r"^([0-9a-f]{16})?$"
_MISTAKES: dict[str, Sentence] = {
    "parameters": sentence("the size is a number of billions, such as 7 or 0.5"),
    "weights": sentence("the weights are open or closed"),
    "released": sentence("the date is a year, month or day: 2024, 2024-05 or 2024-05-13"),
    "organisation": sentence("at most 200 characters"),
    "link": sentence("the link starts with https:// or http:// and holds no blanks"),
    "route": sentence("at most 200 characters"),
    "capability": sentence("the level is one of L1 to L4, or none"),
    "notes": sentence("at most 2,000 characters"),
}


@router.get("/benchmarks/{name}/submit")
def submit_page(
    request: Request,
    hub: HubOf,
    browser: SubmitterBrowser,
    name: BoardName,
    replaces: Annotated[str, Query(pattern=_ID)] = "",
) -> Response:
    """The form to submit predictions, or to replace a submission."""
    with hub.database.reading() as session:
        benchmark = _open_benchmark(session, name)
        earlier = find_replaced(session, benchmark, browser.caller, replaces)
    form = FormState() if earlier is None else _describe_earlier(earlier)
    return _page(request, hub, browser, form, benchmark, earlier)


@router.post("/benchmarks/{name}/submit")
def send_submission(
    request: Request,
    hub: HubOf,
    browser: SubmitterForm,
    name: BoardName,
    form: PostedForm,
    predictions: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Take a submission. What is wrong with it stands beside the field, and nothing typed is
    lost."""
    with hub.database.reading() as session:
        benchmark = _open_benchmark(session, name)
        earlier = find_replaced(session, benchmark, browser.caller, form.value("replaces"))
    model, facts = _read_model_name(form), _read_facts(form)
    content, file_name = b"", ""
    if predictions is None or not predictions.filename:
        form.refuse("predictions", sentence("choose a file of predictions"))
    else:
        file_name = one_line(predictions.filename, 200)
        content = predictions.file.read(hub.config.submissions.megabytes * 1_000_000 + 1)
        if not content:
            form.refuse("predictions", sentence("the file is empty"))
        elif form.problems:
            form.refuse("predictions", sentence("choose the file again: browsers do not keep it"))
    if form.problems:
        return _page(request, hub, browser, form, benchmark, earlier)
    may_miss = form.value("allow_missing") == "yes"
    new = NewSubmission(model=model, file_name=file_name, content=content, facts=facts, allow_missing=may_miss)
    try:
        row = submit_replies(request, hub, browser.caller, name, new, form.value("replaces"))
    except UsageError as error:
        is_limit = isinstance(error, TooManySubmissions)
        form.refuse("" if is_limit else "predictions", error)
        return _page(request, hub, browser, form, benchmark, earlier, 429 if is_limit else 200)
    return redirect(f"/account/submissions/{row.public_id}?done=submitted")


def _open_benchmark(session: Session, name: str) -> HostedBenchmark:
    """A benchmark that takes submissions. Raises 404."""
    row = find_hosted_benchmark(session, name)
    if not row.has_data:
        raise HTTPException(404, f"{name} has no data here, and takes no submissions")
    return row


def _page(
    request: Request,
    hub: Hub,
    browser: Browser,
    form: FormState,
    benchmark: HostedBenchmark,
    earlier: Submission | None,
    status: int = 200,
) -> Response:
    accept = ",".join([*TABLES, ".gz"])
    with hub.database.reading() as session:
        team = team_of(session, benchmark.id, browser.account_id)
    return render_form(
        request,
        "submit.html",
        form,
        status,
        title="Submit predictions",
        benchmark=benchmark,
        earlier=earlier,
        accept=accept,
        team=team,
        has_levels=has_levels(benchmark.layout, benchmark.spec),
        limits=hub.config.submissions,
    )


def _read_model_name(form: FormState) -> str:
    """The name of the model; notes on the form what is wrong with it."""
    text = form.value("model")
    name = one_line(text, 200)
    if not name:
        form.refuse("model", sentence("type the name of the model"))
    elif name != " ".join(text.split()):
        form.refuse("model", sentence("at most 200 printable characters"))
    return name


def _read_facts(form: FormState) -> ModelFacts:
    """What the form says about the model; notes on the form what is wrong with each field."""
    facts: dict[str, object] = {}
    for field, mistake in _MISTAKES.items():
        text = form.value(field)
        if not text:
            continue
        value: object = text
        try:
            if field == "parameters":
                value = float(text.replace(",", "."))
            msgspec.convert({field: value}, ModelFacts)
        except ValueError:
            form.refuse(field, mistake)
        else:
            facts[field] = value
    return msgspec.convert(facts, ModelFacts)


def _describe_earlier(row: Submission) -> FormState:
    """A form that holds what was said of the model of an earlier submission."""
    texts = {name: str(value) for name, value in row.facts.items()}
    parameters = row.facts.get("parameters")
    if isinstance(parameters, (int, float)):
        texts["parameters"] = f"{parameters:g}"
    return FormState(texts | {"model": row.model})
