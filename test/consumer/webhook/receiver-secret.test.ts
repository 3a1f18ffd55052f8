import { expect, test } from "vitest";
import { receiverSecret } from "../../../src/consumer/webhook/receiver-secret.ts";

const TOPIC = Buffer.from("a topic's secret, of 33 bytes....").toString("base64");

test("all URLs of one origin have one secret, however they are written, and others have others", () => {
  const secret = receiverSecret(TOPIC, "https://shop.example");
  // `openssl dgst -sha256 -mac HMAC` gave this value. It must never change, because receivers store it for years.
  expect(secret).toBe("whsec_cGvfi3qUTlTsRElQwCIbEf9Chf2Q98oTmXx4R0O198Q=");
  for (const url of ["https://SHOP.example:443/hooks?a=1#b", "https://shop.example/other"])
    expect(receiverSecret(TOPIC, url)).toBe(secret);
  expect(receiverSecret(`whsec_${TOPIC}`, "https://shop.example")).toBe(secret);
  const others = [
    "http://shop.example",
    "https://shop.example:8443",
    "https://a.shop.example",
    "https://shop.example.",
  ];
  expect(new Set([secret, ...others.map((url) => receiverSecret(TOPIC, url))]).size).toBe(5);
});

test.each(["shop.example", "", "ftp://shop.example", "file:///etc"])("%j is no receiver's URL", (url) => {
  expect(() => receiverSecret(TOPIC, url)).toThrow(
    `must be an http: or https: URL such as https://shop.example/hooks, got "${url}"`,
  );
});

test("a topic's secret that is not base64 is refused, and is not in the error", () => {
  expect(() => receiverSecret("hunter2!", "https://shop.example")).toThrow(
    /^a webhook's secret must be base64/,
  );
});
