import { render } from "preact";
// All style sheets are loaded with the first view, because esbuild links those of no later one.
import "uplot/dist/uPlot.min.css";
import "./style/scales.ts";
import "./style/tokens.css";
import "./style/base.css";
import "./style/controls.css";
import "./style/states.css";
import "./style/lists.css";
import "./style/frame.css";
import "./parts/carried-actions.css";
import "./parts/facts.css";
import "./parts/job-bulks.css";
import "./parts/json-field.css";
import "./parts/palette.css";
import "./parts/sparks.css";
import "./views/dead.css";
import "./views/found.css";
import "./views/job.css";
import "./views/live.css";
import "./views/overview.css";
import "./views/schedules.css";
import "./views/time.css";
import "./views/topic.css";
import { App } from "./app.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no element with the id app");
render(<App />, root);
