import { expect, test } from "vitest";
import { partsOf } from "../../../console/page/trace-parts.ts";

test("the frames of packages and of Node.js are apart from the user's own", () => {
  const trace = [
    "TypeError: cannot read the price",
    "    at price (src/price.ts:1:2)",
    "    at call (../node_modules/x/y.js:3:4)",
    "    at node_modules/x/z.js:5:6",
    "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
    "    at async handler (src/handler.ts:7:8)",
    "caused by Error: no",
    "    at new Promise (<anonymous>)",
  ];
  expect(partsOf(trace.join("\n"))).toEqual([
    { isOfPackages: false, lines: trace.slice(0, 2) },
    { isOfPackages: true, lines: trace.slice(2, 5) },
    { isOfPackages: false, lines: trace.slice(5, 7) },
    { isOfPackages: true, lines: trace.slice(7) },
  ]);
});

test("a trace with frames of packages only is shown whole, and so is that of Python", () => {
  for (const trace of [
    "Error: no\n    at call (/app/node_modules/x/y.js:3:4)",
    'ValueError: no\n  File "handler.py", line 3, in run\n    raise ValueError',
    "no frame at all",
  ])
    expect(partsOf(trace)).toEqual([{ isOfPackages: false, lines: trace.split("\n") }]);
});
