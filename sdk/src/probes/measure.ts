/**
 * The interpreter of probe programs: builds a tree of boxes in a closed shadow tree, measures it and takes it away, all
 * before anything is painted. Styles are set through CSSOM, which every content security policy allows.
 */

import { make } from "../page";
import type { Box, Measure, Program } from "./program";

const SVG = "http://www.w3.org/2000/svg";
/** Hit tests need that much of the window. */
const HIT_WIDTH = 240;
const HIT_HEIGHT = 160;
/**
 * Answers are in 1/16 px, those of chains in 1/10000 px. Whole numbers without methods that a page may have replaced.
 */
const sixteenths = (length: number): number => ((length * 16 + 1048576.5) | 0) - 1048576;
const finest = (length: number): number => ((length * 10000 + 500000000.5) | 0) - 500000000;

const HOST = [
  "all:initial",
  "position:fixed",
  "left:0",
  "top:0",
  "width:500px",
  "height:400px",
  "opacity:0",
  "display:block",
];
const BARE = [
  "direction:ltr",
  "unicode-bidi:normal",
  "font-size:0",
  "line-height:0",
  "z-index:2147483647",
  "overflow:visible",
];

export interface Room {
  readonly tree: ShadowRoot;
  /** By how much the page is scaled. */
  readonly scale: number;
  close(): void;
}

/** Open the place where trees are built; undefined where nothing is laid out, or the page is turned or scaled away. */
export function openRoom(): Room | undefined {
  const host = make("div");
  let css = "";
  for (const rules of [HOST, BARE]) for (let at = 0; at < rules.length; at++) css += rules[at] + "!important;";
  host.style.cssText = css;
  const tree = host.attachShadow({ mode: "closed" });
  const close = (): void => host.remove();
  document.documentElement.appendChild(host);
  const box = make("div");
  box.style.cssText = "width:100px;height:50px";
  tree.appendChild(box);
  const { width, height } = box.getBoundingClientRect();
  box.remove();
  // Twice as wide as high, so that a page that is turned shows.
  const off = width - 2 * height;
  if (!(width > 20 && width < 500) || off > 1 || off < -1) return close() as undefined;
  return { tree, scale: width > 99.5 && width < 100.5 ? 1 : width / 100, close };
}

function build(parent: Node, box: Box, boxes: HTMLElement[]): HTMLElement {
  const element = make("div");
  const isLeaf = typeof box === "string";
  boxes[boxes.length] = element;
  element.style.cssText = isLeaf ? box : (box[0] as string);
  if (!isLeaf) for (let at = 1; at < box.length; at++) build(element, box[at] as Box, boxes);
  parent.appendChild(element);
  return element;
}

/** Run a program: its answer, or null where the window is too small for it, or the page is scaled. */
export function runProgram([box, measures]: Program, { tree, scale }: Room): number[] | null {
  const boxes: HTMLElement[] = [];
  const paused: Animation[] = [];
  const out: number[] = [];
  const put = (value: number): void => {
    out[out.length] = value;
  };
  const root = build(tree, box, boxes);
  try {
    for (let at = 0; at < measures.length; at++) {
      const measure = measures[at] as Measure;
      const [kind, place] = measure;
      const element = boxes[place as number] as HTMLElement;
      if (kind === "A") paused[paused.length] = pause(element, measure);
      else if (kind === "c") readComputed(element, measure[2] as string, put);
      else if (kind === "s") readPath(root, measure, put);
      else if (kind === "h") {
        if (innerWidth < HIT_WIDTH * scale || innerHeight < HIT_HEIGHT * scale) return null;
        hit(tree, boxes, measure, scale, put);
      } else {
        const from = root.getBoundingClientRect();
        const { left, top, width, height } = element.getBoundingClientRect();
        if (kind === "e") {
          // Of a scaled page the last sub-pixel says nothing.
          if (scale !== 1) return null;
          put(finest((left - from.left) / scale));
          put(finest(width / scale));
        } else {
          put(sixteenths((left - from.left) / scale));
          put(sixteenths((top - from.top) / scale));
          put(sixteenths(width / scale));
          put(sixteenths(height / scale));
        }
      }
    }
  } catch {
    // What an engine does not have it cannot answer.
    return [];
  } finally {
    // A paused animation that is not canceled stays, and slows down all that follow.
    for (let at = 0; at < paused.length; at++) paused[at]!.cancel();
    root.remove();
  }
  return out;
}

function pause(element: Element, [, , frames, timing, at]: Measure): Animation {
  const animation = element.animate(frames as Keyframe[], timing as KeyframeAnimationOptions);
  animation.pause();
  animation.currentTime = at as number;
  return animation;
}

function readComputed(element: Element, property: string, put: (value: number) => void): void {
  const lengths = getComputedStyle(element).getPropertyValue(property).split(" ");
  for (let at = 0; at < lengths.length; at++) put(sixteenths(parseFloat(lengths[at] as string)));
}

function hit(
  tree: ShadowRoot,
  boxes: readonly Element[],
  measure: Measure,
  scale: number,
  put: (value: number) => void,
): void {
  const { left, top } = boxes[0]!.getBoundingClientRect();
  for (let at = 1; at < measure.length; at += 2) {
    const found = tree.elementsFromPoint(
      left + (measure[at] as number) * scale,
      top + (measure[at + 1] as number) * scale,
    );
    let place = 0;
    // Something of the page may lie on top of it all.
    for (let above = 0; above < found.length && !place; above++) {
      for (let own = 0; own < boxes.length; own++) if (boxes[own] === found[above]) place = own + 1;
    }
    put(place * 16);
  }
}

function readPath(root: Element, measure: Measure, put: (value: number) => void): void {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", measure[1] as string);
  svg.appendChild(path);
  root.appendChild(svg);
  const { x, y, width, height } = path.getBBox();
  for (const value of [x, y, width, height, path.getTotalLength()]) put(sixteenths(value));
  for (let at = 2; at < 5; at++) {
    const point = path.getPointAtLength(measure[at] as number);
    put(sixteenths(point.x));
    put(sixteenths(point.y));
  }
  const point = svg.createSVGPoint();
  for (let at = 5; at < measure.length; at += 2) {
    point.x = measure[at] as number;
    point.y = measure[at + 1] as number;
    put(path.isPointInFill(point) ? 16 : 0);
  }
}
