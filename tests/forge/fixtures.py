"""The emulated GitHub as fixtures: one emulator for each process of the run, a repository for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forge.emulated import Emulator, GitHub


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
