// Places in the viewer as fragments of the URL: `#/episode/ID?step=4`. They work from file:// too.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The words of the path: `["episode", "ID"]`. */
  path: string[];
  query: URLSearchParams;
}

export function currentRoute(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

export function link(path: string[], query: Record<string, string | number | null | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${words ? `?${words}` : ""}`;
}

/** Changes the query of the current place without a new entry in the history. */
export function replaceQuery(query: URLSearchParams): void {
  const { path } = currentRoute();
  history.replaceState(null, "", link(path, Object.fromEntries(query)));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function go(target: string): void {
  location.hash = target;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const follow = () => setRoute(currentRoute());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
