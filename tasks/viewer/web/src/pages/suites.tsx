import type { CheckedState, StateSide, SuitesPage as Suites, SuiteTurn } from "../data/types";
import { useLoaded } from "../data/use";
import { count, plural, visible, words } from "../format";
import { Text } from "../parts/code";
import { Drawing } from "../parts/drawing";
import { EpisodeLink } from "../parts/episodeLink";
import { Failure, Waiting } from "../parts/notes";
import { link, replaceQuery } from "../route";

const MOST_SHOWN = 200;

export function SuitesPage({ query }: { query: URLSearchParams }) {
  const { values, error } = useLoaded<Suites>("suites");
  if (error !== null) return <Failure text={error} />;
  if (values === null) return <Waiting />;
  const suite = query.get("suite") ?? "";
  const arm = query.get("arm") ?? "";
  const isFailed = query.get("failed") === "1";
  const chosen = values.turns.filter(
    (turn) => (suite === "" || turn.suite === suite) && (arm === "" || turn.arm === arm) && !(isFailed && turn.is_passed),
  );
  const toggle = () => {
    const next = new URLSearchParams(query);
    if (isFailed) next.delete("failed");
    else next.set("failed", "1");
    replaceQuery(next);
  };
  return (
    <>
      <h1>Suites</h1>
      <Passed turns={values.turns} />
      <h2>{count(chosen.length)} turns{suite !== "" && <small> of {suite}</small>}{arm !== "" && <small> under {words(arm)}</small>}</h2>
      <div class="actions">
        <button type="button" aria-pressed={isFailed} onClick={toggle}>Only failed</button>
        {(suite !== "" || arm !== "") && <a class="button" href={link(["suites"])}>All</a>}
      </div>
      {chosen.slice(0, MOST_SHOWN).map((turn) => <Case key={`${turn.episode_id}/${turn.question}`} turn={turn} />)}
      {chosen.length > MOST_SHOWN && <p class="nothing">The first {MOST_SHOWN} are shown; choose a suite and an arm above.</p>}
    </>
  );
}

/** Passed turns by suite and arm; each number leads to its turns. */
function Passed({ turns }: { turns: SuiteTurn[] }) {
  const suites = [...new Set(turns.map((turn) => turn.suite))];
  const arms = [...new Set(turns.map((turn) => turn.arm))];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Passed turns">
      <table class="numbers">
        <thead><tr><th>suite</th>{arms.map((arm) => <th key={arm}>{words(arm)}</th>)}</tr></thead>
        <tbody>
          {suites.map((suite) => (
            <tr key={suite}>
              <td><a href={link(["suites"], { suite })}>{suite}</a></td>
              {arms.map((arm) => {
                const held = turns.filter((turn) => turn.suite === suite && turn.arm === arm);
                const passed = held.filter((turn) => turn.is_passed).length;
                return <td key={arm}>{held.length > 0 && <a href={link(["suites"], { suite, arm })}>{passed} of {held.length}</a>}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Case({ turn }: { turn: SuiteTurn }) {
  return (
    <article class={turn.is_passed ? "case" : "case failed"}>
      <h3>
        <EpisodeLink id={turn.episode_id}>{turn.case_id || turn.suite}</EpisodeLink>
        <small> turn {turn.question}, {words(turn.arm)}, {turn.is_oracle ? "script" : turn.model_name}</small>
      </h3>
      <p>
        {turn.is_passed ? "passed" : <span class="missing">failed: {reasonOf(turn)}</span>}
        {" · "}{count(turn.prompt_tokens + turn.completion_tokens)} tokens · {turn.reply_count} replies · {turn.call_count} calls
      </p>
      <Reasons turn={turn} />
      <States states={turn.states} />
      {turn.answer !== "" && <Text class="reflection" text={turn.answer} />}
    </article>
  );
}

function reasonOf(turn: SuiteTurn): string {
  if (!turn.is_state_right) return "the state is not the expected one";
  if (!turn.has_required_calls) return "a required call is missing";
  return words(turn.finish_reason);
}

/** What is wrong beside the states, which say it themselves: missing calls and reasons. */
function Reasons({ turn }: { turn: SuiteTurn }) {
  const shown = new Set(turn.states.filter((state) => state.is_wrong).map((state) => state.name));
  const others = turn.wrong.filter((text) => !shown.has(text));
  if (others.length === 0) return null;
  return <ul class="reasons">{others.map((text, place) => <li key={place}>{visible(text)}</li>)}</ul>;
}

/** The checked state, expected beside found; right ones are folded below wrong ones. */
function States({ states }: { states: CheckedState[] }) {
  const wrong = states.filter((state) => state.is_wrong || state.found.series !== null);
  const right = states.filter((state) => !wrong.includes(state));
  return (
    <>
      {wrong.length > 0 && <StateTable states={wrong} />}
      {right.length > 0 && <details class="states"><summary>{plural(right.length, "name")} as expected</summary><StateTable states={right} /></details>}
    </>
  );
}

function StateTable({ states }: { states: CheckedState[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Checked state">
      <table class="states">
        <thead><tr><th>name</th><th>expected</th><th>found</th></tr></thead>
        <tbody>
          {states.map((state) => (
            <tr key={state.name} class={state.is_wrong ? "wrong" : undefined}>
              <th scope="row">{visible(state.name)}</th>
              <td><Side side={state.expected} label={`${state.name}, expected`} /></td>
              <td><Side side={state.found} label={`${state.name}, found`} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Side({ side, label }: { side: StateSide; label: string }) {
  if (side.text === "") return <span class="nothing">not there</span>;
  if (side.series === null) return <Text class="value" text={side.text} />;
  return (
    <>
      <Drawing series={side.series} label={label} />
      <details><summary>JSON</summary><Text class="value" text={side.text} /></details>
    </>
  );
}
