"""Every operation by its kind: what recovery can carry to its end, and where tests can stop it."""

from __future__ import annotations

from devclaw_py.operations.change_steps import CHANGE
from devclaw_py.operations.completion_steps import COMPLETE
from devclaw_py.operations.creation_steps import COMMENT, CREATE
from devclaw_py.operations.pickup_steps import PICKUP
from devclaw_py.operations.registration_steps import REGISTER
from devclaw_py.operations.removal_steps import REMOVE
from devclaw_py.operations.setup_steps import SETUP
from devclaw_py.operations.steps import Operation
from devclaw_py.operations.update_steps import HEALTH, UPDATE

ALL = (PICKUP, COMPLETE, CREATE, COMMENT, UPDATE, REGISTER, SETUP, HEALTH, CHANGE, REMOVE)

_BY_KIND = {operation.kind: operation for operation in ALL}


def operation_of(kind: str) -> Operation:
    """Return the operation that an intent of ``kind`` belongs to."""
    return _BY_KIND[kind]


def fail_points() -> tuple[str, ...]:
    """Return the names of all fail points."""
    return tuple(point for operation in ALL for point in operation.points)
