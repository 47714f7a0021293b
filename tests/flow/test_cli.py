"""The command line as a process: exit codes, what stdout holds, what is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
HEAVY = ("typer", "rich", "click", "libtmux", "tomlkit", "psutil", "yaml", "mcp", "anyio", "uvicorn")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace with a scripted agent."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "devclaw.toml").write_text('[agent]\nkind = "scripted"\nprogram = ["/bin/true"]\n')
    return folder


@pytest.fixture
def environ(workspace: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "DEVCLAW_WORKSPACE": str(workspace), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def devclaw(environ: dict[str, str], tmp_path: Path) -> Run:
    """Run the command line as a process of its own."""

    def run(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "devclaw_py", *words],
            env={**environ, **more},
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture
def repository(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A git repository with one commit."""
    folder = tmp_path / "shop"
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True, env=environ)
    subprocess.run(
        ["git", "-C", str(folder), *name, "commit", "-q", "--allow-empty", "-m", "x"], check=True, env=environ
    )
    return folder


@pytest.fixture
def shop(devclaw: Run, repository: Path) -> Path:
    """The repository, registered for group -1001."""
    done = devclaw(
        *("project-register", "--name", "shop", "--repo", str(repository)),
        *("--base-branch", "main", "--project-group-id", "-1001"),
    )
    assert done.returncode == 0, done.stderr
    return repository


