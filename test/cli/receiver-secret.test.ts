import { expect, test } from "vitest";
import { receiverSecret } from "../../src/consumer/webhook/receiver-secret.ts";
import { type } from "./command-line.ts";

const TOPIC = "A".repeat(44);
const secretFor = (url: string, input: string) => type(undefined, ["receiver-secret", url], { input });

test("receiver-secret derives the secret of one receiver from the topic's secret on stdin", async () => {
  const url = "https://shop.example/hooks";
  const { code, out, err } = await secretFor(url, `${TOPIC}\n`);
  expect({ code, out, err }).toEqual({ code: 0, out: `${receiverSecret(TOPIC, url)}\n`, err: "" });
});

test.each([
  ["https://shop.example", "hunter2!", "a webhook's secret must be base64"],
  ["https://shop.example", "", "a webhook's secret must be base64"],
  [
    "shop.example",
    TOPIC,
    'a receiver\'s URL must be an http: or https: URL such as https://shop.example/hooks, got "shop.example"',
  ],
])("with %s and %j it says what is wrong, and prints no secret", async (url, input, error) => {
  const { code, out, err } = await secretFor(url, input);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(error);
  if (input !== "") expect(err).not.toContain(input);
});

test("it does not read the topic's secret from a terminal, which would show it", async () => {
  const { code, err } = await type(undefined, ["receiver-secret", "https://shop.example"], {
    terminal: true,
  });
  expect(code).toBe(2);
  expect(err).toContain("stdin must have");
});
