import { expect, it } from "vitest";
import { allowanceOf, askedBy } from "../allowance.ts";

/** How many requests to the pool one call may make. The topic `rush` has a limit. The job `limited` is of that topic. */
function allowance(method: string, path: string, body: object = {}, isOnce = false): number {
  const about = {
    topicOf: (id: string) => ({ limited: "rush", note: "logs" })[id] ?? "orders",
    isHeld: (topic: string) => topic === "rush",
    isCounted: (topic: string) => topic === "mail",
  };
  return allowanceOf(askedBy(method, path, body, isOnce, about));
}

it("a call may cost what its kind takes, and more with a key, a token, a limit or another batch", () => {
  const plain = allowance("POST", "/jobs", { topic: "orders" });
  expect(plain).toBe(3);
  expect(allowance("POST", "/jobs", { topic: "orders", key: "k" })).toBeGreaterThan(plain);
  expect(allowance("POST", "/jobs", { topic: "orders" }, true)).toBeGreaterThan(plain);
  expect(allowance("POST", "/jobs", { topic: "rush" })).toBeGreaterThan(plain);
  expect(allowance("POST", "/jobs", { topic: "mail" })).toBe(plain + 1);
  const jobs = Array.from({ length: 26 }, () => ({ topic: "orders" }));
  expect(allowance("POST", "/jobs/batch", { jobs })).toBe(plain + 1);
  expect(allowance("DELETE", "/jobs/any")).toBe(1);
  expect(allowance("POST", "/jobs/cancel", { ids: jobs })).toBe(8);
  expect(allowance("PATCH", "/jobs/limited")).toBeGreaterThan(allowance("PATCH", "/jobs/any"));
});

it("a call whose kind has no declared cost is refused", () => {
  expect(() => allowance("POST", "/jobs/unheard-of")).toThrow("KINDS does not say");
});
