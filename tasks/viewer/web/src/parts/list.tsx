import { useRef, useState } from "preact/hooks";
import type { Episodes } from "../data/episodes";
import { hasEpisodes } from "../data/load";
import { arrow, count, decimals, NOTHING, words } from "../format";
import { go, link } from "../route";
import { useKeys } from "./keys";
import { useVirtualRows } from "./virtual";

const ROW_HEIGHT = 34;
const COLUMNS: { column: string; title: string; isWide?: boolean }[] = [
  { column: "instance_number", title: "instance" },
  { column: "condition", title: "cell" },
  { column: "score", title: "score" },
  { column: "total_tokens", title: "tokens" },
  { column: "turn_count", title: "turns" },
  { column: "missing_name_count", title: "missing" },
  { column: "finish_reason", title: "ended by", isWide: true },
  { column: "failure_class", title: "failure class", isWide: true },
  { column: "training_seed", title: "seed", isWide: true },
];

interface Props {
  episodes: Episodes;
  rows: number[];
  sort: string;
  setSort: (sort: string) => void;
}

/** The chosen episodes; only the rows in sight are drawn. */
export function EpisodeList({ episodes, rows, sort, setSort }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState(-1);
  const { items, height, scrollTo } = useVirtualRows(box, rows.length, ROW_HEIGHT);
  const move = (step: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, chosen + step));
    setChosen(next);
    scrollTo(next);
  };
  const open = () => {
    const row = rows[chosen];
    if (row !== undefined) go(link(["episode", episodes.id(row)]));
  };
  useKeys({ j: () => move(1), k: () => move(-1), ...(chosen >= 0 ? { Enter: open } : {}) });
  return (
    <div class={episodes.hasNames ? "list named" : "list"} role="table" aria-label="Episodes" aria-rowcount={rows.length + 1}>
      <div class="row head" role="row" aria-rowindex={1}>
        {COLUMNS.map(({ column, title, isWide }) => (
          <Heading key={column} column={column} title={title} isWide={isWide ?? false} sort={sort} setSort={setSort} />
        ))}
        <span role="columnheader" class="end"><span class="unseen">compare</span></span>
      </div>
      <div class="box" ref={box} tabIndex={0} role="rowgroup" aria-label="Rows of episodes">
        <div style={{ height: `${height}px` }} role="presentation">
          {items.map((item) => (
            <Row key={item.key} episodes={episodes} row={rows[item.index] ?? 0} index={item.index} top={item.start} isChosen={item.index === chosen} />
          ))}
        </div>
      </div>
    </div>
  );
}

interface HeadingProps {
  column: string;
  title: string;
  isWide: boolean;
  sort: string;
  setSort: (sort: string) => void;
}

function Heading({ column, title, isWide, sort, setSort }: HeadingProps) {
  const direction = sort === column ? "ascending" : sort === `-${column}` ? "descending" : "none";
  const next = direction === "ascending" ? `-${column}` : direction === "descending" ? "" : column;
  const sign = { ascending: " ↑", descending: " ↓", none: "" }[direction];
  return (
    <span role="columnheader" class={isWide ? "wide" : undefined} aria-sort={direction as "none"}>
      <button type="button" onClick={() => setSort(next)}>{title}{sign}</button>
    </span>
  );
}

interface RowProps {
  episodes: Episodes;
  row: number;
  index: number;
  top: number;
  isChosen: boolean;
}

function Row({ episodes, row, index, top, isChosen }: RowProps) {
  const partner = episodes.defaultPartner(row);
  const missing = episodes.number("missing_name_count", row) ?? 0;
  const number = (column: string) => count(episodes.number(column, row));
  return (
    <div class={isChosen ? "row chosen" : "row"} role="row" aria-rowindex={index + 2} style={{ transform: `translateY(${top}px)` }}>
      <span role="cell">{hasEpisodes() ? <a href={link(["episode", episodes.id(row)])}>{episodes.instance(row)}</a> : episodes.instance(row)}</span>
      <span role="cell">{arrow(episodes.text("condition", row))}</span>
      <span role="cell">{decimals(episodes.number("score", row), 2)}</span>
      <span role="cell">{number("total_tokens")}</span>
      <span role="cell">{number("turn_count")}</span>
      <span role="cell" class={missing > 0 ? "missing" : undefined}>{missing > 0 ? count(missing) : NOTHING}</span>
      <span role="cell" class="wide">{words(episodes.text("finish_reason", row))}</span>
      <span role="cell" class="wide">{words(episodes.text("failure_class", row))}</span>
      <span role="cell" class="wide">{number("training_seed")}</span>
      <span role="cell" class="end">
        {partner !== null && hasEpisodes() && (
          <a href={link(["compare", episodes.id(row), episodes.id(partner)])}>
            <span class="word">beside </span>{arrow(episodes.text("condition", partner))}
          </a>
        )}
      </span>
    </div>
  );
}
