"""Phases, teams, hosts and verified addresses of a competition, on both databases."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hub_browsers import PASSWORD, HubBrowser, add_accounts
from msgspec.structs import replace
from smtp_server import MailBox, serve_mail
from sqlalchemy import func, select
from test_api import command
from test_scoring import predictions, write_data

from snellen.core.errors import UsageError
from snellen.core.secret import Secret
from snellen_hub import phases as phases_module
from snellen_hub.accounts.access import AccessDenied, account_called, create_account, create_token
from snellen_hub.accounts.changes import delete_account
from snellen_hub.accounts.email_links import create_email_link, verify_email
from snellen_hub.config import SMTP_VARIABLE, HubConfig, MailServer, SubmissionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, FinalScore, Submission, TeamMember
from snellen_hub.entries import read_entries
from snellen_hub.hosting import NewBenchmark, add_benchmark, find_hosted_benchmark
from snellen_hub.hosts import set_host
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, TooManySubmissions, take_submission
from snellen_hub.jobs.worker import Worker
from snellen_hub.phase_text import Phase, parse_phase
from snellen_hub.phases import NoOpenPhase, set_phases
from snellen_hub.publishing import publish_submission
from snellen_hub.reveals import choose_final, reveal_part
from snellen_hub.storage import Storage
from snellen_hub.teams import create_team, invite_member, join_team, leave_team
from snellen_hub.web.app import create_app

PEOPLE = ("ann", "ben", "cat", "dan")
LIMITS = SubmissionLimits(per_day=3)
TRIES = 8


@pytest.fixture
def hub(database: Database, tmp_path: Path) -> Hub:
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    hub = Hub(tmp_path, HubConfig(submissions=LIMITS, sign_up=True), database, storage)
    add_accounts(hub, **dict.fromkeys(PEOPLE, "submitter"), olga="owner", vera="viewer")
    data = write_data(tmp_path / "signs.tsv")
    with database.writing() as session:
        for name in ("hidden", "open"):
            new = NewBenchmark(name=name, title=name, data=data, is_hidden=name == "hidden")
            add_benchmark(session, storage, new)
    return hub


def ids(hub: Hub) -> dict[str, int]:
    with hub.database.reading() as session:
        return {row.name: row.id for row in session.scalars(select(Account))}


def send(hub: Hub, name: str, model: str = "m", right: int = 30) -> str:
    new = NewSubmission(model=model, file_name="p.jsonl", content=predictions(right))
    with hub.database.writing() as session:
        board = find_hosted_benchmark(session, "hidden")
        row = take_submission(session, hub.storage, board, ids(hub)[name], new, LIMITS)
        return row.public_id


def make_team(hub: Hub, *names: str) -> None:
    accounts = ids(hub)
    for founder, name in ((names[0], each) for each in names):
        with hub.database.writing() as session:
            board = find_hosted_benchmark(session, "hidden")
            if name == founder:
                team = create_team(session, board, accounts[name], f"Team {name}")
                secret = invite_member(team, hub.config.sessions)
            else:
                team = join_team(session, secret, accounts[name])
                secret = invite_member(team, hub.config.sessions)


def at_once(ask: Callable[[int], object]) -> Counter[object]:
    begin = threading.Barrier(TRIES)

    def start(number: int) -> object:
        begin.wait()
        return ask(number)

    with ThreadPoolExecutor(TRIES) as threads:
        return Counter(threads.map(start, range(TRIES)))


@pytest.mark.attack(
    "uploads of the members of a team at the same moment, beyond its daily limit", "as many are taken as of one account"
)
def test_a_team_has_the_daily_limit_of_one(hub: Hub) -> None:
    make_team(hub, "ann", "ben", "cat")

    def ask(number: int) -> object:
        try:
            send(hub, PEOPLE[number % 3], f"m{number}")
        except TooManySubmissions:
            return "refused"
        return "taken"

    assert at_once(ask) == {"taken": 3, "refused": TRIES - 3}
    # Somebody outside of the team has a limit of their own.
    send(hub, "dan")
    with hub.database.reading() as session:
        entries = read_entries(session, find_hosted_benchmark(session, "hidden"))
        teams = set(session.scalars(select(Submission.team)))
    assert [(each.name, list(each.counts)) for each in entries] == [("dan", [1]), ("Team ann", [3])]
    assert sorted(entries[1].members) == ["ann", "ben", "cat"]
    assert teams == {"Team ann", ""}


@pytest.mark.attack(
    "a second account of a team chooses another submission for the final, at the same moment",
    "the team has one final, of what was chosen last",
)
def test_a_team_has_one_final(hub: Hub) -> None:
    make_team(hub, "ann", "ben")
    sent = [send(hub, "ann", "first", 20), send(hub, "ben", "second", 30), send(hub, "dan", "o")]
    Worker(hub, print).work(until_empty=True)
    with hub.database.writing() as session:
        rows = {row.public_id: row for row in session.scalars(select(Submission))}
        for row in rows.values():
            publish_submission(session, row)

    def ask(number: int) -> object:
        with hub.database.writing() as session:
            query = select(Submission).where(Submission.public_id == sent[number % 2])
            choose_final(session, session.scalars(query).one())
        return "chosen"

    assert at_once(ask) == {"chosen": TRIES}
    with hub.database.writing() as session:
        query = select(Submission).where(Submission.public_id == sent[0])
        choose_final(session, session.scalars(query).one())
    with hub.database.writing() as session:
        board = find_hosted_benchmark(session, "hidden")
        assert session.scalar(select(func.count(FinalScore.id))) == 1
        assert reveal_part(session, board, datetime.now(UTC)).finals == 2
    with hub.database.reading() as session:
        finals = {row.submission.public_id for row in session.scalars(select(FinalScore))}
    assert finals == {sent[0], sent[2]}


def test_without_a_choice_a_team_has_its_best(hub: Hub) -> None:
    make_team(hub, "ann", "ben")
    sent = [send(hub, "ann", "first", 5), send(hub, "ben", "second", 60)]
    Worker(hub, print).work(until_empty=True)
    with hub.database.writing() as session:
        for row in session.scalars(select(Submission)):
            publish_submission(session, row)
        board = find_hosted_benchmark(session, "hidden")
        assert reveal_part(session, board, datetime.now(UTC)).finals == 1
        assert session.scalars(select(FinalScore)).one().submission.public_id == sent[1]


@pytest.mark.attack(
    "accounts that submitted change their teams to submit more", "refused in a sentence; the submissions stay counted"
)
def test_submissions_do_not_change_teams(hub: Hub) -> None:
    accounts = ids(hub)
    make_team(hub, "ann", "ben")
    send(hub, "ben")
    send(hub, "cat")
    with hub.database.writing() as session:
        board = find_hosted_benchmark(session, "hidden")
        team = session.scalars(select(TeamMember)).first()
        assert team is not None
        secret = invite_member(team.team, hub.config.sessions)
    for act, sentence in (
        (lambda session: join_team(session, secret, accounts["cat"]), "submitted to hidden your"),
        (lambda session: join_team(session, secret, accounts["ben"]), "in a team of hidden alr"),
        (lambda session: join_team(session, "guess", accounts["dan"]), "unknown, used or expired"),
        (
            lambda session: leave_team(session, session.scalars(select(TeamMember)).first().team, accounts["ben"]),
            "stays in it",
        ),
        (
            lambda session: leave_team(session, session.scalars(select(TeamMember)).first().team, accounts["ann"]),
            "stays in it",
        ),
        (
            lambda session: create_team(session, find_hosted_benchmark(session, "hidden"), accounts["dan"], "TEAM ANN"),
            "choose another name",
        ),
        (
            lambda session: create_team(session, find_hosted_benchmark(session, "hidden"), accounts["dan"], "ben"),
            "choose another name",
        ),
    ):
        with pytest.raises(UsageError, match=sentence), hub.database.writing() as session:
            act(session)
    with hub.database.writing() as session:
        assert len(join_team(session, secret, accounts["dan"]).members) == 3
    with pytest.raises(UsageError, match="used or expired"), hub.database.writing() as session:
        join_team(session, secret, accounts["olga"])
    # Who has not submitted may go; and nothing of the other board is shared.
    with hub.database.writing() as session:
        board = find_hosted_benchmark(session, "hidden")
        member = session.get_one(TeamMember, (board.id, accounts["dan"]))
        leave_team(session, member.team, accounts["dan"])
        create_team(session, find_hosted_benchmark(session, "open"), accounts["ben"], "Team ann")


def phase(name: str, opens: float, closes: float, most: int | None = None, final: bool = False) -> Phase:
    """Times in hours from now."""
    at = datetime.now(UTC).replace(microsecond=0)
    return Phase(name, at + timedelta(hours=opens), at + timedelta(hours=closes), most, final)


def change_phases(hub: Hub, *phases: Phase, name: str = "hidden") -> None:
    with hub.database.writing() as session:
        set_phases(session, find_hosted_benchmark(session, name, lock=True), phases)


def test_submissions_are_taken_while_a_phase_is_open(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    change_phases(hub, phase("Public", 1, 2, 2), phase("Final", 2, 3, 1, final=True))
    with pytest.raises(NoOpenPhase, match="Public opens at 2"):
        send(hub, "ann")
    make_team(hub, "ann", "ben")
    change_phases(hub, phase("Public", -1, 1, 2), phase("Final", 1, 3, 1, final=True))

    def ask(number: int) -> object:
        try:
            send(hub, PEOPLE[number % 2], f"m{number}")
        except TooManySubmissions as error:
            return re.sub("[0-9]+", "N", str(error))
        return "taken"

    refused = "N submissions in the phase Public are all that an account or its team may make"
    assert at_once(ask) == {"taken": 2, refused: TRIES - 2}
    later = datetime.now(UTC) + timedelta(hours=4)
    monkeypatch.setattr(phases_module, "now", lambda: later)
    with pytest.raises(NoOpenPhase, match="its last phase is over"):
        send(hub, "ann")
    with hub.database.reading() as session:
        board = find_hosted_benchmark(session, "hidden")
        assert board.reveals == [board.phases[1]["closes"]]
        assert list(read_entries(session, board)[0].counts) == [2, 0]


@pytest.mark.parametrize(
    ("phases", "sentence"),
    [
        ([("a", 1, 2), ("b", 1.5, 3)], "b opens at .*, while a is open"),
        ([("a", 2, 1)], "before it opens"),
        ([("a", 1, 2), ("a", 2, 3)], "the same name"),
        ([("a", 1, 2, 1, True), ("b", 2, 3, 1, True)], "1 private part left, and 2 dates"),
        ([("a", -3, -2, 1, True)], "is past; expected a later time"),
    ],
)
def test_phases_that_are_refused(hub: Hub, phases: list[Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        change_phases(hub, *(phase(*each) for each in phases))
    with pytest.raises(UsageError, match="answers of open are not hidden"):
        change_phases(hub, phase("a", 1, 2, 1, True), name="open")


@pytest.mark.parametrize(
    "text", ["Public", "Public,2027-01-01", "x,2027-01-01,2027-02-01,many", ",2027-01-01,2028-01-01"]
)
def test_refuses_invalid_phases(text: str) -> None:
    with pytest.raises(UsageError, match="is no phase; expected"):
        parse_phase(text)


def test_phases_of_commands_have_the_limits_of_the_api(hub: Hub) -> None:
    with pytest.raises(UsageError, match="the phases cannot be read"):
        parse_phase(f"{'x' * 65},2027-01-01,2027-02-01")
    with pytest.raises(UsageError, match="got 21 phases; expected at most 20"):
        change_phases(hub, *(phase(str(n), n + 1, n + 2) for n in range(21)))


def test_hosts_manage_their_board_alone(hub: Hub) -> None:
    with hub.database.writing() as session:
        board = find_hosted_benchmark(session, "hidden")
        set_host(session, board, "ben", "host")
        set_host(session, board, "ann", "owner")
        for name, role, sentence in (
            ("nobody", "host", "no account called"),
            ("vera", "host", "only reads"),
            ("dan", "boss", "expected one of owner, host"),
            ("dan", "", "no host of hidden"),
        ):
            with pytest.raises(UsageError, match=sentence):
                set_host(session, board, name, role)
    app = create_app(hub)
    ann, ben, dan = (HubBrowser(app).sign_in(name) for name in ("ann", "ben", "dan"))
    assert "/manage/benchmarks/hidden" in ben.get("/account").text
    page = "/manage/benchmarks/hidden"
    assert [each.get(page).status_code for each in (ann, ben, dan)] == [200, 200, 403]
    assert ben.get("/manage/benchmarks/open").status_code == 403
    assert ben.get("/manage").status_code == 403
    rows = {
        "action": "phases",
        "name-0": "Public",
        "opens-0": "2036-03-01T00:00",
        "closes-0": "2036-05-01T00:00",
        "submissions-0": "50",
        "name-1": "Final",
        "opens-1": "2036-05-01T00:00",
        "closes-1": "2036-05-08T00:00",
        "submissions-1": "2",
        "final-1": "yes",
    }
    assert ben.send(page, rows).status_code == 303
    with hub.database.reading() as session:
        board = find_hosted_benchmark(session, "hidden")
        assert board.reveals == ["2036-05-08T00:00:00Z"]
    again = ben.get(page).text
    assert 'value="2036-05-08T00:00:00"' in again
    wrong = ben.send(page, rows | {"closes-0": "2036-02-01T00:00"})
    assert wrong.status_code == 422
    assert 'value="2036-02-01T00:00"' in wrong.text
    # Only an owner of the board names hosts.
    add = {"action": "host", "account": "dan", "role": "host"}
    assert ben.send(page, add).status_code == 403
    assert ann.send(page, add).status_code == 303
    assert dan.get(page).status_code == 200
    text = ann.get("/benchmarks/hidden").text
    assert "2036-05-01 00:00" in text
    assert "then final scores" in text
    assert "phases: Public 2036" in ann.get("/benchmarks/hidden/feed.xml").text


def test_hosts_have_a_command(database: Database, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the hub's folder; by the API in test_hosts_by_the_api."""
    url = database.engine.url.render_as_string(hide_password=False).replace("+psycopg", "")
    (tmp_path / "hub.toml").write_text(f'database = "{url}"\n')
    if database.is_sqlite:
        monkeypatch.delenv("SNELLEN_HUB_DATABASE", raising=False)
    assert "takes submissions at any time" in command("hub", "phases", tmp_path, "hidden")
    said = command(
        "hub",
        "phases",
        tmp_path,
        "hidden",
        "--phase",
        "Public,2036-03-01,2036-05-01,50",
        "--phase",
        "Final,2036-05-01,2036-05-08T12:00,final",
    )
    assert said.splitlines() == [
        "Public: 2036-03-01T00:00:00Z to 2036-05-01T00:00:00Z, 50 submissions of a team",
        "Final: 2036-05-01T00:00:00Z to 2036-05-08T12:00:00Z, then final scores",
    ]
    reveal = ("hub", "phases", tmp_path, "hidden", "--reveal", "now")
    assert "change them with --phase" in command(*reveal, code=2)
    assert "phases say when" in command(*reveal, "--phase", "none", code=2)
    account = ("hub", "account", tmp_path)
    manage = (*account, "ann", "--manage")
    assert command(*manage, "hidden") == "hidden: ann is its host\n"
    assert "ann,submitter,confirmed,hidden:host," in command(*account, "--format", "csv")
    assert command(*manage, "hidden:owner") == "hidden: ann is its owner\n"
    assert "expected one of owner, host" in command(*manage, "hidden:guest", code=2)
    assert "no host any" in command(*manage, "hidden:none")
    assert "ann,submitter,confirmed,," in command(*account, "--format", "csv")


