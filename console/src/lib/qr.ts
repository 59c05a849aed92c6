/**
 * QR codes (ISO/IEC 18004), as small as an authenticator needs: bytes, error correction L, versions 1 to 10, mask 0.
 */

const TOTAL = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346];
const CORRECTION = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18];
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4];
const FORMAT_L_MASK_0 = 0b111011111000100;

function times(x: number, y: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit--) {
    result = (result << 1) ^ ((result >>> 7) * 0x11d);
    result ^= ((y >>> bit) & 1) * x;
  }
  return result & 0xff;
}

function divisor(degree: number): number[] {
  const result = Array<number>(degree - 1)
    .fill(0)
    .concat(1);
  let root = 1;
  for (let step = 0; step < degree; step++) {
    for (let at = 0; at < degree; at++) {
      result[at] = times(result[at]!, root);
      if (at + 1 < degree) result[at]! ^= result[at + 1]!;
    }
    root = times(root, 2);
  }
  return result;
}

function remainder(data: number[], by: number[]): number[] {
  const result = by.map(() => 0);
  for (const each of data) {
    const factor = each ^ result.shift()!;
    result.push(0);
    by.forEach((coefficient, at) => (result[at]! ^= times(coefficient, factor)));
  }
  return result;
}

function codewords(bytes: Uint8Array, version: number): number[] {
  const [total, correction, blocks] = [TOTAL[version - 1]!, CORRECTION[version - 1]!, BLOCKS[version - 1]!];
  const capacity = total - correction * blocks;
  const bits: number[] = [];
  const put = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1);
  };
  put(4, 4);
  put(bytes.length, version < 10 ? 8 : 16);
  bytes.forEach((byte) => put(byte, 8));
  put(0, Math.min(4, capacity * 8 - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  const data: number[] = [];
  for (let at = 0; at < bits.length; at += 8) data.push(parseInt(bits.slice(at, at + 8).join(""), 2));
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad);
  const short = Math.floor(total / blocks);
  const shorts = blocks - (total % blocks);
  const by = divisor(correction);
  const parts: { data: number[]; check: number[] }[] = [];
  for (let block = 0, at = 0; block < blocks; block++) {
    const length = short - correction + (block < shorts ? 0 : 1);
    const part = data.slice(at, at + length);
    at += length;
    parts.push({ data: part, check: remainder(part, by) });
  }
  const longest = Math.max(...parts.map((part) => part.data.length));
  const result: number[] = [];
  for (let at = 0; at < longest; at++) parts.forEach((part) => at < part.data.length && result.push(part.data[at]!));
  for (let at = 0; at < correction; at++) parts.forEach((part) => result.push(part.check[at]!));
  return result;
}

function alignments(version: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const size = version * 4 + 17;
  const step = Math.ceil((size - 13) / (count * 2 - 2)) * 2;
  const result = [6];
  for (let at = size - 7; result.length < count; at -= step) result.splice(1, 0, at);
  return result;
}

/** Returns the dark modules, row by row. */
export function qrCode(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text);
  const version =
    TOTAL.findIndex((total, at) => bytes.length + (at < 9 ? 2 : 3) <= total - CORRECTION[at]! * BLOCKS[at]!) + 1;
  if (version === 0) throw new RangeError("too long for a QR code of this kind");
  const size = version * 4 + 17;
  const dark = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  const fixed = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  const set = (x: number, y: number, on: boolean) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    dark[y]![x] = on;
    fixed[y]![x] = true;
  };
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    for (let dy = -4; dy <= 4; dy++) {
      for (let dx = -4; dx <= 4; dx++) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy));
        set(cx + dx, cy + dy, ring !== 2 && ring !== 4);
      }
    }
  }
  const places = alignments(version);
  const last = places.length - 1;
  places.forEach((cx, i) =>
    places.forEach((cy, j) => {
      if ((i === 0 && j === 0) || (i === 0 && j === last) || (i === last && j === 0)) return;
      for (let dy = -2; dy <= 2; dy++)
        for (let dx = -2; dx <= 2; dx++) set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }),
  );
  setFormat(set, size);
  if (version >= 7) setVersion(set, size, version);
  placeData(dark, fixed, codewords(bytes, version));
  return dark;
}

type Setter = (x: number, y: number, on: boolean) => void;

function setFormat(set: Setter, size: number): void {
  const bit = (at: number) => ((FORMAT_L_MASK_0 >>> at) & 1) === 1;
  for (let at = 0; at <= 5; at++) set(8, at, bit(at));
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let at = 9; at < 15; at++) set(14 - at, 8, bit(at));
  for (let at = 0; at < 8; at++) set(size - 1 - at, 8, bit(at));
  for (let at = 8; at < 15; at++) set(8, size - 15 + at, bit(at));
  set(8, size - 8, true);
}

function setVersion(set: Setter, size: number, version: number): void {
  let rest = version;
  for (let step = 0; step < 12; step++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25);
  const bits = (version << 12) | rest;
  for (let at = 0; at < 18; at++) {
    const on = ((bits >>> at) & 1) === 1;
    const [a, b] = [size - 11 + (at % 3), Math.floor(at / 3)];
    set(a, b, on);
    set(b, a, on);
  }
}

function placeData(dark: boolean[][], fixed: boolean[][], data: number[]): void {
  const size = dark.length;
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step++) {
      for (let side = 0; side < 2; side++) {
        const x = right - side;
        const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
        if (fixed[y]![x]) continue;
        const on = at < data.length * 8 && ((data[at >>> 3]! >>> (7 - (at & 7))) & 1) === 1;
        at++;
        dark[y]![x] = on !== ((x + y) % 2 === 0);
      }
    }
  }
}
