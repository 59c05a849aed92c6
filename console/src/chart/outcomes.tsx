/**
 * Requests by outcome over time: refusals at the base line, what was allowed pale above. Solid happened, hatched would
 * have happened. Written as SVG and not with a chart library: hatching, printing and forced colors come with it, a year
 * of days is 365 points, and the first load stays small (decision 0035).
 */

import { useRef, useState } from "preact/hooks";
import type { Outcome, OutcomeCounts } from "../api/types.gen";
import { absolute, axis, count, short } from "../lib/format";
import { t } from "../lib/words";

export interface Point extends OutcomeCounts {
  start: string;
  end: string;
}

const WIDTH = 960;
const HEIGHT = 240;
const REFUSALS: Outcome[] = ["block", "challenge", "drop"];
const DONE = { block: "blocked", challenge: "challenged", drop: "dropped" } as const;
const WOULD = { block: "wouldBlock", challenge: "wouldChallenge", drop: "wouldDrop" } as const;

/** A round number at or above the highest point. */
function ceiling(value: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 4)));
  return [1, 2, 4, 5, 8, 10].map((each) => each * size).find((each) => each >= value) ?? 10 * size;
}

interface Layer {
  outcome: Outcome;
  would: boolean;
  low: number[];
  high: number[];
}

/** Stacks what was refused, then what would have been, from the base line up. */
function layersOf(points: Point[]): Layer[] {
  let base = points.map(() => 0);
  const layers: Layer[] = [];
  for (const would of [false, true]) {
    for (const outcome of REFUSALS) {
      const key = would ? WOULD[outcome as "block"] : DONE[outcome as "block"];
      const high = base.map((low, index) => low + points[index]![key]);
      if (high.some((each, index) => each > base[index]!)) layers.push({ outcome, would, low: base, high });
      base = high;
    }
  }
  return layers;
}

export function OutcomeChart({
  points,
  previous,
  onZoom,
}: {
  points: Point[];
  previous?: number[];
  onZoom: (fromMs: number, toMs: number) => void;
}) {
  const plot = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const top = ceiling(Math.max(...points.map(({ requests }) => requests), ...(previous ?? []), 1));
  const x = (index: number) => (points.length < 2 ? 0 : (index / (points.length - 1)) * WIDTH);
  const y = (value: number) => HEIGHT - (value / top) * HEIGHT;
  const line = (values: number[]) =>
    values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const area = (low: number[], high: number[]) =>
    `${line(high)} ${low
      .map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`)
      .reverse()
      .join(" ")}`;
  const layers = layersOf(points);
  const refused = layers.at(-1)?.high ?? points.map(() => 0);
  const all = points.map(({ requests }) => requests);

  const indexOf = (event: PointerEvent): number => {
    const box = plot.current!.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return Math.round(part * (points.length - 1));
  };
  const share = (index: number) => `${points.length < 2 ? 50 : (index / (points.length - 1)) * 100}%`;
  const place = (element: HTMLElement | null, from: number, to = from) => {
    element?.style.setProperty("--x", share(Math.min(from, to)));
    element?.style.setProperty("--w", `${(Math.abs(to - from) / Math.max(1, points.length - 1)) * 100}%`);
  };
  const finish = () => {
    if (drag && Math.abs(drag[0] - drag[1]) >= 1) {
      const [from, to] = [Math.min(...drag), Math.max(...drag)];
      onZoom(Date.parse(points[from]!.start), Date.parse(points[to]!.end));
    }
    setDrag(null);
  };
  const leave = () => {
    setAt(null);
    setDrag(null);
  };
  /** What a pointer can do: arrows look at a step, with Shift they mark a range, Enter zooms into it. */
  const onKeyDown = (event: KeyboardEvent) => {
    const last = points.length - 1;
    const now = at ?? last;
    const next = { ArrowLeft: Math.max(0, now - 1), ArrowRight: Math.min(last, now + 1), Home: 0, End: last }[
      event.key
    ];
    if (next !== undefined) {
      setAt(next);
      setDrag(event.shiftKey ? [drag?.[0] ?? now, next] : null);
    } else if (event.key === "Enter" && drag) finish();
    else if (event.key === "Escape" && at !== null) leave();
    else return;
    // The page's own keys move the whole range.
    event.preventDefault();
    event.stopPropagation();
  };
  const stepMs = points.length > 1 ? Date.parse(points[1]!.start) - Date.parse(points[0]!.start) : 0;
  const marks = Array.from({ length: Math.min(8, points.length) }, (_, index) =>
    Math.round((index / Math.max(1, Math.min(8, points.length) - 1)) * (points.length - 1)),
  );
  const shown = at === null ? undefined : points[at];
  const read = shown ?? points.at(-1);
  const spoken =
    read && t("chart.step", { time: absolute(read.start), n: read.requests, refused: refused[points.indexOf(read)]! });
  return (
    <figure class="chart">
      <div class="y" aria-hidden="true">
        {[0, 1, 2, 3, 4].map((step) => {
          const { value, unit } = short((top / 4) * step);
          return <span key={step}>{value + unit}</span>;
        })}
      </div>
      <div
        class="plot"
        ref={plot}
        tabIndex={0}
        role="slider"
        aria-label={t("chart.keys")}
        aria-valuemin={0}
        aria-valuemax={points.length - 1}
        aria-valuenow={at ?? points.length - 1}
        aria-valuetext={spoken}
        onKeyDown={onKeyDown}
        onBlur={leave}
        onPointerMove={(event) => {
          const index = indexOf(event);
          setAt(index);
          if (drag) setDrag([drag[0], index]);
        }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const index = indexOf(event);
          setDrag([index, index]);
        }}
        onPointerUp={finish}
        onPointerLeave={leave}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <Hatches />
          <path class="grid" d={[0, 1, 2, 3, 4].map((step) => `M0 ${(HEIGHT / 4) * step}H${WIDTH}`).join("")} />
          <polygon class="area quiet" data-o="allow" points={area(refused, all)} />
          {layers.map(({ outcome, would, low, high }) =>
            would ? (
              <polygon key={`w-${outcome}`} data-o={outcome} fill={`url(#h-${outcome})`} points={area(low, high)} />
            ) : (
              <polygon key={outcome} class="area" data-o={outcome} points={area(low, high)} />
            ),
          )}
          <polyline class="edge" data-o="allow" points={line(all)} />
          {previous && <polyline class="was" points={line(previous)} />}
        </svg>
        {drag && drag[0] !== drag[1] && <div class="drag" ref={(element) => place(element, drag[0], drag[1])} />}
        {shown && !drag && <div class="cross" ref={(element) => place(element, at!)} />}
        {shown && (
          <div class={at! > points.length / 2 ? "tip left" : "tip"} ref={(element) => place(element, at!)}>
            <div class="faint">{absolute(shown.start)}</div>
            <TipRow tone="allow" quiet label={t("outcome.allow")} value={shown.allowed - would(shown)} />
            {layers.map((layer) => (
              <TipRow
                key={layer.outcome + String(layer.would)}
                tone={layer.outcome}
                hatched={layer.would}
                label={t(`${layer.would ? "would" : "outcome"}.${layer.outcome}`)}
                value={shown[layer.would ? WOULD[layer.outcome as "block"] : DONE[layer.outcome as "block"]]}
              />
            ))}
          </div>
        )}
      </div>
      <div class="x" aria-hidden="true">
        {marks.map((index) => (
          <span key={index}>{axis(Date.parse(points[index]!.start), stepMs)}</span>
        ))}
      </div>
      <figcaption class="vh">
        {t("chart.summary", { n: all.reduce((sum, each) => sum + each, 0), most: Math.max(...all, 0) })}
      </figcaption>
    </figure>
  );
}

