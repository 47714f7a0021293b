"""The ways in which the plugin comes into a gateway, each in a HOME of its own. No gateway runs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devclaw_py import catalogue
from devclaw_py.faces.openclaw.manifest import FOLDER, package
from devclaw_py.kernel import proc
from tests.real.openclaw.conftest import CLI_S, ROOT, furnished

if TYPE_CHECKING:
    from tests.real.openclaw.conftest import Gateway

GUIDE = ROOT / "docs" / "guides" / "openclaw.md"

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A person's machine with OpenClaw and devclaw on PATH, and a configuration that knows no plugin."""
    with furnished(tmp_path_factory) as machine:
        path = machine.home / ".openclaw" / "openclaw.json"
        config = json.loads(path.read_text())
        del config["plugins"]
        path.write_text(json.dumps(config))
        (machine.home / "bin" / "openclaw").symlink_to(machine.program)
        # There is nothing to fetch, and npm waits minutes for a registry that does not answer.
        (machine.home / ".npmrc").write_text("offline=true\naudit=false\nfund=false\nupdate-notifier=false\n")
        yield machine


def run(machine: Gateway, *words: str, cwd: Path | None = None) -> str:
    done = proc.run(words, timeout_s=CLI_S, cwd=cwd or machine.home, env={**machine.env, "PYTHONPATH": str(ROOT)})
    assert done.code == 0, f"{done.out}\n{done.err}"
    return done.out


def inspected(machine: Gateway) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.cli("plugins", "inspect", "devclaw", "--runtime", "--json"))
    return found


def test_after_the_guides_commands_the_gateway_finds_nothing_wrong(fresh: Gateway) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    run(fresh, "sh", "-euc", "\n".join(blocks))

    found = inspected(fresh)
    assert (found["plugin"]["status"], found["plugin"]["toolNames"]) == ("loaded", list(catalogue.TOOLS))
    assert (found.get("diagnostics", []), found.get("compatibility", [])) == ([], [])
    assert "checks passed" in fresh.cli("plugins", "doctor")
    config = json.loads((fresh.home / ".openclaw" / "openclaw.json").read_text())
    assert config["plugins"]["entries"]["devclaw"]["config"] == {
        "python": sys.executable,
        "workspace": str(fresh.office),
    }
    assert "channels" in config


def test_a_packed_plugin_installs_and_passes_the_command_line_on(fresh: Gateway, tmp_path: Path) -> None:
    npm = str(Path(Path(fresh.program).read_text().partition("PATH=")[2].partition(":")[0], "npm"))
    node = str(Path(npm).parent)
    packed = proc.run(
        [npm, "pack", "--pack-destination", str(tmp_path), str(FOLDER)],
        timeout_s=CLI_S,
        cwd=tmp_path,
        env={**fresh.env, "PATH": f"{node}:{fresh.env['PATH']}"},
    )
    assert packed.code == 0, packed.err
    tarball = tmp_path / f"{package()['name']}-{package()['version']}.tgz"

    fresh.cli("plugins", "install", f"npm-pack:{tarball}", "--force", "--accept-capabilities")

    assert fresh.cli("devclaw", "--version").splitlines()[-1].startswith("devclaw ")
