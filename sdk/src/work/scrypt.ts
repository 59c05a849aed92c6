/**
 * The work of raised levels: the first 32 bits of scrypt (RFC 7914; N = 2^bits, r = 1, p = 1) of `salt:i`, for each i.
 * It needs memory, so that native code has little advantage. The worker mixes in WebAssembly (`wasm.ts`); `plain.js`
 * mixes in JavaScript, because a page cannot try WebAssembly without a report of its policy.
 */

import type { Work } from "../protocol";
import { sha256 } from "./sha256";
import { makeSolver, type Solver } from "./solve";

export const BLOCK = 128;
export const HALF = 16;

/** Mixes the 32 words of a block in place. */
export type Mix = (block: Int32Array) => void;
/** Makes a mix with a table of so many blocks. */
export type OpenMix = (size: number) => Mix;

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

function makeScryptSolver(work: Work, open: OpenMix): Solver {
  const mix = open(1 << Math.min(work.bits, 16));
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
export function openSolver(work: Work, open: OpenMix): Solver {
  return work.algorithm === "scrypt" ? makeScryptSolver(work, open) : makeSolver(work);
}
