// Differences of two blocks, line by line, and the step at which two episodes part.

import type { Episode, Turn } from "./data/types";

export type LineMark = "same" | "changed";

const MOST_PRODUCT = 400_000;

/** Marks of the lines of two texts: `same` for a longest common subsequence. */
export function compareLines(left: string[], right: string[]): [LineMark[], LineMark[]] {
  if (left.length * right.length > MOST_PRODUCT) return [membership(left, right), membership(right, left)];
  const lengths = commonLengths(left, right);
  const marks: [LineMark[], LineMark[]] = [left.map(() => "changed"), right.map(() => "changed")];
  let a = 0;
  let b = 0;
  while (a < left.length && b < right.length) {
    if (left[a] === right[b]) {
      marks[0][a] = "same";
      marks[1][b] = "same";
      a += 1;
      b += 1;
    } else if (at(lengths, a + 1, b) >= at(lengths, a, b + 1)) a += 1;
    else b += 1;
  }
  return marks;
}

/** Length of the longest common subsequence of what follows each pair of places. */
function commonLengths(left: string[], right: string[]): Uint32Array[] {
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
  for (let a = left.length - 1; a >= 0; a -= 1) {
    const row = lengths[a] as Uint32Array;
    for (let b = right.length - 1; b >= 0; b -= 1) {
      row[b] = left[a] === right[b] ? at(lengths, a + 1, b + 1) + 1 : Math.max(at(lengths, a + 1, b), at(lengths, a, b + 1));
    }
  }
  return lengths;
}

const at = (lengths: Uint32Array[], a: number, b: number) => lengths[a]?.[b] ?? 0;

function membership(lines: string[], others: string[]): LineMark[] {
  const known = new Set(others);
  return lines.map((line) => (known.has(line) ? "same" : "changed"));
}

const codeOf = (turn: Turn | undefined) => (turn === undefined ? null : turn.steps.map((step) => step.code).join("\n"));
const toldOf = (turn: Turn | undefined) => (turn === undefined ? null : `${codeOf(turn)}\0${errorsOf(turn)}`);

export const errorsOf = (turn: Turn) => turn.steps.map((step) => step.error).join("\n");

/** Place of the first turn whose code, or whose error, differs; null where none does. */
export function firstDifference(left: Episode, right: Episode): number | null {
  const most = Math.max(left.turns.length, right.turns.length);
  for (let place = 0; place < most; place += 1) {
    if (toldOf(left.turns[place]) !== toldOf(right.turns[place])) return place;
  }
  return null;
}

/** Number of the first step in that turn whose code, or whose error, differs; null for a turn without steps. */
export function differingStep(left: Turn | undefined, right: Turn | undefined): number | null {
  const most = Math.max(left?.steps.length ?? 0, right?.steps.length ?? 0);
  for (let place = 0; place < most; place += 1) {
    const first = left?.steps[place];
    const second = right?.steps[place];
    if (first?.code !== second?.code || first?.error !== second?.error) return (first ?? second)?.step ?? null;
  }
  return null;
}

/** Number of marked lines that differ. */
export function changedLines(marks: Map<number, string[]>): number {
  return [...marks.values()].flat().filter((mark) => mark === "changed").length;
}

/** Classes of the code lines of two turns, by step. */
export function turnMarks(left: Turn | undefined, right: Turn | undefined): [Map<number, string[]>, Map<number, string[]>] {
  const marks: [Map<number, string[]>, Map<number, string[]>] = [new Map(), new Map()];
  if (left === undefined || right === undefined) return marks;
  const most = Math.max(left.steps.length, right.steps.length);
  for (let place = 0; place < most; place += 1) {
    const first = left.steps[place];
    const second = right.steps[place];
    const [ofFirst, ofSecond] = compareLines(first?.code.split("\n") ?? [], second?.code.split("\n") ?? []);
    if (first !== undefined) marks[0].set(first.step, ofFirst);
    if (second !== undefined) marks[1].set(second.step, ofSecond);
  }
  return marks;
}
