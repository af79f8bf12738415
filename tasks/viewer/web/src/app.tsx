import { useEffect } from "preact/hooks";
import { isStatic } from "./data/load";
import type { Study } from "./data/types";
import { useLoaded } from "./data/use";
import { ComparePage } from "./pages/compare";
import { EpisodePage } from "./pages/episode";
import { RunPage } from "./pages/run";
import { StudyPage } from "./pages/study";
import { SuitesPage } from "./pages/suites";
import { FiguresPageView, TablesPage } from "./pages/tables";
import { TrainingPage } from "./pages/training";
import { Keys } from "./parts/keys";
import { Failure, Waiting } from "./parts/notes";
import { ThemeButton } from "./parts/theme";
import { link, useRoute, type Route } from "./route";

/** Whether a study, and no mere foreign traces: its tables stand beside the paper's. */
const isStudy = (study: Study) => study.measured_on !== "imported rows" || study.cells.some((cell) => cell.model === "sft");

const PLACES = [
  { word: "Study", path: [] as string[], isShown: () => true },
  { word: "Tables", path: ["tables"], isShown: (study: Study) => study.cells.length > 0 && isStudy(study) },
  { word: "Figures", path: ["figures"], isShown: (study: Study) => study.cells.some((cell) => cell.model === "sft") },
  { word: "Training", path: ["training"], isShown: (study: Study) => study.has_training },
  { word: "Suites", path: ["suites"], isShown: (study: Study) => study.has_suites },
  { word: "Run", path: ["run"], isShown: () => true },
];

export function App() {
  const route = useRoute();
  const { values: study, error } = useLoaded<Study>("study");
  const page = route.path[0] ?? "";
  useEffect(() => scrollTo(0, 0), [route.path.join("/")]);
  useEffect(nameTab, []);
  return (
    <>
      <a class="skip" href="#page" onClick={focusPage}>Skip to the page</a>
      <header class="top">
        <a class="name" href={link([])}>Carryover</a>
        <nav aria-label="Pages">
          {PLACES.filter(({ isShown }) => study !== null && isShown(study)).map(({ word, path }) => (
            <a href={link(path)} aria-current={page === (path[0] ?? "") ? "page" : undefined}>{word}</a>
          ))}
        </nav>
        {study !== null && <PlanChoice study={study} />}
        <ThemeButton />
      </header>
      <main id="page" tabIndex={-1}>
        {error !== null ? <Failure text={error} /> : <Page route={route} study={study} />}
      </main>
      <Keys />
    </>
  );
}

/** Names the browser's tab after the page's heading, whenever that changes. */
function nameTab(): () => void {
  const name = () => {
    const heading = document.querySelector("main h1")?.textContent;
    const title = heading ? `${heading} · Carryover` : "Carryover";
    if (document.title !== title) document.title = title;
  };
  const watch = new MutationObserver(name);
  watch.observe(document.body, { childList: true, characterData: true, subtree: true });
  name();
  return () => watch.disconnect();
}

/** A page; each loads its own values, so that an episode does not wait for the study. */
function Page({ route, study }: { route: Route; study: Study | null }) {
  const [place = "", first = "", second = ""] = route.path;
  switch (place) {
    case "":
      return study === null ? <Waiting /> : <StudyPage study={study} query={route.query} />;
    case "episode":
      return <EpisodePage id={first} query={route.query} key={first} />;
    case "compare":
      return <ComparePage left={first} right={second} query={route.query} key={`${first}/${second}`} />;
    case "tables":
      return <TablesPage chosen={first} />;
    case "figures":
      return <FiguresPageView />;
    case "training":
      return <TrainingPage />;
    case "suites":
      return <SuitesPage query={route.query} />;
    case "run":
      return <RunPage />;
    default:
      return <Failure text={`There is no page ${place}.`} />;
  }
}

/** The hash names a place of the viewer, so the link moves the focus itself. */
function focusPage(event: Event) {
  event.preventDefault();
  document.getElementById("page")?.focus();
}

function PlanChoice({ study }: { study: Study }) {
  if (study.plans.length < 2 || isStatic()) return <span class="plan">{study.plan_name}</span>;
  const choose = (event: Event) => {
    const query = new URLSearchParams(location.search);
    query.set("plan", (event.target as HTMLSelectElement).value);
    location.href = `${location.pathname}?${query}`;
  };
  return (
    <label class="plan">
      <span class="unseen">Plan</span>
      <select onChange={choose} value={study.plan_digest}>
        {study.plans.map((plan) => (
          <option value={plan.plan_digest}>{plan.plan_name} · {plan.plan_digest.slice(0, 8)}</option>
        ))}
      </select>
    </label>
  );
}
