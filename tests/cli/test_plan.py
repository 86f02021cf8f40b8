"""`snellen plan`: what it tells is what a run then does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.api.flags import option_flags
from snellen.api.planned_studies import PlanLine
from snellen.api.planning import plan
from snellen.cli.commands import plan as plan_command
from snellen.cli.commands import run as run_command
from snellen.cli.main import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UnknownName, UsageError
from snellen.engine.offline.estimate import MIN_REPLIES, Assumptions, Estimate
from snellen.engine.ray.cluster import RayCluster
from snellen.models.naming.image_tokens import claude_patches, gemini_tiles, image_token_rule, openai_tiles

CIRCULAR = Variant(circular="early")
QUESTIONS = (
    "index\tquestion\tA\tB\tC\tD\tanswer\n"
    "1\tWhich is a fruit?\tapple\tchair\tstone\t\tA\n"
    "2\tHow many legs has a spider?\tsix\teight\tten\ttwo\tB\n"
    "3\tIs the sky green on a clear day?\t\t\t\t\tNo\n"
)
MODEL = """
class Counting:
    calls = 0

    def answer(self, request):
        Counting.calls += 1
        open("asked", "a").write("x")
        return "A" if request.choices else "No"
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with questions and a model that leaves a trace when it is asked; no keys, and
    nothing in the caches."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "SNELLEN_PRICES", "HF_HUB_OFFLINE", "LMUData"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("questions.tsv").write_text(QUESTIONS)
    Path("model.py").write_text(MODEL)


def the_line(*args: str, **options: object) -> PlanLine:
    (line,) = plan(*args, **options).lines  # type: ignore[arg-type]
    return line


def estimated(*args: object, **options: object) -> Estimate:
    found = the_line(*args, **options).estimate  # type: ignore[arg-type]
    assert found is not None
    return found


def asked() -> int:
    return len(Path("asked").read_text()) if Path("asked").exists() else 0


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
def test_early_stop_is_expected_by_the_accuracy(accuracy: float) -> None:
    found = estimated(["random"], ["questions.tsv"], variant=CIRCULAR, assumed=Assumptions(accuracy=accuracy))
    p = accuracy
    assert found.requests == pytest.approx((1 + p + p**2) + (1 + p + p**2 + p**3) + 1)
    assert (found.samples, found.most_requests, found.stored) == (3, 3 + 4 + 1, 0)
    assert f"{accuracy:.0%} of passes are right (assumed)" in found.said


def test_without_early_stop_every_request_is_certain() -> None:
    once = estimated(["random"], ["questions.tsv"])
    every = estimated(["random"], ["questions.tsv"], variant=Variant(circular="full"))
    assert (once.requests, once.most_requests) == (3, 3)
    assert (every.requests, every.most_requests) == (8, 8)
    assert not any("passes" in sentence for sentence in once.said)


def test_nothing_is_asked_or_written() -> None:
    before = sorted(Path.cwd().rglob("*"))
    planned = plan(["Counting"], ["questions.tsv"], load=["model.py"], variant=CIRCULAR)
    assert planned.lines[0].estimate is not None
    assert asked() == 0
    new = {path.relative_to(Path.cwd()).parts[0] for path in Path.cwd().rglob("*")} - {
        path.relative_to(Path.cwd()).parts[0] for path in before
    }
    # The index of the data is kept, as by every command that opens them.
    assert new <= {"cache", "__pycache__"}


def test_plan_counts_stored_replies() -> None:
    evaluate(["random"], ["questions.tsv"], html=False)
    whole = estimated(["random"], ["questions.tsv"])
    assert (whole.stored, whole.requests, whole.seconds) == (3, 0, 0)
    circular = estimated(["random"], ["questions.tsv"], variant=CIRCULAR)
    assert 1 <= circular.stored <= 3
    assert circular.requests < estimated(["random:seed=9"], ["questions.tsv"], variant=CIRCULAR).requests


def test_finished_run_lies_within_the_planned_bounds() -> None:
    told = estimated(["random"], ["eyechart"], variant=CIRCULAR, limit=60)
    (run,) = evaluate(["random"], ["eyechart"], variant=CIRCULAR, limit=60, html=False).runs
    assert told.samples == run.info.counts.samples
    assert told.samples <= run.info.counts.sent <= told.most_requests
    assert told.most_requests == run.info.counts.sent + run.info.counts.saved
    after = estimated(["random"], ["eyechart"], variant=CIRCULAR, limit=60)
    assert (after.requests, after.stored) == (0, run.info.counts.sent)


