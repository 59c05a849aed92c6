// Bundles programs with packages from the folder it is started in: `node bundle.mjs programs.json target`, where
// programs.json has the text of a module by the name of its package.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

const here = createRequire(join(process.cwd(), "package.json"));
const { build, transform } = here("esbuild");
const { compile, preprocess } = here("svelte/compiler");
const [, , programs, target] = process.argv;

// The compiler reads no TypeScript that has values, such as an enum. It needs imports that only the markup uses.
const plainScript = ({ content }) =>
  transform(content, { loader: "ts", tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } } });

const svelte = {
  name: "svelte",
  setup(building) {
    building.onLoad({ filter: /\.svelte$/ }, async ({ path }) => {
      const { code } = await preprocess(await readFile(path, "utf8"), { script: plainScript });
      const { js } = compile(code, { filename: path, css: "injected" });
      return { contents: js.code, loader: "js" };
    });
  },
};

const GIVEN = 'const { gate, sitekey } = window.settings; const passed = (token) => window.told("success", token);';
const ROOT = 'const root = document.getElementById("root");';

for (const [name, program] of Object.entries(JSON.parse(await readFile(programs, "utf8")))) {
  // Imports are hoisted, so what is given may stand before them.
  await build({
    stdin: { contents: `${GIVEN}\n${ROOT}\n${program}`, resolveDir: process.cwd(), loader: "jsx" },
    bundle: true,
    format: "iife",
    jsx: "automatic",
    mainFields: ["svelte", "browser", "module", "main"],
    conditions: ["svelte", "browser"],
    define: { "process.env.NODE_ENV": '"production"', global: "window", "import.meta.env": "{}" },
    plugins: [svelte],
    logLevel: "silent",
    outfile: join(target, `${name.replace("/", "+")}.js`),
  }).catch((error) => console.error(`${name}: ${error.message}`));
}
