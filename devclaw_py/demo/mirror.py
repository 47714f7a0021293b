"""The git side of the demo's GitHub: what is pushed appears there, and what is merged there is merged in git.

The emulated GitHub keeps commits of its own making and no git. So each commit that a branch stands at has a counterpart
there, and `Mirror` knows which is which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devclaw_py.demo.repository import AUTHOR, BASE, EMAIL
from devclaw_py.work.command import Git

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", AUTHOR), ("EMAIL", EMAIL))
}

Ask = Callable[[str, str, object], Any]
"""Asks the emulated GitHub: method, path below the repository, body; returns the answer's JSON."""


@dataclass
class Mirror:
    """A bare repository and its counterpart on the emulated GitHub. ``theirs`` has the counterpart of each commit."""

    git: Git
    bare: Path
    ask: Ask
    theirs: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Note that both have the same base branch."""
        self.theirs[self.tip(BASE)] = self.ask("GET", f"/git/ref/heads/{BASE}", None)["object"]["sha"]

    def push(self) -> None:
        """Let every branch there stand where it stands here."""
        listed = self.git.line(
            self.bare, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads", asked="list branches"
        )
        for line in listed.splitlines():
            branch, commit = line.split(" ")
            if commit not in self.theirs:
                self._make(branch, commit)

    def merge(self, branch: str, merged: str) -> None:
        """Merge a branch here as the request ``merged`` it there."""
        base, head = self.tip(BASE), self.tip(branch)
        asked = f"merge {branch}"
        tree = self.git.line(self.bare, "merge-tree", "--write-tree", base, head, asked=asked).splitlines()[0]
        words = ("commit-tree", tree, "-p", base, "-p", head, "-m", f"Merge {branch}")
        commit = self.git.run(self.bare, *words, asked=asked, extra=IDENTITY).out.strip()
        self.git.run(self.bare, "update-ref", f"refs/heads/{BASE}", commit, base, asked=asked)
        self.theirs[commit] = merged

    def has(self, branch: str) -> bool:
        """Say whether there is such a branch."""
        words = ("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        return self.git.run(self.bare, *words, asked=f"look for {branch}", codes=(0, 1)).code == 0

    def followed(self, pulls: Any) -> Any:  # noqa: ANN401 - it is JSON
        """Return requests with their heads where the branches stand now; the emulated GitHub leaves them behind."""
        for pull in pulls if isinstance(pulls, list) else [pulls]:
            if pull["state"] == "open" or pull.get("merged_at"):
                pull["head"]["sha"] = self.tip(pull["head"]["ref"])
        return pulls

    def outward(self, text: str) -> str:
        """Return a text to the emulated GitHub with the commits that it knows."""
        for ours, theirs in self.theirs.items():
            text = text.replace(ours, theirs)
        return text

    def inward(self, text: str) -> str:
        """Return a text of the emulated GitHub with git's commits."""
        for ours, theirs in self.theirs.items():
            text = text.replace(theirs, ours)
        return text

    def tip(self, branch: str) -> str:
        """Return the commit of a branch."""
        return self.git.line(self.bare, "rev-parse", "--verify", f"refs/heads/{branch}", asked=f"read {branch}")

    def _make(self, branch: str, commit: str) -> None:
        there = self.ask("GET", f"/git/ref/heads/{branch}", None)
        parent = (there if "object" in there else self.ask("GET", f"/git/ref/heads/{BASE}", None))["object"]["sha"]
        tree = self.ask("GET", f"/git/commits/{parent}", None)["tree"]["sha"]
        made = self.ask("POST", "/git/commits", {"message": commit, "tree": tree, "parents": [parent]})["sha"]
        if "object" in there:
            self.ask("PATCH", f"/git/refs/heads/{branch}", {"sha": made, "force": True})
        else:
            self.ask("POST", "/git/refs", {"ref": f"refs/heads/{branch}", "sha": made})
        self.theirs[commit] = made
