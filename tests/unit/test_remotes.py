"""Where the addresses of remotes lead, with git and ssh as they are installed."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from devclaw_py.errors import ConfigError
from devclaw_py.kernel.proc import run
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.project import Project
from devclaw_py.model.settings import GitHubSettings, GitLabSettings, Settings, TimeoutSettings
from devclaw_py.trackers.remotes import Address, Known, choose, known_forges, locate, parse, real, shown
from devclaw_py.work.base import Remotes
from devclaw_py.work.git import GitWork

GITHUB, GITLAB = Provider.GITHUB, Provider.GITLAB
CORP = Settings(
    github=GitHubSettings(hosts=("ghe.corp.example",)),
    gitlab=GitLabSettings(hosts=("git.corp.example", "https://git.corp.example:8443", "www.corp.example/gitlab")),
)

FORMS = [
    ("git@github.com:acme/widgets.git", GITHUB, "https://api.github.com", "acme/widgets"),
    ("ssh://git@github.com/acme/widgets", GITHUB, "https://api.github.com", "acme/widgets"),
    ("ssh://git@ssh.github.com:443/acme/widgets.git", GITHUB, "https://api.github.com", "acme/widgets"),
    ("https://x-access-token:tok@github.com/acme/widgets.git", GITHUB, "https://api.github.com", "acme/widgets"),
    ("https://github.com/acme/widgets/", GITHUB, "https://api.github.com", "acme/widgets"),
    ("git+https://github.com/acme/widgets", GITHUB, "https://api.github.com", "acme/widgets"),
    ("git://github.com/o/r.git", GITHUB, "https://api.github.com", "o/r"),
    ("GIT@GitHub.com:Acme/Widgets.git", GITHUB, "https://api.github.com", "Acme/Widgets"),
    ("git@github.com:/acme/widgets.git", GITHUB, "https://api.github.com", "acme/widgets"),
    ("git@github.com:acme/my.repo.git", GITHUB, "https://api.github.com", "acme/my.repo"),
    ("git@github.com:acme/a%20b.git", GITHUB, "https://api.github.com", "acme/a%20b"),
    ("https://github.com/acme/a%20b.git", GITHUB, "https://api.github.com", "acme/a b"),
    ("git@acme.ghe.com:o/r.git", GITHUB, "https://api.acme.ghe.com", "o/r"),
    ("git@ghe.corp.example:o/r", GITHUB, "https://ghe.corp.example/api/v3", "o/r"),
    ("git@gitlab.com:grp/sub/sub2/widgets.git", GITLAB, "https://gitlab.com/api/v4", "grp/sub/sub2/widgets"),
    ("ssh://git@altssh.gitlab.com:443/grp/w.git", GITLAB, "https://gitlab.com/api/v4", "grp/w"),
    ("ssh://git@git.corp.example:2222/grp/w.git", GITLAB, "https://git.corp.example/api/v4", "grp/w"),
    ("https://git.corp.example:8443/grp/w.git", GITLAB, "https://git.corp.example:8443/api/v4", "grp/w"),
    ("https://www.corp.example/gitlab/grp/w.git", GITLAB, "https://www.corp.example/gitlab/api/v4", "grp/w"),
    ("git@www.corp.example:grp/w.git", GITLAB, "https://www.corp.example/gitlab/api/v4", "grp/w"),
]
FOLDERS = [
    *(
        "/srv/git/r.git",
        "../r.git",
        "./a/b",
        "file:///srv/a/r.git",
        "C:\\repos\\r",
        "D:/a/b",
        "https://github.com/acme",
    ),
    *("", "https://[half", "https://github.com:x/a/b", "https:///a/b"),
]


@pytest.mark.parametrize(("text", "provider", "api", "path"), FORMS)
def test_each_form_of_an_address_leads_to_its_forge(text: str, provider: Provider, api: str, path: str) -> None:
    found = parse(text)
    assert found is not None

    place = locate(real(found), known_forges(CORP), lambda address: None)

    assert place is not None
    assert (place.provider, place.api, place.path) == (provider, api, path)


@pytest.mark.parametrize("text", FOLDERS)
def test_what_is_no_address_of_a_repository_on_a_host_leads_nowhere(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "host"),
    [("[::1]:o/r.git", "::1"), ("ssh://git@[::1]:22/o/r", "::1"), ("git@codeberg.org:o/r.git", "codeberg.org")],
)
def test_a_host_that_nobody_knows_is_asked_and_never_guessed(text: str, host: str) -> None:
    asked: list[Address] = []
    found = parse(text)
    assert found is not None

    assert locate(found, known_forges(CORP), lambda address: asked.append(address)) is None
    assert [address.host for address in asked] == [host]


def test_another_port_of_a_known_host_is_another_forge() -> None:
    found = parse("https://ghe.corp.example:9000/o/r")
    assert found is not None

    assert locate(found, known_forges(CORP), lambda address: None) is None


def test_an_unknown_host_that_says_what_it_is_is_believed() -> None:
    found = parse("git@git.example:o/r")
    assert found is not None

    place = locate(found, (), lambda address: Known(GITLAB, address.web))

    assert place is not None
    assert place.api == "https://git.example/api/v4"


@pytest.mark.parametrize("text", ["https://me:ghp_secret@github.com/a/b.git", "https://ghp_secret@github.com/x"])
def test_an_address_is_shown_without_its_secrets(text: str) -> None:
    assert "secret" not in shown(text)


# --- which remote ---

BOTH = {"fork": "git@github.com:me/w.git", "other": "git@github.com:x/w.git"}


@pytest.mark.parametrize(
    ("addresses", "wanted", "tracked", "name"),
    [
        ({"origin": "a:b/c", "upstream": "a:d/c"}, None, None, "origin"),
        ({"origin": "a:b/c", "upstream": "a:d/c"}, "upstream", None, "upstream"),
        ({"origin": "a:b/c", "upstream": "a:d/c"}, None, "upstream", "upstream"),
        ({"origin": "a:b/c", "upstream": "a:d/c"}, "ssh://git@a/d/c.git", None, "upstream"),
        ({"fork": "a:b/c"}, None, None, "fork"),
        ({"fork": "a:b/c"}, "a:else/where", None, "fork"),
    ],
)
def test_the_remote_is_the_named_one_the_followed_one_origin_or_the_only_one(
    addresses: Mapping[str, str], wanted: str | None, tracked: str | None, name: str
) -> None:
    assert choose(addresses, wanted=wanted, tracked=tracked)[0] == name


@pytest.mark.parametrize(
    ("addresses", "wanted", "said"),
    [
        (BOTH, None, "fork (https://github.com/me/w), other (https://github.com/x/w)"),
        ({}, None, "has no remote"),
        (BOTH, "upstream", "no remote upstream"),
    ],
)
def test_where_no_remote_is_obvious_it_asks(addresses: Mapping[str, str], wanted: str | None, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        choose(addresses, wanted=wanted, tracked=None)

    assert said in str(refused.value)
    assert "remote" in (refused.value.hint or "")


# --- git and ssh ---


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    settings = tmp_path / "gitconfig"
    settings.write_text('[url "git@git.corp.example:"]\n insteadOf = corp:\n[user]\n name = a\n email = a@b\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))

    def git(*words: str) -> str:
        done = run(["git", "-C", str(tmp_path / "shop"), *words], timeout_s=20)
        assert done.code == 0, done.err
        return done.out

    (tmp_path / "shop").mkdir()
    git("init", "-qb", "main")
    git("commit", "-q", "--allow-empty", "-m", "x")
    return git


def remotes(folder: Path) -> Remotes:
    project = Project(group_id="-1", name="shop", repo=str(folder))
    return GitWork(TimeoutSettings()).remotes(project)


def test_a_repository_without_a_remote_has_none(git: Callable[..., str], tmp_path: Path) -> None:
    assert remotes(tmp_path / "shop") == Remotes(addresses={}, tracked=None)


def test_instead_of_is_applied(git: Callable[..., str], tmp_path: Path) -> None:
    git("remote", "add", "fork", "corp:me/w")

    assert remotes(tmp_path / "shop").addresses == {"fork": "git@git.corp.example:me/w"}


def test_the_remote_that_the_branch_follows_is_known(git: Callable[..., str], tmp_path: Path) -> None:
    git("remote", "add", "origin", "corp:me/w")
    git("remote", "add", "upstream", "corp:x/w")
    git("config", "branch.main.remote", "upstream")

    assert remotes(tmp_path / "shop").tracked == "upstream"


def test_a_branch_that_follows_a_local_branch_follows_no_remote(git: Callable[..., str], tmp_path: Path) -> None:
    git("remote", "add", "origin", "corp:me/w")
    git("config", "branch.main.remote", ".")

    assert remotes(tmp_path / "shop").tracked is None


def test_a_worktree_and_a_detached_head_have_the_repositorys_remotes(git: Callable[..., str], tmp_path: Path) -> None:
    git("remote", "add", "origin", "corp:grp/sub/w")
    git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"))

    assert remotes(tmp_path / "tree").addresses == {"origin": "git@git.corp.example:grp/sub/w"}


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ssh program with a configuration of the test's own."""
    real_ssh = shutil.which("ssh")
    if real_ssh is None:
        pytest.skip("ssh cannot be had here")
    (tmp_path / "ssh_config").write_text("Host work\n  HostName github.com\n  User git\n")
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho called >> {tmp_path}/calls\nexec {real_ssh} -F {tmp_path}/ssh_config "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return tmp_path / "calls"


def test_an_alias_of_ssh_stands_for_its_host(ssh: Path) -> None:
    found = parse("work:o/r.git")
    assert found is not None

    assert real(found).host == "github.com"


def test_only_ssh_addresses_are_looked_up_with_ssh(ssh: Path) -> None:
    found = parse("https://work/o/r.git")
    assert found is not None

    assert real(found).host == "work"
    assert not ssh.exists()


def test_a_host_that_looks_like_an_option_is_given_to_nobody(ssh: Path) -> None:
    found = parse("ssh://-oProxyCommand=touch/o/r")
    assert found is not None

    real(found)

    assert not ssh.exists()
