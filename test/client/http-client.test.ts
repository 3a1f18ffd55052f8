import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";

const url = "http://127.0.0.1:4500";

test.each([
  [
    { url: "localhost:4500" },
    "url must be the URL of an API with https:// or http://, such as https://api.example.com, got localhost:4500",
  ],
  [{ url, retries: -1 }, "retries must be a whole number from 0 to 100, got -1"],
  [{ url, retries: Number.NaN }, "retries must be a whole number from 0 to 100, got NaN"],
  [{ url, retries: 1.5 }, "retries must be a whole number from 0 to 100, got 1.5"],
  [
    { url, timeout: Number.POSITIVE_INFINITY },
    "timeout must be a number of ms, more than 0 and at most 2147483647, got Infin",
  ],
  [{ url, timeout: 0 }, "timeout must be a number of ms, more than 0 and at most 2147483647, got 0"],
  [
    { url, timeout: Number.NaN },
    "timeout must be a number of ms, more than 0 and at most 2147483647, got NaN",
  ],
  [
    { url, retry: 3 },
    'createClient has an unknown option "retry" (did you mean "retries"?); allowed are url, auth, region, timeout, retries',
  ],
  [{ url, auth: "IAM" }, 'auth must be "iam", "none" or { bearer } with a token or a function, got "IAM"'],
  [{ url, auth: { token: "s3cr3t" } }, "a token or a function, got object"],
  [{ url, auth: { bearer: 5 } }, "a token or a function, got object"],
  [{ url, auth: null }, "a token or a function, got object"],
])("createClient refuses %j", (options, message) => {
  const create = () => createClient(options as never);
  expect(create).toThrow(RangeError);
  expect(create).toThrow(message);
});
