"""Models of Anthropic, Google and others behind Amazon Bedrock and Vertex AI, and any behind a LiteLLM proxy.

Bodies and replies of Bedrock are held against botocore's own description of its API, and signatures against those
that botocore computes for the request that arrived. The paths of Vertex AI are those that google-genai 3.6.1 and
anthropic 2.14.0 request.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
from pathlib import Path
from typing import Any

import botocore.auth
import botocore.session
import pytest
from aiohttp import web
from asking_remote import ask, question
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.validate import ParamValidator
from standin_server import StandIn, chat_reply
from test_own_dialects import CONVERSATION, message, text

from snellen import plan
from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Generated, Usage
from snellen.core.secret import Secret
from snellen.models.naming.registry import open_model
from snellen.models.remote.address import find_origin
from snellen.models.remote.credentials import AwsCredentials, signature_headers
from snellen.models.remote.profile import profiles

CLAUDE = "anthropic.claude-3-haiku-20240307-v1:0"
KEY_ID, SECRET, SESSION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a+token/="
CONVERSE = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse")
VARIABLES = (
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_BEARER_TOKEN_BEDROCK AWS_REGION AWS_DEFAULT_REGION "
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION CLOUD_ML_REGION "
    "GOOGLE_VERTEX_ACCESS_TOKEN LITELLM_API_KEY LITELLM_PROXY_API_KEY LITELLM_MASTER_KEY"
)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))  # no gcloud


@pytest.fixture
def key_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)
    monkeypatch.setenv("AWS_REGION", "eu-west-3")


def converse_reply(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": {"inputTokens": 20, "cacheReadInputTokens": 60, "outputTokens": 5, "totalTokens": 85},
        "metrics": {"latencyMs": 3},
    }


def objections(shape: Any, value: dict[str, Any]) -> str:
    """What botocore's description of Bedrock says against a body, in which bytes are base64."""
    return str(ParamValidator().validate(_with_bytes(value), shape).generate_report())


def _with_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: base64.b64decode(one, validate=True) if key == "bytes" else _with_bytes(one)
            for key, one in value.items()
        }
    return list(map(_with_bytes, value)) if isinstance(value, list) else value


def bedrock(server: StandIn, options: str = "") -> Generated:
    [output] = ask(f"bedrock/{CLAUDE}:base_url={server.url.removesuffix('/v1')}{options}", CONVERSATION)
    assert isinstance(output, Generated)
    return output


