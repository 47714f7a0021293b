"""Where credentials come from, in which order, to whom they are shown, and that they are shown to nobody else."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from devclaw_py.errors import ConfigError, NoCredentials
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.settings import GitHubSettings, GitLabSettings, Settings
from devclaw_py.trackers import gates
from devclaw_py.trackers.auth import Credentials, Keyring, Kind
from devclaw_py.trackers.forges import Entry

GITHUB, GITLAB = Provider.GITHUB, Provider.GITLAB
ENVIRONMENT = {"GH_TOKEN": "gh-canary", "GH_ENTERPRISE_TOKEN": "ghe-canary", "GITLAB_TOKEN": "gl-canary"}


def keyring(
    folder: Path,
    environ: Mapping[str, str] | None = None,
    *,
    trusts: bool = True,
    github: dict[str, Any] | None = None,
    gitlab: dict[str, Any] | None = None,
) -> Keyring:
    settings = Settings(github=GitHubSettings(**(github or {})), gitlab=GitLabSettings(**(gitlab or {})))
    given = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), **(environ or {})}
    return Keyring(settings, folder, given, trusts=lambda: trusts)


def source(ring: Keyring, provider: Provider = GITHUB, host: str = "github.com") -> str | None:
    found = ring.find(provider, host)
    return None if found is None else found.source


@pytest.fixture
def gh(tmp_path: Path) -> Path:
    """A program gh that knows a token for github.com, and writes down how it was started."""
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"open({str(tmp_path / 'calls')!r}, 'a').write(json.dumps([sys.argv, dict(os.environ)]) + '\\n')\n"
        "sys.exit(1) if sys.argv[-1] != 'github.com' else print('stored-canary')\n"
    )
    program.chmod(0o700)
    return tmp_path / "calls"


def test_nothing_anywhere_is_an_error_that_names_the_places(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials) as missing:
        keyring(tmp_path).need(GITHUB, "github.com")

    for place in ("[github] of devclaw.toml", "GH_TOKEN and GITHUB_TOKEN", "gh auth token"):
        assert place in str(missing.value)


def test_settings_go_before_the_environment_and_that_before_gh(tmp_path: Path, gh: Path) -> None:
    (tmp_path / "token").write_text("file-canary\n")
    ring = keyring(tmp_path, ENVIRONMENT, github={"token_file": "token"})

    assert ring.need(GITHUB, "github.com").secret == "file-canary"
    assert source(keyring(tmp_path, ENVIRONMENT)) == "environment GH_TOKEN"
    assert source(keyring(tmp_path, {"GITHUB_TOKEN": "b"})) == "environment GITHUB_TOKEN"
    assert source(keyring(tmp_path)) == "gh auth token"


def test_gh_is_started_with_a_host_and_without_any_token(tmp_path: Path, gh: Path) -> None:
    assert keyring(tmp_path, ENVIRONMENT, trusts=False).need(GITHUB, "github.com").secret == "stored-canary"

    argv, environ = json.loads(gh.read_text())
    assert argv[1:] == ["auth", "token", "--hostname", "github.com"]
    assert "canary" not in json.dumps([argv, environ])


def test_a_gh_that_knows_no_token_is_no_token(tmp_path: Path, gh: Path) -> None:
    assert source(keyring(tmp_path), host="ghe.corp.example") is None


@pytest.mark.parametrize(
    ("provider", "host", "found"),
    [
        (GITHUB, "github.com", "GH_TOKEN"),
        (GITHUB, "acme.ghe.com", "GH_TOKEN"),
        (GITLAB, "gitlab.com", "GITLAB_TOKEN"),
    ],
)
def test_a_variable_is_for_the_hosts_it_is_for(tmp_path: Path, provider: Provider, host: str, found: str) -> None:
    assert source(keyring(tmp_path, ENVIRONMENT), provider, host) == f"environment {found}"


@pytest.mark.parametrize(
    ("environ", "hosts"),
    [
        ({}, ()),
        ({"GH_HOST": "ghe.corp.example"}, ()),
        ({}, ("github.corp.example", "https://ghe.corp.example:8443")),
    ],
)
def test_an_enterprise_variable_goes_to_no_host_that_nobody_named(
    tmp_path: Path, environ: dict[str, str], hosts: tuple[str, ...]
) -> None:
    ring = keyring(tmp_path, {**ENVIRONMENT, **environ}, github={"hosts": hosts})

    assert source(ring, GITHUB, "evil.example") is None
    named = "environment GH_ENTERPRISE_TOKEN" if environ or hosts else None
    assert source(ring, GITHUB, "ghe.corp.example") == named


@pytest.mark.parametrize("host", ["git.corp.example", "evil.example"])
def test_gitlabs_variable_goes_to_gitlab_com_or_the_named_host_alone(tmp_path: Path, host: str) -> None:
    assert source(keyring(tmp_path, ENVIRONMENT), GITLAB, host) is None
    named = keyring(tmp_path, {**ENVIRONMENT, "GITLAB_HOST": "https://git.corp.example"})
    assert (source(named, GITLAB, host) is not None) is (host == "git.corp.example")
    assert source(named, GITLAB, "gitlab.com") is None


def test_a_workers_environment_does_not_count(tmp_path: Path) -> None:
    ring = keyring(tmp_path, ENVIRONMENT, trusts=False)

    with pytest.raises(NoCredentials, match="no environment, because a worker calls"):
        ring.need(GITHUB, "github.com")


def test_a_worker_has_what_is_configured(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("file-canary")

    assert source(keyring(tmp_path, trusts=False, github={"token_file": "token"})) == "[github] token_file"


def test_a_configured_token_is_shown_to_its_own_host_alone(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("file-canary")
    own = keyring(tmp_path, github={"token_file": "token"})
    enterprise = keyring(tmp_path, github={"token_file": "token", "hosts": ["ghe.corp.example:8443"]})

    assert (source(own), source(own, host="ghe.corp.example")) == ("[github] token_file", None)
    assert (source(enterprise), source(enterprise, host="ghe.corp.example")) == (None, "[github] token_file")


def test_a_file_for_each_host_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "ghe.corp.example.token").write_text("corp")
    ring = keyring(tmp_path, github={"token_file": "{host}.token"})

    assert ring.need(GITHUB, "ghe.corp.example").secret == "corp"
    assert ring.find(GITHUB, "github.com") is None


def test_a_command_prints_the_token_and_gets_no_other(tmp_path: Path) -> None:
    script = "import os, sys; print(sys.argv[1] + '-' + str(sorted(os.environ)).replace(' ', ''))"
    ring = keyring(tmp_path, ENVIRONMENT, gitlab={"token_command": [sys.executable, "-c", script, "{host}"]})

    secret = ring.need(GITLAB, "gitlab.com").secret

    assert secret.startswith("gitlab.com-")
    assert "TOKEN" not in secret


@pytest.mark.parametrize("script", ["", "import sys; print('half-canary'); sys.exit(3)"])
def test_a_command_that_fails_is_said_without_what_it_printed(tmp_path: Path, script: str) -> None:
    ring = keyring(tmp_path, github={"token_command": [sys.executable, "-c", script]})

    with pytest.raises(ConfigError, match=r"\[github\] token_command") as failed:
        ring.need(GITHUB, "github.com")

    assert "canary" not in str(failed.value)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_token_file_that_cannot_be_read_is_an_error_and_no_other_token_is_taken(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)

    with pytest.raises(ConfigError, match="token_file"):
        keyring(tmp_path, ENVIRONMENT, github={"token_file": "token"}).need(GITHUB, "github.com")


def test_an_app_has_its_key_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "app.pem").write_text("key-canary")
    ring = keyring(tmp_path, github={"app_id": "7", "app_key_file": "app.pem", "app_installation": "9"})

    found = ring.need(GITHUB, "github.com")

    assert (found.kind, found.secret, found.app_id, found.installation) == (Kind.APP, "key-canary", "7", "9")


def test_half_an_app_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="app_key_file and app_installation"):
        keyring(tmp_path, github={"app_id": "7"}).need(GITHUB, "github.com")


GITLAB_FILE = """
[global]
default = corp
[corp]
url = https://git.corp.example:8443/gitlab
private_token = corp-canary
[public]
url = https://gitlab.com
oauth_token = oauth-canary
[helped]
url = https://help.example
private_token = helper: echo helped-canary
"""


@pytest.mark.parametrize(
    ("host", "secret", "kind"),
    [
        ("git.corp.example", "corp-canary", Kind.TOKEN),
        ("gitlab.com", "oauth-canary", Kind.OAUTH),
        ("help.example", "helped-canary", Kind.TOKEN),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_python_gitlabs_file_is_read(tmp_path: Path, host: str, secret: str, kind: Kind, named: bool) -> None:
    path = tmp_path / ("own.cfg" if named else ".python-gitlab.cfg")
    path.write_text(GITLAB_FILE)
    ring = keyring(tmp_path, {"PYTHON_GITLAB_CFG": str(path)} if named else {})

    found = ring.need(GITLAB, host)

    assert (found.secret, found.kind) == (secret, kind)


def test_a_broken_file_of_python_gitlab_is_said_without_its_lines(tmp_path: Path) -> None:
    (tmp_path / ".python-gitlab.cfg").write_text("private_token = canary\n")

    with pytest.raises(ConfigError) as failed:
        keyring(tmp_path).need(GITLAB, "gitlab.com")

    assert "canary" not in str(failed.value)


def test_a_secret_is_in_no_text_of_its_credentials() -> None:
    found = Credentials("ghp_canary", "somewhere")

    assert "canary" not in f"{found!r}{found}"
    assert found.fingerprint not in found.secret


def test_a_token_file_with_more_than_a_token_is_refused_without_showing_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("gh-canary\nsecond line\n")

    with pytest.raises(ConfigError, match="holds more than a token") as refused:
        keyring(tmp_path, github={"token_file": "token"}).need(GITHUB, "github.com")

    assert "canary" not in str(refused.value)


def test_the_hint_for_a_missing_library_needs_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "find_spec", lambda _: None)

    with pytest.raises(ConfigError) as missing:
        gates.open_gate(cast("Entry", SimpleNamespace(provider=GITHUB)))

    assert missing.value.hint == "pip install '.[github]' in devclaw's checkout"
