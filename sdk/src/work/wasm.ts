/** The inner loop of scrypt in WebAssembly with vectors. */

import { BLOCK, HALF, type Mix } from "./scrypt";
import { SCRYPT_WASM } from "./scrypt.gen";

/** How many blocks the table of the built program has room for. */
const WASM_BLOCKS = 2048;

/** Throws where the page's policy or the browser has no WebAssembly with vectors. */
export function openWasm(size: number): Mix {
  const code = Uint8Array.from(atob(SCRYPT_WASM), (letter) => letter.charCodeAt(0));
  const { memory, mix } = new WebAssembly.Instance(new WebAssembly.Module(code)).exports as {
    memory: WebAssembly.Memory;
    mix(size: number): void;
  };
  if (size > WASM_BLOCKS) throw size;
  const words = new Int32Array(memory.buffer, 0, BLOCK / 4);
  // Word i of a half is word 5 * i % 16 of the block: then the columns of Salsa20 are vectors.
  return (block) => {
    for (let i = 0; i < words.length; i++) words[i] = block[(i & HALF) + ((i * 5) & 15)]!;
    mix(size);
    for (let i = 0; i < words.length; i++) block[(i & HALF) + ((i * 5) & 15)] = words[i]!;
  };
}