def test_hosts_by_the_api(hub: Hub) -> None:
    with hub.database.writing() as session:
        set_host(session, find_hosted_benchmark(session, "hidden"), "ben", "host")
        tokens = {
            name: create_token(session, session.get_one(Account, number), "", scopes, hub.config.sessions)
            for name, number, scopes in (
                ("ben", ids(hub)["ben"], frozenset({"submit"})),
                ("reading", ids(hub)["ben"], frozenset({"read"})),
                ("dan", ids(hub)["dan"], frozenset({"submit"})),
            )
        }
    client = HubBrowser(create_app(hub)).client
    path = "/api/v1/benchmarks/hidden/phases"
    body = [{"name": "Public", "opens": "2036-03-01T00:00:00Z", "closes": "2036-05-01T00:00:00Z"}]
    for name, status in (("dan", 403), ("reading", 403), ("ben", 200)):
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        assert client.put(path, json=body, headers=headers).status_code == status
    shown = client.get("/api/v1/benchmarks/hidden").json()["phases"]
    assert shown == [body[0] | {"submissions": None, "final": False}]
    wrong = client.put(path, json=[{"name": "x"}], headers=headers)
    assert wrong.status_code == 422
    assert "the phases cannot be read" in wrong.json()["detail"]


def test_members_share_submissions(hub: Hub) -> None:
    make_team(hub, "ann", "ben")
    own = send(hub, "ann")
    app = create_app(hub)
    ben, dan = HubBrowser(app).sign_in("ben"), HubBrowser(app).sign_in("dan")
    page = f"/account/submissions/{own}"
    assert own in ben.get("/account/submissions").text
    assert (ben.get(page).status_code, dan.get(page).status_code) == (200, 404)
    assert dan.get(f"/submissions/{own}").status_code == 404
    assert ben.send(f"{page}/withdraw", page=page).status_code == 303
    assert "Team ann" in ben.get("/benchmarks/hidden/submit").text


