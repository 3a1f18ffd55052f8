import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { type ServedApi, serveApi } from "./served-api.ts";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

function start({ url }: Pick<ServedApi, "url">, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, "console", ...args], {
    env: { ...process.env, MINUTEHAND_URL: url },
  });
  running.push(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (data) => {
    said.out += data;
  });
  child.stderr.on("data", (data) => {
    said.err += data;
  });
  return { child, said };
}

test("console serves the page and passes its calls on with the key, until Ctrl-C", async () => {
  await using api = await serveApi();
  const { id } = await api.file({ topic: "orders", delay: "1h" });
  const { child, said } = start(api, "--port", "0", "--json");
  await expect.poll(() => said.out).toContain("\n");
  const { url } = JSON.parse(said.out);
  const { origin, pathname, hash } = new URL(url);
  expect(pathname).toBe("/console");
  const page = await (await fetch(url)).text();
  expect(page).toContain('"needsKey":true');
  // The key is in the address only, which the browser does not send.
  const key = hash.replace("#key=", "");
  expect(page).not.toContain(key);
  expect((await fetch(`${origin}/jobs/${id}`)).status).toBe(403);
  const answer = await fetch(`${origin}/jobs/${id}`, { headers: { "x-minutehand-key": key } });
  expect(await answer.json()).toMatchObject({ id, topic: "orders" });
  child.kill("SIGINT");
  expect(await once(child, "close")).toEqual([130, null]);
  expect(said.err).toBe("");
});

test("each run has another key", async () => {
  await using api = await serveApi();
  const runs = [start(api, "--port", "0"), start(api, "--port", "0")];
  const keys = await Promise.all(
    runs.map(async ({ said }) => {
      await expect.poll(() => said.out).toContain("until Ctrl-C");
      return /#key=(\S+)/.exec(said.out)?.[1];
    }),
  );
  expect(keys[0]).toMatch(/^[\w-]{32,}$/);
  expect(keys[0]).not.toBe(keys[1]);
});

test("a port that is in use is an error that says what to do", async () => {
  await using api = await serveApi();
  const other = createServer();
  await once(other.listen(0, "127.0.0.1"), "listening");
  const { port } = other.address() as AddressInfo;
  const { child, said } = start(api, "--port", String(port));
  expect(await once(child, "close")).toEqual([1, null]);
  other.close();
  expect(said).toEqual({
    out: "",
    err: `minutehand: port ${port} of 127.0.0.1 is in use; choose another port with --port, or a free one with --port 0\n`,
  });
});
