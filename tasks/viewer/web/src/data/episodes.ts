// The episodes of a plan as columns, and what selects among them.

import type { EpisodeColumns, Words } from "./types";

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
const SEVERAL = new Set<string>(["error_kinds"]);

const HASH = /^[0-9a-f]{24}$/;

type Value = string | number | null;

export class Episodes {
  readonly count: number;
  private readonly columns: EpisodeColumns["columns"];
  private positions: Map<string, number> | null = null;
  private partners: Map<string, number[]> | null = null;

  constructor(values: EpisodeColumns) {
    this.count = values.count;
    this.columns = values.columns;
  }

  value(column: string, row: number): Value {
    const held = this.columns[column];
    if (held === undefined) return null;
    if (Array.isArray(held)) return held[row] ?? null;
    return held.values[held.codes[row] ?? -1] ?? null;
  }

  text(column: string, row: number): string {
    const value = this.value(column, row);
    return value === null ? NONE : String(value);
  }

  number(column: string, row: number): number | null {
    const value = this.value(column, row);
    return typeof value === "number" ? value : null;
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
    return String(this.value("episode_id", row));
  }

  /** Row of an episode; null for an unknown id. */
  row(id: string): number | null {
    if (this.positions === null) {
      this.positions = new Map();
      for (let row = 0; row < this.count; row += 1) this.positions.set(this.id(row), row);
    }
    return this.positions.get(id) ?? null;
  }

  /** The episodes of the same instance, seed and setting, this one included. */
  sameInstance(row: number): number[] {
    if (this.partners === null) {
      this.partners = new Map();
      for (let each = 0; each < this.count; each += 1) {
        const key = this.instanceKey(each);
        const found = this.partners.get(key);
        if (found === undefined) this.partners.set(key, [each]);
        else found.push(each);
      }
    }
    return this.partners.get(this.instanceKey(row)) ?? [];
  }

  /** The episode to show beside one: a mismatched cell beside its aligned one, an aligned one beside a mismatched. */
  defaultPartner(row: number): number | null {
    const [train, runtime] = this.text("condition", row).split("->");
    const others = this.sameInstance(row).filter((each) => each !== row);
    const isOther = (wanted: (condition: string[]) => boolean) =>
      others.find((each) => wanted(this.text("condition", each).split("->")));
    const aligned = train === runtime ? undefined : isOther(([a, b]) => a === train && b === train);
    const mismatched = isOther(([a, b]) => a === train && b !== runtime);
    return aligned ?? mismatched ?? others[0] ?? null;
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
    return this.text("condition", row) === this.text("condition", other);
  }

  private isSameCell(row: number, other: number): boolean {
    const cell = ["condition", "purpose", "variant", "base", "visibility", "header", "bucket"];
    return cell.every((column) => this.text(column, row) === this.text(column, other));
  }

  private instanceKey(row: number): string {
    return [...SETTING, "instance_id"].map((column) => this.text(column, row)).join("|");
  }

  /** Distinct values of a facet; a column of several words gives each of them. */
  values(column: string): string[] {
    const held = this.columns[column];
    const seen = new Set<string>();
    if (held !== undefined && !Array.isArray(held)) {
      for (const value of held.values) for (const word of split(column, value)) seen.add(word);
      if (held.codes.includes(-1)) seen.add(NONE);
    } else {
      for (let row = 0; row < this.count; row += 1) seen.add(this.text(column, row));
    }
    return [...seen].sort((a, b) => Number(a === NONE) - Number(b === NONE) || a.localeCompare(b, "en", { numeric: true }));
  }

  words(column: string): Words | null {
    const held = this.columns[column];
    return held === undefined || Array.isArray(held) ? null : held;
  }
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
  return [...filter.ranges].filter(([column]) => column !== except).map(([column, [low, high]]) => (row) => {
    const value = episodes.number(column, row);
    return value !== null && value >= low && value <= high;
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
  const counts = new Map<string, number>();
  for (const row of rows) {
    for (const word of split(column, episodes.text(column, row))) counts.set(word, (counts.get(word) ?? 0) + 1);
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
  let low = Infinity;
  let high = -Infinity;
  for (let row = 0; row < episodes.count; row += 1) {
    const value = episodes.number(column, row);
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return null;
  const width = (high - low) / wanted || 1;
  const counts = new Array<number>(wanted).fill(0);
  for (const row of rows) {
    const value = episodes.number(column, row);
    if (value === null) continue;
    const place = Math.min(wanted - 1, Math.floor((value - low) / width));
    counts[place] = (counts[place] ?? 0) + 1;
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
