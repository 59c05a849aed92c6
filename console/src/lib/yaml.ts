/** Rule sets and other plain data as YAML that a person would write. Only writes; the service reads. */

const PLAIN = /^[A-Za-z_/][\w./*-]*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n)$/i;

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}

const isPlain = (value: unknown) => value === null || typeof value !== "object";

export function toYaml(value: unknown, indent = ""): string {
  if (isPlain(value)) return scalar(value);
  if (Array.isArray(value)) {
    if (value.every(isPlain)) return `[${value.map(scalar).join(", ")}]`;
    return value.map((each) => `${indent}- ${toYaml(each, `${indent}  `).trimStart()}`).join("\n");
  }
  const entries = Object.entries(value as object).filter(([, each]) => each !== undefined);
  if (entries.length === 0) return "{}";
  return entries
    .map(([name, each]) => {
      const inline =
        isPlain(each) || (Array.isArray(each) && each.every(isPlain)) || Object.keys(each as object).length === 0;
      const deeper = Array.isArray(each) ? `${indent}  ` : `${indent}  `;
      return `${indent}${scalar(name)}:${inline ? ` ${toYaml(each)}` : `\n${toYaml(each, deeper)}`}`;
    })
    .join("\n");
}
