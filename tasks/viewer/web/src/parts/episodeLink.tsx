import type { ComponentChildren } from "preact";
import { hasEpisodes, isStatic } from "../data/load";
import { useEpisodes } from "../data/useEpisodes";
import { link } from "../route";

/** A link to an episode; its words alone where a bundle does not hold it. */
export function EpisodeLink({ id, children }: { id: string; children: ComponentChildren }) {
  const { episodes } = useEpisodes(isStatic() && hasEpisodes());
  const isHeld = !isStatic() || (episodes !== null && episodes.row(id) !== null);
  return isHeld ? <a href={link(["episode", id])}>{children}</a> : <span>{children}</span>;
}