def test_a_team_by_its_pages(hub: Hub) -> None:
    app = create_app(hub)
    ann, ben = HubBrowser(app).sign_in("ann"), HubBrowser(app).sign_in("ben")
    page = "/benchmarks/hidden/team"
    assert ann.send(page, {"action": "create", "team": "  Night  owls "}).status_code == 303
    assert ann.send(page, {"action": "create", "team": "x"}).status_code == 422
    link = re.search(r"/teams/([\w-]+)", ann.send(page, {"action": "invite"}).text)
    assert link is not None
    assert "Night owls" in ben.get(link[0]).text
    assert ben.send(link[0]).status_code == 303
    assert ben.get(link[0]).status_code == 404
    assert ben.send(page, {"action": "invite"}).status_code == 422
    assert "ann" in ben.get(page).text
    assert ben.send(page, {"action": "leave"}).status_code == 303
    assert ben.send(page, {"action": "leave"}).status_code == 409
    assert ann.send(page, {"action": "leave"}).status_code == 303
    assert "Make the team" in ann.get(page).text


@pytest.fixture
def mail() -> Iterator[MailBox]:
    with serve_mail(user="hub", password="a secret") as box:
        yield box


def test_a_verified_address_confirms_an_account(hub: Hub, mail: MailBox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SMTP_VARIABLE, "a secret")
    monkeypatch.setenv("SSL_CERT_FILE", str(mail.certificate))
    server = MailServer(host="localhost", port=mail.port, sender="hub@example.org", user="hub")
    hub = replace_config(hub, replace(hub.config, smtp=server))
    eve = HubBrowser(create_app(hub))
    form = {"name": "eve", "password": PASSWORD, "again": PASSWORD}
    for wrong in ("", "eve", "eve+2@example.org", "eve@example.org\nBcc: x@example.org"):
        answer = eve.send("/sign-up", form | {"email": wrong})
        assert answer.status_code == 422, wrong
        assert "without a + and what follows it" in answer.text
    answer = eve.send("/sign-up", form | {"email": "Eve@example.org"})
    assert answer.headers["Location"] == "/account?done=sent"
    submit = {"model": "m"}
    files = {"predictions": ("p.jsonl", predictions(30))}
    refused = eve.send("/benchmarks/hidden/submit", submit, files=files)
    assert "verify your e-mail address" in refused.text
    (letter,) = mail.letters
    assert mail.was_encrypted
    assert letter["To"] == "eve@example.org"
    link = re.search(r"/emails/([\w-]+)", letter.get_content())
    assert link is not None
    # Looking at the link changes nothing; sending its form does, once.
    assert "eve@example.org" in eve.get(link[0]).text
    assert eve.send("/benchmarks/hidden/submit", submit, files=files).status_code == 422
    assert eve.send(link[0]).headers["Location"] == "/account?done=email"
    assert eve.get(link[0]).status_code == 404
    assert eve.send("/benchmarks/hidden/submit", submit, files=files).status_code == 303
    # Nobody else gets the address, and a letter is sent five times a day to one.
    other = HubBrowser(create_app(hub)).sign_in("dan")
    sent = [other.send("/account/email", {"email": "eve@example.org"}, page="/account").status_code for _ in range(5)]
    assert sent == [303] * 4 + [429]
    link = re.search(r"/emails/([\w-]+)", mail.letters[-1].get_content())
    assert link is not None
    assert "another account has this address" in other.send(link[0]).text
    with hub.database.reading() as session:
        emails = session.scalars(select(Account.email).where(Account.email.is_not(None))).all()
    assert emails == ["eve@example.org"]


