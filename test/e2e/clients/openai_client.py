"""The official SDK for Python. usage: openai_client.py URL MODEL whole|stream|tool|structured SPEC

Prints a JSON value; before it, for a stream, a line "first" at the first piece of the answer.
"""

import json
import sys

from openai import OpenAI

url, model, what, spec_text = sys.argv[1:]
spec = json.loads(spec_text)
client = OpenAI(base_url=f"{url}/v1", api_key="none")
create = client.chat.completions.create
messages = [{"role": "user", "content": spec["prompt"]}]


def whole():
    return create(model=model, messages=messages, max_tokens=16).choices[0].message.content


def stream():
    text = ""
    for chunk in create(
        model=model, messages=messages, max_tokens=spec["long"], stream=True, extra_body=spec["more"]
    ):
        piece = (chunk.choices[0].delta.content or "") if chunk.choices else ""
        if text == "" and piece != "":
            print("first", flush=True)
        text += piece
    return text


def tool():
    answer = create(
        model=model,
        messages=[*messages, {"role": "assistant", "content": spec["begun"]}],
        max_tokens=100,
        tools=[{"type": "function", "function": spec["light"]}],
        tool_choice="required",
    )
    return json.loads(answer.choices[0].message.tool_calls[0].function.arguments)


def structured():
    schema = {"name": "reply", "strict": True, "schema": spec["reply"]}
    response_format = {"type": "json_schema", "json_schema": schema}
    answer = create(model=model, messages=messages, max_tokens=200, response_format=response_format)
    return json.loads(answer.choices[0].message.content)


print(json.dumps({"whole": whole, "stream": stream, "tool": tool, "structured": structured}[what]()))
