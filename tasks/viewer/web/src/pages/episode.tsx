import { useEffect, useState } from "preact/hooks";
import type { Episodes } from "../data/episodes";
import type { Episode } from "../data/types";
import { useEpisodes } from "../data/useEpisodes";
import { useLoaded } from "../data/use";
import { arrow } from "../format";
import { Shortened, Text } from "../parts/code";
import { cellLink, cellTitle, Head } from "../parts/head";
import { useKeys } from "../parts/keys";
import { Lane } from "../parts/lane";
import { Failure, Waiting } from "../parts/notes";
import { searchedText, TurnView } from "../parts/turn";
import { go, link, replaceQuery } from "../route";

export function EpisodePage({ id, query }: { id: string; query: URLSearchParams }) {
  const { values, error } = useLoaded<Episode>(`episode/${id}`);
  if (error !== null) return <Failure text={error} />;
  if (values === null) return <Waiting />;
  return <Shown page={values} query={query} />;
}

function Shown({ page, query }: { page: Episode; query: URLSearchParams }) {
  const { episodes } = useEpisodes();
  const [isRaw, setRaw] = useState(false);
  const [searched, setSearched] = useState("");
  const step = Number(query.get("step")) || null;
  const ofStep = page.turns.find((each) => each.steps.some((ran) => ran.step === step));
  const turn = Number(query.get("turn")) || (ofStep?.turn ?? null);
  const id = page.episode.episode_id;
  const partner = partnerOf(episodes, id);
  const row = episodes?.row(id) ?? null;
  const showTurn = (next: number) => replaceQuery(new URLSearchParams({ turn: String(next) }));
  const showStep = (next: number) => replaceQuery(new URLSearchParams({ step: String(next) }));
  const move = (by: number) => {
    const numbers = page.turns.map((each) => each.turn);
    const place = turn === null ? -1 : numbers.indexOf(turn);
    const next = numbers[Math.max(0, Math.min(numbers.length - 1, place + by))];
    if (next !== undefined) showTurn(next);
  };
  const firstMissing = page.missing[0];
  const showMissing = () => firstMissing !== undefined && showStep(firstMissing.step);
  const compare = () => partner !== null && go(link(["compare", id, partner.id]));
  useKeys({ j: () => move(1), k: () => move(-1), m: showMissing, c: compare, r: () => setRaw(!isRaw) });
  useEffect(() => {
    const shown = document.getElementById(`turn-${turn}`);
    const isAlone = ofStep === undefined || ofStep.steps.length < 2;
    (isAlone ? shown : document.getElementById(`step-${step}`))?.scrollIntoView({ block: "start" });
  }, [turn, step]);
  const current = step ?? page.turns.find((each) => each.turn === turn)?.steps[0]?.step ?? null;
  const isFound = (text: string) => searched === "" || text.toLowerCase().includes(searched.toLowerCase());
  const shown = page.turns.filter((each) => isFound(searchedText(each)));
  return (
    <>
      <h1><a href={cellLink(page.episode)}>{cellTitle(page.episode)}</a>{row !== null && <> · instance {episodes?.instance(row)}</>}</h1>
      <Head episode={page.episode} />
      {page.episode.error_message !== null && <p class="missing"><Shortened name="" text={page.episode.error_message} /></p>}
      <p class="lead">Lint: {page.lint.verdict.replaceAll("`", "")}.</p>
      <div class="actions">
        {firstMissing !== undefined && <button type="button" class="warning" onClick={showMissing}>First missing name: {firstMissing.name}, step {firstMissing.step}</button>}
        {partner !== null && <a class="button" href={link(["compare", id, partner.id])}>Compare with {arrow(partner.condition)}</a>}
        <button type="button" onClick={() => setRaw(!isRaw)} aria-pressed={isRaw}>Raw JSON</button>
        <label class="field find">
          <span class="unseen">Search this episode</span>
          <input type="search" placeholder="Search this episode" value={searched} onInput={(event) => setSearched(event.currentTarget.value)} />
        </label>
      </div>
      <Lane page={page} current={current} choose={showStep} />
      <details class="opening">
        <summary>Opening messages and contract</summary>
        {page.opening.map((message, place) => (
          <section key={place}>
            <p class="label">{message.role}</p>
            <Text text={message.content} />
          </section>
        ))}
        <section>
          <p class="label">declared contract</p>
          <Text text={JSON.stringify(page.contract, null, 2)} />
        </section>
      </details>
      {searched !== "" && <p role="status">{shown.length} of {page.turns.length} turns</p>}
      {shown.map((each) => <TurnView key={each.turn} page={page} turn={each} isCurrent={each.turn === turn} isRaw={isRaw} />)}
      {isRaw && <RawHead page={page} />}
    </>
  );
}

/** What the turns' JSON leaves out. */
function RawHead({ page }: { page: Episode }) {
  const { episode, contract, opening, runtime_events } = page;
  return (
    <section aria-label="Head and runtime events">
      <h3>Head and runtime events</h3>
      <Text class="raw" text={JSON.stringify({ episode, contract, opening, runtime_events }, null, 2)} />
    </section>
  );
}

function partnerOf(episodes: Episodes | null, id: string): { id: string; condition: string } | null {
  const row = episodes?.row(id) ?? null;
  if (episodes === null || row === null) return null;
  const partner = episodes.defaultPartner(row);
  return partner === null ? null : { id: episodes.id(partner), condition: episodes.text("condition", partner) };
}
