"""Names of locks, and what holds between two descriptors of one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.errors import ConfigError, ProjectBusy
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.kernel.locks import HELD, hold
from devclaw_py.state.locking import Locks, lock_file

NAMES = st.text(st.characters(), max_size=400)


@given(one=NAMES, two=NAMES)
def test_two_names_never_share_a_file(one: str, two: str) -> None:
    assert (lock_file(one) == lock_file(two)) == (one == two)


@given(name=NAMES)
def test_no_name_leaves_the_folder_or_is_too_long(name: str) -> None:
    file = lock_file(name)
    assert "/" not in file
    assert "\0" not in file
    assert file not in (".", "..")
    assert len(file.encode()) <= 255


@pytest.mark.parametrize(
    "name", ["project:-100123", "project:12@g.us", "project:../../etc", "session:🎉", "project:" + "x" * 999]
)
def test_any_name_can_be_held(tmp_path: Path, name: str) -> None:
    locks = Locks(tmp_path / "locks", VirtualClock())
    with locks.hold(name, wait_s=0, holder="x"):
        assert [path.parent for path in tmp_path.rglob("*.lock")] == [tmp_path / "locks"]


def test_group_ids_stay_readable() -> None:
    assert lock_file("project:-100123") == "project:-100123.lock"


def test_a_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "locks").touch()
    with pytest.raises(ConfigError), Locks(tmp_path / "locks", VirtualClock()).hold("a", wait_s=0, holder="x"):
        pass


def test_an_error_of_the_block_passes_unchanged(tmp_path: Path) -> None:
    locks = Locks(tmp_path / "locks", VirtualClock())
    with pytest.raises(PermissionError, match="mine"), locks.hold("a", wait_s=0, holder="x"):
        raise PermissionError("mine")


def test_waiting_in_vain_takes_as_long_as_was_asked(tmp_path: Path) -> None:
    clock = VirtualClock()
    with hold(tmp_path / "a.lock", wait_s=0, holder="task_pickup op1", clock=clock):
        began = clock.monotonic()
        with (
            pytest.raises(ProjectBusy, match=r"a is held by task_pickup op1 \(pid \d+, since 2026-03-01T12:00:00"),
            hold(tmp_path / "a.lock", wait_s=3, holder="other", clock=clock),
        ):
            pass
        assert 3 <= clock.monotonic() - began < 3.1


def test_descriptors_are_listed_for_children_only_while_held(tmp_path: Path) -> None:
    with hold(tmp_path / "a.lock", wait_s=0, holder="x", clock=VirtualClock()):
        assert len(HELD.get()) == 1
    assert HELD.get() == ()
