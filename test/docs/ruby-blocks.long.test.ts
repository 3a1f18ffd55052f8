import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { serveApi } from "../cli/served-api.ts";
import { createApi } from "../support/api.ts";
import { rubyTest } from "../support/ruby.ts";
import { serveInTrouble } from "../support/troubled-api.ts";
import { createWorld } from "../support/world.ts";
import { blocks, ROOT } from "./blocks.ts";

const PAGES = ["docs/guides/sign.md", "docs/guides/from-sidekiq.md"];
const FOLDER = join(ROOT, "dist", "ruby-blocks");
const TOPICS = { "order-timeout": { consumer: "pull" } } as const;
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(33, 7).toString("base64")}`;
const KEYS = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };

/** The class that the worker runs. It waits until three jobs run at once. It fails for one order, and stops the worker at another. */
const CLOSE_ORDER = `
class CloseOrder
  BEGUN = Queue.new
  def perform(order_id)
    BEGUN << order_id
    sleep 0.01 until BEGUN.size == 3
    puts order_id
    raise "no route" if order_id == "18"
    Process.kill("TERM", Process.pid) if order_id == "19"
  end
end
`;

/** What the move uses of Sidekiq, in memory. Order 18 is cancelled when its job is removed. */
const SIDEKIQ = `
module Sidekiq
  Job = Struct.new(:klass, :args, :at) { def value = args.first }
  JOBS = %w[17 18 19 20].map { |id| Job.new(id == "20" ? "Other" : "CloseOrder", [id], Time.utc(2031, 1, 2, 9)) }
  JOBS << Job.new("CloseOrder", ["21"], Time.now + 299)
  class ScheduledSet
    def to_a = JOBS.dup
  end
  class Redis
    def call_once(command, set, value)
      raise unless [command, set] == ["ZREM", "schedule"]
      removed = JOBS.reject! { |job| job.value == value }
      removed && value != "18" ? 1 : 0
    end
  end
  def self.redis = yield(Redis.new)
end
at_exit { puts Sidekiq::JOBS.map(&:value).join(",") }
`;

/** What the route uses of Rails. Prints the answer to the call in the environment. */
const RAILS = `
require "json"
Request = Struct.new(:raw_post, :headers)
module ActionController
  class API
    def request = Request.new(ENV["BODY"], JSON.parse(ENV["HEADERS"]))
    def head(status) = puts(status)
  end
end
class CloseOrder
  def self.perform_async(order_id) = puts("queued #{order_id}")
