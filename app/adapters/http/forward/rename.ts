/**
 * The `model` of an answer is the name that was asked for. Instances call themselves by the canonical name
 * (their LLAMA_ARG_ALIAS), so only an answer to an alias is touched: nlohmann's JSON has no blanks, and in a
 * text the quotes would be escaped, so these bytes are the key and nothing else.
 */
export type Rename = (bytes: Buffer) => Buffer;

/** Null where nothing is to be renamed. Gets whole events or whole answers. */
export function renameModel(canonical: string, requested: string | null): Rename | null {
  if (requested === null || requested === canonical) return null;
  const needle = Buffer.from(`"model":${JSON.stringify(canonical)}`);
  const replacement = Buffer.from(`"model":${JSON.stringify(requested)}`);
  return (bytes) => {
    let at = bytes.indexOf(needle);
    if (at < 0) return bytes;
    const parts: Buffer[] = [];
    let from = 0;
    for (; at >= 0; at = bytes.indexOf(needle, from)) {
      parts.push(bytes.subarray(from, at), replacement);
      from = at + needle.length;
    }
    parts.push(bytes.subarray(from));
    return Buffer.concat(parts);
  };
}