def test_enough_stored_replies_measure_what_was_assumed() -> None:
    evaluate(["random"], ["eyechart"], variant=CIRCULAR, limit=60, html=False)
    more = estimated(["random"], ["eyechart"], variant=CIRCULAR, limit=120)
    (share,) = [sentence for sentence in more.said if "passes are right" in sentence]
    stored = int(share.rsplit("from ", 1)[1].split()[0])
    assert stored >= MIN_REPLIES
    assert stored == more.stored
    assert 0 < int(share.split("%")[0]) < 60
    assert more.requests > 0


def test_tokens_are_characters_and_pictures() -> None:
    plain = estimated(["random"], ["questions.tsv"], assumed=Assumptions(reply_tokens=10))
    assert plain.completion_tokens == 30
    assert 20 < plain.prompt_tokens < 200
    seen = estimated(["random"], ["eyechart"], limit=5, assumed=Assumptions(picture_tokens=500))
    blank = estimated(["random"], ["eyechart"], limit=5, assumed=Assumptions(picture_tokens=0))
    pictures = (seen.prompt_tokens - blank.prompt_tokens) / 500
    assert pictures == int(pictures) >= seen.samples > 0


def test_a_price_makes_dollars() -> None:
    line = the_line(["random"], ["questions.tsv"], prices=["random:input=1000,output=2000"])
    found = line.estimate
    assert found is not None
    wanted = (found.prompt_tokens * 1000 + found.completion_tokens * 2000) / 1e6
    assert line.dollars == pytest.approx(wanted, abs=0.001)
    assert plan(["random"], ["questions.tsv"]).dollars is None


def test_missing_key_is_reported_and_the_rest_planned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["plan", "-m", "GPT4o_20241120", "-b", "eyechart", "--limit", "5"]
    assert main(command) == 2
    shown = capsys.readouterr().out
    assert "missing key: GPT4o_20241120 needs a key: set OPENAI_API_KEY" in shown
    assert "price from https://developers.openai.com/api/docs/pricing, read 2026-11-21" in shown
    assert "images by https://platform.openai.com/docs/guides/images-vision" in shown
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["missing"] == []
    assert told["dollars"] > 0


def test_the_key_of_a_server_named_by_its_address_is_missing_too(monkeypatch: pytest.MonkeyPatch) -> None:
    server = "http://127.0.0.1:9/v1#tiny"
    monkeypatch.delenv("TEAM_KEY", raising=False)
    assert plan([server], ["questions.tsv"]).missing == []
    (missing,) = plan([f"{server}:key_env=TEAM_KEY"], ["questions.tsv"]).missing
    assert missing.what == "key"
    assert missing.sentence == f"{server}:key_env=TEAM_KEY needs a key: set TEAM_KEY"


def test_plan_names_downloads_and_fetches_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-m", "InternVL3-8B", "-b", "mmbench"]) == 0
    shown = capsys.readouterr().out
    twin = "from its converted twin OpenGVLab/InternVL3-8B-hf"
    assert f"to download: the weights of InternVL3-8B, {twin}, about 16 GB" in shown
    assert "to download: the data of mmbench: snellen data pull mmbench" in shown
    assert not list(Path.cwd().rglob("*.part"))


def test_plan_reports_missing_model_and_data_offline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["plan", "-m", "InternVL3-8B", "-b", "mmbench"]) == 2
    shown = capsys.readouterr().out
    assert "missing model: the model 'OpenGVLab/InternVL3-8B-hf'" in shown
    assert "missing data: " in shown


def test_a_name_without_a_route_is_missing_and_weights_are_compared_with_the_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "-m", "InternVL2_5-4B", "-b", "mmbench"]) == 2
    shown = capsys.readouterr().out
    missing = "missing (model: what asks|consent: InternVL2_5-4B runs Python of) OpenGVLab/InternVL2_5-4B"
    assert re.search(missing, shown)
    assert main(["plan", "-m", "nanoVLM-460M-8k", "-b", "mmbench"]) == 2
    assert "missing model: there is no way to lusxvr/nanoVLM-460M-8k yet" in capsys.readouterr().out
    main(["plan", "-m", "Qwen3-VL-235B-A22B-Instruct", "-b", "mmbench"])
    shown = capsys.readouterr().out
    assert "its weights take about" in shown
    assert re.search(r"this machine has \d+ GB of (GPU memory|memory and no GPU)", shown)


