import { useEffect } from "preact/hooks";
import type { Drawing, FiguresPage, Sheet, Table, TablesPage as Tables } from "../data/types";
import { useLoaded } from "../data/use";
import { count } from "../format";
import { Failure, Waiting } from "../parts/notes";
import { link } from "../route";

const FOLDED_FROM = 60;

export function TablesPage({ chosen }: { chosen: string }) {
  const { values, error } = useLoaded<Tables>("tables");
  useEffect(() => {
    if (chosen) document.getElementById(`table-${chosen}`)?.scrollIntoView();
  }, [chosen, values]);
  if (error !== null) return <Failure text={error} />;
  if (values === null) return <Waiting />;
  return (
    <>
      <h1>Tables</h1>
      <p class="lead">Published values stand beside ours in rows and columns that are headed with their model and split; they were measured on that model and never on ours.</p>
      <ul class="index">
        {values.tables.map((table) => <li key={table.name}><a href={link(["tables", table.name])}>{table.title}</a></li>)}
      </ul>
      {values.tables.map((table) => <TableView key={table.name} table={table} />)}
    </>
  );
}

function TableView({ table }: { table: Table }) {
  return (
    <section id={`table-${table.name}`} class="sheets">
      <h2>{table.title}</h2>
      {table.sheets.map((sheet, place) => <SheetView key={place} sheet={sheet} title={table.title} />)}
    </section>
  );
}

function SheetView({ sheet, title }: { sheet: Sheet; title: string }) {
  const body = (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, ${sheet.caption}`}>
      <table class="sheet">
        {sheet.caption !== "" && <caption>{sheet.caption}</caption>}
        <thead>
          <tr>{sheet.header.map((cell, place) => <th key={place} class={sheet.styles[place]}>{cell}</th>)}</tr>
        </thead>
        <tbody>
          {sheet.rows.map((row, number) => (
            <tr key={number} class={row[0]?.includes("(published)") ? "published" : undefined}>
              {row.map((cell, place) => <td key={place} class={sheet.styles[place]}>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  if (sheet.rows.length <= FOLDED_FROM) return body;
  return <details><summary>{count(sheet.rows.length)} rows</summary>{body}</details>;
}

export function FiguresPageView() {
  const { values, error } = useLoaded<FiguresPage>("figures");
  if (error !== null) return <Failure text={error} />;
  if (values === null) return <Waiting />;
  return (
    <>
      <h1>Figures</h1>
      {values.figures.length === 0 && <p class="nothing">There is nothing to draw yet.</p>}
      <div class="figures">{values.figures.map((figure) => <Figure key={figure.name} figure={figure} />)}</div>
    </>
  );
}

/** A drawing as an image: what it holds cannot reach the page. */
function Figure({ figure }: { figure: Drawing }) {
  return (
    <figure id={figure.name}>
      <img src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(figure.svg)}`} alt={`${figure.name.replaceAll("_", " ")}. ${figure.setting}`} />
      <figcaption>{figure.caption} {figure.setting}</figcaption>
    </figure>
  );
}
