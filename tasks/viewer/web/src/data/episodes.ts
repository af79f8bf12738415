// The episodes of a plan as columns, and what selects among them.

import { unpackColumns, type Numbers, type Words } from "./columns";
import type { EpisodeColumns } from "./types";

/** Columns whose values are words or few numbers: a filter names one value. */
export const FACETS = [
  "purpose", "model", "variant", "base", "bucket", "visibility", "header", "condition", "training_seed",
  "finish_reason", "failure_class", "error_kinds",
] as const;
/** Columns of numbers: a filter names a range. */
export const RANGES = [
  "score", "total_tokens", "turn_count", "missing_name_count", "context_lifespan", "interpreter_lifespan",
] as const;

export type Facet = (typeof FACETS)[number];
export type Range = (typeof RANGES)[number];
export const NONE = "none";

const SETTING = ["purpose", "variant", "base", "visibility", "header", "bucket", "training_seed", "replicate"];
const CELL = ["condition", "purpose", "variant", "base", "visibility", "header", "bucket"];
/** The aligned cells of the 2x2 stand beside its mismatched ones first. */
const OTHER_RUNTIME = new Map([["P", "S"], ["S", "P"]]);
const SEVERAL = new Set<string>(["error_kinds"]);

const HASH = /^[0-9a-f]{24}$/;

type Value = string | number | null;

export class Episodes {
  readonly count: number;
  private readonly ids: string[];
  private readonly wordColumns: Map<string, Words>;
  private readonly numberColumns: Map<string, Numbers>;
  private positions: Map<string, number> | null = null;
  private instances: number[][] | null = null;

  constructor(values: EpisodeColumns) {
    this.count = values.count;
    const { ids, words, numbers } = unpackColumns(values);
    this.ids = ids;
    this.wordColumns = words;
    this.numberColumns = numbers;
  }

  value(column: string, row: number): Value {
    const words = this.wordColumns.get(column);
    if (words !== undefined) return words.values[words.codes[row] ?? -1] ?? null;
    return this.number(column, row);
  }

  text(column: string, row: number): string {
    const value = this.value(column, row);
    return value === null ? NONE : String(value);
  }

  number(column: string, row: number): number | null {
    const value = this.numberColumns.get(column)?.[row];
    return value === undefined || Number.isNaN(value) ? null : value;
  }

  /** Name of an episode's instance: its number, or the name that foreign traces give it. */
  instance(row: number): string {
    const id = this.text("instance_id", row);
    return HASH.test(id) ? this.text("instance_number", row) : id;
  }

  /** Whether instances have names of their own. */
  get hasNames(): boolean {
    return this.count > 0 && !HASH.test(this.text("instance_id", 0));
  }

  id(row: number): string {
    return this.ids[row] ?? "";
  }

  /** Row of an episode; null for an unknown id. */
  row(id: string): number | null {
    if (this.positions === null) {
      this.positions = new Map();
      for (const [row, each] of this.ids.entries()) this.positions.set(each, row);
    }
    return this.positions.get(id) ?? null;
  }

  /** The episodes of the same instance, seed and setting, this one included. */
  sameInstance(row: number): number[] {
    const codes = this.wordColumns.get("instance_id")?.codes;
    if (codes === undefined) return [];
    this.instances ??= groupByCode(codes);
    return (this.instances[codes[row] ?? -1] ?? []).filter((each) => this.agree(SETTING, each, row));
  }

  /** The episode to show beside one: a mismatched cell beside its aligned one, an aligned one beside a mismatched. */
  defaultPartner(row: number): number | null {
    const [train, runtime] = this.text("condition", row).split("->");
    const others = this.sameInstance(row).filter((each) => each !== row);
    const isOther = (wanted: (condition: string[]) => boolean) =>
      others.find((each) => wanted(this.text("condition", each).split("->")));
    const aligned = train === runtime ? undefined : isOther(([a, b]) => a === train && b === train);
    const crossed = train === runtime ? isOther(([a, b]) => a === train && b === OTHER_RUNTIME.get(train ?? "")) : undefined;
    const mismatched = isOther(([a, b]) => a === train && b !== runtime);
    return aligned ?? crossed ?? mismatched ?? others[0] ?? null;
  }

  /** The pairs of two cells, in the order of the episodes of the first. */
  pairs(left: number, right: number): [number, number][] {
    const found: [number, number][] = [];
    for (let row = 0; row < this.count; row += 1) {
      if (!this.isSameCell(row, left)) continue;
      const partner = this.sameInstance(row).find((each) => this.isCondition(each, right));
      if (partner !== undefined) found.push([row, partner]);
    }
    return found;
  }

  private isCondition(row: number, other: number): boolean {
    return this.agree(["condition"], row, other);
  }

  private isSameCell(row: number, other: number): boolean {
    return this.agree(CELL, row, other);
  }

  private agree(columns: readonly string[], row: number, other: number): boolean {
    return columns.every((column) => this.value(column, row) === this.value(column, other));
  }

  /** Distinct values of a facet; a column of several words gives each of them. */
  values(column: string): string[] {
    const words = this.wordColumns.get(column);
    const seen = new Set<string>();
    if (words !== undefined) {
      for (const value of words.values) for (const word of split(column, value)) seen.add(word);
      if (words.codes.includes(-1)) seen.add(NONE);
    } else {
      for (let row = 0; row < this.count; row += 1) seen.add(this.text(column, row));
    }
    return [...seen].sort((a, b) => Number(a === NONE) - Number(b === NONE) || a.localeCompare(b, "en", { numeric: true }));
  }

