"""The emulated GitHub as fixtures: one emulator for each process of the run, a repository for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forge import gitlab_merging
from tests.forge.emulated import Emulator, GitHub
from tests.forge.gitlab_hands import GitLab
from tests.forge.gitlab_standin import StandIn


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    started = Emulator(tmp_path_factory.mktemp("emulate"))
    yield started
    started.stop()


@pytest.fixture
def github(emulator: Emulator, tmp_path: Path) -> Iterator[GitHub]:
    """A repository on the emulated GitHub; log and faults of the proxy are this test's."""
    forge = emulator.repository()
    emulator.proxy.clear()
    yield GitHub(emulator.proxy, forge, tmp_path / "memory" / "github")
    emulator.proxy.clear()


@pytest.fixture(scope="session")
def gitlab_server() -> Iterator[StandIn]:
    started = StandIn(*gitlab_merging.ROUTES)
    yield started
    started.stop()


@pytest.fixture
def gitlab(gitlab_server: StandIn, tmp_path: Path) -> Iterator[GitLab]:
    """A project on the GitLab for tests; log and faults are this test's."""
    gitlab_server.clear()
    yield GitLab(gitlab_server, gitlab_server.project(f"acme/shops/{tmp_path.name}"), tmp_path / "memory" / "gitlab")
    gitlab_server.clear()
