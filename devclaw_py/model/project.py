"""A project as it stands in projects.json."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from devclaw_py.errors import RepositoryError
from devclaw_py.model.pipeline import (
    Integration,
    Mode,
    PermissionMode,
    Provider,
    Role,
    RoleExecution,
    SeatKey,
    State,
    Tier,
)

TMUX_KEY = "tmux:"
MOST_SEATS = 16
# Words and blanks: nothing that a shell or a permission rule reads as more than letters.
TEST_COMMAND = r"^[A-Za-z0-9_./][A-Za-z0-9_./:@+%,-]{0,99}( [A-Za-z0-9_./:@+%,=-]{1,100}){0,9}$"
SELDOM = frozenset({"forge", "budget", "workers", "devWorkers", "qaWorkers"})


class Kept(BaseModel):
    """A record of the registry: fields that devclaw does not know are kept when it writes."""

    model_config = ConfigDict(frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True)


class Seat(Kept):
    """A role in a project: idle, or busy with exactly one task.

    ``sessions`` outlives the task, so the next task of the tier continues in the same conversation. ``issue_id`` is a
    string on disk, as the original writes it; `issue` is its number.
    """

    active: bool = False
    issue_id: str | None = None
    model: str | None = None
    start_time: datetime | None = None
    sessions: dict[str, str | None] = Field(default_factory=dict)
    attempt: int | None = None
    previous_state: State | None = None

    @field_validator("issue_id", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) else value

    @property
    def issue(self) -> int | None:
        """The number of the task in the seat; the first of a comma list written by the original."""
        first = (self.issue_id or "").split(",")[0].strip().lstrip("#")
        return int(first) if first.isdecimal() else None

    @property
    def tier(self) -> Tier | None:
        """The tier of the current or the last task."""
        return next((tier for tier in Tier if tier.value == self.model), None)

    def session(self, tier: Tier) -> str | None:
        """The tmux session name kept for ``tier``, or None when there is none of ours."""
        key = self.sessions.get(tier) or ""
        return key.removeprefix(TMUX_KEY) if key.startswith(TMUX_KEY) else None

    def holds(self, issue: int, attempt: int | None) -> bool:
        """Whether the seat is busy with this attempt; an attempt of None means any."""
        return self.active and self.issue == issue and attempt in (None, self.attempt)

    def take(self, issue: int, *, tier: Tier, session: str, attempt: int, previous_state: State, at: datetime) -> Self:
        """Return the seat busy with one task, its session remembered under the tier."""
        return self.model_copy(
            update={
                "active": True,
                "issue_id": str(issue),
                "model": tier.value,
                "start_time": at,
                "sessions": {**self.sessions, tier.value: TMUX_KEY + session},
                "attempt": attempt,
                "previous_state": previous_state,
            }
        )

    def release(self) -> Self:
        """Return the seat idle; sessions and the last tier are kept."""
        return self.model_copy(
            update={"active": False, "issue_id": None, "start_time": None, "attempt": None, "previous_state": None}
        )


def empty_seat(role: Role) -> Seat:
    """Return an idle seat with one empty session slot for each tier of the role."""
    return Seat(sessions={tier.value: None for tier in Tier if tier.role is role})


class Forge(Kept):
    """Where a project's issues are on a forge, resolved once at registration.

    ``api`` is the base address of its interface, ``path`` the canonical full name (``owner/name``, with every
    subgroup), ``id`` the repository's own number, which survives a rename. ``remote`` is the git remote that named it.
    """

    host: str
    api: str
    path: str
    id: str
    remote: str = "origin"


class Project(Kept):
    """A repository and its issues, bound to one chat group.

    ``group_id`` is the key in the registry and is not written into the entry. ``repo`` is kept as the user wrote it;
    `repo_path` is where it is. ``workers`` says how many seats a role has, where it is not one; the further seats are
    ``dev_workers`` and ``qa_workers``, beside the ``dev`` and ``qa`` that every project has. ``budget`` are limits over
    those of the settings: ``taskUsd``, ``taskTokens``, ``projectUsd``, ``projectTokens``.
    """

    group_id: str = Field(exclude=True)
    name: str
    repo: str
    group_name: str = ""
    base_branch: str = "main"
    deploy_branch: str = ""
    deploy_url: str = ""
    auto_chain: bool = False
    role_execution: RoleExecution = RoleExecution.PARALLEL
    slug: str = ""
    provider: Provider = Provider.LOCAL
    forge: Forge | None = None
    integration: Integration = Integration.DEVCLAW
    channel: str | None = None
    mode: Mode = Mode.RUNNING
    models: dict[str, str] = Field(default_factory=dict)
    budget: dict[str, float] = Field(default_factory=dict)
    permission_mode: PermissionMode | None = None
    allow: tuple[str, ...] | None = None
    test_command: Annotated[str, Field(pattern=TEST_COMMAND)] | None = None
    dev: Seat = Field(default_factory=lambda: empty_seat(Role.DEV))
    qa: Seat = Field(default_factory=lambda: empty_seat(Role.QA))
    workers: dict[Role, Annotated[int, Field(ge=1, le=MOST_SEATS)]] = Field(default_factory=dict)
    dev_workers: tuple[Seat, ...] = ()
    qa_workers: tuple[Seat, ...] = ()

    @property
    def repo_path(self) -> Path:
        """The repository's folder, ``~`` expanded.

        Raises:
            RepositoryError: it begins with the home of a user whom this machine does not know.
        """
        try:
            return Path(self.repo).expanduser()
        except RuntimeError as error:
            found = f"the repository {self.repo} of {self.name} cannot be found: {error}"
            raise RepositoryError(found, hint="write the whole path") from error

    def seat(self, role: Role, number: int = 1) -> Seat:
        """Return a seat; one that was never taken is empty."""
        if number == 1:
            return self.dev if role is Role.DEV else self.qa
        further = self._further(role)
        return further[number - 2] if number - 2 < len(further) else empty_seat(role)

    def seats(self, *roles: Role) -> dict[SeatKey, Seat]:
        """Return the seats of the roles, of all when none is named; also those over the number that are still taken."""
        return {
            SeatKey(role, number): self.seat(role, number)
            for role in roles or Role
            for number in range(1, max(self.workers.get(role, 1), 1 + len(self._further(role))) + 1)
        }

    def open_seats(self, role: Role) -> dict[SeatKey, Seat]:
        """Return the seats of a role that may take a task: idle, and within the number of its workers."""
        within = self.workers.get(role, 1)
        return {key: seat for key, seat in self.seats(role).items() if key.number <= within and not seat.active}

    def with_seat(self, key: SeatKey, seat: Seat) -> Self:
        """Return a copy of the project with ``seat`` in its place."""
        role, number = key
        if number == 1:
            return self.model_copy(update={role.value: seat})
        further = [self.seat(role, place) for place in range(2, max(number, 1 + len(self._further(role))) + 1)]
        further[number - 2] = seat
        return self.model_copy(update={f"{role}_workers": tuple(further)})

    def _further(self, role: Role) -> tuple[Seat, ...]:
        return self.dev_workers if role is Role.DEV else self.qa_workers

    def on_disk(self) -> dict[str, Any]:
        """Return the entry as it is written into projects.json; what most projects do not have is left out."""
        entry = self.model_dump(mode="json", by_alias=True)
        return {name: value for name, value in entry.items() if value or name not in SELDOM}