end
require_relative "jobs_controller"
JobsController.new.create
`;

/** Files two orders, the first one twice, and cancels the first one and an unknown one. */
const SHOP = `
require_relative "orders"
puts [place_order("17"), place_order("17"), place_order("18")].map { |job| job["key"] }
puts order_paid("17"), order_paid("20")
`;

test("the pages have five programs in Ruby", () => {
  expect([...programs().keys()]).toEqual([
    ...["orders.rb", "jobs_controller.rb", "worker.rb", "move.rb", "minutehand.rb"],
  ]);
});

/** The pages' programs in Ruby, by the names in their first lines. */
function programs(): Map<string, string> {
  const found = blocks().filter(({ page, kind }) => PAGES.includes(page) && kind === "ruby");
  return new Map(found.map(({ text }) => [/^# (\w+\.rb)\n/.exec(text)?.[1] ?? "", text]));
}

/** Runs one of the pages' programs beside the others and stand-ins, and answers what it prints. */
async function ruby(
  program: string,
  url: string,
  variables: Record<string, string> = {},
): Promise<{ lines: string[]; stderr: string }> {
  mkdirSync(join(FOLDER, "sidekiq"), { recursive: true });
  const files = {
    "close_order.rb": CLOSE_ORDER,
    "sidekiq/api.rb": SIDEKIQ,
    "route.rb": RAILS,
    "shop.rb": SHOP,
    ...Object.fromEntries(programs()),
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(FOLDER, file), text);
  const options = { cwd: FOLDER, env: { ...process.env, ...KEYS, URL: url, ...variables }, timeout: 60_000 };
  const { stdout, stderr } = await promisify(execFile)("ruby", ["-I.", program], options);
  return { lines: stdout.trim().split("\n"), stderr };
}

rubyTest(
  "the page's worker runs jobs at once, finishes them, retries one that failed, and ends at SIGTERM",
  async () => {
    await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
    const ids: string[] = [];
    for (const orderId of ["17", "18", "19"])
      ids.push(String((await api.file({ topic: "order-timeout", delay: 0, body: { orderId } })).id));
    const { lines, stderr } = await ruby("worker.rb", api.url);
    expect(lines.sort()).toEqual(["17", "18", "19"]);
    expect(stderr).toMatch(/close_order\.rb.*no route/);
    const jobs = await Promise.all(ids.map(async (id) => (await api.call("GET", `/jobs/${id}`)).json));
    expect(jobs.map(({ state }) => state)).toEqual(["done", "scheduled", "done"]);
    expect(jobs[1]).toMatchObject({ lastError: "no route" });
  },
);

rubyTest(
  "the page's worker lets the other jobs end when the call of one fails, and ends with its error",
  async () => {
    const api = createApi(createWorld({ topics: TOPICS }));
    const orders = ["17", "18", "19"];
    for (const orderId of orders) await api.file({ topic: "order-timeout", delay: 0, body: { orderId } });
    await using served = await serveInTrouble([undefined, { status: 403 }], api);
    await expect(ruby("worker.rb", served.url)).rejects.toThrow("403");
    expect(served.received.map(({ path }) => path).filter((path) => /finish|retry/.test(path))).toHaveLength(
      3,
    );
  },
);

rubyTest("an order of the page's Ruby is filed once, and a paid one is cancelled", async () => {
  await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
  const { lines } = await ruby("shop.rb", api.url);
  expect(lines).toEqual(["order-17", "order-17", "order-18", "true", "false"]);
  const stateOf = async (id: string) =>
    (await api.call("GET", `/topics/order-timeout/jobs/order-${id}`)).json.state;
  expect([await stateOf("17"), await stateOf("18")]).toEqual(["cancelled", "scheduled"]);
  const outage = ruby("shop.rb", api.url.replace(/:\d+$/, ":1"));
  await expect(outage).rejects.toThrow("ECONNREFUSED");
});

rubyTest("the page's route queues a signed call for Sidekiq, and refuses others", async () => {
  const webhook = new Webhook(WEBHOOK_SECRET);
  const BODY = '{"orderId":"17"}';
  const answerTo = async (body: string, time: Date) => {
    const seconds = String(Math.floor(time.getTime() / 1000));
    const signature = `v1,b3RoZXI= ${webhook.sign("job", time, body)}`;
    const HEADERS = JSON.stringify({
      ...{ "webhook-id": "job", "webhook-timestamp": seconds, "webhook-signature": signature },
    });
    return (await ruby("route.rb", "", { BODY, HEADERS, WEBHOOK_SECRET })).lines;
  };
  expect(await answerTo(BODY, new Date())).toEqual(["queued 17", "no_content"]);
  expect(await answerTo('{"orderId":"18"}', new Date())).toEqual(["unauthorized"]);
  expect(await answerTo(BODY, new Date(Date.now() - 310_000))).toEqual(["unauthorized"]);
});

rubyTest(
  "the page's move moves Sidekiq's scheduled jobs of one class, except those that are due soon",
  async () => {
    await using api = await serveApi(createApi(createWorld({ topics: TOPICS })));
    expect((await ruby("move.rb", api.url)).lines).toEqual(["20,21"]);
    const jobOf = async (id: string) =>
      (await api.call("GET", `/topics/order-timeout/jobs/order-${id}`)).json;
    expect(await jobOf("17")).toMatchObject({
      ...{ state: "scheduled", dueAt: "2031-01-02T09:00:00.000Z", body: { orderId: "17" } },
    });
    expect(await jobOf("18")).toMatchObject({ state: "cancelled" });
    expect(await jobOf("19")).toMatchObject({ state: "scheduled" });
    for (const id of ["20", "21"]) expect(await jobOf(id)).toMatchObject({ code: "job-not-found" });
  },
);