/** The patterns of what would have happened, once on a page. `h-any`: it is not known which refusal. */
export function Hatches() {
  return (
    <defs>
      {[...REFUSALS, undefined].map((outcome) => (
        <pattern
          key={outcome}
          id={`h-${outcome ?? "any"}`}
          class="hatch"
          data-o={outcome}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="6" height="6" />
          <line x1="1" y1="0" x2="1" y2="6" />
        </pattern>
      ))}
    </defs>
  );
}

/** How many of the allowed requests enforce would have refused. */
export function would(counts: OutcomeCounts): number {
  return counts.wouldBlock + counts.wouldChallenge + counts.wouldDrop;
}

function TipRow({
  tone,
  quiet,
  hatched,
  label,
  value,
}: {
  tone: Outcome;
  quiet?: boolean;
  hatched?: boolean;
  label: string;
  value: number;
}) {
  return (
    <div>
      <span class={`key ${quiet ? "quiet" : hatched ? "would" : ""}`} data-o={tone} />
      {label}
      <span>{count(value)}</span>
    </div>
  );
}

/** The same numbers for who reads tables rather than areas. */
export function OutcomeTable({ points }: { points: Point[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("chart.table")}>
      <table class="tbl">
        <caption class="vh">{t("chart.table")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("chart.time")}</th>
            <th scope="col" class="n">
              {t("outcome.allow")}
            </th>
            {REFUSALS.map((outcome) => (
              <th scope="col" class="n" key={outcome}>
                {t(`outcome.${outcome}`)}
              </th>
            ))}
            <th scope="col" class="n">
              {t("chart.would")}
            </th>
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.start}>
              <td class="nw">{absolute(point.start)}</td>
              <td class="n">{count(point.allowed)}</td>
              {REFUSALS.map((outcome) => (
                <td class="n" key={outcome}>
                  {count(point[DONE[outcome as "block"]])}
                </td>
              ))}
              <td class="n">{count(would(point))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
