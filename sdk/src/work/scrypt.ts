/**
 * The work of raised levels: the first 32 bits of scrypt (RFC 7914; N = 2^bits, r = 1, p = 1) of `salt:i`, for each i.
 * It needs memory, so that native code has little advantage. WebAssembly in a worker that allows it, else plain code: a
 * page cannot try WebAssembly without a report of its policy.
 */

import type { Work } from "../protocol";
import { sha256 } from "./sha256";
import { SCRYPT_WASM } from "./scrypt.gen";
import { makeSolver, type Solver } from "./solve";

const BLOCK = 128;
const HALF = 16;

/** Mixes the 32 words of a block in place. */
type Mix = (block: Int32Array) => void;

/** How many blocks the table of the built program has room for. */
const WASM_BLOCKS = 2048;

/** Undefined where the page's policy or the browser has no WebAssembly with vectors. */
function openWasm(size: number): Mix | undefined {
  try {
    const code = Uint8Array.from(atob(SCRYPT_WASM), (letter) => letter.charCodeAt(0));
    const { memory, mix } = new WebAssembly.Instance(new WebAssembly.Module(code)).exports as {
      memory: WebAssembly.Memory;
      mix(size: number): void;
    };
    if (size > WASM_BLOCKS) return undefined;
    const words = new Int32Array(memory.buffer, 0, BLOCK / 4);
    // Word i of a half is word 5 * i % 16 of the block: then the columns of Salsa20 are vectors.
    return (block) => {
      for (let i = 0; i < words.length; i++) words[i] = block[(i & HALF) + ((i * 5) & 15)]!;
      mix(size);
      for (let i = 0; i < words.length; i++) block[(i & HALF) + ((i * 5) & 15)] = words[i]!;
    };
  } catch {
    return undefined;
  }
}

/** Salsa20/8 of one half combined with the other, written back. */
function salsa(x: Int32Array, to: number, from: number): void {
  let a = (x[to]! ^= x[from]!), b = (x[to + 1]! ^= x[from + 1]!), c = (x[to + 2]! ^= x[from + 2]!), d = (x[to + 3]! ^= x[from + 3]!);
  let e = (x[to + 4]! ^= x[from + 4]!), f = (x[to + 5]! ^= x[from + 5]!), g = (x[to + 6]! ^= x[from + 6]!), h = (x[to + 7]! ^= x[from + 7]!);
  let i = (x[to + 8]! ^= x[from + 8]!), j = (x[to + 9]! ^= x[from + 9]!), k = (x[to + 10]! ^= x[from + 10]!), l = (x[to + 11]! ^= x[from + 11]!);
  let m = (x[to + 12]! ^= x[from + 12]!), n = (x[to + 13]! ^= x[from + 13]!), o = (x[to + 14]! ^= x[from + 14]!), p = (x[to + 15]! ^= x[from + 15]!);
  let t = 0;
  for (let round = 0; round < 4; round++) {
    t = (a + m) | 0; e ^= (t << 7) | (t >>> 25); t = (e + a) | 0; i ^= (t << 9) | (t >>> 23);
    t = (i + e) | 0; m ^= (t << 13) | (t >>> 19); t = (m + i) | 0; a ^= (t << 18) | (t >>> 14);
    t = (f + b) | 0; j ^= (t << 7) | (t >>> 25); t = (j + f) | 0; n ^= (t << 9) | (t >>> 23);
    t = (n + j) | 0; b ^= (t << 13) | (t >>> 19); t = (b + n) | 0; f ^= (t << 18) | (t >>> 14);
    t = (k + g) | 0; o ^= (t << 7) | (t >>> 25); t = (o + k) | 0; c ^= (t << 9) | (t >>> 23);
    t = (c + o) | 0; g ^= (t << 13) | (t >>> 19); t = (g + c) | 0; k ^= (t << 18) | (t >>> 14);
    t = (p + l) | 0; d ^= (t << 7) | (t >>> 25); t = (d + p) | 0; h ^= (t << 9) | (t >>> 23);
    t = (h + d) | 0; l ^= (t << 13) | (t >>> 19); t = (l + h) | 0; p ^= (t << 18) | (t >>> 14);
    t = (a + d) | 0; b ^= (t << 7) | (t >>> 25); t = (b + a) | 0; c ^= (t << 9) | (t >>> 23);
    t = (c + b) | 0; d ^= (t << 13) | (t >>> 19); t = (d + c) | 0; a ^= (t << 18) | (t >>> 14);
    t = (f + e) | 0; g ^= (t << 7) | (t >>> 25); t = (g + f) | 0; h ^= (t << 9) | (t >>> 23);
    t = (h + g) | 0; e ^= (t << 13) | (t >>> 19); t = (e + h) | 0; f ^= (t << 18) | (t >>> 14);
    t = (k + j) | 0; l ^= (t << 7) | (t >>> 25); t = (l + k) | 0; i ^= (t << 9) | (t >>> 23);
    t = (i + l) | 0; j ^= (t << 13) | (t >>> 19); t = (j + i) | 0; k ^= (t << 18) | (t >>> 14);
    t = (p + o) | 0; m ^= (t << 7) | (t >>> 25); t = (m + p) | 0; n ^= (t << 9) | (t >>> 23);
    t = (n + m) | 0; o ^= (t << 13) | (t >>> 19); t = (o + n) | 0; p ^= (t << 18) | (t >>> 14);
  }
  x[to]! += a; x[to + 1]! += b; x[to + 2]! += c; x[to + 3]! += d; x[to + 4]! += e; x[to + 5]! += f; x[to + 6]! += g; x[to + 7]! += h;
  x[to + 8]! += i; x[to + 9]! += j; x[to + 10]! += k; x[to + 11]! += l; x[to + 12]! += m; x[to + 13]! += n; x[to + 14]! += o; x[to + 15]! += p;
}