@pytest.mark.parametrize("options", ["", ",reasoning_effort=low", ",body.performanceConfig.latency=optimized"])
def test_a_body_is_one_of_converse(server: StandIn, options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-of-bedrock")
    reply = converse_reply({"text": "Yes."})
    assert not objections(CONVERSE.output_shape, reply)
    server.says(reply)
    output = bedrock(server, options)
    assert (output.text, output.stop_reason, output.usage) == ("Yes.", "stop", Usage(80, 5, 0, 60))
    [body] = server.asked
    assert not objections(CONVERSE.input_shape, {"modelId": CLAUDE, **body})
    assert server.headers[0]["Authorization"] == "Bearer key-of-bedrock"
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"][0]["image"]["format"] == "png"
    assert body["system"] == [{"text": "Be brief."}]
    assert body["inferenceConfig"]["maxTokens"] == (9 + 1024 if "effort" in options else 9)


def test_the_description_objects_to_another_body() -> None:
    wrong = {"modelId": CLAUDE, "messages": [{"role": "system", "content": "hi"}], "maxTokens": 3}
    assert "Invalid type for parameter messages[0].content" in objections(CONVERSE.input_shape, wrong)
    assert "Unknown parameter" in objections(CONVERSE.input_shape, wrong)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (converse_reply({"text": "The"}, stop="max_tokens"), ("The", "length", None)),
        (converse_reply(stop="content_filtered"), ("", "refusal", None)),
        (converse_reply({"text": "no"}, stop="guardrail_intervened"), ("no", "refusal", None)),
        (converse_reply({"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "B"}), ("B", "stop", "hm")),
    ],
)
def test_replies_of_converse(
    server: StandIn, reply: dict[str, Any], expected: tuple[str, str, str | None], key_pair: None
) -> None:
    assert not objections(CONVERSE.output_shape, reply)
    server.says(reply)
    output = bedrock(server)
    assert (output.text, output.stop_reason, output.reasoning) == expected


def by_botocore(url: str, headers: dict[str, str], body: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    """The `Authorization` that botocore computes for a request at the moment that its header states."""
    sent = {name.lower(): value for name, value in headers.items()}
    moment = datetime.datetime.strptime(sent["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment)
    request = AWSRequest("POST", url, headers={"Content-Type": sent["content-type"]}, data=body)
    request.context = {}
    credentials = Credentials(KEY_ID, SECRET, sent.get("x-amz-security-token"))
    botocore.auth.SigV4Auth(credentials, "bedrock", "eu-west-3").add_auth(request)
    return str(request.headers["Authorization"])


def test_what_arrives_bears_the_signature_that_botocore_computes(
    server: StandIn, key_pair: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: list[tuple[str, dict[str, str], bytes]] = []

    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        arrived.append((request.raw_path, headers, await request.read()))
        return web.json_response(converse_reply({"text": "A"}))

    server.handler = handler
    assert bedrock(server).text == "A"
    [(path, headers, body)] = arrived
    assert path == "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse"
    url = server.url.removesuffix("/v1") + path
    assert headers["authorization"] == by_botocore(url, headers, body, monkeypatch)
    assert headers["authorization"] != by_botocore(url, headers, body + b" ", monkeypatch)


def test_a_signature_of_a_name_with_slashes(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://bedrock-runtime.eu-west-3.amazonaws.com/model/arn%3Aaws%3Abedrock%3A1%3Aprofile%2Fx/converse"
    headers = signature_headers("POST", url, b"{}", "eu-west-3", AwsCredentials(KEY_ID, Secret(SECRET)))
    assert headers["authorization"] == by_botocore(url, headers, b"{}", monkeypatch)


@pytest.mark.parametrize("model", ["us.anthropic.claude-opus-4-7-v1:0", "arn:aws:bedrock:eu:1:x/claude-mythos-1"])
def test_claudes_that_decide_how_long_to_reason_are_known_on_bedrock(
    server: StandIn, model: str, key_pair: None
) -> None:
    """By the patterns of `anthropic`, whatever stands before the name."""
    server.says(converse_reply({"text": "Yes."}))
    address = server.url.removesuffix("/v1")
    ask(f"bedrock/{model}:base_url={address}", CONVERSATION)
    ask(f"bedrock/{model}:base_url={address},reasoning_effort=high", CONVERSATION)
    plain, reasoning = server.asked
    assert plain["inferenceConfig"].keys() == {"maxTokens", "stopSequences"}
    assert reasoning["additionalModelRequestFields"]["thinking"]["type"] == "adaptive"
    assert reasoning["additionalModelRequestFields"]["output_config"] == {"effort": "high"}
    assert not objections(CONVERSE.input_shape, {"modelId": model, **reasoning})
    with pytest.raises(UsageError, match="this model takes low, medium"):
        open_model(f"bedrock/{model}:base_url={address},reasoning_effort=2048")


def test_an_older_claude_on_bedrock_is_given_a_budget(server: StandIn, key_pair: None) -> None:
    """The control: the patterns do not hold for it."""
    server.says(converse_reply({"text": "Yes."}))
    bedrock(server, ",reasoning_effort=2048")
    bedrock(server)
    assert server.asked[0]["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 2048
    assert "temperature" in server.asked[1]["inferenceConfig"]


def test_refused_credentials_are_named(server: StandIn, key_pair: None) -> None:
    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        return web.json_response({"message": "The security token is invalid."}, status=403)

    server.handler = handler
    with pytest.raises(UsageError, match="refuses the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        asyncio.run(open_model(f"bedrock/{CLAUDE}:base_url={server.url}").check())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "variables", "sentence"),
    [
        (f"bedrock/{CLAUDE}", {}, "bedrock models need a region: set AWS_REGION or AWS_DEFAULT_REGION"),
        (
            f"bedrock/{CLAUDE}",
            {"AWS_REGION": "us-east-1"},
            "set AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
        (
            f"bedrock/{CLAUDE}:base_url=http://localhost:1",
            {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET},
            "bedrock models need a region: set AWS_REGION or AWS_DEFAULT_REGION",
        ),
        (f"bedrock/{CLAUDE}", {"AWS_REGION": "a/b"}, "set AWS_REGION or AWS_DEFAULT_REGION; got 'a/b'"),
        (f"bedrock/{CLAUDE}:stream=yes", {"AWS_REGION": "us-east-1"}, "the streams of bedrock are not read"),
        ("vertex/gemini-x", {}, "vertex models need a project: set GOOGLE_CLOUD_PROJECT"),
        (
            "vertex/gemini-x",
            {"GOOGLE_CLOUD_PROJECT": "p"},
            "set GOOGLE_VERTEX_ACCESS_TOKEN or install gcloud and log in",
        ),
    ],
)
def test_what_is_missing_is_named(
    spec: str, variables: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=sentence.replace(".", r"\.")):
        open_model(spec)


def test_a_plan_knows_each_way_to_prove_who_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    (missing,) = plan(f"bedrock/{CLAUDE}", "eyechart", limit=1, out=tmp_path).missing
    assert missing.sentence.endswith("set AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert plan(f"bedrock/{CLAUDE}", "eyechart", limit=1, out=tmp_path).missing == []


@pytest.mark.parametrize(
    ("location", "host"),
    [
        (None, "aiplatform.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
@pytest.mark.parametrize(("provider", "publisher"), [("vertex", "google"), ("vertex-anthropic", "anthropic")])
def test_addresses_of_vertex(
    location: str | None, host: str, provider: str, publisher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    if location:
        monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", location)
    where = location or "global"
    expected = f"https://{host}/v1/projects/my-project/locations/{where}/publishers/{publisher}"
    assert find_origin(provider, profiles()[provider], {}).base_url == expected


def test_claude_on_vertex(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_ACCESS_TOKEN", "ya29.token")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    server.says(message(text("Yes.")))
    [output] = ask(f"vertex-anthropic/claude-sonnet-4-5@20250929:base_url={server.url}", CONVERSATION)
    assert isinstance(output, Generated)
    assert output.text == "Yes."
    assert server.paths == ["/v1/models/claude-sonnet-4-5@20250929:rawPredict"]
    assert server.headers[0]["Authorization"] == "Bearer ya29.token"
    [body] = server.asked
    assert body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in body


def test_gemini_on_vertex_by_the_key_that_gcloud_prints(
    server: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "gcloud"
    program.write_text('#!/bin/sh\necho asked >> "$0.log"\necho ya29.printed\n')
    program.chmod(0o755)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    server.says({"candidates": [{"content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}]})
    outputs = ask(f"vertex/gemini-2.5-pro:base_url={server.url}", CONVERSATION, CONVERSATION)
    assert [getattr(output, "text", "") for output in outputs] == ["B", "B"]
    assert server.paths == ["/v1/models/gemini-2.5-pro:generateContent"] * 2
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer ya29.printed"}
    assert (tmp_path / "gcloud.log").read_text().splitlines() == ["asked"]


def test_a_program_that_prints_no_key_is_a_sentence(
    server: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "gcloud"
    program.write_text("#!/bin/sh\necho 'ERROR: log in first' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    spec, sentence = f"vertex/gemini-2.5-pro:base_url={server.url}", "gives no key: ERROR: log in first"
    with pytest.raises(ModelError, match=f"gcloud auth print-access-token {sentence}") as raised:
        ask(spec, CONVERSATION)
    assert raised.value.kind == "authentication"
    with pytest.raises(UsageError, match=f"{sentence}; log in with that program; nothing was asked yet"):
        asyncio.run(open_model(spec).check())  # type: ignore[attr-defined]


def test_a_litellm_proxy_needs_no_key_and_takes_its_own(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    server.models = ["gpt-mock"]
    server.says(chat_reply("A"))
    monkeypatch.setenv("LITELLM_BASE_URL", server.url)
    ask("litellm/gpt-mock", question("1+1?"))
    monkeypatch.setenv("LITELLM_API_KEY", "sk-of-the-proxy")
    ask("litellm/gpt-mock", question("1+1?"))
    assert [headers.get("Authorization") for headers in server.headers] == [None, "Bearer sk-of-the-proxy"]
    assert server.paths == ["/v1/chat/completions"] * 2


def test_congrongs_key_is_sent_as_it_stands(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    server.models = ["cw-congrong-v2.0"]
    monkeypatch.setenv("CW_API_BASE", f"{server.url}/chat/completions")
    monkeypatch.setenv("CW_API_KEY", "whole-header")
    ask("CongRong-v2.0", question("1+1?"))
    assert server.headers[0]["Authorization"] == "whole-header"
    assert server.asked[0]["model"] == "cw-congrong-v2.0"
