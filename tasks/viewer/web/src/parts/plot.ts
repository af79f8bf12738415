// Where the series of a chart lie: plain numbers, from which `drawing.tsx` makes shapes.

import type { Json, Series } from "../data/types";

export const WIDTH = 340;
export const HEIGHT = 190;
export const EDGES = { left: 46, right: 46, top: 10, bottom: 24 };

export interface Point {
  x: number;
  y: number;
  /** Where a stacked bar begins; 0 for others. */
  base: number;
  /** Open, close, lowest and highest of a candlestick. */
  candle: number[] | null;
}

export interface Scale {
  low: number;
  high: number;
  place: (value: number) => number;
}

export interface Plot {
  points: Point[][];
  categories: string[];
  x: Scale;
  /** The left and the right axis; null for one that no series uses. */
  y: (Scale | null)[];
}

/** Lays out all series but pies. */
export function layOut(series: Series[]): Plot {
  const categories = [...new Set(series.flatMap((each) => each.points.map(categoryOf)).filter((name) => name !== null))];
  const points = series.map((each) => each.points.map((point, place) => pointOf(point, place, categories)));
  stack(series, points);
  const xs = points.flat().map((point) => point.x);
  const isBanded = series.some((each) => each.kind === "bar" || each.kind === "candlestick");
  const pad = isBanded ? 0.5 : 0;
  const x = scaleOf(Math.min(...xs) - pad, Math.max(...xs) + pad, EDGES.left, WIDTH - EDGES.right);
  return { points, categories, x, y: [0, 1].map((axis) => axisOf(series, points, axis)) };
}

const isNumber = (value: Json | undefined): value is number => typeof value === "number";

function categoryOf(point: Json): string | null {
  return Array.isArray(point) && !isNumber(point[0]) ? String(point[0]) : null;
}

function pointOf(point: Json, place: number, categories: string[]): Point {
  const value = Array.isArray(point) ? point[1] : point;
  const category = categoryOf(point);
  const first = Array.isArray(point) && isNumber(point[0]) ? point[0] : place;
  const candle = Array.isArray(value) ? value.filter(isNumber) : null;
  const y = candle === null ? Number(value) : (candle[1] ?? NaN);
  return { x: category === null ? first : categories.indexOf(category), y, base: 0, candle };
}

/** Moves stacked points onto those of the series before them. */
function stack(series: Series[], points: Point[][]): void {
  series.forEach(({ stacked_on }, place) => {
    const below = stacked_on.filter((other) => other < place).at(-1);
    if (below === undefined) return;
    points[place]?.forEach((point, at) => {
      point.base = points[below]?.[at]?.y ?? 0;
      point.y += point.base;
    });
  });
}

function axisOf(series: Series[], points: Point[][], axis: number): Scale | null {
  const held = points.filter((_, place) => Math.min(1, series[place]?.axes[1] ?? 0) === axis);
  const values = held.flat().flatMap((point) => point.candle ?? [point.y]).filter(Number.isFinite);
  if (values.length === 0) return null;
  const hasBars = series.some((each) => each.kind === "bar" && Math.min(1, each.axes[1]) === axis);
  const low = Math.min(...values, hasBars ? 0 : Infinity);
  return scaleOf(low, Math.max(...values), HEIGHT - EDGES.bottom, EDGES.top);
}

function scaleOf(low: number, high: number, start: number, end: number): Scale {
  const width = high - low || 1;
  return { low, high, place: (value) => start + ((value - low) / width) * (end - start) };
}

export interface Slice {
  name: string;
  value: number;
  /** SVG path around the centre. */
  path: string;
}

/** The slices of a pie of a radius, from twelve o'clock on. */
export function slicesOf(series: Series, radius: number): Slice[] {
  const parts = series.points.map((point) => (Array.isArray(point) ? point : [null, point]));
  const total = parts.reduce((sum, part) => sum + (Number(part[1]) || 0), 0) || 1;
  let turned = 0;
  return parts.map((part) => {
    const value = Number(part[1]) || 0;
    const start = turned;
    turned += value / total;
    return { name: String(part[0]), value, path: slicePath(radius, start, turned) };
  });
}

function slicePath(radius: number, start: number, end: number): string {
  const at = (share: number) => `${radius * Math.sin(2 * Math.PI * share)},${-radius * Math.cos(2 * Math.PI * share)}`;
  if (end - start >= 1) return `M0,${-radius}A${radius},${radius} 0 1 1 0,${radius}A${radius},${radius} 0 1 1 0,${-radius}Z`;
  return `M0,0L${at(start)}A${radius},${radius} 0 ${end - start > 0.5 ? 1 : 0} 1 ${at(end)}Z`;
}
