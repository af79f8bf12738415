import { render } from "preact";
import { App } from "./app";
import "./style/base.css";
import "./style/study.css";
import "./style/episode.css";
import "./style/pages.css";
import "./style/print.css";

const place = document.getElementById("viewer");
if (place !== null) {
  place.textContent = "";
  render(<App />, place);
}
