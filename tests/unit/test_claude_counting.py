"""Tokens counted from transcripts as Claude Code writes them."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents.claude import counting
from devclaw_py.model.usage import Meter, TaskUsage, Tokens

BEGAN = 2_000_000_000.0
MODEL = "claude-sonnet-4-5"


class Transcript:
    """A conversation's transcript that grows."""

    def __init__(self, folder: Path, name: str = "11111111") -> None:
        self.name, self.file = name, folder / f"{name}.jsonl"
        self.file.write_text('{"type":"mode","mode":"dontAsk"}\n')

    def say(self, message: str, *, output: int = 7, model: str = MODEL, lines: int = 1, **more: Any) -> None:
        with self.file.open("a") as file:
            for _ in range(lines):
                file.write(row(message, output=output, model=model, **more))

    def mark(self, *, cost: float | None = None, at: float = BEGAN, process: float = 1.0) -> Meter:
        size = self.file.stat().st_size
        return Meter(conversation=self.name, file=str(self.file), size=size, at=at, process=process, cost_usd=cost)


def row(message: str, *, output: int = 7, model: str = MODEL, at: float = BEGAN + 5, **more: Any) -> str:
    usage = {
        "input_tokens": 10,
        "output_tokens": output,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 100,
    }
    found = {
        "type": "assistant",
        "message": {"id": message, "model": model, "usage": usage, "content": [{"type": "text", "text": "x"}]},
        "timestamp": datetime.fromtimestamp(at, tz=UTC).isoformat().replace("+00:00", "Z"),
        **more,
    }
    return json.dumps(found, separators=(",", ":")) + "\n"


def tokens(messages: int, output: int) -> Tokens:
    return Tokens(input=10 * messages, output=output, cache_read=1000 * messages, cache_creation=100 * messages)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path)


def test_a_message_of_several_lines_counts_once(transcript: Transcript) -> None:
    since = transcript.mark()
    transcript.say("a", lines=3)
    transcript.say("b", output=5)

    assert counting.usage(since, transcript.mark()).models == {MODEL: tokens(2, 12)}


def test_what_stood_before_the_task_is_not_counted(transcript: Transcript) -> None:
    transcript.say("old", output=999)
    since = transcript.mark()
    transcript.say("new")

    assert counting.usage(since, transcript.mark()).total == tokens(1, 7)


def test_each_model_has_its_own_tokens(transcript: Transcript) -> None:
    since = transcript.mark()
    transcript.say("a")
    transcript.say("b", model="claude-haiku-4-5")

    assert counting.usage(since, transcript.mark()).models == {
        MODEL: tokens(1, 7),
        "claude-haiku-4-5": tokens(1, 7),
    }


def test_the_text_of_an_api_error_is_nobodys(transcript: Transcript) -> None:
    since = transcript.mark()
    transcript.say("a", model="<synthetic>")

    assert counting.usage(since, transcript.mark()).models == {}


def test_a_message_that_two_tasks_share_counts_for_the_first(transcript: Transcript) -> None:
    since = transcript.mark()
    transcript.say("a")
    first = counting.usage(since, transcript.mark())
    transcript.say("a")
    transcript.say("b", output=5)

    assert first.until is not None
    assert counting.usage(first.until, transcript.mark()).total == tokens(1, 5)


def test_a_line_that_is_half_written_at_the_end_counts_for_the_next(transcript: Transcript) -> None:
    since, whole = transcript.mark(), row("a")
    with transcript.file.open("a") as file:
        file.write(whole[:50])
    first = counting.usage(since, transcript.mark())
    with transcript.file.open("a") as file:
        file.write(whole[50:])

    assert first.models == {}
    assert first.until is not None
    assert counting.usage(first.until, transcript.mark()).total == tokens(1, 7)


def test_sub_agents_of_the_task_count_and_those_of_earlier_ones_do_not(transcript: Transcript) -> None:
    folder = transcript.file.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-1.jsonl").write_text(row("sub") + row("late", at=BEGAN + 90) + row("early", at=BEGAN - 5))
    (folder / "agent-0.jsonl").write_text(row("old"))
    os.utime(folder / "agent-1.jsonl", (BEGAN + 90, BEGAN + 90))
    os.utime(folder / "agent-0.jsonl", (BEGAN - 5, BEGAN - 5))
    since = transcript.mark()
    transcript.say("a")

    assert counting.usage(since, transcript.mark(at=BEGAN + 60)).total == tokens(2, 14)


def test_a_conversation_that_a_person_cleared_counts_with_its_next(tmp_path: Path, transcript: Transcript) -> None:
    since = transcript.mark(cost=1.0)
    transcript.say("a")
    after = Transcript(tmp_path, "22222222")
    after.say("b")

    assert counting.usage(since, after.mark(cost=2.0)) == TaskUsage(
        models={MODEL: tokens(2, 14)}, cost_usd=None, until=after.mark(cost=2.0).model_copy(update={"last": "b"})
    )


@pytest.mark.parametrize(
    ("before", "after", "cost"),
    [
        ({"cost": 1.5}, {"cost": 2.0}, 0.5),
        ({"cost": None}, {"cost": 2.0}, None),
        ({"cost": 1.5}, {"cost": None}, None),
        ({"cost": 1.5}, {"cost": 2.0, "process": 9.0}, None),
        ({"cost": 1.5}, {"cost": 0.1}, None),
    ],
)
def test_the_cost_is_known_only_of_one_process(
    transcript: Transcript, before: dict[str, Any], after: dict[str, Any], cost: float | None
) -> None:
    assert counting.usage(transcript.mark(**before), transcript.mark(**after)).cost_usd == cost


def test_a_transcript_that_is_gone_is_not_known_and_no_error(transcript: Transcript) -> None:
    since = transcript.mark(cost=1.0)
    transcript.say("a")
    until = transcript.mark(cost=3.0)
    transcript.file.unlink()

    assert counting.usage(since, until) == TaskUsage(models=None, cost_usd=2.0, until=until)


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"assistant"',
        '{"type":"assistant","message":null}',
        '["assistant"]',
        '{"type":"assistant","message":{"id":1,"model":"m","usage":{}}}',
        '{"type":"assistant","message":{"id":"x","model":"m","usage":{"input_tokens":"many","output_tokens":-1}}}',
        '{"type":"user","text":"\\"assistant\\""}',
    ],
)
def test_lines_in_other_forms_count_nothing(transcript: Transcript, line: str) -> None:
    since = transcript.mark()
    with transcript.file.open("a") as file:
        file.write(f"{line}\n")
    transcript.say("a")

    total = counting.usage(since, transcript.mark()).total
    assert total == tokens(1, 7)


def test_more_than_is_read_in_time_is_not_known(transcript: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    since = transcript.mark()
    transcript.say("a", lines=9)
    monkeypatch.setattr(counting, "MOST_BYTES", 100)

    assert counting.usage(since, transcript.mark()).models is None
