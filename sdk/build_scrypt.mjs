/**
 * Builds src/work/scrypt.gen.ts from src/work/scrypt.wat: `node sdk/build_scrypt.mjs <folder of the npm package wabt>`.
 * The result is committed, so that building the SDK needs no assembler; a test holds it against hashlib's scrypt.
 */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const work = fileURLToPath(new URL("src/work/", import.meta.url));
const { default: open } = await import(pathToFileURL(join(resolve(process.argv[2]), "index.js")).href);
const wabt = await open();
const source = await readFile(join(work, "scrypt.wat"), "utf8");
const module = wabt.parseWat("scrypt.wat", source, { simd: true, bulk_memory: true });
const code = Buffer.from(module.toBinary({}).buffer).toString("base64");
const text = `/** Built from scrypt.wat by build_scrypt.mjs. Do not change. */\nexport const SCRYPT_WASM =\n  "${code}";\n`;
await writeFile(join(work, "scrypt.gen.ts"), text);
