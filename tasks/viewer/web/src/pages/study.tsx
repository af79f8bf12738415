import { useEffect, useMemo } from "preact/hooks";
import { readFilter, selectRows, sortRows, type Episodes } from "../data/episodes";
import { hasEpisodes } from "../data/load";
import type { Study } from "../data/types";
import { useEpisodes, useMatching } from "../data/useEpisodes";
import { arrow, count, plural } from "../format";
import { Filters } from "../parts/filters";
import { EpisodeList } from "../parts/list";
import { Matrices, OtherCells } from "../parts/matrix";
import { Failure, Waiting } from "../parts/notes";
import { replaceQuery } from "../route";

export function StudyPage({ study, query }: { study: Study; query: URLSearchParams }) {
  const { episodes, error } = useEpisodes();
  const [headline, ...others] = study.findings.map(arrow);
  const isTrained = study.cells.some((cell) => cell.model === "sft");
  useEffect(() => {
    if (query.get("at") === "episodes") document.getElementById("episodes")?.scrollIntoView();
  }, [query.toString(), episodes]);
  return (
    <>
      <h1>{study.plan_name}</h1>
      {isTrained && <p class="headline">{headline}</p>}
      {isTrained && others.length > 0 && <p class="lead">{others.join(" ")}</p>}
      <p class="measured">{study.measured_on}</p>
      <Matrices cells={study.cells} />
      <OtherCells cells={study.cells} />
      {error !== null && <Failure text={error} />}
      {episodes !== null && <Held study={study} held={episodes.count} />}
      {episodes === null ? <Waiting /> : <Chosen episodes={episodes} query={query} />}
    </>
  );
}

/** Says where a bundle holds a part of the study's episodes. */
function Held({ study, held }: { study: Study; held: number }) {
  const all = study.cells.reduce((sum, cell) => sum + cell.episode_count, 0);
  if (!hasEpisodes()) return <p class="lead">This page holds no traces; <code>carryover view</code> shows them.</p>;
  if (held === all) return null;
  return <p class="lead">The cells count {count(all)} episodes; this bundle holds {count(held)} of them.</p>;
}

/** The episodes that the filters in the URL leave. */
function Chosen({ episodes, query }: { episodes: Episodes; query: URLSearchParams }) {
  const key = query.toString();
  const filter = useMemo(() => readFilter(query), [key]);
  const { allowed, error } = useMatching(filter.where);
  const sort = query.get("sort") ?? "";
  const rows = useMemo(
    () => sortRows(episodes, selectRows(episodes, filter, allowed), sort),
    [episodes, filter, allowed, sort],
  );
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    next.delete("at");
    if (value) next.set(name, value);
    else next.delete(name);
    replaceQuery(next);
  };
  return (
    <>
      <h2 id="episodes">{plural(rows.length, "episode")}{rows.length < episodes.count && <small> of {count(episodes.count)}</small>}</h2>
      <Filters episodes={episodes} filter={filter} rows={rows} allowed={allowed} whereError={error} set={set} clear={() => replaceQuery(new URLSearchParams())} />
      <EpisodeList episodes={episodes} rows={rows} sort={sort} setSort={(next) => set("sort", next)} />
    </>
  );
}
