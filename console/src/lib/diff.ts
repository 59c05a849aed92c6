/** Differences of texts by line, and the merge of two that began as one. */

export interface Piece {
  kind: "same" | "add" | "del";
  text: string;
}

/** For each line of `a` its place in `b` within a longest common subsequence, or -1. */
function matches(a: string[], b: string[]): number[] {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1]! + 1
          : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const found = new Array<number>(a.length).fill(-1);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found[i++] = j++;
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
    else j++;
  }
  return found;
}

export function diffLines(before: string, after: string): Piece[] {
  const a = before.split("\n");
  const b = after.split("\n");
  const pieces: Piece[] = [];
  let j = 0;
  matches(a, b).forEach((at, i) => {
    if (at < 0) {
      pieces.push({ kind: "del", text: a[i]! });
      return;
    }
    while (j < at) pieces.push({ kind: "add", text: b[j++]! });
    pieces.push({ kind: "same", text: b[j++]! });
  });
  while (j < b.length) pieces.push({ kind: "add", text: b[j++]! });
  return pieces;
}

/** Merges two texts that both began as `base`. Where both changed the same lines, both stand there between marks. */
export function merge3(
  base: string,
  mine: string,
  theirs: string,
  marks: [string, string, string],
): { text: string; conflicts: number } {
  const [o, a, b] = [base, mine, theirs].map((text) => text.split("\n")) as [string[], string[], string[]];
  const [inA, inB] = [matches(o, a), matches(o, b)];
  const out: string[] = [];
  let [i, m, t, conflicts] = [0, 0, 0, 0];
  while (i < o.length || m < a.length || t < b.length) {
    let k = i;
    while (k < o.length && (inA[k]! < m || inB[k]! < t)) k++;
    const [toA, toB] = k < o.length ? [inA[k]!, inB[k]!] : [a.length, b.length];
    const [was, one, other] = [o.slice(i, k), a.slice(m, toA), b.slice(t, toB)];
    const same = (x: string[], y: string[]) => x.length === y.length && x.every((line, at) => line === y[at]);
    if (same(one, was)) out.push(...other);
    else if (same(other, was) || same(one, other)) out.push(...one);
    else {
      conflicts++;
      out.push(marks[0], ...one, marks[1], ...other, marks[2]);
    }
    if (k < o.length) out.push(o[k]!);
    [i, m, t] = [k + 1, toA + 1, toB + 1];
  }
  return { text: out.join("\n"), conflicts };
}
