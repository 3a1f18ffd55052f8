import { afterEach, describe, expect, test, vi } from "vitest";
import { type } from "./command-line.ts";
import { scriptAccount } from "./scripted-account.ts";
import { serveApi } from "./served-api.ts";

afterEach(() => void vi.unstubAllEnvs());

const SHOP = {
  status: "UPDATE_COMPLETE",
  outputs: [{ key: "JobsTable", value: "jobs", description: "Minutehand table" }],
};
const accountWith = (write: number) => ({
  stacks: { Shop: SHOP },
  tables: { jobs: { read: 12_000, write } },
});
const WARM = ["warm", "--stack", "Shop", "--units", "20000"];
const PLAN =
  "warm the table jobs from 4,000 to 20,000 write units a second, for about $10.40 once if a unit costs as much as a provisioned one for an hour in us-east-1";

describe("warm", () => {
  test("shows the price in a dry run, and changes nothing", async () => {
    const account = accountWith(4_000);
    await using _ = await scriptAccount(account);
    const { code, out } = await type(undefined, [...WARM, "--dry-run"]);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(`would ${PLAN}`) });
    const { lines } = await type(undefined, [...WARM, "--read-units", "22000", "--dry-run", "--json"]);
    expect(lines).toEqual([
      {
        table: "jobs",
        from: { read: 12_000, write: 4_000 },
        to: { read: 22_000, write: 20_000 },
        price: 11.7,
      },
    ]);
    expect(account.tables.jobs.write).toBe(4_000);
  });

  test.each([
    ["y\n", 0, 20_000],
    ["\n", 1, 4_000],
  ])("asks before it spends money, here with the answer %j", async (input, code, write) => {
    const account = accountWith(4_000);
    await using _ = await scriptAccount(account);
    const ended = await type(undefined, WARM, { terminal: true, input });
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(PLAN);
    expect(account.tables.jobs).toEqual({ read: 12_000, write });
  });

  test("needs --yes without a terminal", async () => {
    const account = accountWith(4_000);
    await using _ = await scriptAccount(account);
    const { code, err } = await type(undefined, WARM);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("confirm with --yes") });
    expect((await type(undefined, [...WARM, "--yes"])).code).toBe(0);
    expect(account.tables.jobs.write).toBe(20_000);
  });

  test("does nothing if DynamoDB has grown further by itself, and never asks for less", async () => {
    const account = accountWith(30_000);
    await using _ = await scriptAccount(account);
    const { code, err } = await type(undefined, [...WARM, "--yes"]);
    expect(code).toBe(0);
    expect(err).toContain("there is nothing to do: would leave the table jobs as it is");
    expect((await type(undefined, [...WARM, "--read-units", "24000", "--yes"])).code).toBe(0);
    expect(account.tables.jobs).toEqual({ read: 24_000, write: 30_000 });
  });

  test.each([
    [["warm", "--stack", "Shop"], "give --units, --read-units or both"],
    [["warm", "--units", "20000", "--yes"], "give --stack or --table"],
    [["warm", "--units", "3999", "--yes"], "from 4000 to 1000000"],
  ])("refuses %j", async (args, said) => {
    const { code, err } = await type(undefined, args);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(said) });
  });
});

test.each([
  [0, "ok", "the table takes 4,000 writes a second at once; the busiest minute of the next hour needs 0"],
  [100, "warning", "the table takes 2 writes a second at once; the busiest minute of the next hour needs 4"],
])("doctor compares what the table takes with what %i jobs in a minute need", async (jobs, result, found) => {
  await using api = await serveApi();
  for (let i = 0; i < jobs; i++) await api.file({ delay: "30m" });
  const outputs = [...SHOP.outputs, { key: "Api", value: api.url, description: "Minutehand API" }];
  const tables = { jobs: { read: 12_000, write: jobs === 0 ? 4_000 : 2 } };
  await using _ = await scriptAccount({ stacks: { Shop: { ...SHOP, outputs } }, tables });
  const { lines } = await type(api, ["doctor", "--stack", "Shop", "--json"]);
  expect(lines).toContainEqual(expect.objectContaining({ check: "table", result, found }));
});
