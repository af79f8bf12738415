import { useEffect, useMemo, useState } from "preact/hooks";
import { Episodes } from "./episodes";
import { matching } from "./load";
import type { EpisodeColumns } from "./types";
import { useLoaded } from "./use";

export interface LoadedEpisodes {
  episodes: Episodes | null;
  error: string | null;
}

let known: { values: EpisodeColumns; episodes: Episodes } | null = null;

/** Loads the plan's episodes, if they are asked for; every page shares them. */
export function useEpisodes(isAsked = true): LoadedEpisodes {
  const { values, error } = useLoaded<EpisodeColumns>(isAsked ? "episodes" : null);
  const episodes = useMemo(() => {
    if (values === null) return null;
    if (known?.values !== values) known = { values, episodes: new Episodes(values) };
    return known.episodes;
  }, [values]);
  return { episodes, error };
}

/** Asks for the episodes that fulfil an SQL condition; null allows all. */
export function useMatching(where: string): { allowed: Set<string> | null; error: string | null } {
  const [found, setFound] = useState<{ where: string; allowed: Set<string> | null; error: string | null }>({
    where: "", allowed: null, error: null,
  });
  useEffect(() => {
    if (!where) return undefined;
    let isCurrent = true;
    matching(where).then(
      (ids) => isCurrent && setFound({ where, allowed: new Set(ids), error: null }),
      (error: Error) => isCurrent && setFound({ where, allowed: new Set(), error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [where]);
  if (!where) return { allowed: null, error: null };
  if (found.where !== where) return { allowed: new Set(), error: null };
  return found;
}