def test_a_model_that_cannot_see_is_skipped_with_the_reason() -> None:
    line = the_line(["Qwen3-8B"], ["eyechart"])
    assert line.estimate is None
    assert "image input" in line.skipped


def test_a_judge_is_looked_at_only_when_asked_to() -> None:
    Path("judge.py").write_text("class Dead:\n    def answer(self, request):\n        raise RuntimeError('no quota')\n")
    given = {"load": ["judge.py"], "extractors": ["Dead"]}
    assert plan(["random"], ["questions.tsv"], **given).missing == []  # type: ignore[arg-type]
    probed = plan(["random"], ["questions.tsv"], probe=True, **given)  # type: ignore[arg-type]
    (missing,) = probed.missing
    assert missing.what == "judge"
    assert "the extractor Dead does not answer" in missing.sentence
    assert "no quota" in missing.sentence


def test_requests_to_a_judge_are_counted_apart() -> None:
    Path("open.tsv").write_text("index\tquestion\tanswer\n1\tHow many?\t3\n2\tOf what?\tred\n")
    found = estimated(["random"], ["mm-vet"], variant=Variant(data="open.tsv"), judges=["random"])
    assert (found.requests, found.asked_of_others) == (2, {"judge": 2})
    planned = plan(
        ["random"],
        ["mm-vet"],
        variant=Variant(data="open.tsv"),
        judges=["random:seed=3"],
        prices=["random/random:input=0,output=1000000"],
        budget="1Mtok",
    )
    (line,) = planned.lines
    # Two replies of 64 tokens are assumed.
    assert line.role_dollars["judge"] == 128
    assert line.dollars == 256
    tokens = found.tokens_of_others["judge"]
    assert tokens.prompt_tokens > 100
    total = found.prompt_tokens + found.completion_tokens + tokens.prompt_tokens + 128
    assert f"{total:,.0f} are expected" in planned.notes[-1]


def test_equal_requests_are_sent_once() -> None:
    Path("twice.tsv").write_text("index\tquestion\tanswer\n1\tHow many?\t3\n2\tHow many?\t3\n")
    found = estimated(["random"], ["twice.tsv"])
    assert (found.requests, found.equal, found.stored) == (1, 1, 0)
    (run,) = evaluate(["random"], ["twice.tsv"], html=False).runs
    assert run.info.counts.sent == 1


def test_data_that_the_run_would_read_from_the_hub_are_to_be_downloaded() -> None:
    planned = plan(["random"], ["tempcompass"])
    assert planned.downloads == ["the data of tempcompass: snellen data pull tempcompass"]
    assert planned.missing == []


def test_names_and_numbers_that_are_off(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="no model is named"):
        plan([], ["eyechart"])
    with pytest.raises(UnknownName, match=r"did you mean InternVL3-8B"):
        plan(["InternVL3-8"], ["eyechart"])
    assert main(["plan", "-m", "random", "-b", "eyechart", "--assume", "accuracy=60"]) == 2
    assert "--assume accuracy is 60.0; expected a share from 0 to 1" in capsys.readouterr().err
    assert main(["plan", "-m", "random", "-b", "eyechart", "--price", "3"]) == 2
    assert "expected MODEL:input=2.5,output=10" in capsys.readouterr().err


def test_plan_takes_whatever_run_takes() -> None:
    flags = {
        name: {one.flag.name for one in option_flags(command.Options)}
        for name, command in (("run", run_command), ("plan", plan_command))
    }
    assert flags["run"] - flags["plan"] == set()
    assert flags["plan"] - flags["run"] == {
        "--assume",
        "--probe",
        "--detect",
        "--no-worse",
        "--runs",
        "--power",
        "--level",
        "--output",
    }


