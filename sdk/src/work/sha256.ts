/** SHA-256 of bytes. Written out instead of `crypto.subtle`: that needs a secure context, and a promise per hash. */

export const K = new Int32Array(64);
export const START = new Int32Array(8);

/** The constants are the fractions of square and cube roots of the first primes. */
export function fillConstants(): void {
  const fraction = (value: number): number => ((value % 1) * 4294967296) | 0;
  for (let prime = 2, found = 0; found < 64; prime++) {
    let divisor = 2;
    while (prime % divisor) divisor++;
    if (divisor < prime) continue;
    if (found < 8) START[found] = fraction(prime ** 0.5);
    K[found++] = fraction(prime ** (1 / 3));
  }
}

/** The words 16 to 63 of a block's schedule, from the first sixteen. */
export function fillSchedule(words: Int32Array): void {
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15]!,
      y = words[i - 2]!;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = words[i - 16]! + s0 + words[i - 7]! + s1;
  }
}

/** Rounds of the compression, from one to another; what they come to stands in `state`. */
export function compress(words: Int32Array, from: number, to: number, state: Int32Array): void {
  let a = state[0]!,
    b = state[1]!,
    c = state[2]!,
    d = state[3]!;
  let e = state[4]!,
    f = state[5]!,
    g = state[6]!,
    h = state[7]!;
  for (let i = from; i < to; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i]! + words[i]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
  state[4] = e;
  state[5] = f;
  state[6] = g;
  state[7] = h;
}

export function sha256(bytes: Uint8Array): Uint8Array {
  if (!K[0]) fillConstants();
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  const state = START.slice();
  const words = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + i * 4);
    fillSchedule(words);
    const before = state.slice();
    compress(words, 0, 64, state);
    for (let i = 0; i < 8; i++) state[i]! += before[i]!;
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  for (let i = 0; i < 8; i++) out.setInt32(i * 4, state[i]!);
  return digest;
}
