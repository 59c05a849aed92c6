/**
 * Builds the browser SDK: `node sdk/build.mjs [folder]`. Without a folder it writes where the service serves it from.
 * Prints the sizes, and fails when a file is larger than it may be. The same sources always give the same bytes.
 */

import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? join(here, "../src/agentgate/pages/static/sdk/v1");
const { version } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));

/** File, source, and the most bytes that it may have when compressed. */
const SCRIPTS = [
  ["agentgate.js", "src/entry.ts", 8192],
  ["evidence.js", "src/signals/entry.ts", 4150],
  ["worker.js", "src/work/worker.ts", 2560],
  ["plain.js", "src/work/plain.ts", 2900],
  ["check.js", "src/ui/entry.ts", 5800],
  ["probes.js", "src/probes/entry.ts", 1900],
  ["drop-in.js", "src/drop-in.ts", 10600],
];
const PACK_BYTES = 500;

async function buildScript(source) {
  const result = await build({
    entryPoints: [join(here, source)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2020",
    charset: "utf8",
    legalComments: "none",
    define: { VERSION: JSON.stringify(version) },
    logLevel: "warning",
  });
  return result.outputFiles[0].text;
}

async function buildAll() {
  const built = [];
  for (const [name, source, most] of SCRIPTS) {
    if (existsSync(join(here, source))) built.push({ name, most, text: await buildScript(source) });
  }
  const packs = (await readdir(join(here, "src/i18n"))).filter((name) => name.endsWith(".json")).sort();
  for (const name of packs) {
    const pack = JSON.parse(await readFile(join(here, "src/i18n", name), "utf8"));
    // The words alone, in the order of the English ones: the names would be half of the file.
    built.push({ name: `i18n/${name}`, most: PACK_BYTES, text: JSON.stringify(Object.values(pack)) });
  }
  return built.map((file) => ({ ...file, compressed: gzipSync(file.text, { level: 9 }).length }));
}

const built = await buildAll();
await mkdir(join(target, "i18n"), { recursive: true });
console.log("| File | Bytes | Compressed | At most |\n| --- | ---: | ---: | ---: |");
for (const { name, text, compressed, most } of built) {
  await writeFile(join(target, name), text);
  if (!name.startsWith("i18n/")) console.log(`| \`${name}\` | ${Buffer.byteLength(text)} | ${compressed} | ${most} |`);
}
const packs = built.filter(({ name }) => name.startsWith("i18n/"));
if (packs.length) {
  const largest = packs.reduce((most, pack) => (pack.compressed > most.compressed ? pack : most));
  console.log(`| ${packs.length} language packs, largest \`${largest.name}\` | ${Buffer.byteLength(largest.text)} | ${largest.compressed} | ${PACK_BYTES} |`);
}
for (const { name, compressed, most } of built.filter((file) => file.compressed > file.most)) {
  console.error(`${name} has ${compressed} bytes compressed, at most ${most}`);
  process.exitCode = 1;
}