def test_a_width_is_planned_before_its_expected_end() -> None:
    whole = estimated(["random"], ["eyechart"])
    wide = estimated(["random"], ["eyechart"], until="±10")
    narrow = estimated(["random"], ["eyechart"], until="±6")
    assert wide.samples < narrow.samples < whole.samples == 812
    assert wide.requests == wide.samples - wide.equal
    assert wide.most_requests == whole.most_requests
    assert f"about {wide.samples} of 812 samples at a score of 60 (assumed)" in wide.said[0]
    (run,) = evaluate(["random"], ["eyechart"], until="±6", html=False).runs
    assert run.info.counts.samples == pytest.approx(narrow.samples, rel=0.15)
    after = estimated(["random"], ["eyechart"], until="±6")
    assert after.samples == pytest.approx(run.info.counts.samples, rel=0.15)
    assert "stored replies" in after.said[0]
    never = estimated(["random"], ["eyechart"], until="±0.01")
    assert never.samples == 812
    assert "not expected to be reached with 812 samples" in never.said[0]


def test_a_contest_is_planned_for_some_differences() -> None:
    planned = plan(["random", "random:seed=1"], ["eyechart"], until="B>A")
    for line in planned.lines:
        assert line.estimate is not None
        assert line.estimate.samples == 812
        assert "if the two are 20 points apart" in line.estimate.said[0]
        assert line.estimate.said[0].startswith("--until random:seed=1>random:")
    with pytest.raises(UsageError, match="compares the two models of a run"):
        plan(["random"], ["eyechart"], until="A>B")


def test_a_budget_is_held_against_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    priced = ["--price", "random:input=1000,output=2000"]
    command = ["plan", "-m", "random", "-b", "questions.tsv", *priced, "--budget"]
    assert main([*command, "9usd"]) == 0
    assert "budget: 9.00 USD are enough; 0." in capsys.readouterr().out
    assert main([*command, "0.1usd"]) == 0
    assert "budget: 0.10 USD are spent after about" in capsys.readouterr().out
    assert main(["plan", "-m", "random", "-b", "questions.tsv", "--budget", "100tok"]) == 0
    assert "tokens expected; what is left is then not asked" in capsys.readouterr().out
    assert main([*command, "9usd", "-q"]) == 0
    assert "budget" not in capsys.readouterr().out


def test_a_server_is_not_started_to_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "-b", "questions.tsv", "--serve", "touch started"]
    assert main([*command, "-m", "some/model", "--requests", "serve_timeout=5"]) == 0
    assert "some/model" in capsys.readouterr().out
    assert main(command) == 2
    assert "name one with -m" in capsys.readouterr().err
    assert not Path("started").exists()


def test_replicas_share_the_time() -> None:
    Path("slow.py").write_text(
        "from snellen import Generated\nclass Slow:\n    def answer(self, request):\n"
        "        return Generated('A', seconds=0.5)\n"
    )
    evaluate(["Slow"], ["eyechart"], load=["slow.py"], limit=40, html=False)
    one, four = (
        estimated(["Slow"], ["eyechart"], load=["slow.py"], cluster=cluster)
        for cluster in (None, RayCluster(replicas=4))
    )
    assert one.seconds is not None
    assert one.seconds == pytest.approx(4 * (four.seconds or 0.0))


@pytest.mark.parametrize(
    ("count", "width", "height", "tokens"),
    [
        # The examples of OpenAI's page on images.
        (openai_tiles, 1024, 1024, 765),
        (openai_tiles, 2048, 4096, 1105),
        (openai_tiles, 100, 100, 255),
        (claude_patches, 28, 28, 1),
        (claude_patches, 1092, 1092, 1521),
        (claude_patches, 4000, 4000, 1600),
        (gemini_tiles, 384, 384, 258),
        (gemini_tiles, 600, 400, 258),
        (gemini_tiles, 1536, 769, 1032),
    ],
)
def test_tokens_of_a_picture(count: object, width: int, height: int, tokens: int) -> None:
    assert count(width, height) == tokens  # type: ignore[operator]


def test_a_rule_is_taken_only_for_models_it_was_published_for() -> None:
    rule = image_token_rule("openai", "gpt-4o-2024-11-20")
    assert rule is not None
    assert rule.tokens is openai_tiles
    assert image_token_rule("openai", "gpt-4o-mini-2024-07-18") is None
    assert image_token_rule("anthropic", "claude-haiku-4-5-20251001") is not None
    assert image_token_rule("anthropic", "claude-opus-4-7") is None
    assert image_token_rule("hf", "Qwen/Qwen2.5-VL-7B-Instruct") is None
