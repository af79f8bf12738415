import { useEffect, useState } from "preact/hooks";
import { load } from "./load";

export interface Loaded<T> {
  values: T | null;
  error: string | null;
}

/** Loads the values behind a path; null asks for nothing. */
export function useLoaded<T>(path: string | null): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { path: string | null }>({ path: null, values: null, error: null });
  useEffect(() => {
    if (path === null) return undefined;
    let isCurrent = true;
    load<T>(path).then(
      (values) => isCurrent && setState({ path, values, error: null }),
      (error: Error) => isCurrent && setState({ path, values: null, error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [path]);
  if (state.path !== path) return { values: null, error: null };
  return state;
}
