import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "vitest";
import { declareLeases, declareRuns, declareStop, type Programs } from "./declare-programs.ts";

const FOLDER = join(import.meta.dirname, "../../examples/pull");
const CLIENT = pathToFileURL(join(import.meta.dirname, "../../src/client/client.ts"));
/** Lets the program import the package by its name without a build. */
const OWN_PACKAGE = `data:text/javascript,
  import { registerHooks } from "node:module";
  registerHooks({ resolve: (name, context, next) => next(name === "minutehand/client" ? "${CLIENT}" : name, context) });
`;

const programs: Programs = {
  language: "TypeScript",
  test,
  signatureTest: test,
  command: (program) => [process.execPath, "--import", OWN_PACKAGE, join(FOLDER, `${program}.ts`)],
  widthError: "RangeError: width must be more than 0, is 0",
  lastError: "width must be more than 0, is 0 (examples/pull/worker.ts:",
  lost: /^thumbnail: this receipt no longer holds the claim/m,
};

declareRuns(programs);
declareLeases(programs);
declareStop(programs);
