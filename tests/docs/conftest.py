"""A home of one's own in which the pages' commands run as printed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devclaw_py.kernel import proc
from tests.docs.generate import ROOT

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IDENTITY = "[user]\n\tname = Ada\n\temail = ada@example.org\n"


@dataclass(frozen=True)
class Home:
    """A person's machine: HOME, tmux sockets, and devclaw on PATH."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(self.folder / "bin"), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.folder),
            "TMUX_TMPDIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
        }

    def run(self, *argv: str, timeout_s: float = 120, stdin: str | None = None) -> str:
        done = proc.run(argv, timeout_s=timeout_s, cwd=self.folder, env=self.env, stdin=stdin)
        assert done.code == 0, f"{done.out}\n{done.err}"
        return done.out

    def follow(self, page: Path) -> str:
        """Run every ``sh`` block of a page, one after another in one shell; return what they printed."""
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        assert blocks, f"{page} has no sh block"
        return self.run("sh", "-eu", "-s", timeout_s=240, stdin="\n".join(blocks))

    def wait_for_commit(self, repo: Path, subject: str, *, within_s: float = 60) -> None:
        deadline = time.monotonic() + within_s
        while subject not in self.run("git", "-C", str(repo), "log", "--format=%s"):
            assert time.monotonic() < deadline, f"no commit {subject!r} within {within_s:g} s"
            time.sleep(0.1)

    def end(self) -> None:
        for socket in self.folder.glob("tmux-*/*"):
            proc.run(["tmux", "-L", socket.name, "kill-server"], timeout_s=10, env=self.env)


@pytest.fixture
def home() -> Iterator[Home]:
    for program in ("git", "tmux"):
        if shutil.which(program) is None:
            if program in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
                pytest.fail(f"{program} is missing and DEVCLAW_REQUIRE names it")
            pytest.skip(f"{program} is not installed")
    # Short: the path of a tmux socket has to fit into 108 bytes.
    folder = Path(tempfile.mkdtemp(prefix="dc-"))
    devclaw = folder / "bin" / "devclaw"
    devclaw.parent.mkdir()
    devclaw.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m devclaw_py "$@"\n')
    devclaw.chmod(0o755)
    (folder / ".gitconfig").write_text(IDENTITY)
    machine = Home(folder)
    yield machine
    machine.end()
    shutil.rmtree(folder, ignore_errors=True)
