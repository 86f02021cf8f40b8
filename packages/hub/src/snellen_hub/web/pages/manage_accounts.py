"""Owner pages for accounts and invitations."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import invite
from snellen_hub.accounts.changes import CHANGES, create_reset, delete_account, set_role
from snellen_hub.accounts.roles import ROLES
from snellen_hub.database.tables import Account, Invitation, Submission
from snellen_hub.hub import Hub
from snellen_hub.moment_text import now
from snellen_hub.web.access import note_request
from snellen_hub.web.pages.forms import FormState, PostedForm, render_form, sentence
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import Done, HubOf, OwnerBrowser, OwnerForm

router = APIRouter(include_in_schema=False)

_PER_PAGE = 100
_DONE = {
    "role": "The role is changed; the account signs in again.",
    "disabled": "The account is disabled: its sign-ins and tokens have ended.",
    "enabled": "The account is enabled; it needs new tokens.",
    "confirmed": "The account is confirmed: it may submit where answers are hidden.",
    "deleted": "The account is deleted.",
    "withdrawn": "The invitation is withdrawn.",
}


@router.get("/manage/accounts")
def accounts_page(
    request: Request,
    hub: HubOf,
    browser: OwnerBrowser,
    name: Annotated[str, Query(max_length=64)] = "",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
    done: Done = "",
) -> Response:
    """Every account that was not deleted, by name."""
    wanted: ColumnElement[bool] = Account.deleted.is_(None)
    if name.strip("\0"):
        wanted &= func.lower(Account.name).contains(name.replace("\0", "").lower(), autoescape=True)
    with hub.database.reading() as session:
        count = session.scalar(select(func.count(Account.id)).where(wanted)) or 0
        query = select(Account).where(wanted).order_by(func.lower(Account.name))
        accounts = session.scalars(query.offset((page - 1) * _PER_PAGE).limit(_PER_PAGE)).all()
    return render_form(
        request,
        "manage_accounts.html",
        FormState({"name": name}),
        title="Accounts",
        accounts=accounts,
        page=page,
        pages=-(-count // _PER_PAGE),
        done=_DONE.get(done),
    )


@router.get("/manage/accounts/{number}")
def manage_account_page(request: Request, hub: HubOf, browser: OwnerBrowser, number: int, done: Done = "") -> Response:
    """One account, and what an owner may do with it."""
    with hub.database.reading() as session:
        account = _account(session, number)
    return _account_page(request, hub, account, FormState(), done=_DONE.get(done))


@router.post("/manage/accounts/{number}")
def change_account(request: Request, hub: HubOf, browser: OwnerForm, number: int, form: PostedForm) -> Response:
    """Change the role of an account, disable, enable or delete it, or make a link for a new
    password."""
    action = form.value("action")
    link, keys = "", list[str]()
    try:
        with hub.database.writing() as session:
            account = _account(session, number)
            name = account.name
            if action == "role":
                set_role(session, account, form.value("role"))
            elif action in CHANGES:
                CHANGES[action](session, account)
            elif action == "reset":
                secret = create_reset(session, account, browser.account_id)
                link = f"{hub.config.url}/password-resets/{secret}"
            elif action == "deleted" and form.value("name") == name:
                keys = delete_account(session, account)
            elif action == "deleted":
                form.refuse("name", sentence("type the name of the account, {name}", name=name))
            else:
                raise HTTPException(422, "this form asks for nothing that is known")
            if not form.problems:
                detail = {"role": account.role} if action == "role" else {}
                note_request(session, request, f"account {action}", browser.account_id, name, **detail)
    except UsageError as error:
        form.refuse("role" if action == "role" else "", error)
    if form.problems or link:
        with hub.database.reading() as session:
            account = _account(session, number)
        return _account_page(request, hub, account, form, link=link)
    hub.storage.delete(*keys)
    if action == "deleted":
        return redirect("/manage/accounts?done=deleted")
    return redirect(f"/manage/accounts/{number}?done={action}")


@router.get("/manage/invitations")
def invitations_page(request: Request, hub: HubOf, browser: OwnerBrowser, done: Done = "") -> Response:
    """The invitations that nobody has used, and the form for a new one."""
    return _invitations(request, hub, FormState({"role": "submitter"}), done=_DONE.get(done))


@router.post("/manage/invitations")
def make_invitation(request: Request, hub: HubOf, browser: OwnerForm, form: PostedForm) -> Response:
    """Make an invitation and show its link, this once."""
    role = form.value("role")
    if role not in ROLES:
        form.refuse("role", sentence("choose a role"))
        return _invitations(request, hub, form)
    with hub.database.writing() as session:
        secret = invite(session, role, browser.account_id, hub.config.sessions, form.value("note"))
        note_request(session, request, "invitation", browser.account_id, role=role)
    return _invitations(request, hub, FormState({"role": role}), link=f"{hub.config.url}/invitations/{secret}")


@router.post("/manage/invitations/{handle}/withdraw")
def withdraw_invitation(request: Request, hub: HubOf, browser: OwnerForm, handle: str) -> Response:
    """End an invitation that nobody has used."""
    with hub.database.writing() as session:
        row = next((row for row in _open_invitations(session) if row.digest.hex()[:16] == handle), None)
        if row is None:
            raise HTTPException(404, "there is no such invitation, or it was used")
        note_request(session, request, "invitation withdrawn", browser.account_id, role=row.role)
        session.delete(row)
    return redirect("/manage/invitations?done=withdrawn")


def _account(session: Session, number: int) -> Account:
    """Raises 404 for an account that does not exist or was deleted."""
    account = session.get(Account, number) if 0 < number < 2**31 else None
    if account is None or account.deleted is not None:
        raise HTTPException(404, "there is no such account")
    return account


def _account_page(request: Request, hub: Hub, account: Account, form: FormState, **context: Any) -> Response:
    with hub.database.reading() as session:
        query = (
            select(Submission.visibility, func.count(Submission.id))
            .where(Submission.account_id == account.id)
            .group_by(Submission.visibility)
        )
        counts = {row[0]: row[1] for row in session.execute(query)}
    form.values.setdefault("role", account.role)
    if "name" not in form.problems:
        form.values.pop("name", None)
    return render_form(
        request, "manage_account.html", form, title=account.name, account=account, counts=counts, roles=ROLES, **context
    )


def _open_invitations(session: Session) -> list[Invitation]:
    query = (
        select(Invitation)
        .where(Invitation.used_by.is_(None), Invitation.expires > now())
        .order_by(Invitation.created.desc())
    )
    return list(session.scalars(query))


def _invitations(request: Request, hub: Hub, form: FormState, **context: Any) -> Response:
    with hub.database.reading() as session:
        rows = _open_invitations(session)
    return render_form(request, "manage_invitations.html", form, title="Invitations", rows=rows, roles=ROLES, **context)
