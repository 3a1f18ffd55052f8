import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cannot, EXCEPTIONS, PLACES } from "../e2e/places.ts";
import { ROOT } from "./environment.ts";

/** The sources that may ask whether a place has an exception. */
const sources = globSync("test/{e2e,deploy}/**/*.ts", { cwd: ROOT })
  .filter((path) => !/places(\.test)?\.ts$/.test(path))
  .map((path) => readFileSync(join(ROOT, path), "utf8"));

it.for([...new Set(EXCEPTIONS.map(({ exception }) => exception))])(
  "some source asks for the exception %s by its name",
  (exception) => {
    const asked = new RegExp(`\\b(here|cannot)\\(("?\\w+"?, )?"${exception}"`);
    expect(sources.some((source) => asked.test(source))).toBe(true);
  },
);

it("each exception is listed at most once for a place, with its reason", () => {
  const names = EXCEPTIONS.map(({ place, exception }) => `${place} ${exception}`);
  expect(new Set(names).size).toBe(names.length);
  for (const { place, exception, reason } of EXCEPTIONS) expect(cannot(place, exception)).toBe(reason);
});

it("the exceptions on AWS concern this machine, and nothing of the queue itself", () => {
  const excepted = EXCEPTIONS.filter(({ place }) => place === "aws").map(({ exception }) => exception);
  expect(excepted).toEqual(["local-commands", "kills", "receivers"]);
  expect(PLACES.filter((place) => EXCEPTIONS.every((one) => one.place !== place))).toEqual([]);
});
