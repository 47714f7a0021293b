"""A yard whose project is on an emulated GitHub: registered, found, entered and paid for as the product does it."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from devclaw_py.model.task import Task
from devclaw_py.trackers.github.shapes import RawIssue
from tests.forge.emulated import GitHub
from tests.real.crash.conftest import GROUP, Yard, slug_of
from tests.real.crash.judge import violations

HURRY = "writes_per_minute = 100_000\nwrites_per_hour = 1_000_000"


@dataclass
class HubYard(Yard):
    """A yard whose issues and requests are on GitHub; they are read as a human sees them."""

    github: GitHub | None = None

    @property
    def hub(self) -> GitHub:
        assert self.github is not None
        return self.github

    def add_project(self, group: str) -> None:
        bare, web = self.folder / "remote.git", self.hub.proxy.url
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
        self.git("remote", "add", "origin", str(bare))
        self.git("push", "-q", "origin", "main")
        self.hub.proxy.stand_behind(self.hub.forge.path, bare)
        token, settings = self.workspace / "github.token", self.workspace / "devclaw.toml"
        token.touch(mode=0o600)
        token.write_text(self.hub.token)
        section = f'\n[github]\nhosts = ["{web}"]\ntoken_file = "{token.name}"\n{HURRY}\n'
        settings.write_text(settings.read_text() + section)
        self.call(
            "project_register",
            projectGroupId=group,
            name=slug_of(group),
            repo=str(self.repo),
            baseBranch="main",
            provider="github",
            remote=f"{web}/{self.hub.forge.path}.git",
        )

    def tasks(self, group: str = GROUP) -> list[Task]:
        raws = self.hub.human("GET", "/issues?state=all&per_page=100&sort=created&direction=asc")
        return [RawIssue.model_validate(raw).task() for raw in raws if "pull_request" not in raw]

    def wrong(self) -> list[str]:
        """Return what does not hold, of the requests on the forge as well: one a branch, merged where it is Done."""
        found = violations(self)
        pulls = self.hub.human("GET", "/pulls?state=all&per_page=100")
        heads = Counter(pull["head"]["ref"] for pull in pulls)
        found += [f"{branch} has {count} requests" for branch, count in heads.items() if count > 1]
        for task in self.tasks():
            ours = [pull for pull in pulls if f"devclaw/{task.number}-" in pull["head"]["ref"]]
            merged = any(pull["merged_at"] for pull in ours)
            if ("Done" in task.labels) is not merged and task.title != "New":
                found.append(f"#{task.number} has {task.labels}, its requests are {heads}, merged: {merged}")
            if task.closed is not ("Done" in task.labels):
                found.append(f"#{task.number} is closed: {task.closed}, with {task.labels}")
        return found


def hub_yard(make_yard: Callable[[], Yard], github: GitHub) -> HubYard:
    """Return a yard with a registered project on ``github``."""
    made = make_yard()
    yard = HubYard(made.folder, made.environ, github)
    yard.add_project(GROUP)
    return yard
