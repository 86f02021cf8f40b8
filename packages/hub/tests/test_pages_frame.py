"""The frame of the hub's pages: languages, theme, static files, errors, and who sends a form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from snellen_hub.hub import Hub, create_hub
from snellen_hub.web.app import create_app
from snellen_hub.web.browser import checked_target

PAGES = resources.files("snellen_hub.web.pages")
_TEXT = re.compile(r"""\bt\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = create_hub(tmp_path / "hub")
    yield opened
    opened.close()


@pytest.fixture
def client(hub: Hub) -> Iterator[TestClient]:
    with TestClient(create_app(hub), headers={"Accept": "text/html"}) as opened:
        yield opened


def chinese() -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in (PAGES / "translations").iterdir():
        for english, text in json.loads(path.read_text(encoding="utf-8")).items():
            assert texts.setdefault(english, text) == text, f"{english}: two translations"
    return texts


def template_texts() -> set[str]:
    """Every text that a template translates."""
    texts = set()
    for path in (PAGES / "templates").iterdir():
        for literal in _TEXT.findall(path.read_text(encoding="utf-8")):
            texts.add(literal[1:-1].replace('\\"', '"').replace("\\'", "'"))
    return texts


def test_every_text_of_a_template_has_a_translation() -> None:
    assert template_texts() - chinese().keys() == set()


def test_translations_keep_the_names_of_values() -> None:
    """By name; those without one are counted, and may be numbered in the translation."""
    names = re.compile(r"\{([a-z]\w*)\}")
    numbers = re.compile(r"\{(\d*)\}")
    for english, text in chinese().items():
        assert sorted(set(names.findall(english))) == sorted(set(names.findall(text))), english
        assert len(numbers.findall(english)) == len(numbers.findall(text)), english


def test_a_page_is_in_the_language_the_browser_asks_for(client: TestClient) -> None:
    assert "This hub holds no benchmarks yet." in client.get("/").text
    page = client.get("/", headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}).text
    assert 'lang="zh-Hans"' in page
    assert "这里还没有基准。" in page


def test_language_and_theme_are_remembered(client: TestClient) -> None:
    answer = client.get("/settings?language=zh&theme=dark&next=/?a=b", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?a=b")
    page = client.get("/").text
    assert 'lang="zh-Hans" data-theme="dark"' in page


def test_static_files_are_kept_by_browsers(client: TestClient) -> None:
    page = client.get("/").text
    links = re.findall(r'href="(/static/[^"]+)"', page)
    assert len(links) >= 2
    for link in links:
        answer = client.get(link)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert client.get("/static/frame.py").status_code == 404


def test_errors_are_pages_for_browsers_and_json_for_programs(client: TestClient) -> None:
    page = client.get("/nowhere")
    assert (page.status_code, "<h1>Nothing here</h1>" in page.text) == (404, True)
    answer = client.get("/api/v1/benchmarks/none")
    assert answer.json() == {"detail": "this hub has no benchmark none"}


@pytest.mark.attack("a link that leads to another site after a form", "the hub's first page")
@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nSet-Cookie: x=y",
        "",
        "evil.example",
        "\\/evil.example",
        "/\t/evil.example",
    ],
)
def test_redirect_targets_stay_on_the_site(target: str) -> None:
    assert checked_target(target) == "/"


def test_local_links_are_kept() -> None:
    target = "/benchmarks/signs?sort=score&size=..7"
    assert checked_target(target) == target
