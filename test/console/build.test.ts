import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { buildPage } from "../../console/build.ts";
import { readPageFiles } from "../../console/page-files.ts";

/** The first view must be there within 3 s at 30 kB/s. */
const MOST_FIRST_BYTES = 90_000;
const files = buildPage();
const textOf = (name: string) => Buffer.from(files.get(name) ?? []).toString();

/** The paths of the files that `index.html` names. */
function named(): string[] {
  const paths = [...textOf("index.html").matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, path = ""]) => path);
  return paths.filter((path) => !path.startsWith("data:image/svg+xml;"));
}

describe("the built page", () => {
  test("has at most 90 kB of the first view when it is compressed", () => {
    const first = ["index.html", ...named().map((path) => path.slice("/console/".length))];
    const sizes = first.map((name) => gzipSync(textOf(name)).length);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    expect(all).toBeGreaterThan(10_000);
    expect(all).toBeLessThanOrEqual(MOST_FIRST_BYTES);
    expect(files.size).toBeGreaterThan(first.length);
  });

  test("refers to its own files only", () => {
    const own = [...files.keys()].filter((name) => name !== "index.html");
    expect(named().length).toBeGreaterThan(1);
    for (const path of named()) expect(own).toContain(path.replace("/console/", ""));
    for (const name of own.filter((one) => one.endsWith(".js")))
      for (const [, part = ""] of textOf(name).matchAll(/\b(?:from|import)\s*\(?"\.\/([^"]+)"/g))
        expect(own).toContain(part);
    const styles = own.filter((name) => name.endsWith(".css")).map(textOf);
    // A style sheet of a later view would never be loaded.
    expect(styles).toHaveLength(1);
    for (const style of styles) expect(style).not.toMatch(/@import|url\(\s*["']?(?!data:)/);
  });

  test("has no inline script and no inline style, which the policy would refuse", () => {
    const html = textOf("index.html");
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
  });

  test("has other names for other contents, so that a browser never mixes two versions", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const main = (text: string) => writeFile(join(folder.path, "main.tsx"), text);
    await main("console.log(1)");
    const first = [...buildPage(folder.path).keys()];
    expect([...buildPage(folder.path).keys()]).toEqual(first);
    await main("console.log(2)");
    const second = [...buildPage(folder.path).keys()];
    expect(second.filter((name) => first.includes(name))).toEqual(["index.html"]);
    await main("(");
    expect(() => buildPage(folder.path)).toThrow("main.tsx:1:");
  });

  test("is read from the folder of the package if it is there, else it is built", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    await writeFile(join(folder.path, "index.html"), "packed");
    const packed = await readPageFiles(folder.path);
    expect([...packed].map(([name, content]) => [name, String(content)])).toEqual([["index.html", "packed"]]);
    const built = await readPageFiles(join(folder.path, "absent"));
    expect([...built.keys()]).toEqual([...files.keys()]);
  });
});
