/**
 * Builds both consoles: `node console/build.mjs [folder]`. Without a folder it writes where the service serves them from.
 * File names carry a hash of their content. Fails when a first load is larger than it may be.
 */

import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? join(here, "../src/agentgate/pages/static");
const FIRST_LOAD_BYTES = 60 * 1024;
const LANGUAGES = ["en", "de"];
const APPS = { console: "src/customer/main.tsx", operator: "src/operator/main.tsx" };

/** Bundles one app into its own folder: what operators load is never on the customers' listener. */
async function buildApp(name, entry) {
  const outdir = join(target, name, "assets");
  await rm(join(target, name), { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  const result = await build({
    entryPoints: { main: join(here, entry), style: join(here, "src/style/index.css"), account: join(here, "src/account.ts") },
    absWorkingDir: here,
    outdir,
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { APP: JSON.stringify(name), "process.env.NODE_ENV": '"production"' },
    metafile: true,
    logLevel: "warning",
  });
  await copyFile(join(here, "src/icon.svg"), join(outdir, "icon.svg"));
  const outputs = Object.entries(result.metafile.outputs);
  const entryOf = (source) => outputs.find(([, { entryPoint }]) => entryPoint?.endsWith(source));
  const files = (found) => [found[0], ...found[1].imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path)];
  const names = (found) => files(found).map((path) => basename(path));
  const scripts = names(entryOf(entry));
  const manifest = {
    scripts,
    pages: pagesOf(result.metafile.outputs, scripts),
    style: names(entryOf("index.css"))[0],
    account: names(entryOf("account.ts"))[0],
    words: Object.fromEntries(LANGUAGES.map((language) => [language, names(entryOf(`words/${language}.json`))[0]])),
  };
  await writeFile(join(target, name, "manifest.json"), `${JSON.stringify(manifest, null, 1)}\n`);
  return { manifest, outdir };
}

/** What each page needs beside the first scripts, so that the shell of its address asks for all of it at once. */
function pagesOf(outputs, scripts) {
  const needs = (path, found = new Set()) => {
    if (found.has(path) || scripts.includes(basename(path))) return found;
    found.add(path);
    for (const { path: next, kind } of outputs[path].imports) if (kind === "import-statement") needs(next, found);
    return found;
  };
  const pages = {};
  for (const [path, { entryPoint }] of Object.entries(outputs)) {
    const page = /^src\/(?:operator\/)?pages\/(?:account\/)?([\w-]+)\.tsx$/.exec(entryPoint ?? "")?.[1];
    // The settings of the account are at another address than their file's name.
    if (page && entryPoint !== "src/pages/account/settings.tsx") pages[page] = [...needs(path)].map((each) => basename(each));
  }
  return Object.fromEntries(Object.entries(pages).sort());
}

async function compressed(folder, name) {
  return gzipSync(await readFile(join(folder, name)), { level: 9 }).length;
}

console.log("| App | First load, compressed | At most | All files |\n| --- | ---: | ---: | ---: |");
for (const [name, entry] of Object.entries(APPS)) {
  const { manifest, outdir } = await buildApp(name, entry);
  const first = [...manifest.scripts, manifest.style, manifest.words.de];
  const sizes = await Promise.all(first.map((file) => compressed(outdir, file)));
  const size = sizes.reduce((sum, each) => sum + each, 0);
  const count = (await readdir(outdir)).length;
  console.log(`| ${name} | ${size} | ${FIRST_LOAD_BYTES} | ${count} |`);
  if (size > FIRST_LOAD_BYTES) {
    console.error(`${name}: the first load has ${size} bytes compressed, at most ${FIRST_LOAD_BYTES}`);
    process.exitCode = 1;
  }
}
