"""The official SDK for Python. usage: openai_client.py URL

Takes a JSON object a line: id, model, do (whole, stream, tool, streamedTool, structured, streamedStructured),
prompt, begun, tokens, temperature, stop, more, tool, schema. Answers, in any order, with lines of the same id:
piece and ended (with the reason) of a stream, then value or error.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from openai import OpenAI

completions = OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none").chat.completions


one_line_at_a_time = Lock()


def tell(asked, **what):
    with one_line_at_a_time:
        print(json.dumps({"id": asked["id"], **what}), flush=True)


def body(asked):
    messages = [{"role": "user", "content": asked["prompt"]}]
    limits = {"max_tokens": asked["tokens"], "temperature": asked["temperature"]}
    return {"model": asked["model"], "messages": messages, **limits}


def tool_body(asked):
    plain = body(asked)
    plain["messages"].append({"role": "assistant", "content": asked["begun"]})
    tool = {"type": "function", "function": {**asked["tool"], "strict": True}}
    once = {"tool_choice": "required", "parallel_tool_calls": False, "stop": asked["stop"]}
    return {**plain, "tools": [tool], **once}


def structured_body(asked):
    schema = {"name": "reply", "strict": True, "schema": asked["schema"]}
    return {**body(asked), "response_format": {"type": "json_schema", "json_schema": schema}}


def whole(**sent):
    return completions.create(**sent).choices[0].message


def text(asked):
    """Not by the helper of `streamed`: a text that ends at its limit is an error to it."""
    said = ""
    for chunk in completions.create(**body(asked), stream=True, extra_body=asked["more"]):
        for choice in chunk.choices:
            said += choice.delta.content or ""
            if choice.delta.content:
                tell(asked, piece=True)
            if choice.finish_reason:
                tell(asked, ended=choice.finish_reason)
    return said


def streamed(asked, **sent):
    with completions.stream(**sent) as stream:
        for event in stream:
            if event.type in ("content.delta", "tool_calls.function.arguments.delta"):
                tell(asked, piece=True)
            if event.type == "chunk" and event.chunk.choices and event.chunk.choices[0].finish_reason:
                tell(asked, ended=event.chunk.choices[0].finish_reason)
        return stream.get_final_completion().choices[0].message


def arguments(message):
    return [json.loads(call.function.arguments) for call in message.tool_calls]


DO = {
    "whole": lambda asked: whole(**body(asked)).content,
    "stream": text,
    "tool": lambda asked: arguments(whole(**tool_body(asked)))[0],
    "streamedTool": lambda asked: arguments(streamed(asked, **tool_body(asked))),
    "structured": lambda asked: json.loads(whole(**structured_body(asked)).content),
    "streamedStructured": lambda asked: json.loads(streamed(asked, **structured_body(asked)).content),
}


def do(asked):
    try:
        tell(asked, value=DO[asked["do"]](asked))
    except Exception as error:
        tell(asked, error=f"{type(error).__name__}: {error}")


with ThreadPoolExecutor(max_workers=16) as pool:
    for line in sys.stdin:
        pool.submit(do, json.loads(line))
