import { useEffect, useState } from "preact/hooks";
import type { Episodes } from "../data/episodes";
import type { Episode, Turn } from "../data/types";
import { useEpisodes } from "../data/useEpisodes";
import { useLoaded } from "../data/use";
import { changedLines, differingStep, errorsOf, firstDifference, turnMarks } from "../diff";
import { arrow, count, plural } from "../format";
import { cellTitle, Head } from "../parts/head";
import { useKeys } from "../parts/keys";
import { Lane } from "../parts/lane";
import { Failure, Waiting } from "../parts/notes";
import { tokensOf, TurnView } from "../parts/turn";
import { go, link, replaceQuery } from "../route";

export function ComparePage({ left, right, query }: { left: string; right: string; query: URLSearchParams }) {
  const first = useLoaded<Episode>(`episode/${left}`);
  const second = useLoaded<Episode>(`episode/${right}`);
  const error = first.error ?? second.error;
  if (error !== null) return <Failure text={error} />;
  if (first.values === null || second.values === null) return <Waiting />;
  return <Pair left={first.values} right={second.values} turn={Number(query.get("turn")) || null} />;
}

function Pair({ left, right, turn }: { left: Episode; right: Episode; turn: number | null }) {
  const { episodes } = useEpisodes();
  const [isRaw, setRaw] = useState(false);
  const place = turn === null ? null : turn - 1;
  const difference = firstDifference(left, right);
  const turns = Math.max(left.turns.length, right.turns.length);
  const show = (next: number) => replaceQuery(new URLSearchParams({ turn: String(next + 1) }));
  useEffect(() => {
    if (place !== null) document.getElementById(`row-${place}`)?.scrollIntoView({ block: "start" });
  }, [place]);
  const move = (step: number) => show(Math.max(0, Math.min(turns - 1, (place ?? -1) + step)));
  const missing = left.missing[0] ?? right.missing[0];
  const rowOfStep = (page: Episode) => (step: number) => show(page.turns.findIndex((turn) => turn.steps.some((ran) => ran.step === step)));
  const showMissing = () => missing !== undefined && show(missing.turn - 1);
  useKeys({ j: () => move(1), k: () => move(-1), m: showMissing, r: () => setRaw(!isRaw) });
  return (
    <>
      <h1>{cellTitle(left.episode)} beside {cellTitle(right.episode)}{episodes !== null && <Instance episodes={episodes} id={left.episode.episode_id} />}</h1>
      {episodes !== null && <PairNavigation episodes={episodes} left={left} right={right} />}
      <div class="actions">
        {difference !== null && <button type="button" onClick={() => show(difference)}>First difference: {placeOf(left, right, difference)}</button>}
        {missing !== undefined && <button type="button" class="warning" onClick={showMissing}>First missing name: {missing.name}, step {missing.step}</button>}
        <button type="button" onClick={() => setRaw(!isRaw)} aria-pressed={isRaw}>Raw JSON</button>
      </div>
      <p class="lead">{summary(left, right, difference)}</p>
      <div class="pair heads">
        {[left, right].map((page) => (
          <section key={page.episode.episode_id} aria-label={cellTitle(page.episode)}>
            <h2><a href={link(["episode", page.episode.episode_id])}>{cellTitle(page.episode)}</a></h2>
            <Head episode={page.episode} isShort />
            <Lane page={page} current={page.turns[place ?? -1]?.steps[0]?.step ?? null} choose={rowOfStep(page)} />
          </section>
        ))}
      </div>
      <Rows left={left} right={right} difference={difference} place={place} isRaw={isRaw} />
    </>
  );
}

/** The step at which they part, or the turn where none ran. */
function placeOf(left: Episode, right: Episode, difference: number): string {
  const step = differingStep(left.turns[difference], right.turns[difference]);
  return step === null ? `turn ${difference + 1}` : `step ${step}`;
}

function Instance({ episodes, id }: { episodes: Episodes; id: string }) {
  const row = episodes.row(id);
  return row === null ? null : <> · instance {episodes.instance(row)}</>;
}

/** The previous and the next instance under the same two cells, and other episodes of this one. */
function PairNavigation({ episodes, left, right }: { episodes: Episodes; left: Episode; right: Episode }) {
  const first = episodes.row(left.episode.episode_id);
  const second = episodes.row(right.episode.episode_id);
  if (first === null || second === null) return null;
  const pairs = episodes.pairs(first, second);
  const place = pairs.findIndex(([row]) => row === first);
  const others = episodes.sameInstance(first).filter((row) => row !== first);
  return (
    <nav class="pairs" aria-label="Pairs">
      <PairLink episodes={episodes} pair={pairs[place - 1]} word="Previous pair" sign="p" />
      <PairLink episodes={episodes} pair={pairs[place + 1]} word="Next pair" sign="n" />
      <span>{count(place + 1)} of {plural(pairs.length, "pair")}</span>
      <label>
        <span>beside</span>
        <select value={episodes.id(second)} onChange={(event) => go(link(["compare", left.episode.episode_id, event.currentTarget.value]))}>
          {others.map((row) => <option value={episodes.id(row)} key={row}>{arrow(episodes.text("condition", row))}</option>)}
        </select>
      </label>
      <a href={link(["compare", right.episode.episode_id, left.episode.episode_id])}>Swap</a>
    </nav>
  );
}

