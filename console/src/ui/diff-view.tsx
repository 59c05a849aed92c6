/** What changed between two texts, with three lines around each change. */

import { diffLines } from "../lib/diff";
import { t } from "../lib/words";

const AROUND = 3;

export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const pieces = diffLines(before, after);
  const near = pieces.map((_, at) =>
    pieces.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== "same"),
  );
  if (!near.includes(true)) return <p class="faint in">{t("diff.none")}</p>;
  return (
    <div class="code flat">
      <pre class="diff" tabIndex={0} role="region" aria-label={label}>
        {pieces.map((piece, at) => {
          if (!near[at])
            return at === 0 || near[at - 1] ? (
              <code class="gap" key={at}>
                …
              </code>
            ) : null;
          return (
            <code key={at} class={piece.kind === "same" ? undefined : piece.kind}>
              {piece.text || " "}
            </code>
          );
        })}
      </pre>
    </div>
  );
}
