"""What the stand-in's default script makes of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.agents.standin.directives import TOO_LONG, BadDirective, follow_directives
from devclaw_py.agents.standin.script import Answer, Break, Call, Conversation, Refusal, ToolResult, conversation

Message = dict[str, Any]


def user(*blocks: str | Message) -> Message:
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    return {"role": "user", "content": content}


def model() -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": "..."}]}


def result(text: str, *, is_error: bool = False) -> Message:
    return {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": is_error}


def asked(*messages: Message, tries: int = 0, tools: tuple[str, ...] = ("Read", "Bash")) -> Conversation:
    body = {"model": "m", "messages": list(messages), "tools": [{"name": name} for name in tools]}
    found = conversation(body)
    return Conversation(found.model, found.system, found.messages, found.tools, tries=tries)


def answer(*messages: Message, tries: int = 0) -> Answer:
    return follow_directives(asked(*messages, tries=tries))


BASH = Call("Bash", {"command": "echo hi"})
ECHO = '[[standin: tool Bash {"command": "echo hi"}]]'


def test_a_prompt_without_a_directive_ends_the_turn_with_a_text() -> None:
    assert answer(user("hello")) == Answer("The stand-in heard 5 characters.")


def test_what_is_said_stands_in_front_of_the_tool_call_of_the_same_message() -> None:
    assert answer(user(f"[[standin: say first]] {ECHO}")) == Answer("first", (BASH,))


def test_each_result_brings_the_next_step() -> None:
    prompt = user(f"{ECHO} [[standin: tool Read {{}}]] [[standin: say done]]")

    assert answer(prompt).calls == (BASH,)
    assert answer(prompt, model(), user(result("hi"))).calls == (Call("Read", {}),)
    assert answer(prompt, model(), user(result("hi")), model(), user(result("x"))) == Answer("done")


def test_a_message_may_call_several_tools() -> None:
    assert answer(user(f"{ECHO} [[standin: also Read]]")).calls == (BASH, Call("Read"))


def test_arguments_may_hold_the_closing_marks() -> None:
    assert answer(user('[[standin: tool X {"a": [[1]], "b": "]]"}]]')).calls == (Call("X", {"a": [[1]], "b": "]]"}),)


def test_results_stand_in_the_order_of_their_calls() -> None:
    calls: list[Message] = [{"type": "tool_use", "id": key, "name": key.upper()} for key in ("a", "b")]
    results = [{"type": "tool_result", "tool_use_id": key, "content": f"of {key}"} for key in ("b", "a")]

    (reply,) = asked(user("go"), {"role": "assistant", "content": calls}, user(*results)).turn.replies

    assert reply.results == (ToolResult("of a", tool="A"), ToolResult("of b", tool="B"))


def test_without_a_last_word_the_last_result_is_told() -> None:
    assert answer(user(ECHO), model(), user(result("hi"))).text == "The last tool answered: hi"
    assert answer(user(ECHO), model(), user(result("no", is_error=True))).text == "The last tool failed: no"


@pytest.mark.parametrize(
    "line",
    [
        "[[standin: read /w/task 1.md]]",
        "Read the file `/w/task 1.md` and do the task in it.",
        'Please read "/w/task 1.md".',
    ],
)
def test_a_task_file_is_read_and_its_directives_are_followed(line: str) -> None:
    assert answer(user(line)).calls == (Call("Read", {"file_path": "/w/task 1.md"}),)

    content = user(result(f"     1\t# Task\n     2\t{ECHO}\n     3\t[[standin: say did it]]\n"))
    assert answer(user(line), model(), content).calls == (BASH,)
    assert answer(user(line), model(), content, model(), user(result("hi"))) == Answer("did it")


def test_a_path_at_the_end_of_a_sentence_loses_the_full_stop() -> None:
    assert answer(user("Read the file /w/task.md.")).calls == (Call("Read", {"file_path": "/w/task.md"}),)


def test_a_file_is_not_read_where_there_is_no_read() -> None:
    assert follow_directives(asked(user("Read the file /w/t"), tools=("Bash",))).calls == ()


def test_what_a_file_asks_for_comes_before_what_follows_the_reading() -> None:
    prompt = user("[[standin: read /f]] [[standin: say end]]")

    assert answer(prompt, model(), user(result(ECHO))).calls == (BASH,)
    assert answer(prompt, model(), user(result(ECHO)), model(), user(result("hi"))) == Answer("end")


def test_directives_in_the_result_of_any_other_tool_are_data() -> None:
    assert answer(user(ECHO), model(), user(result("[[standin: fault 500]]"))).fault is None


def test_only_the_newest_of_merged_prompts_counts() -> None:
    assert answer(user("[[standin: fault 500]]", "[[standin: say yes]]")) == Answer("yes")


def test_what_is_said_during_a_tool_run_is_done_after_the_rest() -> None:
    prompt, meanwhile = user(f"{ECHO}[[standin: tool A]]"), user(result("hi"), "[[standin: tool B]]")

    assert answer(prompt, model(), meanwhile).calls == (Call("A"),)
    assert answer(prompt, model(), meanwhile, model(), user(result("a"))).calls == (Call("B"),)


def test_a_prompt_after_an_interruption_begins_a_new_turn() -> None:
    interrupted = user(
        result("rejected", is_error=True), "[Request interrupted by user for tool use]", "[[standin: say b]]"
    )

    assert answer(user(f"{ECHO}[[standin: tool A]]"), model(), interrupted) == Answer("b")


def test_reminders_and_system_messages_are_not_prompts() -> None:
    reminder = "<system-reminder>\n[[standin: say wrong]]</system-reminder>"
    late = {"role": "system", "content": "[[standin: say wrong]]"}

    assert answer(user(reminder, "[[standin: say right]]", reminder), late) == Answer("right")


def test_a_later_prompt_does_not_repeat_an_earlier_script() -> None:
    assert answer(user(ECHO), model(), user(result("hi")), model(), user("and you?")).calls == ()


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        ("fault drop", Break.DROP),
        ("fault cut", Break.CUT),
        ("fault hang", Break.HANG),
        ("stall", Break.STALL),
        ("fault full", TOO_LONG),
        ("fault 429 retry-after=3600", Refusal(429, "rate_limit_error", "stand-in rate_limit_error", 3600)),
        ("fault 503", Refusal(503, "api_error", "stand-in api_error")),
    ],
)
def test_a_fault_is_what_was_asked_for(what: str, fault: Break | Refusal) -> None:
    assert answer(user(f"[[standin: {what}]]"), tries=99).fault == fault


def test_a_counted_fault_goes_on_after_its_number_of_requests() -> None:
    prompt = user("[[standin: fault 529 times=2]][[standin: fault drop times=1]][[standin: say through]]")

    kinds = [answer(prompt, tries=tries).fault for tries in range(4)]

    assert kinds[0] == kinds[1] != kinds[2] == Break.DROP
    assert answer(prompt, tries=3) == Answer("through")


def test_a_fault_that_is_over_does_not_come_again_in_the_turn() -> None:
    prompt = user(f"[[standin: fault 529 times=1]]{ECHO}[[standin: say end]]")

    assert answer(prompt, model(), user(result("hi"))) == Answer("end")


def test_delay_and_usage_belong_to_the_next_message_alone() -> None:
    prompt = user(f"[[standin: delay 2]][[standin: usage 100000]]{ECHO}[[standin: say end]]")

    assert answer(prompt) == Answer("", (BASH,), delay_s=2, tokens=100000)
    assert answer(prompt, model(), user(result("hi"))) == Answer("end")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[standin: dance]]", "the verb is one of say, tool"),
        ("[[standin: tool Bash {nonsense}]]", "tool Bash"),
        ("[[standin: tool Bash 1]]", "a JSON object"),
        ("[[standin: also Bash]]", "after a tool"),
        ("[[standin: fault 200]]", "fault 200"),
        ("[[standin: fault 429 after=3]]", "retry-after=S"),
        ("[[standin: delay long]]", "delay long"),
        ("[[standin: say no end", "ends with ]]"),
    ],
)
def test_a_directive_that_is_not_understood_is_quoted(text: str, told: str) -> None:
    with pytest.raises(BadDirective) as caught:
        answer(user(text))

    assert told in str(caught.value)
