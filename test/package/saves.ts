import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "../../tools/bench/statistics.ts";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Server, Session } from "../deploy/session.ts";
import { said } from "./said.ts";

const NAME = "ten handlers";
const HANDLERS = 10;
const SAVES = 5;

const APP = `
import { App, Stack } from "aws-cdk-lib";
import { DelayQueue } from "minutehand/cdk";
const names = Array.from({ length: ${HANDLERS} }, (_, index) => \`t\${index}\`);
const topics = Object.fromEntries(names.map((name) => [name, {}]));
const queue = new DelayQueue(new Stack(new App(), "Ten"), "Jobs", { topics, removable: true });
for (const name of names) queue.addHandler(name, \`\${name}.ts\`);
`;
const HANDLER = `
import { consumer } from "minutehand/consumer";
import { words } from "../shared/words.ts";
export const handler = consumer(async () => console.log(words, "0"));
`;

/**
 * From a save until the new code is in use, with ten handlers: of a handler, of a file outside of the app's folder that all handlers
 * import, and of the app. `installed`: a folder that has the package and the CDK.
 */
export async function measureSaves(session: Session, installed: string): Promise<void> {
  const { app, shared } = writeApp(session, installed);
  session.progress("a save in an app of ten handlers");
  const args = [join(installed, "node_modules", "minutehand", "dist", "npm", "src", "cli", "main.js")];
  const server = session.serve({
    name: NAME,
    command: process.execPath,
    args: [...args, "local", "--port", "0"],
    cwd: app,
    env: plainEnvironment(),
  });
  await said(session, NAME, server, /Minutehand is up/);

  const timeOf = (file: string, text: string, line: string) =>
    timesOfSaves(session, server, { file, text, line });
  for (const [what, times] of [
    ["a handler", await timeOf(join(app, "t3.ts"), HANDLER, "reloaded t3 in")],
    ["a file that all ten import", await timeOf(shared, 'export const words = "0";', "reloaded t\\d, .* in")],
    ["the app", await timeOf(join(app, "app.ts"), `${APP}export const save = "0";`, "synthesised in")],
  ] as const) {
    session.progress(
      `from the save of ${what} to its use: ${median(times).toFixed(0)} ms (median of ${SAVES})`,
    );
  }
  await server.stop();
}

function writeApp(session: Session, installed: string): { app: string; shared: string } {
  const app = join(session.folder, "ten", "app");
  const shared = join(session.folder, "ten", "shared", "words.ts");
  for (const folder of [app, join(shared, "..")]) mkdirSync(folder, { recursive: true });
  symlinkSync(join(installed, "node_modules"), join(session.folder, "ten", "node_modules"));
  writeFileSync(join(app, "package.json"), '{"type":"module"}');
  writeFileSync(join(app, "cdk.json"), '{"app":"node app.ts"}');
  writeFileSync(join(app, "app.ts"), APP);
  writeFileSync(shared, 'export const words = "0";');
  for (let index = 0; index < HANDLERS; index++) writeFileSync(join(app, `t${index}.ts`), HANDLER);
  return { app, shared };
}

let saves = 0;

/** Saves a file `SAVES` times. Answers how many ms after each save the log had a new `line`, which says that the code is reloaded. */
async function timesOfSaves(
  session: Session,
  server: Server,
  { file, text, line }: { file: string; text: string; line: string },
): Promise<number[]> {
  const times: number[] = [];
  for (let count = 1; count <= SAVES; count++) {
    const began = performance.now();
    writeFileSync(file, text.replace('"0"', `"${++saves}"`));
    await said(session, NAME, server, new RegExp(`(?:${line}[^]*){${count}}`));
    times.push(performance.now() - began);
  }
  return times;
}