interface PairLinkProps {
  episodes: Episodes;
  pair: [number, number] | undefined;
  word: string;
  sign: "n" | "p";
}

function PairLink({ episodes, pair, word, sign }: PairLinkProps) {
  const target = pair === undefined ? null : link(["compare", episodes.id(pair[0]), episodes.id(pair[1])]);
  useKeys({ [sign]: () => target !== null && go(target) });
  if (target === null) return <span class="button off" aria-disabled="true">{word}</span>;
  return <a class="button" href={target}>{word}</a>;
}

interface RowsProps {
  left: Episode;
  right: Episode;
  difference: number | null;
  place: number | null;
  isRaw: boolean;
}

/** The turns of both, row by row; equal ones before the first difference are folded. */
function Rows({ left, right, difference, place, isRaw }: RowsProps) {
  const [isOpen, setOpen] = useState(false);
  const most = Math.max(left.turns.length, right.turns.length);
  const equal = difference ?? most;
  const isFolded = equal > 0 && !isOpen && (place === null || place >= equal);
  useEffect(() => {
    if (place !== null && place < equal) setOpen(true);
  }, [place]);
  const places = Array.from({ length: most }, (_, each) => each).filter((each) => !isFolded || each >= equal);
  return (
    <>
      {isFolded && <button type="button" class="fold" onClick={() => setOpen(true)}>{plural(equal, "equal turn")} before</button>}
      {places.map((each) => (
        <Row key={each} page={[left, right]} turns={[left.turns[each], right.turns[each]]} place={each} isFirst={each === difference} isCurrent={each === place} isRaw={isRaw} />
      ))}
    </>
  );
}

interface RowProps {
  page: [Episode, Episode];
  turns: [Turn | undefined, Turn | undefined];
  place: number;
  isFirst: boolean;
  isCurrent: boolean;
  isRaw: boolean;
}

function Row({ page, turns, place, isFirst, isCurrent, isRaw }: RowProps) {
  const marks = turnMarks(turns[0], turns[1]);
  return (
    <section class={`pair ${isFirst ? "parting" : ""}`} id={`row-${place}`} aria-label={`Turn ${place + 1} of both`}>
      {isFirst && <p class="label parting">Here they part.</p>}
      <Difference turns={turns} marks={marks} />
      {turns.map((turn, side) => (turn === undefined
        ? <p class="nothing ended" key={side}>{cellTitle((page[side] as Episode).episode)} has ended.</p>
        : <TurnView key={side} page={page[side] as Episode} turn={turn} isCurrent={isCurrent} isRaw={isRaw} prefix={side === 0 ? "left-" : "right-"} lineMarks={marks[side] as Map<number, string[]>} />))}
    </section>
  );
}

/** What a turn costs on both sides, and how many lines of code differ. */
function Difference({ turns, marks }: { turns: RowProps["turns"]; marks: [Map<number, string[]>, Map<number, string[]>] }) {
  const [first, second] = turns;
  if (first === undefined || second === undefined) return null;
  const more = tokensOf(first) - tokensOf(second);
  const lines = Math.max(changedLines(marks[0]), changedLines(marks[1]));
  return (
    <p class="difference">
      <span>tokens <b>{count(tokensOf(first))}</b> and <b>{count(tokensOf(second))}</b>{more !== 0 && <>: {count(Math.abs(more))} {more > 0 ? "more" : "fewer"}</>}</span>
      {errorsOf(first) !== errorsOf(second) && <span><b>the error differs</b></span>}
      <span>code {lines === 0 ? "equal" : <b>{plural(lines, "line")} differ{lines === 1 ? "s" : ""}</b>}</span>
    </p>
  );
}

function summary(left: Episode, right: Episode, difference: number | null): string {
  const parting = difference === null ? "The code of both is equal, turn by turn." : difference === 0
    ? "They differ from the first turn on."
    : `They are equal for ${plural(difference, "turn")}.`;
  const [a, b] = [left.episode.total_tokens, right.episode.total_tokens];
  if (a === null || b === null || b === 0) return parting;
  const ratio = (a / b).toFixed(2);
  return `${parting} ${cellTitle(left.episode)} takes ${ratio} times the tokens of ${cellTitle(right.episode)}: ${count(a)} and ${count(b)}.`;
}
