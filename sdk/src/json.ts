/** JSON text of plain values, without `JSON.stringify`: pages replace it, or give arrays a `toJSON` of their own. */

function writeText(text: string): string {
  let written = '"';
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character === '"' || character === "\\") written += "\\" + character;
    else written += character < " " ? escapeControl(character) : character;
  }
  return written + '"';
}

function escapeControl(character: string): string {
  const code = new TextEncoder().encode(character)[0] as number;
  return `\\u00${code >> 4}${"0123456789abcdef"[code & 15]}`;
}

/** Write a value. Members that are undefined or inherited are left out. */
export function writeJson(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (typeof value !== "object" || !value)
    return value === true || value === false || isFinite(value as number) ? `${value}` : "null";
  let written = "";
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) written += (i ? "," : "") + writeJson(value[i]);
    return `[${written}]`;
  }
  const own = { __proto__: null, ...value } as Record<string, unknown>;
  for (const name in own) {
    if (own[name] !== undefined) written += (written && ",") + writeText(name) + ":" + writeJson(own[name]);
  }
  return `{${written}}`;
}
