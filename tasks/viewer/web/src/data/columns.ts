// Columns of episodes as typed arrays.

import type { EpisodeColumns, PackedNumbers } from "./types";

export type Numbers = Int8Array | Int16Array | Int32Array | Float64Array;

export interface Words {
  values: string[];
  /** Places in `values`; -1 is null. */
  codes: Numbers;
}

export interface Columns {
  ids: string[];
  words: Map<string, Words>;
  /** NaN is null. */
  numbers: Map<string, Numbers>;
}

const KINDS = { int8: Int8Array, int16: Int16Array, int32: Int32Array, float64: Float64Array };

export function unpackColumns({ columns }: EpisodeColumns): Columns {
  const found: Columns = { ids: [], words: new Map(), numbers: new Map() };
  for (const [name, column] of Object.entries(columns)) {
    if (Array.isArray(column)) found.ids = column;
    else if ("codes" in column) found.words.set(name, { values: column.values, codes: unpackNumbers(column.codes) });
    else found.numbers.set(name, unpackNumbers(column));
  }
  return found;
}

function unpackNumbers({ kind, data }: PackedNumbers): Numbers {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
  return new KINDS[kind](bytes.buffer);
}
