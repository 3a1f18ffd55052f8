import { expect, test } from "vitest";
import { type } from "./command-line.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

const ERASE = ["erase", "--tag", "customer-42"];

async function fileSome(api: ServedApi): Promise<void> {
  for (const tag of ["customer-42", "customer-42", "customer-43"])
    await api.file({ delay: "1h", tag, key: `${tag}:${Math.random()}` });
  await api.bury({ tag: "customer-42" });
}

test("counts the jobs of a tag in a dry run", async () => {
  await using api = await serveApi();
  await fileSome(api);
  const { code, out } = await type(api, [...ERASE, "--dry-run"]);
  expect({ code, out }).toEqual({ code: 0, out: "would erase 3 jobs of tag customer-42\n" });
});

test("asks on a terminal, and erases after a yes only", async () => {
  await using api = await serveApi();
  await fileSome(api);
  const refused = await type(api, ERASE, { terminal: true, input: "n\n" });
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("nothing was erased") });
  const done = await type(api, ERASE, { terminal: true, input: "y\n" });
  expect(done.err).toContain("erase 3 jobs of tag customer-42? [y/N] ");
  expect(done).toMatchObject({ code: 0, out: "erased 3 jobs of tag customer-42\n" });
  expect((await type(api, [...ERASE, "--dry-run"])).out).toBe("would erase 0 jobs of tag customer-42\n");
});

test("tells of jobs that run, and to run the command again", async () => {
  await using api = await serveApi();
  await api.world.file({ topic: "work", tag: "customer-42" });
  await api.receive();
  const { code, out, err } = await type(api, [...ERASE, "--yes"]);
  expect({ code, out }).toEqual({ code: 1, out: "erased 0 jobs of tag customer-42\n" });
  expect(err).toMatch(/is running.*\n.*1 job not changed: 1 job-running; run the command again later\n$/);
});

test("a dry run tells of jobs that would be left, so that 0 jobs are a proof", async () => {
  await using api = await serveApi();
  await api.world.file({ topic: "work", tag: "customer-42" });
  await api.receive();
  const { code, out, err } = await type(api, [...ERASE, "--dry-run"]);
  expect({ code, out }).toEqual({ code: 0, out: "would erase 0 jobs of tag customer-42\n" });
  expect(err).toContain("1 job would be left: 1 job-running\n");
});

test("takes a topic and the beginning of keys too, and prints JSON", async () => {
  await using api = await serveApi();
  await fileSome(api);
  const flags = ["--topic", "orders", "--key-prefix", "customer-43:", "--yes", "--json"];
  const { lines } = await type(api, ["erase", ...flags]);
  expect(lines).toMatchObject([{ matched: 1, changed: 1, examined: 4 }]);
});

test("refuses to erase all jobs, and to erase unasked", async () => {
  await using api = await serveApi();
  const all = await type(api, ["erase", "--yes"]);
  expect(all).toMatchObject({ code: 2, err: expect.stringContaining("name the jobs") });
  expect(await type(api, ERASE)).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
});
