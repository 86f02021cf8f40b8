import json
import re
from pathlib import Path

import msgspec
import pytest
from synthetic import build_report, write_run
from test_thumbnails import noise

from snellen.core.errors import UsageError
from snellen.core.media import InlineSource, digest_bytes
from snellen.report.page.html import MAX_PAGE_BYTES, write_html, write_overview
from snellen.report.page.thumbnails import MAX_BYTES, write_thumbnails
from snellen.store.runs import RunFolder, open_run


def page_data(page: Path) -> dict:
    text = page.read_text()
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def test_page_shows_the_numbers_and_all_samples(tmp_path):
    run = write_run(tmp_path, *build_report(count=40, circular=True, failed=2))
    page = write_html(run)
    assert page == run.path / "report.html"
    text = page.read_text()
    summary = run.report().summary
    for number in (summary.headline.value, summary.metrics["vanilla"].value):
        assert f"{number:.1f}" in text
    assert "2 of 40 samples failed and are left out; bounds" in text
    assert run.info.config.identity.digest() in text
    data = page_data(page)
    assert len(data["samples"]) == 40
    assert [each["id"] for each in data["samples"]] == [str(at) for at in range(40)]


def test_only_files_that_exist_are_named(tmp_path):
    whole = write_run(tmp_path / "whole", *build_report(count=12))
    assert "failures.jsonl" not in write_html(whole).read_text()
    torn = write_run(tmp_path / "torn", *build_report(count=12, failed=2))
    text = write_html(torn).read_text()
    assert "<code>samples.jsonl</code> and <code>failures.jsonl</code>." in text


def test_page_begins_with_settings_that_differ_from_the_default(tmp_path):
    report, records, pictures = build_report(count=12)
    config = msgspec.structs.replace(
        report.run.config, parameters={"control": "blind", "cot": "off"}, limit=12, repeats=3
    )
    report = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, config=config))
    text = write_html(write_run(tmp_path, report, records, pictures)).read_text()
    assert "<b>Differs from the plain setting:</b> blind, limit 12, 3 draws</p>" in text
    plain = write_run(tmp_path / "plain", *build_report(count=12))
    assert "Differs from the plain setting" not in write_html(plain).read_text()


def test_torn_last_line_and_another_place(tmp_path):
    run = write_run(tmp_path, *build_report(count=12, troubled=False))
    with (run.path / "samples.jsonl").open("ab") as file:
        file.write(b'{"id": "torn", "ki')
    page = write_html(run, tmp_path / "elsewhere" / "page.html")
    assert len(page_data(page)["samples"]) == 12
    assert not (run.path / "report.html").exists()


def test_run_without_report_is_a_usage_error(tmp_path):
    run = write_run(tmp_path, *build_report(count=3))
    (run.path / "report.json").unlink()
    with pytest.raises(UsageError, match=r"report\.json does not exist"):
        write_html(run)


def test_run_without_samples(tmp_path):
    report, records, _ = build_report(count=3, troubled=False)
    run = write_run(tmp_path, report, records, {digest: b"" for x in records for digest in x.media})
    (run.path / "samples.jsonl").unlink()
    assert page_data(write_html(run))["samples"] == []


def heavy_run(root: Path, count: int, pictures: int) -> RunFolder:
    """Every sample with its own pictures, each as large as a thumbnail may be."""
    report, records, _ = build_report(count=count)
    hard = noise(700, 700)
    digests = [digest_bytes(str(at).encode()) for at in range(count * pictures)]
    records = [
        msgspec.structs.replace(each, media=tuple(digests[at * pictures : (at + 1) * pictures]))
        for at, each in enumerate(records)
    ]
    run = write_run(root, report, records, dict.fromkeys(digests, b""))
    write_thumbnails(run.path, [(digest_bytes(hard), InlineSource(hard))])
    thumbnail = (run.path / "media" / f"{digest_bytes(hard)}.jpg").read_bytes()
    thumbnail += b"\0" * (MAX_BYTES - len(thumbnail))
    for digest in digests:
        (run.path / "media" / f"{digest}.jpg").write_bytes(thumbnail)
    return open_run(run.path)


@pytest.mark.parametrize("pictures", [1, pytest.param(2, marks=pytest.mark.release)])
def test_500_samples_of_the_heaviest_pictures_stay_under_15_mb(tmp_path, pictures):
    page = write_html(heavy_run(tmp_path, 520, pictures))
    assert page.stat().st_size <= MAX_PAGE_BYTES
    data = page_data(page)
    assert len(data["samples"]) == 500
    text = page.read_text()
    assert "500 of 520 samples are shown" in text
    assert (len(data["pictures"]) == 500) == (pictures == 1)
    assert ("images left out" in text) == (pictures == 2)


def test_a_digest_that_is_a_path_reads_nothing(tmp_path):
    report, records, pictures = build_report(count=2, troubled=False)
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    records[0] = msgspec.structs.replace(records[0], media=("../../secret",))
    run = write_run(tmp_path, report, records, pictures | {"../../secret": b""})
    assert "../../secret" not in page_data(write_html(run))["pictures"]


def test_overview_links_to_the_pages_that_exist(tmp_path):
    runs = [write_run(tmp_path, *build_report(model, "eyechart", count=20)) for model in ("snellen/tiny", "random")]
    write_html(runs[0])
    text = write_overview([(run, run.report()) for run in runs], tmp_path / "overview.html").read_text()
    assert f'href="{runs[0].path.name}/report.html"' in text
    assert f"{runs[1].path.name}/report.html" not in text
    assert text.count('class="bars"') == 2
