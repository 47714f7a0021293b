from __future__ import annotations

import pytest

from tests.docs.normalise import normalised

ONE = """\
Workspace: /tmp/devclaw-demo-1_45czma
Look over a shoulder: tmux -L devclaw-3cfa72f0 attach -r -t =till-dev-junior -f ignore-size
3 of 3 issues are Done, closed and merged into main, in 18.9 s.
  /tmp/devclaw-demo-1_45czma/chat.ndjson  what the group was told
op 7ca529f9696409fa at 2026-11-30T22:47:13.921Z, Ran 3 tests in 0.001s
"""
OTHER = """\
Workspace: /var/folders/x/devclaw-demo-zz9
Look over a shoulder: tmux -L devclaw-0badcafe attach -r -t =till-dev-junior -f ignore-size
3 of 3 issues are Done, closed and merged into main, in 4 s.
  /var/folders/x/devclaw-demo-zz9/chat.ndjson  what the group was told
op 1234567812345678 at 2027-01-01T00:00:00Z, Ran 3 tests in 1.200s
"""


def test_two_runs_are_the_same_when_only_ids_paths_and_times_differ() -> None:
    assert normalised(ONE) == normalised(OTHER)


def test_a_second_normalising_changes_nothing() -> None:
    assert normalised(normalised(ONE)) == normalised(ONE)


def test_a_chosen_folder_counts_as_the_workspace() -> None:
    assert normalised("in /home/ada/try/memory", "/home/ada/try") == "in <workspace>/memory\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("3 of 3 issues", "2 of 3 issues"),
        ("16 moves, 8 attempts", "16 moves, 9 attempts"),
        ("6 tests, 1 red", "6 tests, none red"),
        ("AssertionError: 1800 != 1799", "AssertionError: 1800 != 1801"),
    ],
)
def test_what_happened_is_not_normalised_away(before: str, after: str) -> None:
    assert normalised(before) != normalised(after)