def test_a_call_loads_nothing_that_only_people_need(environ: dict[str, str]) -> None:
    code = (
        "import sys; sys.argv = ['devclaw', 'call', 'queue_status']\n"
        "from devclaw_py.faces.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, file=sys.stderr)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60)

    code_line, heavy = done.stderr.splitlines()[-2:]
    assert (code_line, heavy) == ("0", "[]")
    assert json.loads(done.stdout)["success"]


def test_call_answers_one_object_when_it_is_misused(devclaw: Run) -> None:
    done = devclaw("call")

    assert json.loads(done.stdout)["error"]["code"] == "invalid_arguments"
    assert done.returncode == 2


def test_call_takes_the_workspace_in_front(devclaw: Run, tmp_path: Path) -> None:
    done = devclaw("--workspace", str(tmp_path / "other"), "call", "queue_status")

    assert json.loads(done.stdout)["success"]
    assert (tmp_path / "other" / "memory" / "audit.log").exists()


@pytest.mark.parametrize("text", ["[1]", "{", "nul", "[" * 100_000])
def test_call_refuses_what_is_no_object(devclaw: Run, text: str) -> None:
    done = devclaw("call", "queue_status", "-", stdin=text)

    assert json.loads(done.stdout)["error"]["code"] == "invalid_arguments"
    assert done.returncode == 2


def test_a_tools_command_takes_a_group_id_that_begins_with_a_dash(devclaw: Run, shop: Path) -> None:
    done = devclaw("task-create", "--project-group-id", "-1001", "--title", "Add a footer", "--json")

    assert json.loads(done.stdout)["issueId"] == 1
    assert done.returncode == 0


def test_a_project_is_found_by_a_positional_group_id_that_begins_with_a_dash(devclaw: Run, shop: Path) -> None:
    done = devclaw("project", "show", "-1001", "--json")

    assert json.loads(done.stdout)["project"]["name"] == "shop"


def test_a_refusal_for_people_leaves_stdout_empty_and_names_the_next_step(devclaw: Run) -> None:
    done = devclaw("task-create", "--project-group-id", "-7", "--title", "x")

    assert done.stdout == ""
    assert "no project is registered for group -7" in done.stderr
    assert "→ call project_register first" in done.stderr
    assert done.returncode == 2


def test_a_wrong_option_with_json_is_a_json_refusal(devclaw: Run) -> None:
    done = devclaw("task-create", "--colour", "red", "--json")

    assert json.loads(done.stdout)["error"]["code"] == "invalid_arguments"
    assert done.returncode == 2


def test_several_issues_are_moved_by_one_command_and_the_first_failure_gives_the_code(devclaw: Run, shop: Path) -> None:
    devclaw("task-create", "--project-group-id", "-1001", "--title", "One")

    done = devclaw(
        *("task-update", "--project-group-id", "-1001", "--issue-id", "1", "--issue-id", "9"),
        *("--state", "To Test", "--json"),
    )

    answer = json.loads(done.stdout)
    assert [one["success"] for one in answer["results"]] == [True, False]
    assert done.returncode == 2


def test_models_are_given_as_pairs(devclaw: Run, shop: Path) -> None:
    devclaw("project", "set", "-1001", "--models", "junior=a/b", "--models", "qa=c/d", "--auto-chain")

    project = json.loads(devclaw("project", "show", "shop", "--json").stdout)["project"]

    assert project["models"] == {"junior": "a/b", "qa": "c/d"}
    assert project["autoChain"] is True


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_workspace_is_taken_before_and_after_the_command(devclaw: Run, tmp_path: Path, place: str) -> None:
    option = ["--workspace", str(tmp_path / "elsewhere")]
    words = [*option, "config", "--json"] if place == "before" else ["config", "--json", *option]

    assert json.loads(devclaw(*words).stdout)["workspace"] == str(tmp_path / "elsewhere")


def test_a_broken_settings_file_is_told_without_a_trace(devclaw: Run, workspace: Path) -> None:
    (workspace / "devclaw.toml").write_text("[agent\n")

    done = devclaw("status")

    assert done.returncode == 4
    assert "devclaw.toml:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_in_the_place_of_a_folder_is_told_without_a_trace(devclaw: Run, workspace: Path) -> None:
    (workspace / "memory").write_text("")

    done = devclaw("task-create", "--project-group-id", "-1", "--title", "x")

    assert done.returncode == 4
    assert "Traceback" not in done.stderr


def test_a_current_folder_that_is_gone_is_told_without_a_trace(environ: dict[str, str], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = f"import os; os.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
    code += "import sys; sys.argv = ['devclaw', 'status']\nfrom devclaw_py.faces.cli import main\nmain()"

    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60)

    assert done.returncode == 4
    assert "Traceback" not in done.stderr


def test_fail_points_need_no_workspace(devclaw: Run) -> None:
    done = devclaw("failpoints", DEVCLAW_WORKSPACE="/dev/null/nowhere")

    assert done.returncode == 0
    assert "pickup.8.accepted" in done.stdout.splitlines() or "pickup.1.intent" in done.stdout.splitlines()


def test_without_a_command_the_help_is_shown(devclaw: Run) -> None:
    done = devclaw()

    assert "task-pickup" in done.stdout
    assert done.returncode == 0


def test_a_reader_that_has_had_enough_gets_no_trace(environ: dict[str, str]) -> None:
    line = f"{sys.executable} -m devclaw_py failpoints | true"

    done = subprocess.run(["bash", "-c", line], env=environ, capture_output=True, text=True, timeout=60)

    assert done.stderr == ""


def test_doctor_goes_on_without_tmux_git_and_settings(devclaw: Run, workspace: Path, tmp_path: Path) -> None:
    (workspace / "devclaw.toml").write_text("nonsense")

    done = devclaw("doctor", "--json", PATH=str(tmp_path))

    found = {(finding["type"], finding["severity"]) for finding in json.loads(done.stdout)["findings"]}
    assert {("settings", "critical"), ("terminal", "critical"), ("git", "critical"), ("journal", "ok")} <= found
    assert done.returncode == 4


def test_doctor_is_content_where_nothing_is_wrong(
    devclaw: Run, shop: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    program = tmp_path / "bin" / "devclaw"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    done = devclaw("doctor", PATH=f"{program.parent}{os.pathsep}{environ['PATH']}")

    assert done.returncode == 0, done.stdout
    assert "✔ 1 projects are registered" in done.stdout


def test_doctor_goes_on_in_a_locale_without_utf_8(devclaw: Run, shop: Path) -> None:
    done = devclaw("doctor", "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    found = {(finding["type"], finding["severity"]) for finding in json.loads(done.stdout)["findings"]}
    assert {("locale", "warning"), ("git", "ok")} <= found


def test_a_worker_may_not_remove_a_project(devclaw: Run, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("unknown")

    done = devclaw("project", "remove", "shop", "--yes", "--json", DEVCLAW_TOKEN_FILE=str(tmp_path / "token"))

    assert json.loads(done.stdout)["error"]["code"] == "not_allowed"
    assert json.loads(devclaw("project", "list", "--json").stdout)["projects"]


def test_removing_asks_when_nobody_said_yes(devclaw: Run, shop: Path) -> None:
    done = devclaw("project", "remove", "-1001")

    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert json.loads(devclaw("project", "list", "--json").stdout)["projects"]


def test_names_of_projects_are_completed(devclaw: Run, shop: Path) -> None:
    done = devclaw(_DEVCLAW_COMPLETE="complete_bash", COMP_WORDS="devclaw project show s", COMP_CWORD="3")

    assert done.stdout.split() == ["shop"]
