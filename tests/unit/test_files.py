"""Writing files whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from devclaw_py.errors import ConfigError
from devclaw_py.kernel import files
from devclaw_py.kernel.secrets import new_token, same, scrub


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    files.write(tmp_path / "a", b"old")
    files.write(tmp_path / "a", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new"}


def test_a_refused_write_keeps_the_old_file_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write(tmp_path / "a", b"old")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(ConfigError, match="Permission denied; make it writable for this user"):
        files.write(tmp_path / "a", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


def test_a_reader_of_the_old_file_keeps_the_old_content(tmp_path: Path) -> None:
    files.write(tmp_path / "a", b"old")
    with (tmp_path / "a").open("rb") as reader:
        files.write(tmp_path / "a", b"newer")
        assert reader.read() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    files.write(tmp_path / "kept/a", b"old")
    (tmp_path / "a").symlink_to(tmp_path / "kept/a")
    files.write(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "kept/a").read_bytes() == b"new"


def test_a_missing_folder_is_said_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere/a could not be written: No such file"):
        files.write(tmp_path / "nowhere/a", b"")


def test_a_folder_in_the_files_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ConfigError, match="move it away"):
        files.write(tmp_path / "a", b"")


def test_reading_what_is_absent_is_none_and_what_is_refused_is_an_error(tmp_path: Path) -> None:
    assert files.read(tmp_path / "a") is None
    with pytest.raises(ConfigError, match="could not be read"):
        files.read(tmp_path)


def test_create_does_not_touch_what_exists(tmp_path: Path) -> None:
    files.create(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        files.create(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"


def test_sweeping_removes_drafts_of_this_file_alone(tmp_path: Path) -> None:
    for name in (".a.0123.tmp", ".b.0123.tmp", "a"):
        (tmp_path / name).touch()
    files.sweep(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.0123.tmp", "a"]


def test_a_line_lost_half_way_is_ended_before_the_next(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b'{"a":1}\n{"b":')
    files.append_line(tmp_path / "log", b'{"c":3}')
    assert (tmp_path / "log").read_bytes() == b'{"a":1}\n{"b":\n{"c":3}\n'


def test_append_returns_the_size_of_the_file(tmp_path: Path) -> None:
    assert [files.append_line(tmp_path / "log", b"12"), files.append_line(tmp_path / "log", b"345")] == [3, 7]


def test_a_short_append_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.append_line(tmp_path / "log", b"whole")
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:2]))
    with pytest.raises(ConfigError, match="free some space"):
        files.append_line(tmp_path / "log", b"half of this")
    assert (tmp_path / "log").read_bytes() == b"whole\n"


def test_a_private_folder_is_closed_even_when_it_stood_open(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    files.private_folder(tmp_path / "a")
    files.private_folder(tmp_path / "b/c")
    assert [mode(tmp_path / "a"), mode(tmp_path / "b/c")] == [0o700, 0o700]


def test_tokens_differ_and_compare() -> None:
    one, two = new_token(), new_token()
    assert len(one) == 43
    assert (same(one, one), same(one, two), same("ü", "ü")) == (True, False, True)


def test_scrub_masks_the_longer_secret_first_and_leaves_short_words() -> None:
    assert scrub("abcdefgh-ijkl abcdefgh ok", ["abcdefgh", "abcdefgh-ijkl", "ok", ""]) == "[secret] [secret] ok"


def test_a_creation_that_is_cut_off_leaves_no_file_under_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def cut_off(descriptor: int, content: bytes) -> int:
        raise Killed

    monkeypatch.setattr(os, "write", cut_off)
    with pytest.raises(Killed):
        files.create(tmp_path / "dev.md", b"text")

    assert not (tmp_path / "dev.md").exists()


def test_a_backup_takes_the_next_number_that_is_free(tmp_path: Path) -> None:
    (tmp_path / "a.bak-1").write_text("theirs")

    assert files.back_up(tmp_path / "a", b"ours") == "a.bak-2"

    assert (tmp_path / "a.bak-1").read_text() == "theirs"