export function openPlain(size: number): Mix {
  const words = BLOCK / 4;
  const table = new Int32Array(size * words);
  return (block) => {
    for (let at = 0; at < table.length; at += words) {
      table.set(block, at);
      salsa(block, 0, HALF);
      salsa(block, HALF, 0);
    }
    for (let left = size; left; left--) {
      const at = (block[HALF]! & (size - 1)) * words;
      for (let i = 0; i < words; i++) block[i]! ^= table[at + i]!;
      salsa(block, 0, HALF);
      salsa(block, HALF, 0);
    }
  };
}

/** HMAC-SHA-256 with a key of at most 64 bytes. */
function hmac(key: Uint8Array, text: Uint8Array): Uint8Array {
  const pad = (mark: number, rest: Uint8Array): Uint8Array => {
    const bytes = new Uint8Array(64 + rest.length).fill(mark, 0, 64);
    for (let i = 0; i < key.length; i++) bytes[i]! ^= key[i]!;
    bytes.set(rest, 64);
    return bytes;
  };
  return sha256(pad(0x5c, sha256(pad(0x36, text))));
}

export function scrypt(password: string, mix: Mix): number {
  const key = new TextEncoder().encode(password);
  const bytes = new Uint8Array(BLOCK + 4);
  for (let part = 0; part < 4; part++) bytes.set(hmac(key, new Uint8Array([0, 0, 0, part + 1])), part * 32);
  const view = new DataView(bytes.buffer);
  const block = new Int32Array(BLOCK / 4);
  for (let i = 0; i < block.length; i++) block[i] = view.getInt32(i * 4, true);
  mix(block);
  for (let i = 0; i < block.length; i++) view.setInt32(i * 4, block[i]!, true);
  view.setUint32(BLOCK, 1);
  return new DataView(hmac(key, bytes).buffer).getUint32(0);
}

function makeScryptSolver(work: Work): Solver {
  const size = 1 << Math.min(work.bits, 16);
  const mix = ("document" in self ? undefined : openWasm(size)) || openPlain(size);
  const found: number[] = [];
  return {
    found,
    tries(count) {
      // One of these takes as long as some hundred hashes.
      for (count = Math.max(1, count >> 7); count > 0 && found.length < work.count; count--) {
        found[found.length] = scrypt(`${work.salt}:${found.length}`, mix);
      }
      return found.length >= work.count;
    },
  };
}

/** What solves a work, whichever kind it is of. */
export function openSolver(work: Work): Solver {
  return work.algorithm === "scrypt" ? makeScryptSolver(work) : makeSolver(work);
}
