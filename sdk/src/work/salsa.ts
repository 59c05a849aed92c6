/** The inner loop of scrypt in JavaScript, for pages and browsers without WebAssembly. */

import { BLOCK, HALF, type Mix } from "./scrypt";

/** Salsa20/8 of one half combined with the other, written back. */
function salsa(x: Int32Array, to: number, from: number): void {
  let a = (x[to]! ^= x[from]!),
    b = (x[to + 1]! ^= x[from + 1]!),
    c = (x[to + 2]! ^= x[from + 2]!),
    d = (x[to + 3]! ^= x[from + 3]!);
  let e = (x[to + 4]! ^= x[from + 4]!),
    f = (x[to + 5]! ^= x[from + 5]!),
    g = (x[to + 6]! ^= x[from + 6]!),
    h = (x[to + 7]! ^= x[from + 7]!);
  let i = (x[to + 8]! ^= x[from + 8]!),
    j = (x[to + 9]! ^= x[from + 9]!),
    k = (x[to + 10]! ^= x[from + 10]!),
    l = (x[to + 11]! ^= x[from + 11]!);
  let m = (x[to + 12]! ^= x[from + 12]!),
    n = (x[to + 13]! ^= x[from + 13]!),
    o = (x[to + 14]! ^= x[from + 14]!),
    p = (x[to + 15]! ^= x[from + 15]!);
  let t = 0;
  for (let round = 0; round < 4; round++) {
    t = (a + m) | 0;
    e ^= (t << 7) | (t >>> 25);
    t = (e + a) | 0;
    i ^= (t << 9) | (t >>> 23);
    t = (i + e) | 0;
    m ^= (t << 13) | (t >>> 19);
    t = (m + i) | 0;
    a ^= (t << 18) | (t >>> 14);
    t = (f + b) | 0;
    j ^= (t << 7) | (t >>> 25);
    t = (j + f) | 0;
    n ^= (t << 9) | (t >>> 23);
    t = (n + j) | 0;
    b ^= (t << 13) | (t >>> 19);
    t = (b + n) | 0;
    f ^= (t << 18) | (t >>> 14);
    t = (k + g) | 0;
    o ^= (t << 7) | (t >>> 25);
    t = (o + k) | 0;
    c ^= (t << 9) | (t >>> 23);
    t = (c + o) | 0;
    g ^= (t << 13) | (t >>> 19);
    t = (g + c) | 0;
    k ^= (t << 18) | (t >>> 14);
    t = (p + l) | 0;
    d ^= (t << 7) | (t >>> 25);
    t = (d + p) | 0;
    h ^= (t << 9) | (t >>> 23);
    t = (h + d) | 0;
    l ^= (t << 13) | (t >>> 19);
    t = (l + h) | 0;
    p ^= (t << 18) | (t >>> 14);
    t = (a + d) | 0;
    b ^= (t << 7) | (t >>> 25);
    t = (b + a) | 0;
    c ^= (t << 9) | (t >>> 23);
    t = (c + b) | 0;
    d ^= (t << 13) | (t >>> 19);
    t = (d + c) | 0;
    a ^= (t << 18) | (t >>> 14);
    t = (f + e) | 0;
    g ^= (t << 7) | (t >>> 25);
    t = (g + f) | 0;
    h ^= (t << 9) | (t >>> 23);
    t = (h + g) | 0;
    e ^= (t << 13) | (t >>> 19);
    t = (e + h) | 0;
    f ^= (t << 18) | (t >>> 14);
    t = (k + j) | 0;
    l ^= (t << 7) | (t >>> 25);
    t = (l + k) | 0;
    i ^= (t << 9) | (t >>> 23);
    t = (i + l) | 0;
    j ^= (t << 13) | (t >>> 19);
    t = (j + i) | 0;
    k ^= (t << 18) | (t >>> 14);
    t = (p + o) | 0;
    m ^= (t << 7) | (t >>> 25);
    t = (m + p) | 0;
    n ^= (t << 9) | (t >>> 23);
    t = (n + m) | 0;
    o ^= (t << 13) | (t >>> 19);
    t = (o + n) | 0;
    p ^= (t << 18) | (t >>> 14);
  }
  x[to]! += a;
  x[to + 1]! += b;
  x[to + 2]! += c;
  x[to + 3]! += d;
  x[to + 4]! += e;
  x[to + 5]! += f;
  x[to + 6]! += g;
  x[to + 7]! += h;
  x[to + 8]! += i;
  x[to + 9]! += j;
  x[to + 10]! += k;
  x[to + 11]! += l;
  x[to + 12]! += m;
  x[to + 13]! += n;
  x[to + 14]! += o;
  x[to + 15]! += p;
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
