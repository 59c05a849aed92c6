/**
 * The puzzles: for each i an n such that SHA-256 of `salt:i:n` begins with `bits` zero bits.
 * Written out instead of `crypto.subtle`: that needs a secure context, and one promise per hash is far slower.
 */

import type { Work } from "../protocol";

const K = new Int32Array(64);
const START = new Int32Array(8);

/** SHA-256's constants are the fractions of square and cube roots of the first primes. */
function fillConstants(): void {
  const fraction = (value: number): number => ((value % 1) * 4294967296) | 0;
  for (let prime = 2, found = 0; found < 64; prime++) {
    let divisor = 2;
    while (prime % divisor) divisor++;
    if (divisor < prime) continue;
    if (found < 8) START[found] = fraction(prime ** 0.5);
    K[found++] = fraction(prime ** (1 / 3));
  }
}

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

  const compress = (from: number, to: number, state: Int32Array): number => {
    let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
    let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
    for (let i = from; i < to; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i]! + words[i]!) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    if (to < 64) {
      middle[0] = a; middle[1] = b; middle[2] = c; middle[3] = d;
      middle[4] = e; middle[5] = f; middle[6] = g; middle[7] = h;
    }
    return a;
  };

  const prepare = (): void => {
    fillWords(0, 16);
    compress(0, first, START);
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
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15]!, y = words[i - 2]!;
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[i] = words[i - 16]! + s0 + words[i - 7]! + s1;
    }
    return compress(first, 64, middle) + START[0]!;
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
