// Numbers and texts as a reader sees them.

import type { MissingName } from "./data/types";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const NOTHING = "–";

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? NOTHING : whole.format(value);
}

export function decimals(value: number | null | undefined, places: number): string {
  return value === null || value === undefined ? NOTHING : value.toFixed(places);
}

export function seconds(value: number): string {
  if (value < 0.0005) return "0 s";
  if (value < 1) return `${(1000 * value).toFixed(value < 0.01 ? 1 : 0)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : `${whole.format(value)} s`;
}

/** `P->S` as `P→S`. */
export const arrow = (condition: string | null) => (condition ?? "").replaceAll("->", "→");

export const words = (name: string | null | undefined) => (name ?? "").replaceAll("_", " ");

export const plural = (number: number, noun: string) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** What had become of a missing name. */
export function fate(missing: Pick<MissingName, "lost_step" | "bound_step" | "is_injected">): string {
  if (missing.is_injected) return "the harness dropped it";
  if (missing.lost_step !== null) return `lost at the end of step ${missing.lost_step}`;
  return missing.bound_step === null ? "no step had bound it" : `step ${missing.bound_step} had bound it`;
}

// Characters that hide or reorder text are shown as what they are.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\p{Cs}]/gu;

/** Text with control characters as signs: an escape as ␛, a right-to-left override as ⟨U+202E⟩. */
export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (letter) => {
    const code = letter.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
