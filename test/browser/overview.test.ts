import { expect, inject, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { testBrowser } from "./browser.ts";

const browser = testBrowser();
const api = createClient({ url: inject("stackUrl") });

test("the overview counts the jobs that are due next, and leads to them", async () => {
  await api.enqueue("work", { orderId: 17 }, { delay: "5m", key: "overview-17" });
  const page = await browser.open("/console");
  const card = page.getByRole("listitem", { name: "work" });
  // Other tests may have jobs there too.
  await card.getByRole("link", { name: /^[1-9]\d* jobs? due in the next 15 minutes$/ }).waitFor();
  await card.getByRole("link", { name: "work", exact: true }).click();
  await page.getByText("overview-17").waitFor();
  expect(new URL(page.url()).pathname).toBe("/console/jobs");
});
