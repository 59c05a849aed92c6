/** What `make check` looks for in TypeScript besides types. Prettier breaks code at 120 characters, ESLint reports the rest. */

import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import typescript from "typescript-eslint";

export default defineConfig(
  globalIgnores(["**/*.gen.ts", "**/*.js", "**/*.mjs", "**/*.cjs", ".venv", "build", "dist"]),
  js.configs.recommended,
  typescript.configs.recommended,
  {
    rules: {
      // Prettier never breaks a string or a template. A regular expression cannot be broken.
      "max-len": ["error", { code: 120, ignoreRegExpLiterals: true }],
      // `== null` is true for undefined as well, which optional members need.
      eqeqeq: ["error", "always", { null: "ignore" }],
      // tsc reports unused names.
      "@typescript-eslint/no-unused-vars": "off",
      // A variable that a loop reuses gets a first value, so that engines know that it is a number.
      "no-useless-assignment": "off",
      // Vue's own types use `{}` for a component without events or slots.
      "@typescript-eslint/no-empty-object-type": "off",
    },
  },
);
