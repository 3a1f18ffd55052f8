import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  APP_FUNCTIONS,
  buildFunction,
  CONSTRUCT_FUNCTIONS,
  entryOf,
  type FunctionName,
} from "../../../infra/bundling/build.ts";
import type { Figure } from "../figure.ts";
import { plainBundle } from "../plain-bundle.ts";
import { mainFile } from "../read-at-start.ts";
import type { Rig } from "../rig.ts";
import { alternate, medianRatio } from "../rounds.ts";
import { median } from "../statistics.ts";
import { atLeast, inMs, type Row } from "../table.ts";

const PROCESSES = 12;
/** How much longer than the plain clients a function may take to load. */
const MOST = 1.15;
/** The API also makes the schemas of its calls. */
const MOST_OF_API = 1.3;

/** A program that imports a file and prints how many ms that took. Some functions would keep their process alive. */
const LOAD =
  "const began = performance.now(); await import(process.argv[1]);" +
  "process.stdout.write(String(performance.now() - began)); process.exit();";

/** Lambda bills the load of a function's code at each cold start. */
export const loads: Figure = {
  name: "load",
  what: "the load of each function's code in a new process, beside the clients of the SDK alone",
  async measure(rig) {
    const folder = mkdtempSync(join(tmpdir(), "minutehand-bench-"));
    try {
      const rows: Row[] = [];
      for (const name of [...CONSTRUCT_FUNCTIONS, ...APP_FUNCTIONS])
        rows.push(await measureOne(rig, name, folder));
      return rows;
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

async function measureOne(rig: Rig, name: FunctionName, folder: string): Promise<Row> {
  const built = buildFunction(entryOf(name));
  const own = join(built, mainFile(built));
  const plain = join(folder, `${name}.mjs`);
  writeFileSync(plain, plainBundle(entryOf(name)));
  const env = environmentOf(rig, own);
  const load = async (file: string): Promise<number> =>
    Number(
      execFileSync(process.execPath, ["--input-type=module", "--eval", LOAD, file], {
        env,
        encoding: "utf8",
      }),
    );
  // The first load of each does not count: it reads the files from the disk.
  await load(own);
  await load(plain);
  const { ours, ceiling } = await alternate(
    rig.count(PROCESSES),
    () => load(own),
    () => load(plain),
  );
  const least = 1 / (name === "api" ? MOST_OF_API : MOST);
  const ratio = medianRatio(ceiling, ours);
  return {
    figure: `load: ${name}`,
    ours: inMs(median(ours)),
    ceiling: inMs(median(ceiling)),
    ratio,
    aim: atLeast(ratio, least, `≥ ${least.toFixed(2)}`),
  };
}

function environmentOf({ stack }: Rig, file: string): Record<string, string> {
  const code = readFileSync(file);
  const found = stack.functions.find(({ codeDir }) =>
    code.equals(readFileSync(join(codeDir, mainFile(codeDir)))),
  );
  if (found === undefined) throw new Error(`the stack has no function with the code of ${file}`);
  const { region, credentials } = stack.platform;
  return {
    ...found.environment,
    AWS_LAMBDA_FUNCTION_NAME: found.name,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
}
