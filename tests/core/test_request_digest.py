"""The digest under which a reply is stored: what moves it, what does not, and its exact value."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest
from msgspec.structs import fields, replace

from snellen.core.media import InlineSource
from snellen.core.request import (
    Compare,
    Draw,
    Drawing,
    Generate,
    Generation,
    LazyMessages,
    Media,
    Message,
    Rank,
    Ref,
    Request,
    Text,
    request_digest,
    user,
)

PICTURE, OTHER = "a1" * 32, "b2" * 32
ASKED = (
    Message("system", (Text("Answer briefly."),)),
    user(Media("image", PICTURE), Text("Wieviel kostet es? 5 €\nA. ja\nB. nein")),
)
KNOWN: dict[str, tuple[Request, str]] = {
    "generate": (
        Generate(messages=ASKED, ref=Ref("7")),
        "e7ca6786f938dc75831f1a7ffe1d12ac03ab25c8017d7d329162eab3f48bf1e5",
    ),
    "generate with settings": (
        Generate(
            messages=ASKED,
            ref=Ref("7"),
            settings=Generation(max_new_tokens=16, temperature=0.5, top_p=0.9, seed=3, stop=("\n",), logprobs=5),
            attempt=1,
        ),
        "c6b4334b16c90e9a4ac289c57a95d7a1d0ee3ea772cfbd64bec756d73293a65a",
    ),
    "rank": (
        Rank(messages=ASKED, ref=Ref("7"), candidates=("A", "B")),
        "bf1b90746cfbc30951203eb85d1a12f164a450bec0994ec335fd1cecac9ac4f0",
    ),
    "draw": (Draw(messages=ASKED, ref=Ref("7")), "ce66f206e1b984021926675f535966d2cadba517972778642c27743712d905ce"),
    "draw with settings": (
        Draw(
            messages=ASKED,
            ref=Ref("7"),
            settings=Drawing(width=512, height=256, steps=20, guidance=7.5, seed=1),
            attempt=2,
        ),
        "118850143290ccf0691a2265ee97a353d20398c508d48a198601a5ef28774199",
    ),
    "compare": (
        Compare(picture=PICTURE, candidates=(OTHER, PICTURE), ref=Ref("7")),
        "c8c8d239974e585d1eea8b13fe938dbddfe217282fd0e7112116d589c8d6f9b5",
    ),
}
IDENTITY = "c3" * 32


def digest(request: Request, identity: str = IDENTITY) -> str:
    return request_digest(request, identity).hex()


@pytest.mark.parametrize("kind", KNOWN)
def test_known_requests(kind: str) -> None:
    """Stored replies are found under these: a change here loses everybody's."""
    request, expected = KNOWN[kind]
    assert digest(request) == expected


MESSAGES = {
    "a text": (ASKED[0], user(Media("image", PICTURE), Text("Wieviel kostet es?"))),
    "a role": (replace(ASKED[0], role="assistant"), ASKED[1]),
    "a medium": (ASKED[0], user(Media("image", OTHER), *ASKED[1].parts[1:])),
    "the kind of a medium": (ASKED[0], user(Media("video", PICTURE), *ASKED[1].parts[1:])),
    "the order of messages": ASKED[::-1],
    "the order of parts": (ASKED[0], user(*ASKED[1].parts[::-1])),
    "a message less": ASKED[1:],
    "parts joined": (user(ASKED[0].parts[0], *ASKED[1].parts),),
}
MOVES: dict[type, dict[str, list[Any]]] = {
    Generate: {
        "messages": list(MESSAGES.values()),
        "settings": [
            Generation(max_new_tokens=511),
            Generation(temperature=0.1),
            Generation(top_p=0.99),
            Generation(top_k=20),
            Generation(repetition_penalty=1.05),
            Generation(presence_penalty=1.5),
            Generation(seed=0),
            Generation(seed=1),
            Generation(stop=("\n",)),
            Generation(stop=("\n", "Q")),
            Generation(logprobs=1),
            Generation(response_schema='{"type":"object"}'),
        ],
        "attempt": [1, 2],
        "repeat": [1, 2],
    },
    Rank: {
        "messages": list(MESSAGES.values()),
        "candidates": [("B", "A"), ("A",), ("A", "B", "C"), ("A", "b"), ("AB",)],
        "attempt": [1, 2],
    },
    Draw: {
        "messages": list(MESSAGES.values()),
        "settings": [Drawing(width=64), Drawing(height=64), Drawing(steps=1), Drawing(guidance=1.0), Drawing(seed=1)],
        "attempt": [1, 2],
        "repeat": [1, 2],
    },
    Compare: {
        "picture": [OTHER],
        "candidates": [(PICTURE, OTHER), (OTHER,), (OTHER, PICTURE, PICTURE)],
        "attempt": [1, 2],
    },
}
"""Every field that can change the reply, by values that must each give a digest of their own."""
STAYS: dict[str, list[Any]] = {
    "ref": [Ref("8"), Ref("7", turn=1), Ref("7", row="7-2")],
    "media": [{PICTURE: InlineSource(b"one")}, {PICTURE: InlineSource(b"two")}],
    "choices": [("A", "B"), ("yes",)],
    "to": ["judge", "extractor"],
}
"""Every field that cannot: who is asked is told by the identity."""
PLAIN: list[Request] = [KNOWN[kind][0] for kind in ("generate", "rank", "draw", "compare")]


@pytest.mark.parametrize("request_", PLAIN, ids=lambda request: type(request).__name__)
def test_digest_depends_on_exactly_the_listed_fields(request_: Request) -> None:
    kind = type(request_)
    assert {field.name for field in fields(kind)} <= MOVES[kind].keys() | STAYS.keys()
    others = [replace(request_, **{name: value}) for name, values in MOVES[kind].items() for value in values]
    assert len({digest(one) for one in (request_, *others)}) == 1 + len(others)
    for name in STAYS.keys() & {field.name for field in fields(kind)}:
        for value in STAYS[name]:
            assert digest(replace(request_, **{name: value})) == digest(request_), name


def test_every_setting_that_can_change_a_reply_is_tried() -> None:
    for kind, plain in ((Generate, Generation()), (Draw, Drawing())):
        tried = {
            field.name
            for settings in MOVES[kind]["settings"]
            for field in fields(settings)
            if getattr(settings, field.name) != getattr(plain, field.name)
        }
        assert tried == {field.name for field in fields(plain)}


def test_digest_differs_between_models_and_request_kinds() -> None:
    found = {digest(request, identity) for request in PLAIN for identity in (IDENTITY, "", "d4")}
    assert len(found) == 3 * len(PLAIN)


def test_settings_at_their_defaults_are_left_out() -> None:
    """So that a setting that is added later keeps the replies that were stored before."""
    assert msgspec.json.encode((Generation(), Drawing())) == b"[{},{}]"


@pytest.mark.parametrize("kind", KNOWN)
def test_a_copy_in_another_process_has_the_same_digest(kind: str) -> None:
    """Replicas draw their lots by it: what they answer does not depend on where they run."""
    request, expected = KNOWN[kind]
    copied = pickle.loads(pickle.dumps(request))  # noqa: S301 - made here
    assert copied == request
    assert digest(copied) == expected


def test_messages_made_late_have_the_same_digest() -> None:
    late = Generate(messages=LazyMessages(lambda: ASKED), ref=Ref("7"))
    assert digest(late) == digest(KNOWN["generate"][0])
