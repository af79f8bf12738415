// Loads values by path: from the server, or from the parts of a static bundle.

import type { EpisodeColumns } from "./types";

interface Bundle {
  /** Episodes of each script, in the order of the columns; null where the page holds every part. */
  partEpisodes: number | null;
  /** Whether it holds traces: a report has the numbers of its episodes alone. */
  hasEpisodes: boolean;
}

declare global {
  interface Window {
    carryoverBundle?: Bundle;
    carryoverPart?: (path: string, packed: string) => void;
  }
}

const loaded = new Map<string, Promise<unknown>>();
const parts = new Map<string, string>();

window.carryoverPart = (path, packed) => parts.set(path, packed);

export const isStatic = () => window.carryoverBundle !== undefined;

export const hasEpisodes = () => window.carryoverBundle?.hasEpisodes ?? true;

/** Returns the values behind a path; a second call shares the first one's. */
export function load<T>(path: string): Promise<T> {
  let values = loaded.get(path);
  if (values === undefined) {
    values = isStatic() ? fromBundle(path) : fromServer(`api/${path}${location.search}`);
    loaded.set(path, values);
    values.catch(() => loaded.delete(path));
  }
  return values as Promise<T>;
}

/** Returns the ids of the episodes that fulfil an SQL condition. */
export async function matching(where: string): Promise<string[]> {
  const query = new URLSearchParams(location.search);
  query.set("where", where);
  const found = (await fromServer(`api/where?${query}`)) as { episode_ids: string[] };
  return found.episode_ids;
}

async function fromServer(url: string): Promise<unknown> {
  const response = await fetch(url);
  const values = await response.json();
  if (!response.ok) throw new Error(values.error);
  return values;
}

async function fromBundle(path: string): Promise<unknown> {
  const packed = heldPart(path) ?? (await laterPart(path));
  if (packed === null) throw new Error(`${path} is not in this bundle`);
  return JSON.parse(await unpack(packed));
}

function heldPart(path: string): string | null {
  return parts.get(path) ?? document.getElementById(`part/${path}`)?.textContent ?? null;
}

/** Returns a part that the page holds further down, or that a script beside it holds. */
async function laterPart(path: string): Promise<string | null> {
  await documentRead();
  const size = window.carryoverBundle?.partEpisodes ?? null;
  if (size !== null && path.startsWith("episode/")) {
    const { columns } = await load<EpisodeColumns>("episodes");
    const place = (columns.episode_id as string[]).indexOf(path.slice("episode/".length));
    if (place >= 0) await runScript(`parts/${Math.floor(place / size)}.js`);
  }
  return heldPart(path);
}

function documentRead(): Promise<void> {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("DOMContentLoaded", () => resolve(), { once: true }));
}

function runScript(file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(`${file} is missing beside this page`));
    document.head.append(script);
  });
}

/** Returns the text of a part: Base64 of gzip. */
async function unpack(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
