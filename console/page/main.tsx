import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no element with the id app");
render(<App />, root);