  words(column: string): Words | null {
    return this.wordColumns.get(column) ?? null;
  }

  numbers(column: string): Numbers {
    return this.numberColumns.get(column) ?? new Float64Array(0);
  }
}

function groupByCode(codes: Numbers): number[][] {
  const groups: number[][] = [];
  for (let row = 0; row < codes.length; row += 1) (groups[codes[row] ?? 0] ??= []).push(row);
  return groups;
}

/** A filter read from a URL. */
export interface Filter {
  facets: Map<string, Set<string>>;
  ranges: Map<string, [number, number]>;
  text: string;
  where: string;
}

export function readFilter(query: URLSearchParams): Filter {
  const facets = new Map<string, Set<string>>();
  const ranges = new Map<string, [number, number]>();
  for (const facet of FACETS) {
    const chosen = query.get(facet);
    if (chosen) facets.set(facet, new Set(chosen.split(",")));
  }
  for (const range of RANGES) {
    const ends = (query.get(range) ?? "").split("..").map(Number);
    if (ends.length === 2 && ends.every(Number.isFinite)) ranges.set(range, [ends[0] as number, ends[1] as number]);
  }
  return { facets, ranges, text: query.get("find") ?? "", where: query.get("where") ?? "" };
}

/** Rows that pass a filter, without the column `except`: its own control shows what it leaves out. */
export function selectRows(episodes: Episodes, filter: Filter, allowed: Set<string> | null, except = ""): number[] {
  const tests = [...facetTests(episodes, filter, except), ...rangeTests(episodes, filter, except)];
  if (filter.text) tests.push((row) => isFound(episodes, row, filter.text));
  if (allowed !== null) tests.push((row) => allowed.has(episodes.id(row)));
  const rows: number[] = [];
  for (let row = 0; row < episodes.count; row += 1) if (tests.every((test) => test(row))) rows.push(row);
  return rows;
}

type Test = (row: number) => boolean;

function facetTests(episodes: Episodes, filter: Filter, except: string): Test[] {
  return [...filter.facets].filter(([column]) => column !== except).map(([column, chosen]) => {
    const held = episodes.words(column);
    if (held === null) return (row) => chosen.has(episodes.text(column, row));
    const isChosen = held.values.map((value) => split(column, value).some((word) => chosen.has(word)));
    const hasNone = chosen.has(NONE);
    return (row) => {
      const code = held.codes[row] ?? -1;
      return code < 0 ? hasNone : (isChosen[code] ?? false);
    };
  });
}

function rangeTests(episodes: Episodes, filter: Filter, except: string): Test[] {
  return [...filter.ranges].filter(([column]) => column !== except).map(([column, [low, high]]) => {
    const numbers = episodes.numbers(column);
    return (row) => {
      const value = numbers[row] ?? NaN;
      return value >= low && value <= high;
    };
  });
}

function isFound(episodes: Episodes, row: number, text: string): boolean {
  if (text === String(episodes.value("instance_number", row))) return true;
  return episodes.id(row).startsWith(text) || episodes.text("instance_id", row).startsWith(text);
}

export function split(column: string, value: string): string[] {
  return SEVERAL.has(column) ? value.split(" ") : [value];
}

/** Number of rows by value of a facet. */
export function countValues(episodes: Episodes, column: string, rows: number[]): Map<string, number> {
  const words = episodes.words(column);
  if (words === null) return countTexts(rows.map((row) => [episodes.text(column, row), 1]), column);
  const counts = new Uint32Array(words.values.length + 1);
  for (const row of rows) {
    const place = (words.codes[row] ?? -1) + 1;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return countTexts([NONE, ...words.values].map((text, place) => [text, counts[place] ?? 0]), column);
}

function countTexts(texts: [string, number][], column: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [text, number] of texts) {
    for (const word of split(column, text)) counts.set(word, (counts.get(word) ?? 0) + number);
  }
  return counts;
}

export interface Bins {
  low: number;
  high: number;
  width: number;
  counts: number[];
}

/** Numbers of rows in `wanted` equal bins between the ends of a column over all episodes. */
export function bins(episodes: Episodes, column: string, rows: number[], wanted: number): Bins | null {
  const numbers = episodes.numbers(column);
  let low = Infinity;
  let high = -Infinity;
  for (const value of numbers) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return null;
  const width = (high - low) / wanted || 1;
  const counts = new Array<number>(wanted).fill(0);
  for (const row of rows) {
    const place = Math.min(wanted - 1, Math.floor(((numbers[row] ?? NaN) - low) / width));
    if (place >= 0) counts[place] = (counts[place] ?? 0) + 1;
  }
  return { low, high, width, counts };
}

/** Rows in the order of a column, those without a value last. */
export function sortRows(episodes: Episodes, rows: number[], sort: string): number[] {
  if (!sort) return rows;
  const isDown = sort.startsWith("-");
  const column = sort.replace(/^-/, "");
  const compare = (a: number, b: number) => {
    const first = episodes.value(column, a);
    const second = episodes.value(column, b);
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    const order = typeof first === "number" && typeof second === "number" ? first - second : String(first).localeCompare(String(second));
    return isDown ? -order : order;
  };
  return [...rows].sort(compare);
}
