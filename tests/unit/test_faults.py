"""Fail points."""

from __future__ import annotations

import pytest

from devclaw_py.errors import ConfigError, SessionFailed
from devclaw_py.kernel.faults import VARIABLE, FailPoints, fail, from_environment


def known() -> tuple[str, ...]:
    """Return the names that there are."""
    return ("pickup.take.taken", "a.b.c")


def test_an_armed_point_acts_once_and_others_never() -> None:
    acts: list[str] = []
    points = FailPoints("pickup.take.taken", lambda: acts.append("acted"))
    for name in ("pickup.put.put", "pickup.take.taken", "pickup.take.taken"):
        points.hit(name)
    assert acts == ["acted"]


def test_the_variable_is_taken_out_so_that_no_child_has_it() -> None:
    environ = {VARIABLE: "pickup.take.taken:error", "HOME": "/"}
    points = from_environment(environ, known=known)
    assert environ == {"HOME": "/"}
    with pytest.raises(SessionFailed):
        points.hit("pickup.take.taken")


def test_without_the_variable_nothing_is_armed() -> None:
    from_environment({}, known=known).hit("pickup.take.taken")


@pytest.mark.parametrize("value", ["", "kill", ":kill", "a.b.c", "a.b.c:explode"])
def test_another_form_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="<name>:<kill"):
        from_environment({VARIABLE: value}, known=known)


def test_an_unarmed_point_costs_nothing_and_does_nothing() -> None:
    FailPoints(None, fail).hit("anything")


def test_a_name_that_no_point_has_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"pickup\.99"):
        from_environment({VARIABLE: "pickup.99.nonsense:kill"}, known=known)
