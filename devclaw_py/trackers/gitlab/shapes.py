"""GitLab's JSON, as far as devclaw reads it, and what it becomes. Fields that are not named here are not looked at."""

from __future__ import annotations

from pydantic import AliasPath, AwareDatetime, BaseModel, Field

from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.rules.labels import same, without
from devclaw_py.trackers.forge.poll import MANAGED

GHOST = "ghost"
"""GitLab's own name for an account that was deleted."""


class RawUser(BaseModel):
    """An account."""

    id: int = 0
    username: str


class RawLabel(BaseModel):
    """A label of the project, or of a group above it."""

    id: int = 0
    name: str


class RawIssue(BaseModel):
    """An issue. Incidents, tasks and test cases are listed beside it; older servers do not tell the type."""

    iid: int
    title: str
    web_url: str = ""
    description: str | None = None
    labels: list[str] = Field(default_factory=list)
    state: str
    assignees: list[RawUser] | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    confidential: bool = False
    issue_type: str | None = None
    moved_to_id: int | None = None
    discussion_locked: bool | None = None

    @property
    def number(self) -> int:
        """Its number in the project."""
        return self.iid

    @property
    def foreign(self) -> bool:
        """Whether devclaw leaves it alone: of another type, moved to another project, or confidential.

        What a worker writes would be read by more people than may see a confidential issue.
        """
        return self.confidential or self.issue_type not in (None, "issue") or self.moved_to_id is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its labels."""
        return tuple(self.labels)

    def task(self) -> Task:
        """Return it as a task; the label that says it is ours is not told."""
        return Task(
            number=self.iid,
            title=self.title,
            url=self.web_url,
            body=self.description or "",
            labels=without(self.labels, MANAGED),
            closed=self.state == "closed",
            assignees=tuple(user.username for user in self.assignees or ()),
            created=self.created_at,
            updated=self.updated_at,
        )


class RawNote(BaseModel):
    """A note; GitLab writes some itself, such as on each change of labels."""

    id: int
    author: RawUser | None = None
    body: str | None = None
    system: bool = False
    created_at: AwareDatetime

    def comment(self) -> Comment:
        """Return it as devclaw knows comments."""
        author = self.author.username if self.author else GHOST
        return Comment(id=str(self.id), author=author, body=self.body or "", at=self.created_at)


class RawEvent(BaseModel):
    """A label that was put on or taken off an issue; a deleted label is none."""

    id: int
    action: str
    user: RawUser | None = None
    label: RawLabel | None = None
    created_at: AwareDatetime

    def label_event(self, login: str) -> LabelEvent | None:
        """Return it if it is about a label that devclaw tells of; ``login`` is devclaw's own account."""
        if self.label is None or same(self.label.name, MANAGED):
            return None
        actor = self.user.username if self.user else GHOST
        return LabelEvent(
            label=self.label.name,
            added=self.action == "add",
            actor=actor,
            ours=same(actor, login),
            at=self.created_at,
        )


class RawProject(BaseModel):
    """A project. Roles are told to the account that asks: 10 Guest, 15 Planner, 20 Reporter, 30 Developer and up."""

    id: int
    path_with_namespace: str
    default_branch: str | None = None
    archived: bool = False
    issues_access_level: str = "enabled"
    merge_requests_access_level: str = "enabled"
    own_role: int | None = Field(None, validation_alias=AliasPath("permissions", "project_access", "access_level"))
    group_role: int | None = Field(None, validation_alias=AliasPath("permissions", "group_access", "access_level"))

    @property
    def role(self) -> int:
        """The higher of the roles in the project and in its group; 0 without one."""
        return max(self.own_role or 0, self.group_role or 0)


class RawToken(BaseModel):
    """What a token says of itself."""

    scopes: list[str] = Field(default_factory=list)
    expires_at: str | None = None
