"""The local tracker and the people who edit its files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from devclaw_py.errors import ConfigError, StateCorrupt, TrackerError, TrackerUnavailable, UnknownTask
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.locks import hold
from devclaw_py.model.finding import Severity
from devclaw_py.trackers import local_files
from devclaw_py.trackers.local import LocalTracker


@pytest.fixture
def tracker(tmp_path: Path) -> LocalTracker:
    return LocalTracker(tmp_path, name="shop", clock=SystemClock(), timeout_s=15)


def events(tracker: LocalTracker, number: int) -> list[tuple[str, bool, bool]]:
    return [(event.label, event.added, event.ours) for event in tracker.label_events(number)]


def test_a_new_issue_is_front_matter_a_blank_line_and_the_body(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("Fix: the login", "Do it.", labels=["To Do", "bug"], assignees=["ann"])

    lines = (tmp_path / "1.md").read_text().split("\n")
    assert lines[:6] == [
        "---",
        "number: 1",
        "title: 'Fix: the login'",
        "state: open",
        "labels: [To Do, bug]",
        "assignees: [ann]",
    ]
    assert [line.split(":")[0] for line in lines[6:8]] == ["created", "updated"]
    assert lines[8:] == ["---", "", "Do it."]


def test_the_address_of_an_issue_is_its_file(tracker: LocalTracker, tmp_path: Path) -> None:
    assert tracker.create("An issue", "", labels=[]).url == (tmp_path / "1.md").as_uri()


def test_a_title_of_several_lines_becomes_one(tracker: LocalTracker) -> None:
    assert tracker.create("a\n---\nstate: closed\x1b", "", labels=[]).title == "a --- state: closed"
    assert tracker.get(1).title == "a --- state: closed"


@pytest.mark.parametrize(
    "body", [b"a\r\nb\r\n", b"\r\n\r\nx", b"\x01\x1b[31m\x7f", b"\xff\xfe not utf-8 \xc3", b"---\n---\n\n"]
)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_the_bytes_of_a_body_stand_on_every_write_of_ours(
    tracker: LocalTracker, tmp_path: Path, body: bytes, newline: bytes
) -> None:
    head = newline.join([b"---", b"title: x", b"labels: [To Do]", b"---", b"", b""])
    (tmp_path / "7.md").write_bytes(head + body)

    tracker.take(7, "To Do")
    tracker.put(7, "Doing")
    tracker.close(7)
    tracker.reopen(7)

    assert (tmp_path / "7.md").read_bytes().endswith(b"---" + newline + newline + body)


def test_unknown_keys_comments_and_their_order_stand_on_a_write(tracker: LocalTracker, tmp_path: Path) -> None:
    (tmp_path / "7.md").write_text(
        '---\n# mine\ndue: 2026-03-01\ntitle: "x"  # why not\nlabels:\n  - To Do\n  - bug\n\n# numbers\n'
        "version: 1.10\nnested: {a: [1, 2]}\n---\nbody\n"
    )

    tracker.take(7, "To Do")

    lines = (tmp_path / "7.md").read_text().split("\n")
    assert [line for line in lines if not line.startswith("updated:")] == [
        "---",
        "# mine",
        "due: 2026-03-01",
        'title: "x"  # why not',
        "labels: [bug]",
        "",
        "# numbers",
        "version: 1.10",
        "nested: {a: [1, 2]}",
        "---",
        "body",
        "",
    ]


def test_a_write_keeps_the_permissions_of_the_file(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    (tmp_path / "1.md").chmod(0o640)

    tracker.take(1, "To Do")

    assert (tmp_path / "1.md").stat().st_mode & 0o777 == 0o640


def save(path: Path, old: str, new: str) -> None:
    """Save as editors do that write a new file: another inode, another time."""
    text = path.read_text()
    assert old in text
    aside = path.with_name("4913")
    aside.write_text(text.replace(old, new))
    os.replace(aside, path)


def test_edits_by_hand_are_seen_at_the_next_read(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "Do it.", labels=["To Do"])
    save(tmp_path / "1.md", "title: An issue", "title: Another")
    save(tmp_path / "1.md", "state: open", "state: closed")
    save(tmp_path / "1.md", "Do it.", "Do not.")

    task = tracker.get(1)

    assert (task.title, task.closed, task.body) == ("Another", True, "Do not.")


def test_a_move_by_hand_is_a_humans_event_before_anyone_locks(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    save(tmp_path / "1.md", "[To Do]", "[Doing]")

    assert events(tracker, 1)[1:] == [("To Do", False, False), ("Doing", True, False)]
    assert "human" not in (tmp_path / "1.log").read_text()


def test_a_move_by_hand_is_written_down_once(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    save(tmp_path / "1.md", "[To Do]", "[Doing]")

    tracker.comment(1, "seen")
    tracker.comment(1, "seen again")

    assert events(tracker, 1)[1:] == [("To Do", False, False), ("Doing", True, False)]
    assert (tmp_path / "1.log").read_text().count('"human"') == 2


def test_a_label_put_back_by_a_stale_editor_is_the_humans(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    stale = (tmp_path / "1.md").read_bytes()
    tracker.take(1, "To Do")
    (tmp_path / "1.md").write_bytes(stale)

    assert events(tracker, 1) == [("To Do", True, True), ("To Do", False, True), ("To Do", True, False)]


def test_another_spelling_of_a_label_is_no_event(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    save(tmp_path / "1.md", "[To Do]", "[to do]")

    assert events(tracker, 1) == [("To Do", True, True)]


@pytest.mark.parametrize("function", ["append", "write_new"])
def test_a_save_between_our_read_and_our_rename_is_not_lost(
    tracker: LocalTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    tracker.create("An issue", "Do it.", labels=["To Do"])
    real, saves = getattr(local_files, function), [("Do it.", "Do not."), ("[To Do]", "[To Do, urgent]")]

    def and_a_save(*args: object, **options: object) -> None:
        real(*args, **options)
        if saves:
            save(tmp_path / "1.md", *saves.pop())

    monkeypatch.setattr(local_files, function, and_a_save)

    assert tracker.take(1, "To Do") == frozenset({"urgent"})
    assert tracker.get(1).body == "Do not."
    assert events(tracker, 1) == [("To Do", True, True), ("urgent", True, False), ("To Do", False, True)]
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_human_who_takes_the_label_between_our_read_and_our_rename_wins_the_take(
    tracker: LocalTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    real = local_files.write_new

    def and_a_save(*args: object, **options: object) -> None:
        real(*args, **options)  # type: ignore[arg-type]  # whatever it is called with
        monkeypatch.undo()
        save(tmp_path / "1.md", "[To Do]", "[Refining]")

    monkeypatch.setattr(local_files, "write_new", and_a_save)

    assert tracker.take(1, "To Do") is None
    assert events(tracker, 1)[1:] == [("To Do", False, False), ("Refining", True, False)]


HAND_MADE = {
    "no front matter": ("# Fix it\n\nNow.\n", "Fix it", (), "# Fix it\n\nNow.\n"),
    "no heading either": ("Now.\n", "7", (), "Now.\n"),
    "labels on one line": ("---\ntitle: 1.10\nlabels: To Do, bug\n---\nNow.", "1.10", ("To Do", "bug"), "Now."),
    "labels left empty": ("---\ntitle: yes\nlabels:\n---\n\nNow.", "yes", (), "Now."),
    "empty front matter": ("---\n---\n## Fix it ##\n", "Fix it", (), "## Fix it ##\n"),
    "byte order mark": ("\ufeff---\r\ntitle: x\r\n---\r\nNow.", "x", (), "Now."),
    "one label twice": ("---\ntitle: x\nlabels: [a, A, ' ', b]\n---\n", "x", ("a", "b"), ""),
    "flow mapping": ("---\n{title: x, labels: [a]}\n---\n", "x", ("a",), ""),
}


@pytest.mark.parametrize(("text", "title", "labels", "body"), HAND_MADE.values(), ids=HAND_MADE.keys())
def test_an_issue_made_by_hand_is_read_leniently(
    tracker: LocalTracker, tmp_path: Path, text: str, title: str, labels: tuple[str, ...], body: str
) -> None:
    (tmp_path / "7.md").write_bytes(text.encode())

    task = tracker.get(7)

    assert (task.number, task.title, task.labels, task.body) == (7, title, labels, body)
    assert (task.closed, task.created is None) == (False, False)


@pytest.mark.parametrize(("text", "title", "labels", "body"), HAND_MADE.values(), ids=HAND_MADE.keys())
def test_an_issue_made_by_hand_can_be_moved(
    tracker: LocalTracker, tmp_path: Path, text: str, title: str, labels: tuple[str, ...], body: str
) -> None:
    (tmp_path / "7.md").write_bytes(text.encode())

    assert tracker.put(7, "Doing") == {*labels, "Doing"}
    task = tracker.get(7)

    assert (task.title, task.labels, task.body) == (title, (*labels, "Doing"), body)
    assert events(tracker, 7) == [*((label, True, False) for label in labels), ("Doing", True, True)]


BROKEN = {
    "no YAML": ("---\ntitle: x\nlabels: [a\n---\n", "line 4"),
    "a list": ("---\n- x\n---\n", "line 2"),
    "labels of labels": ("---\ntitle: x\nlabels: {a: b}\n---\n", "line 3"),
    "an unknown state": ("---\nstate: done\n---\n", "neither open nor closed"),
    "never closed": ("---\ntitle: x\n", "line 1"),
    "empty": ("", "empty"),
    "a control character": ("---\ntitle: \x07\n---\n", "control characters"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_named_with_its_line_and_hides_no_other(
    tracker: LocalTracker, tmp_path: Path, text: str, said: str
) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    (tmp_path / "7.md").write_text(text)

    with pytest.raises(TrackerError, match=said) as caught:
        tracker.get(7)

    assert str(tmp_path / "7.md") in str(caught.value)
    assert [task.number for task in tracker.list_all()] == [1]
    assert [(finding.issue_id, finding.severity) for finding in tracker.diagnose()] == [(7, Severity.CRITICAL)]


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_never_written(tracker: LocalTracker, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "7.md").write_text(text)

    with pytest.raises(TrackerError, match=said):
        tracker.put(7, "Doing")

    assert (tmp_path / "7.md").read_text() == text


class Saving(SystemClock):
    """A clock on whose first wait an editor finishes to save."""

    def __init__(self, finish: Callable[[], object]) -> None:
        self._finish = finish

    def sleep(self, seconds: float) -> None:
        self._finish()


@pytest.mark.parametrize("half", ["", "---\ntitle: x\nlab"])
def test_a_half_saved_file_is_read_again(tmp_path: Path, half: str) -> None:
    path = tmp_path / "7.md"
    path.write_text(half)
    clock = Saving(lambda: path.write_text("---\ntitle: x\nlabels: [To Do]\n---\n"))

    assert LocalTracker(tmp_path, name="shop", clock=clock, timeout_s=15).get(7).labels == ("To Do",)


def test_what_editors_drop_is_no_issue(tracker: LocalTracker, tmp_path: Path) -> None:
    for name in (".7.md.swp", "7.md~", "#7.md#", "4913", ".#7.md", "7.md.bak", "README.md", "0.md"):
        (tmp_path / name).write_text("x")

    assert tracker.list_all() == []
    assert tracker.create("An issue", "", labels=[]).number == 1


def test_a_number_with_leading_zeros_is_reported(tracker: LocalTracker, tmp_path: Path) -> None:
    (tmp_path / "007.md").write_text("x")

    assert "007.md" in tracker.diagnose()[0].message


def test_a_link_is_not_followed(tracker: LocalTracker, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("---\nlabels: [To Do]\n---\nsecret")
    folder = tmp_path / "issues"
    folder.mkdir()
    (folder / "7.md").symlink_to(secret)
    tracker = LocalTracker(folder, name="shop", clock=SystemClock(), timeout_s=15)

    assert tracker.list_by_label("To Do") == []
    with pytest.raises(TrackerUnavailable, match="link"):
        tracker.take(7, "To Do")
    assert "link" in tracker.diagnose()[0].message


def test_a_log_that_is_a_link_is_not_written_through(tracker: LocalTracker, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("")
    tracker.create("An issue", "", labels=[])
    (tmp_path / "1.log").unlink()
    (tmp_path / "1.log").symlink_to(target)

    with pytest.raises(TrackerUnavailable, match="link"):
        tracker.comment(1, "x")
    assert target.read_text() == ""


def test_a_pipe_in_the_folder_does_not_hang(tracker: LocalTracker, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "7.md")

    with pytest.raises(TrackerUnavailable, match="no regular file"):
        tracker.get(7)


@pytest.mark.parametrize("suffixes", [[".md"], [".md", ".log"]], ids=str)
def test_a_number_does_not_come_back_after_its_files_are_deleted(
    tracker: LocalTracker, tmp_path: Path, suffixes: list[str]
) -> None:
    tracker.create("An issue", "", labels=[])
    for suffix in suffixes:
        (tmp_path / f"1{suffix}").unlink()

    assert tracker.create("Another", "", labels=[]).number == 2
    with pytest.raises(UnknownTask):
        tracker.get(1)


def test_the_number_of_an_issue_made_by_hand_does_not_come_back(tracker: LocalTracker, tmp_path: Path) -> None:
    (tmp_path / "50.md").write_text("# By hand\n")
    tracker.put(50, "Doing")
    (tmp_path / "50.md").unlink()
    (tmp_path / "50.log").unlink()

    assert tracker.create("An issue", "", labels=[]).number == 51


def test_a_counter_that_is_no_number_is_not_overwritten(tracker: LocalTracker, tmp_path: Path) -> None:
    (tmp_path / ".number").write_text("many\n")

    with pytest.raises(StateCorrupt, match=r"\.number"):
        tracker.create("An issue", "", labels=[])
    assert (tmp_path / ".number").read_text() == "many\n"


def test_a_torn_line_is_ended_and_the_others_stand(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    tracker.comment(1, "first")
    with (tmp_path / "1.log").open("a") as log:
        log.write('{"event":"comment","bo')

    tracker.comment(1, "second")

    assert [comment.body for comment in tracker.comments(1)] == ["first", "second"]
    assert "line 4" in tracker.diagnose()[0].message


def test_a_deleted_log_leaves_the_labels_as_a_humans(tracker: LocalTracker, tmp_path: Path) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    (tmp_path / "1.log").unlink()

    assert events(tracker, 1) == [("To Do", True, False)]


def test_a_missing_folder_is_not_an_empty_tracker(tmp_path: Path) -> None:
    tracker = LocalTracker(tmp_path / "gone", name="shop", clock=SystemClock(), timeout_s=15)

    for ask in (tracker.list_all, lambda: tracker.get(1), lambda: tracker.take(1, "To Do")):
        with pytest.raises(TrackerUnavailable, match="does not exist"):
            ask()
    assert tracker.diagnose()[0].severity is Severity.CRITICAL


def test_a_held_folder_is_waited_for_no_longer_than_told(tmp_path: Path) -> None:
    tracker = LocalTracker(tmp_path, name="shop", clock=SystemClock(), timeout_s=0.05)
    tracker.create("An issue", "", labels=["To Do"])

    with (
        hold(tmp_path / ".lock", wait_s=0, holder="another", clock=SystemClock()),
        pytest.raises(TrackerUnavailable, match="held by another"),
    ):
        tracker.take(1, "To Do")


@pytest.mark.parametrize("into", [b"---", b'{"event"'], ids=["the issue", "the log"])
def test_a_full_disk_changes_nothing_and_leaves_nothing(
    tracker: LocalTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, into: bytes
) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    before = tracker.get(1), events(tracker, 1), (tmp_path / "1.log").read_bytes()
    real, is_full = os.write, False

    def full(descriptor: int, data: bytes) -> int:
        nonlocal is_full
        if is_full:
            raise OSError(28, "No space left on device")
        is_full = data.startswith(into)
        return real(descriptor, data[:9] if is_full else data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ConfigError, match="No space left"):
        tracker.take(1, "To Do")
    monkeypatch.undo()

    assert (tracker.get(1), events(tracker, 1), (tmp_path / "1.log").read_bytes()) == before
    assert not list(tmp_path.glob(".*.tmp"))
    assert tracker.take(1, "To Do") == frozenset()


def test_a_rename_that_fails_changes_nothing(tracker: LocalTracker, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker.create("An issue", "", labels=["To Do"])

    def refuse(source: Path, target: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ConfigError, match="Read-only"):
        tracker.take(1, "To Do")
    monkeypatch.undo()

    assert events(tracker, 1) == [("To Do", True, True)]
    assert tracker.take(1, "To Do") == frozenset()


def test_a_file_that_a_human_makes_under_the_next_number_is_kept(
    tracker: LocalTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = local_files.publish_new

    def and_a_human(temporary: Path, path: Path) -> None:
        monkeypatch.undo()
        path.write_text("# Mine\n")
        real(temporary, path)

    monkeypatch.setattr(local_files, "publish_new", and_a_human)

    assert tracker.create("An issue", "", labels=["To Do"]).number == 2
    assert (tracker.get(1).title, events(tracker, 1)) == ("Mine", [])
