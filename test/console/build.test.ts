import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { buildPage } from "../../console/build.ts";
import { readPageFiles } from "../../console/page-files.ts";

const MOST_BYTES = 150 * 1024;
const files = buildPage();
const textOf = (name: string) => Buffer.from(files.get(name) ?? []).toString();

describe("the built page", () => {
  test("has at most 150 KB when it is compressed", () => {
    const sizes = [...files.values()].map((content) => gzipSync(content).length);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    expect(all).toBeGreaterThan(10 * 1024);
    expect(all).toBeLessThanOrEqual(MOST_BYTES);
  });

  test("refers to its own files only", () => {
    const own = [...files.keys()].filter((name) => name !== "index.html").map((name) => `/console/${name}`);
    const named = [...textOf("index.html").matchAll(/\b(?:src|href)=(?:"([^"]*)"|(\S+))/g)].map(
      ([, path]) => path,
    );
    expect(named.filter((path) => !path?.startsWith("data:image/svg+xml;")).sort()).toEqual(own.sort());
    const styles = own
      .filter((name) => name.endsWith(".css"))
      .map((name) => textOf(name.replace("/console/", "")));
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
