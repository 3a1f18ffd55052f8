import { expect, test } from "vitest";
import { createEach } from "../../../local/template/create-each.ts";

test("if a service rejects one resource, the others are still created", async () => {
  const created: string[] = [];
  const refusals = await createEach("queue", [{ name: "shop-mail" }, { name: "logs" }], async ({ name }) => {
    if (name === "shop-mail") throw new Error("no such attribute");
    created.push(name);
  });
  expect(refusals).toEqual([{ kind: "queue", name: "shop-mail", reason: "no such attribute" }]);
  expect(created).toEqual(["logs"]);
});
