"""A slip in devclaw.toml while a worker is at work."""

from __future__ import annotations

import json
from typing import Any

from tests.real.crash.conftest import Yard
from tests.real.crash.judge import violations


def test_a_worker_can_report_while_the_settings_are_broken(yard: Yard) -> None:
    yard.call("task_create", title="Add a footer", label="To Do", pickup=True)
    yard.idle()
    settings = yard.workspace / "devclaw.toml"
    good, token = settings.read_text(), yard.workspace / "memory/sessions/shop-dev-medior/token"
    settings.write_text(good + "\n[timeouts")
    yard.environ["DEVCLAW_TOKEN_FILE"] = str(token)

    report: dict[str, Any] = {"role": "dev", "result": "done", "summary": "made", "issueId": 1, "attempt": 1}
    out, err = yard.start("task_complete", **report).communicate(timeout=30)
    other, _ = yard.start("task_comment", issueId=1, body="hello").communicate(timeout=30)
    settings.write_text(good)
    yard.recover()

    answer = json.loads(out)
    assert answer.get("pending"), (answer, err)
    assert "devclaw.toml" in answer["reason"]
    assert json.loads(other)["error"]["code"] == "config_error"
    assert yard.tasks()[0].labels == ("To Test",)
    assert violations(yard) == []
