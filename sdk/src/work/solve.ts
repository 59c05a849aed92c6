/**
 * The puzzles: for each i an n such that SHA-256 of `salt:i:n` begins with `bits` zero bits.
 * Written out instead of `crypto.subtle`: that needs a secure context, and one promise per hash is far slower.
 */

import type { Work } from "../protocol";
import { compress, fillConstants, fillSchedule, K, START } from "./sha256";

/** Numbers of ten digits only, so that the text's length never changes; the last six of them change in the loop. */
const DIGITS = 10;
const STEADY = 4;

export interface Solver {
  readonly found: number[];
  /** Try so many numbers; true once every puzzle is solved. */
  tries(count: number): boolean;
}

export function makeSolver(work: Work): Solver {
  if (!K[0]) fillConstants();
  const bytes = new Uint8Array(64);
  const words = new Int32Array(64);
  // What the rounds before the first changing word come to.
  const middle = new Int32Array(8);
  const state = new Int32Array(8);
  const shift = 32 - Math.min(work.bits, 32);
  const found: number[] = [];
  let digits = 0;
  let first = 0;

  const fillWords = (from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      const at = i * 4;
      words[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
  };

  const prepare = (): void => {
    fillWords(0, 16);
    middle.set(START);
    compress(words, 0, first, middle);
  };

  const begin = (): void => {
    const text = new TextEncoder().encode(`${work.salt}:${found.length}:1000000000`);
    bytes.fill(0);
    bytes.set(text);
    digits = text.length - DIGITS;
    first = (digits + STEADY) >> 2;
    bytes[text.length] = 0x80;
    bytes[62] = (text.length * 8) >> 8;
    bytes[63] = text.length * 8;
    prepare();
  };

  const advance = (): void => {
    let at = digits + DIGITS - 1;
    while (bytes[at] === 57) bytes[at--] = 48;
    bytes[at]!++;
    if (at < digits + STEADY) prepare();
  };

  const leadingWord = (): number => {
    fillWords(first, 12);
    fillSchedule(words);
    state.set(middle);
    compress(words, first, 64, state);
    return state[0]! + START[0]!;
  };

  const number = (): number => {
    let value = 0;
    for (let i = 0; i < DIGITS; i++) value = value * 10 + bytes[digits + i]! - 48;
    return value;
  };

  const tries = (count: number): boolean => {
    for (; count > 0 && found.length < work.count; count--) {
      if (!digits) begin();
      // `>>> 32` would shift by nothing; no bits asked for means that any number will do.
      if (shift > 31 || leadingWord() >>> shift === 0) {
        found[found.length] = number();
        digits = 0;
      } else advance();
    }
    return found.length >= work.count;
  };
  return { found, tries };
}
