import { execFile, execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createApi } from "../support/api.ts";
import { expectSigned, type Gateway, serveGateway } from "../support/gateway.ts";
import { goTest } from "../support/go.ts";
import { rubyTest } from "../support/ruby.ts";
import { createWorld } from "../support/world.ts";
import { blocks, ROOT } from "./blocks.ts";

const PAGE = "docs/guides/sign.md";
const FOLDER = join(ROOT, "dist", "sign-blocks");
const MAVEN = ["--batch-mode", "--no-transfer-progress", "--quiet", "--strict-checksums"];

const hasJava = ["java", "mvn"].every((name) => spawnSync(name, ["--version"]).status === 0);
/** Where Java or Maven is absent the test is skipped. `.ci/run` installs both. */
const javaTest = test.skipIf(!hasJava);

type Program = readonly [command: string, ...args: string[]];

/** Writes the page's block of a language to a folder, runs it, and checks that it has filed a job by a call with a right signature. */
async function play(kind: string, file: string, programOf: (folder: string, gateway: Gateway) => Program) {
  const found = blocks().filter((block) => block.page === PAGE && block.kind === kind);
  expect(found).toHaveLength(1);
  const folder = join(FOLDER, kind);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), found[0]?.text ?? "");
  const api = createApi(createWorld({ topics: { "order-timeout": {} } }));
  await using gateway = await serveGateway(api);
  const [command, ...args] = programOf(folder, gateway);
  const env = { ...process.env, ...gateway.env, URL: gateway.url };
  const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env });
  const { json } = await api.call("GET", `/topics/order-timeout/jobs/from-${kind}`);
  expect(json).toMatchObject({ state: "scheduled", body: { id: "17" } });
  expect(stdout).toContain(json.id);
  expect(gateway.received).toHaveLength(1);
  for (const call of gateway.received) expectSigned(call);
}

rubyTest("the page's Ruby signs", () => play("ruby", "minutehand.rb", () => ["ruby", "minutehand.rb"]));

rubyTest("the page's Ruby signs a space in the query, which encode_www_form writes as +", async () => {
  const api = createApi(createWorld({ topics: { "order-timeout": {} } }));
  const { id } = await api.file({ topic: "order-timeout" });
  await using gateway = await serveGateway(api);
  const [text = ""] =
    blocks()
      .find((block) => block.page === PAGE && block.kind === "ruby")
      ?.text.split("if $PROGRAM_NAME") ?? [];
  const cancel = `call("DELETE", "/jobs/${id}?" + URI.encode_www_form(reason: "paid by phone"))`;
  const env = { ...process.env, ...gateway.env, URL: gateway.url };
  await promisify(execFile)("ruby", ["-e", text + cancel], { env });
  expect(gateway.received).toMatchObject([{ path: `${gateway.url}/jobs/${id}?reason=paid%20by%20phone` }]);
  for (const call of gateway.received) expectSigned(call);
});

goTest("the page's Go signs", () =>
  play("go", "main.go", (folder) => {
    for (const name of ["go.mod", "go.sum"]) cpSync(join(ROOT, "examples", "go", name), join(folder, name));
    return ["go", "run", "."];
  }),
);

javaTest("the page's Java signs", () =>
  play("java", "Sign.java", (folder, { port }) => {
    cpSync(join(import.meta.dirname, "java", "pom.xml"), join(folder, "pom.xml"));
    const resolve = ["dependency:build-classpath", "-Dmdep.outputFile=classpath"];
    execFileSync("mvn", [...MAVEN, ...resolve], { cwd: folder });
    const proxy = ["-Dhttp.proxyHost=127.0.0.1", `-Dhttp.proxyPort=${port}`];
    return ["java", ...proxy, "-cp", readFileSync(join(folder, "classpath"), "utf8"), "Sign.java"];
  }),
);
