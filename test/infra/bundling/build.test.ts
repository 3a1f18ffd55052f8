import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { buildFunction } from "../../../infra/bundling/build.ts";

let root: string;
let entry: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-build-"));
  mkdirSync(join(root, "functions"));
  entry = join(root, "functions", "greet.ts");
  writeFileSync(
    entry,
    'import { name } from "./name.ts";\nexport const handler = async () => "hello " + name;\n',
  );
  writeFileSync(join(root, "functions", "name.ts"), 'export const name: string = "one";\n');
  writeFileSync(join(root, "package-lock.json"), "{}");
  // A build does not trust inputs that were saved after it began, so the files must be older.
  for (const file of [entry, join(root, "functions", "name.ts")]) age(file);
});
afterEach(() => rmSync(root, { recursive: true }));

function build(): { folder: string; output: string } {
  const folder = buildFunction(entry, { root });
  return { folder, output: join(folder, existsSync(join(folder, "index.cjs")) ? "index.cjs" : "index.mjs") };
}

/** Sets the time of a file to long ago, so that a test sees whether the file is written again. */
function age(file: string): void {
  utimesSync(file, 1, 1);
}

describe("buildFunction", () => {
  it("bundles to a folder that contains only the module", async () => {
    const { folder, output } = build();
    expect(folder).toBe(join(root, "dist", "functions", "greet"));
    expect(readdirSync(folder)).toEqual(["index.cjs"]);
    const module = (await import(pathToFileURL(output).href)) as { handler: () => Promise<string> };
    expect(await module.handler()).toBe("hello one");
  });

  it("gives the same bytes for the same inputs", () => {
    const first = readFileSync(build().output, "utf8");
    rmSync(join(root, "dist"), { recursive: true });
    expect(readFileSync(build().output, "utf8")).toBe(first);
  });

  it("does not write a bundle of the same inputs again", () => {
    const { output } = build();
    age(output);
    build();
    expect(statSync(output).mtimeMs).toBe(1000);
  });

  it.each([
    ["the entry", "functions/greet.ts", "export const handler = async () => 1;\n"],
    ["an import", "functions/name.ts", 'export const name = "two";\n'],
    ["the lock file", "package-lock.json", '{"packages":{}}'],
    ["tsconfig.json", "tsconfig.json", "{}"],
  ])("builds again when %s changed", (_, file, text) => {
    const { output } = build();
    age(output);
    writeFileSync(join(root, file), text);
    build();
    expect(statSync(output).mtimeMs).toBeGreaterThan(1000);
  });

  it("builds again when the bundle is gone", () => {
    const { output } = build();
    rmSync(output);
    build();
    expect(statSync(output).size).toBeGreaterThan(0);
  });

  it("says where the source does not compile, and keeps the last bundle", () => {
    const { output } = build();
    writeFileSync(entry, "export const = 1;\n");
    expect(() => build()).toThrow("functions/greet.ts:1:13");
    expect(readFileSync(output, "utf8")).toContain("hello");
  });

  describe("of the construct", () => {
    const chunk = (text: string) => {
      writeFileSync(join(root, "functions", "name.ts"), `export const name: string = "${text}";\n`);
      age(join(root, "functions", "name.ts"));
    };
    beforeEach(() => {
      entry = join(root, "functions", "api.ts");
      writeFileSync(entry, 'export const handler = async () => (await import("./name.ts")).name;\n');
      age(entry);
      chunk("one");
    });

    it("puts code that is imported on first use into a file of its own", async () => {
      const { folder, output } = build();
      expect(readdirSync(folder)).toEqual([expect.stringMatching(/^chunk-\w+\.mjs$/), "index.mjs"]);
      expect(readFileSync(output, "utf8")).not.toContain("one");
      const module = (await import(pathToFileURL(output).href)) as { handler: () => Promise<string> };
      expect(await module.handler()).toBe("one");
    });

    it("removes the file when its code has changed", () => {
      const [before] = readdirSync(build().folder);
      chunk("two");
      const after = readdirSync(build().folder);
      expect(after).toHaveLength(2);
      expect(after).not.toContain(before);
    });

    it("builds again when the file is gone", () => {
      const { folder } = build();
      const files = readdirSync(folder);
      rmSync(join(folder, files[0] ?? ""));
      build();
      expect(readdirSync(folder)).toEqual(files);
    });
  });
});

test("a bundle loads of Node's own modules only the exports that it uses", async () => {
  const code = `
    import process from "node:process";
    import { Agent } from "node:http";
    import * as path from "node:path";
    export const handler = () => [process === globalThis.process, typeof Agent, path.join("a", "b")];
  `;
  writeFileSync(entry, code);
  const { output } = build();
  // `node:http` has getters that load a client for WebSockets.
  const program = `
    const { handler } = await import(process.argv[1]);
    console.log(JSON.stringify([handler(), process.moduleLoadList.some((name) => name.includes("undici"))]));
  `;
  const said = execFileSync(process.execPath, ["--input-type=module", "--eval", program, output], {
    encoding: "utf8",
  });
  expect(JSON.parse(said)).toEqual([[true, "function", "a/b"], false]);
});
