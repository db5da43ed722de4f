/** How a model without a notion of tools is made to call one. */

/**
 * As Hermes and Qwen do it, so that the server finds the form of a tool call in it; of the tools it says the names
 * alone: the grammar knows the rest, and a short prompt is read soon.
 */
export const TOOL_TEMPLATE =
  "{% if tools %}{{ '<|im_start|>system\\n<tools>' }}{% for tool in tools %}{{ '\\n' + tool.function.name }}{% endfor %}{{ '\\n</tools>\\n<tool_call>\\n{\"name\": NAME, \"arguments\": OBJECT}\\n</tool_call><|im_end|>\\n' }}{% endif %}" +
  "{% for m in messages %}{% if m.tool_calls %}{{ '<|im_start|>assistant' }}{% for call in m.tool_calls %}{{ '\\n<tool_call>\\n{\"name\": \"' + call.function.name + '\", \"arguments\": ' }}{{ call.function.arguments | tojson }}{{ '}\\n</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}{% else %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** A call begun for the model, as its own last message: it would never do it by itself; the grammar does the rest. */
export const BEGUN_CALL = '<tool_call>\n';

/**
 * As Functionary does it: an answer begins with `all` or with the name of a tool. So where a call is required, the
 * server's grammar has the model begin it at once, by itself.
 */
export const CALLING_TEMPLATE =
  "{% if tools %}{{ '<|im_start|>system\\n' }}{% for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endif %}" +
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% if m.content %}{{ '>>>all\\n' + m.content }}{% endif %}{% for call in m.tool_calls or [] %}{{ '>>>' + call.function.name + '\\n' + (call.function.arguments | tojson) }}{% endfor %}{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n>>>' }}{% endif %}";
