import type { ComponentChildren } from "preact";
import type { Cell } from "../data/types";
import { arrow, count, decimals, plural, words } from "../format";
import { link } from "../route";

const SETTING = ["variant", "base", "visibility", "header", "bucket"] as const;
const ENDED = { finish_reason: "finish_tool,answer" };
const SHIPPED = ["persistent", "stateless", "injected", "injected+persistent"];

/** The trained cells of every setting, rows by contract of training, columns by contract in force. */
export function Matrices({ cells }: { cells: Cell[] }) {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells.filter((each) => each.model === "sft")) {
    const key = SETTING.map((name) => cell[name]).join("|");
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  const [first, ...others] = [...groups.values()];
  if (first === undefined) return null;
  return (
    <>
      <Matrix cells={first} />
      {others.length > 0 && (
        <details class="others">
          <summary>{others.length === 1 ? "Another setting" : `${others.length} other settings`}</summary>
          {others.map((group) => <Matrix cells={group} key={describe(group[0] as Cell)} />)}
        </details>
      )}
    </>
  );
}

function Matrix({ cells }: { cells: Cell[] }) {
  const trained = inOrder(cells.map((cell) => cell.train_contract));
  const ran = inOrder(cells.map((cell) => cell.runtime_contract));
  const mostTokens = Math.max(...cells.map((cell) => cell.mean_tokens_high ?? cell.mean_tokens ?? 0));
  const find = (train: string, runtime: string) =>
    cells.find((cell) => cell.train_contract === train && cell.runtime_contract === runtime);
  return (
    <section class="matrix" aria-label={`Cells, ${describe(cells[0] as Cell)}`}>
      <p class="setting">{describe(cells[0] as Cell)}</p>
      <div class="cells" style={{ "--columns": ran.length }}>
        {trained.flatMap((train) => ran.map((runtime) => {
          const cell = find(train, runtime);
          return cell === undefined
            ? <div class="cell empty" key={`${train}${runtime}`}>no episodes</div>
            : <CellCard cell={cell} mostTokens={mostTokens} key={cell.condition} />;
        }))}
      </div>
    </section>
  );
}

/** Contracts once each: the shipped ones first, then those of one's own by name. */
function inOrder(names: (string | null)[]): string[] {
  const own = names.filter((name): name is string => name !== null && !SHIPPED.includes(name));
  return [...SHIPPED.filter((name) => names.includes(name)), ...[...new Set(own)].sort()];
}

function CellCard({ cell, mostTokens }: { cell: Cell; mostTokens: number }) {
  const isAligned = cell.train_contract === cell.runtime_contract;
  return (
    <article class={`cell ${isAligned ? "aligned" : "mismatched"}`}>
      <header>
        <h3><CellLink cell={cell}>{arrow(cell.condition)}</CellLink></h3>
        <span>trained {words(cell.train_contract)},<br />runs {words(cell.runtime_contract)}</span>
      </header>
      <dl>
        <Measure
          name="miss a name" unit=" %" places={0} most={100} isWarning
          value={cell.missing_name_pct} low={cell.missing_name_pct_low} high={cell.missing_name_pct_high}
          to={cellLink(cell, { missing_name_count: "1..1000000" })}
        />
        <Measure
          name="tokens" unit="" places={0} most={mostTokens}
          value={cell.mean_tokens} low={cell.mean_tokens_low} high={cell.mean_tokens_high}
          to={cellLink(cell, { sort: "-total_tokens" })}
        />
        <Measure
          name="score" unit=" %" places={1} most={100}
          value={cell.score_pct} low={cell.score_pct_low} high={cell.score_pct_high}
          to={cellLink(cell, { sort: "score" })}
        />
      </dl>
      <p class="counts">
        <CellLink cell={cell}>{count(cell.episode_count)} episodes</CellLink>
        <CellLink cell={cell} more={ENDED}>{count(cell.ended_count)} ended</CellLink>
        <CellLink cell={cell} more={{ score: "1..1" }}>{count(cell.solved_count)} solved</CellLink>
      </p>
    </article>
  );
}

interface MeasureProps {
  name: string;
  unit: string;
  places: number;
  most: number;
  value: number | null;
  low: number | null;
  high: number | null;
  to: string;
  isWarning?: boolean;
}

function Measure({ name, unit, places, most, value, low, high, to, isWarning }: MeasureProps) {
  const told = (number: number | null) => (places === 0 ? count(number) : decimals(number, places));
  const share = (number: number) => Math.max(0, Math.min(100, (100 * number) / (most || 1)));
  const hasInterval = low !== null && high !== null && high > low;
  return (
    <div class={isWarning ? "measure warning" : "measure"}>
      <dt>{name}</dt>
      <dd>
        <a href={to}>{told(value)}{value === null ? "" : unit}</a>
        {hasInterval && <small> [{told(low)}, {told(high)}]</small>}
      </dd>
      <dd class="bar" aria-hidden="true">
        <i style={{ width: `${share(value ?? 0)}%` }} />
        {hasInterval && <b style={{ left: `${share(low)}%`, width: `${share(high) - share(low)}%` }} />}
      </dd>
    </div>
  );
}

function CellLink({ cell, more, children }: { cell: Cell; more?: Record<string, string>; children: ComponentChildren }) {
  return <a href={cellLink(cell, more ?? {})}>{children}</a>;
}

function cellLink(cell: Cell, more: Record<string, string>): string {
  const { variant, base, visibility, header, bucket, purpose, model, condition } = cell;
  return link([], { variant, base, visibility, header, bucket, purpose, model, condition, ...more, at: "episodes" });
}

function describe(cell: Cell): string {
  const prompt = cell.visibility === "declared" ? "declared prompt" : "prompt as trained";
  const header = cell.header === "names" ? "" : ", no names in the header";
  return `${words(cell.variant)}, base ${cell.base}, ${prompt}${header}, ${words(cell.bucket)} instances`;
}

/** Cells that no trained model played: scripts, teachers, bases, imports. */
export function OtherCells({ cells }: { cells: Cell[] }) {
  const others = cells.filter((cell) => cell.model !== "sft");
  if (others.length === 0) return null;
  return (
    <details class="others" open={others.length === cells.length}>
      <summary>{plural(others.length, "cell")} without a trained model</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Cells without a trained model">
        <table>
          <thead>
            <tr><th>cell</th><th>who</th><th>setting</th><th>episodes</th><th>ended</th><th>miss a name</th><th>tokens</th><th>score</th></tr>
          </thead>
          <tbody>
            {others.map((cell) => (
              <tr>
                <td><CellLink cell={cell}>{arrow(cell.condition)}</CellLink></td>
                <td>{cell.purpose === "teacher" ? "training traces" : cell.model === "teacher" ? "script" : cell.model}</td>
                <td>{words(cell.variant)}, {words(cell.bucket)}</td>
                <td><CellLink cell={cell}>{count(cell.episode_count)}</CellLink></td>
                <td><CellLink cell={cell} more={ENDED}>{count(cell.ended_count)}</CellLink></td>
                <td><CellLink cell={cell} more={{ missing_name_count: "1..1000000" }}>{decimals(cell.missing_name_pct, 0)} %</CellLink></td>
                <td><CellLink cell={cell} more={{ sort: "-total_tokens" }}>{count(cell.mean_tokens)}</CellLink></td>
                <td><CellLink cell={cell} more={{ sort: "score" }}>{decimals(cell.score_pct, 1)}{cell.score_pct === null ? "" : " %"}</CellLink></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
