import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { serveApi } from "../cli/served-api.ts";
import { createApi } from "../http/api.ts";
import { createWorld } from "../protocol/world.ts";

const WORKER = join(import.meta.dirname, "../../examples/python-worker/worker.py");

/** The worker against the API of a topic of its own; ends it when it has pulled once. */
async function workOnce(body: object) {
  const world = createWorld({ topics: { thumbnail: { consumer: "pull" } } });
  await using api = await serveApi(createApi(world));
  const { id } = await world.file({ topic: "thumbnail", body: JSON.stringify(body) });
  const worker = spawn("python3", [WORKER, api.url, "--once"], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed, [status]] = await Promise.all([text(worker.stdout), once(worker, "close")]);
  return { printed, status, job: await world.home(id) };
}

test("the Python worker runs a job and finishes it", async () => {
  const { printed, status, job } = await workOnce({ image: "cat.png", width: 120 });
  expect({ printed, status }).toEqual({ printed: "cat.png at 120 px, attempt 1\n", status: 0 });
  expect(job).toMatchObject({ state: "done", attempt: 1 });
});

test("the Python worker has a job that fails repeated, with the reason", async () => {
  const { printed, status, job } = await workOnce({ image: "cat.png", width: 0 });
  expect({ printed, status }).toEqual({ printed: "", status: 0 });
  expect(job).toMatchObject({ state: "scheduled", lastError: "width must be more than 0, is 0" });
});
