"""The move table: which state follows which, and for whom."""

from __future__ import annotations

from devclaw_py.errors import InvalidArguments, RoleMismatch, WrongState
from devclaw_py.model.pipeline import Result, Role, State, StateKind, Tier

KIND = {
    State.PLANNING: StateKind.HOLD,
    State.TO_DO: StateKind.QUEUE,
    State.DOING: StateKind.ACTIVE,
    State.TO_TEST: StateKind.QUEUE,
    State.TESTING: StateKind.ACTIVE,
    State.TO_IMPROVE: StateKind.QUEUE,
    State.REFINING: StateKind.HOLD,
    State.DONE: StateKind.TERMINAL,
}

ROLE = {
    State.TO_DO: Role.DEV,
    State.DOING: Role.DEV,
    State.TO_IMPROVE: Role.DEV,
    State.TO_TEST: Role.QA,
    State.TESTING: Role.QA,
}

# Feedback first, then what waits for a test, then new work.
QUEUES = (State.TO_IMPROVE, State.TO_TEST, State.TO_DO)

ACTIVE = {Role.DEV: State.DOING, Role.QA: State.TESTING}

# Where a task goes back to when nothing says where it came from.
HOME_QUEUE = {State.DOING: State.TO_DO, State.TESTING: State.TO_TEST}

COMPLETIONS = {
    (Role.DEV, Result.DONE): State.TO_TEST,
    (Role.DEV, Result.BLOCKED): State.REFINING,
    (Role.QA, Result.PASS): State.DONE,
    (Role.QA, Result.FAIL): State.TO_IMPROVE,
    (Role.QA, Result.REFINE): State.REFINING,
    (Role.QA, Result.BLOCKED): State.REFINING,
}


def default_tier(role: Role) -> Tier:
    """Return the tier that is meant when nothing says which."""
    return Tier.MEDIOR if role is Role.DEV else Tier.QA


def queues_of(role: Role) -> tuple[State, ...]:
    """Return the states that ``role`` picks up from, most urgent first."""
    return tuple(state for state in QUEUES if ROLE[state] is role)


def pickup_source(role: Role, issue: int, found: tuple[State, ...]) -> State:
    """Return the state that a pickup moves the issue from; its target is ``ACTIVE[role]``.

    Raises:
        WrongState: no state label, several, or one that nobody picks up from.
        RoleMismatch: the issue waits for the other role.
    """
    accepted = " or ".join(queues_of(role))
    if len(found) != 1:
        what = " and ".join(found) if found else "no state label"
        raise WrongState(
            f"{role} can pick up issue #{issue} from {accepted}, but it has {what}",
            hint="session_health mends it" if found else f"task_update gives it one: {accepted}",
        )
    (state,) = found
    if KIND[state] is not StateKind.QUEUE:
        raise WrongState(
            f"{role} can pick up issue #{issue} from {accepted}, but it is in {state}",
            hint="move it with task_update first" if KIND[state] is StateKind.HOLD else None,
        )
    if ROLE[state] is not role:
        raise RoleMismatch(
            f"issue #{issue} is in {state} and waits for {ROLE[state]}, not for {role}",
            hint=f"call task_pickup with role {ROLE[state]}",
        )
    return state


def completion_target(role: Role, result: Result) -> State:
    """Return where a report moves the issue.

    Raises:
        InvalidArguments: the role cannot report that.
    """
    target = COMPLETIONS.get((role, result))
    if target is None:
        allowed = ", ".join(word for who, word in COMPLETIONS if who is role)
        raise InvalidArguments(f"{role} cannot report {result}; it can report {allowed}")
    return target
