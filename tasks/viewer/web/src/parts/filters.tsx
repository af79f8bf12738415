import { useState } from "preact/hooks";
import {
  countValues, FACETS, RANGES, selectRows, type Episodes, type Filter, type Facet, type Range,
} from "../data/episodes";
import { isStatic } from "../data/load";
import { count, words } from "../format";
import { Histogram } from "./histogram";

const NAMES: Record<Facet | Range, string> = {
  purpose: "purpose", model: "who", variant: "variant", base: "base", bucket: "bucket", visibility: "prompt",
  header: "header", condition: "cell", training_seed: "seed", finish_reason: "ended by", failure_class: "failure class",
  error_kinds: "errors", score: "score", total_tokens: "tokens", turn_count: "turns",
  missing_name_count: "missing names", context_lifespan: "lifespan in the code", interpreter_lifespan: "lifespan in the interpreter",
};

interface Props {
  episodes: Episodes;
  filter: Filter;
  /** The rows that pass it. */
  rows: number[];
  allowed: Set<string> | null;
  whereError: string | null;
  set: (name: string, value: string) => void;
  clear: () => void;
}

/** Controls that narrow the episodes; each shows what the others leave. */
export function Filters({ episodes, filter, rows, allowed, whereError, set, clear }: Props) {
  const rowsWithout = (column: Facet | Range) =>
    isNarrowing(filter, column) ? selectRows(episodes, filter, allowed, column) : rows;
  const isFiltered = filter.facets.size + filter.ranges.size > 0 || filter.text !== "" || filter.where !== "";
  return (
    <section class="filters" aria-label="Filters">
      <div class="asked">
        <Field label="Instance or id" name="find" value={filter.text} set={set} />
        {!isStatic() && (
          <Field label="SQL condition on marts.episode_metrics" name="where" value={filter.where} set={set} error={whereError} />
        )}
        {isFiltered && <button type="button" class="plain" onClick={clear}>Clear</button>}
      </div>
      <div class="histograms">
        {RANGES.map((range) => (
          <Histogram
            key={range} name={NAMES[range]} column={range} episodes={episodes}
            rows={rowsWithout(range)}
            chosen={filter.ranges.get(range) ?? null}
            choose={(ends) => set(range, ends === null ? "" : `${ends[0]}..${ends[1]}`)}
          />
        ))}
      </div>
      <div class="facets">
        {FACETS.map((facet) => (
          <FacetValues key={facet} facet={facet} episodes={episodes} filter={filter} rows={rowsWithout(facet)} set={set} />
        ))}
      </div>
    </section>
  );
}

const isNarrowing = (filter: Filter, column: Facet | Range) => filter.facets.has(column) || filter.ranges.has(column);

interface FieldProps {
  label: string;
  name: string;
  value: string;
  set: (name: string, value: string) => void;
  error?: string | null;
}

function Field({ label, name, value, set, error }: FieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const send = (event: Event) => {
    setTyped(null);
    set(name, (event.target as HTMLInputElement).value.trim());
  };
  return (
    <label class={`field ${name}`}>
      <span>{label}</span>
      <input
        name={name} type="search" value={typed ?? value} spellcheck={false} autocomplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)} onChange={send}
        aria-invalid={error ? true : undefined} aria-describedby={error ? `${name}-error` : undefined}
      />
      {error && <span class="failure" id={`${name}-error`} role="alert">{error}</span>}
    </label>
  );
}

interface FacetProps {
  facet: Facet;
  episodes: Episodes;
  filter: Filter;
  rows: number[];
  set: (name: string, value: string) => void;
}

function FacetValues({ facet, episodes, filter, rows, set }: FacetProps) {
  const values = episodes.values(facet);
  if (values.length < 2) return null;
  const chosen = filter.facets.get(facet) ?? new Set<string>();
  const counts = countValues(episodes, facet, rows);
  const toggle = (value: string) => {
    const next = new Set(chosen);
    if (!next.delete(value)) next.add(value);
    set(facet, [...next].join(","));
  };
  return (
    <fieldset>
      <legend>{NAMES[facet]}</legend>
      {values.map((value) => (
        <label class={chosen.has(value) ? "chosen" : undefined}>
          <input type="checkbox" checked={chosen.has(value)} onChange={() => toggle(value)} />
          <span>{words(value).replace("->", "→")}</span>
          <output>{count(counts.get(value) ?? 0)}</output>
        </label>
      ))}
    </fieldset>
  );
}
