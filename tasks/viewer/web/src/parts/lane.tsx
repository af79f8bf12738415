import type { Episode, LaneCell, LaneName, Mark } from "../data/types";
import { fate } from "../format";

const WORDS: Record<Mark, string> = {
  bound: "bound", rebound: "bound anew", read: "read", lost: "lost when the block ended", missing: "read, but missing",
  gone: "read, but gone; an earlier error kept it from being reached",
};
const SIGNS: Record<Mark, string> = { bound: "●", rebound: "◉", read: "○", lost: "×", missing: "!", gone: "!" };

interface Props {
  page: Episode;
  current: number | null;
  choose: (step: number) => void;
}

/** What became of each name: a row per name, a column per step. */
export function Lane({ page, current, choose }: Props) {
  const steps = page.turns.flatMap((turn) => turn.steps);
  if (page.lane.length === 0) return <p class="nothing">No block binds or reads a name.</p>;
  return (
    <section class="lane" aria-label="State lane">
      <h2>State</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Names by step">
        <table>
          <thead>
            <tr>
              <th scope="col"><span class="unseen">name</span></th>
              {steps.map(({ step, error }) => (
                <th scope="col" class={`${step === current ? "current" : ""} ${error === null ? "" : "failed"}`} key={step}>
                  <button type="button" onClick={() => choose(step)} aria-label={`step ${step}`}>{step}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {page.lane.map((name) => <NameRow key={name.name} name={name} steps={steps.map((each) => each.step)} current={current} page={page} choose={choose} />)}
          </tbody>
        </table>
      </div>
      <ul class="legend" aria-label="Signs">
        <li><i class="alive" /> alive</li>
        {(Object.keys(SIGNS) as Mark[]).map((mark) => <li class={mark} key={mark}><b>{SIGNS[mark]}</b> {WORDS[mark]}</li>)}
      </ul>
    </section>
  );
}

function NameRow({ name, steps, current, page, choose }: { name: LaneName; steps: number[] } & Props) {
  const cells = new Map(name.cells.map((cell) => [cell.step, cell]));
  return (
    <tr>
      <th scope="row" class={name.is_definition ? "definition" : undefined}>{name.name}{name.is_definition && "()"}</th>
      {steps.map((step) => (
        <StateCell key={step} cell={cells.get(step)} step={step} isCurrent={step === current} note={noteOf(page, name, step)} choose={choose} />
      ))}
    </tr>
  );
}

/** What had become of a name that is read and not there. */
function noteOf(page: Episode, name: LaneName, step: number): string {
  const missing = page.missing.find((each) => each.name === name.name && each.step === step);
  if (missing !== undefined) return `; ${fate(missing)}`;
  const lost = name.cells.filter((cell) => cell.step < step && cell.marks.includes("lost")).at(-1);
  const isGone = name.cells.some((cell) => cell.step === step && cell.marks.includes("gone"));
  return isGone && lost !== undefined ? `; lost at the end of step ${lost.step}` : "";
}

interface StateCellProps {
  cell: LaneCell | undefined;
  step: number;
  isCurrent: boolean;
  note: string;
  choose: (step: number) => void;
}

function StateCell({ cell, step, isCurrent, note, choose }: StateCellProps) {
  const column = isCurrent ? "current" : "";
  if (cell === undefined) return <td class={column} />;
  const told = [...(cell.is_alive ? ["alive"] : []), ...cell.marks.map((mark) => WORDS[mark])].join(", ");
  const classes = [column, cell.is_alive ? "alive" : "", cell.is_kept ? "kept" : "", ...cell.marks].join(" ");
  return (
    <td class={classes} title={`step ${step}: ${told}${note}`} onClick={() => choose(step)}>
      {cell.marks.map((mark) => <b class={mark} aria-hidden="true" key={mark}>{SIGNS[mark]}</b>)}
      <span class="unseen">{told}{note}</span>
    </td>
  );
}
