import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainEnvironment, ROOT } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { blocksOf, fileOf, readPage } from "../docs/blocks.ts";
import { playLocal } from "./first-hour.ts";
import { versionOf } from "./version.ts";

const NAME = "CommonJS";
const PAGE = "docs/guides/commonjs.md";
/** Loads all exports as CommonJS, and then the client as ES module too. Both must give the same class of errors. */
const REQUIRE = `
const exported = ["client", "consumer", "webhook", "cdk", "testing"];
for (const name of exported) require("minutehand/" + name);
import("minutehand/client").then(({ MinutehandError }) => {
  if (MinutehandError !== require("minutehand/client").MinutehandError) throw new Error("import and require give two classes");
});`;

/** Follows docs/guides/commonjs.md in the project that `cdk init` writes. The project must compile, pass its tests and synthesise. */
export async function playCommonJs(session: Session, tarball: string): Promise<void> {
  session.progress(NAME);
  // The CDK names the app by its folder.
  const cwd = join(session.folder, "commonjs", "shop");
  mkdirSync(cwd, { recursive: true });
  const env = plainEnvironment();
  const run = (name: string, command: string, ...args: readonly string[]) =>
    session.run({ name: `${NAME} ${name}`, command, args, cwd, env });
  const cdk = join(ROOT, "node_modules", "aws-cdk", "bin", "cdk");
  await run("cdk init", process.execPath, cdk, "init", "app", "--language", "typescript", "--generate-only");
  await run("npm install", "npm", "install", "--no-audit", "--no-fund", tarball);
  // The packages that the page names, in the versions of this repository.
  const development = ["esbuild", "fauxqs"].map(versionOf);
  await run(
    "npm install --save-dev",
    "npm",
    "install",
    "--no-audit",
    "--no-fund",
    "--save-dev",
    ...development,
  );
  for (const block of blocksOf(PAGE, readPage(PAGE))) {
    const file = fileOf(block);
    if (file !== undefined) writeFileSync(join(cwd, file), block.text);
  }
  await run("tsc", "npx", "--no-install", "tsc");
  await run("npm test", "npm", "test");
  await run("cdk synth", process.execPath, cdk, "synth", "--quiet");
  await run("require", process.execPath, "--eval", REQUIRE);
  const statement = "closed.push(job.body.orderId); // close the order here";
  const shown = `${statement}\n  console.log(\`job \${job.body.orderId} runs\`);`;
  const handler = join(cwd, "lib", "close-order.ts");
  writeFileSync(handler, readFileSync(handler, "utf8").replace(statement, shown));
  await playLocal(session, { name: "first hour in CommonJS", cwd, handler: "lib/close-order.ts", statement });
}
