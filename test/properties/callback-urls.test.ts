import { BlockList } from "node:net";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { callbackHeadersError } from "../../src/settings/callback-headers.ts";
import { callbackUrlError } from "../../src/settings/callback-url.ts";
import { isPublicAddress } from "../../src/settings/public-address.ts";
import { property } from "./property.ts";

const STRICT = { allowHttp: false, allowHosts: [], ports: [80, 443] };

/** The subnets of the "IANA IPv4 Special-Purpose Address Registry", and multicast. Node's own `BlockList` checks them. */
const SPECIAL = new BlockList();
for (const subnet of [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
]) {
  const [net = "", prefix] = subnet.split("/");
  SPECIAL.addSubnet(net, Number(prefix));
}

type Octets = [number, number, number, number];
const octet = fc.integer({ min: 0, max: 255 });
/** Four octets. Half of the addresses begin with a number of the subnets above. */
const octets: fc.Arbitrary<Octets> = fc
  .tuple(
    fc.oneof(octet, fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 255)),
    fc.oneof(octet, fc.constantFrom(0, 16, 31, 51, 64, 127, 168, 254)),
    octet,
    octet,
  )
  .map((parts) => parts as Octets);

const hex = (value: number, digits = 0) => value.toString(16).padStart(digits, "0");
const wholeOf = ([a, b, c, d]: Octets) => ((a * 256 + b) * 256 + c) * 256 + d;
const groupsOf = ([a, b, c, d]: Octets) => `${hex(a)}${hex(b, 2)}:${hex(c)}${hex(d, 2)}`;

/** The ways in which a URL can write one IPv4 address. */
const SPELLINGS: ((parts: Octets) => string)[] = [
  (parts) => parts.join("."),
  (parts) => `${parts.join(".")}.`,
  (parts) => String(wholeOf(parts)),
  (parts) => `0x${hex(wholeOf(parts))}`,
  (parts) => `0${wholeOf(parts).toString(8)}`,
  (parts) => parts.map((part) => `0x${hex(part)}`).join("."),
  (parts) => parts.map((part) => `0${part.toString(8)}`).join("."),
  ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  (parts) => encodeURIComponent(parts.join(".")).replaceAll("1", "%31"),
  (parts) => `[::ffff:${parts.join(".")}]`,
  (parts) => `[::ffff:${groupsOf(parts)}]`,
  (parts) => `[64:ff9b::${groupsOf(parts)}]`,
];

describe("a callback URL", () => {
  property(
    "may have an IPv4 address only if the address is public, however it is written",
    [octets, fc.constantFrom(...SPELLINGS)],
    (parts, spell) => {
      const isSpecial = SPECIAL.check(parts.join("."));
      expect(isPublicAddress(parts.join("."))).toBe(!isSpecial);
      const error = callbackUrlError(`https://${spell(parts)}:443/hooks`, STRICT);
      if (isSpecial) expect(error).toContain("a public address");
      else expect(error).toBeUndefined();
    },
  );

  const group = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 1, 0x64, 0xff9b, 0xffff));
  const groups = fc.array(group, { minLength: 8, maxLength: 8 });
  property(
    "may have an IPv6 address only in 2000::/3, or one that contains an IPv4 address",
    [groups],
    (parts) => {
      const address = parts.map((part) => hex(part)).join(":");
      const first = parts[0] ?? 0;
      const carries = /^(0:0:0:0:0:ffff|64:ff9b:0:0:0:0):/.test(address);
      if (first < 0x2000 || first > 0x3fff) if (!carries) expect(isPublicAddress(address)).toBe(false);
      expect(callbackUrlError(`https://[${address}]/`, STRICT) === undefined).toBe(isPublicAddress(address));
    },
  );

  property("is checked without an exception, whatever its text", [fc.string({ unit: "binary" })], (text) => {
    for (const url of [text, `https://${text}`, `https://[${text}]`]) {
      const error = callbackUrlError(url, STRICT);
      if (error === undefined) expect(new URL(url).protocol).toBe("https:");
      else expect(error).toMatch(/^must /);
    }
  });
});

describe("headers that go with a call", () => {
  // The API refuses this one name for every topic.
  const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/).filter((text) => text !== "__proto__");
  const value = fc.oneof(fc.string({ unit: "binary", maxLength: 9 }), fc.stringMatching(/^[ -~]{0,9}$/));
  property("are only those that the Fetch standard passes on unchanged", [name, value], (called, said) => {
    if (callbackHeadersError({ [called]: said }) !== undefined) return expect(true).toBe(true);
    expect([...new Headers({ [called]: said })]).toEqual([[called.toLowerCase(), said]]);
  });
});