@pytest.mark.attack(
    "an account is deleted and made again with the same verified address, for other limits and finals",
    "the address confirms no second account; an owner does",
)
def test_a_deleted_account_frees_no_address(hub: Hub) -> None:
    def verify(name: str) -> Account:
        with hub.database.writing() as session:
            account = create_account(session, name, "submitter", None, is_confirmed=False)
            return verify_email(session, create_email_link(session, account, "eve@example.org"))

    first = verify("eve")
    with hub.database.writing() as session:
        delete_account(session, session.get_one(Account, first.id))
    with pytest.raises(AccessDenied, match=r"an account with this address was deleted.*ask an owner"):
        verify("eve-again")
    with hub.database.reading() as session:
        again = account_called(session, "eve-again")
        assert again is None or again.confirmed is None
        assert "eve@" not in str(session.get_one(Account, first.id).email)


def test_a_mail_server_that_is_gone_loses_no_account(hub: Hub) -> None:
    server = MailServer(host="127.0.0.1", port=9, sender="hub@example.org", encryption="none", domains=("lab.example",))
    hub = replace_config(hub, replace(hub.config, smtp=server))
    eve = HubBrowser(create_app(hub))
    form = {"name": "eve", "password": PASSWORD, "again": PASSWORD, "email": "eve@example.org"}
    assert "takes no addresses at example.org" in eve.send("/sign-up", form).text
    answer = eve.send("/sign-up", form | {"email": "eve@lab.example"})
    assert answer.headers["Location"] == "/account?done=not-sent"
    assert "could not be sent" in eve.get("/account?done=not-sent").text


def replace_config(hub: Hub, config: HubConfig) -> Hub:
    return Hub(hub.folder, config, hub.database, hub.storage)
