"""The pages of teams: making one, inviting to it, joining and leaving it."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response

from snellen.core.errors import UsageError
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hub import Hub
from snellen_hub.teams import create_team, invite_member, join_team, leave_team, open_team, team_of
from snellen_hub.web.access import note_request
from snellen_hub.web.browser import Browser
from snellen_hub.web.pages.forms import FormState, PostedForm, render_form
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import BoardName, HubOf, SubmitterBrowser, SubmitterForm

router = APIRouter(include_in_schema=False)


@router.get("/benchmarks/{name}/team")
def team_page(request: Request, hub: HubOf, browser: SubmitterBrowser, name: BoardName) -> Response:
    """The account's team at a benchmark, or the form to make one."""
    return _page(request, hub, browser, name, FormState())


@router.post("/benchmarks/{name}/team")
def change_team(request: Request, hub: HubOf, browser: SubmitterForm, name: BoardName, form: PostedForm) -> Response:
    """Make a team, make a link that invites to it, or leave it."""
    action, link, account = form.value("action"), "", browser.account_id
    try:
        with hub.database.writing() as session:
            benchmark = find_hosted_benchmark(session, name)
            team = team_of(session, benchmark.id, account)
            if action == "create":
                team = create_team(session, benchmark, account, form.value("team"))
            elif team is None:
                raise HTTPException(409, f"you are in no team of {name}")
            elif action == "invite" and team.founder_id == account:
                link = f"{hub.config.url}/teams/{invite_member(team, hub.config.sessions)}"
            elif action == "leave":
                leave_team(session, team, account)
            else:
                raise HTTPException(422, "this form asks for nothing that is known")
            note_request(session, request, f"team {action}", account, name, team=team.name)
    except UsageError as error:
        form.refuse("team" if action == "create" else "", error)
    if form.problems or link:
        return _page(request, hub, browser, name, form, link=link)
    return redirect(f"/benchmarks/{name}/team")


@router.get("/teams/{secret}")
def invitation_page(request: Request, hub: HubOf, browser: SubmitterBrowser, secret: str) -> Response:
    """What a link invites to."""
    return _invitation(request, hub, FormState(), secret)


@router.post("/teams/{secret}")
def accept_invitation(request: Request, hub: HubOf, browser: SubmitterForm, secret: str, form: PostedForm) -> Response:
    """Join the team of a link."""
    try:
        with hub.database.writing() as session:
            team = join_team(session, secret, browser.account_id)
            name = team.benchmark.name
            note_request(session, request, "team join", browser.account_id, name, team=team.name)
    except UsageError as error:
        form.refuse("", error)
        return _invitation(request, hub, form, secret)
    return redirect(f"/benchmarks/{name}/team")


def _page(request: Request, hub: Hub, browser: Browser, name: str, form: FormState, link: str = "") -> Response:
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        team = team_of(session, benchmark.id, browser.account_id)
        is_founder = team is not None and team.founder_id == browser.account_id
        return render_form(
            request, "team.html", form, title="Team", benchmark=benchmark, team=team, link=link, is_founder=is_founder
        )


def _invitation(request: Request, hub: Hub, form: FormState, secret: str) -> Response:
    with hub.database.reading() as session:
        team = open_team(session, secret)
        return render_form(
            request,
            "team_invitation.html",
            form,
            title="Join a team",
            team=team,
            benchmark=team.benchmark,
            secret=secret,
        )
