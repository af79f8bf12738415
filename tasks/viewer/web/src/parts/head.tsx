import type { EpisodeHead } from "../data/types";
import { arrow, count, decimals, NOTHING, visible, words } from "../format";
import { link } from "../route";

/** Facts of an episode: how it ended, what it cost, under which contract it ran. */
export function Head({ episode, isShort }: { episode: EpisodeHead; isShort?: boolean }) {
  const isImported = episode.backend === "imported";
  const facts: [string, string][] = [
    ["score", decimals(episode.score, 3)],
    ["ended by", ending(episode)],
    ["tokens", count(episode.total_tokens)],
    ["turns", isImported ? count(episode.turn_count) : budget(episode.turn_count, episode.max_turns)],
    ["missing names", count(episode.missing_name_count)],
  ];
  const more: [string, string][] = [
    ["failure class", words(episode.failure_class) || NOTHING],
    ["contract", episode.runtime_contract],
    ["told the model", episode.shown_contract],
    ["sandbox", isImported ? "imported" : `${episode.sandbox_level}, ${words(episode.backend)}`],
    ["canary", episode.is_contract_verified ? "agreed before every step" : isImported ? NOTHING : "not verified"],
    ["inspected", budget(episode.inspected_count, episode.inspection_budget)],
    ["weight", budget(episode.weight_taken, episode.capacity)],
    ["value", budget(episode.value_taken, episode.optimal_value)],
    ["model", episode.model_name],
    ["seed", count(episode.training_seed)],
    ["instance", episode.instance_id],
    ["episode", episode.episode_id],
  ];
  return (
    <dl class="facts">
      {[...facts, ...(isShort ? [] : more.filter(([, value]) => value !== NOTHING))].map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{visible(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function ending({ backend, finish_reason, error_message }: EpisodeHead): string {
  if (backend === "imported" && finish_reason === "other" && error_message === null) return "not told";
  return words(finish_reason);
}

const budget = (spent: number, of: number | null) => (of === null ? NOTHING : `${count(spent)} of ${count(of)}`);

export function cellTitle(episode: EpisodeHead): string {
  return arrow(episode.condition) || episode.runtime_contract;
}

export function cellLink(episode: EpisodeHead): string {
  const { variant, base, visibility, header, bucket, condition } = episode;
  return link([], { variant, base, visibility, header, bucket, condition, at: "episodes" });
}
