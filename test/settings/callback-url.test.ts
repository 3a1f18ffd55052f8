import { describe, expect, it } from "vitest";
import { callbackUrlError } from "../../src/settings/callback-url.ts";
import { allowLoopback } from "../../src/settings/loopback.ts";
import { type Policy, webhookPolicy } from "../../src/settings/policy.ts";
import { isPublicAddress } from "../../src/settings/public-address.ts";

const PORTS = [80, 443];
const STRICT = { allowHttp: false, allowHosts: [], ports: PORTS };

describe("a callback URL", () => {
  const NOT_PUBLIC = [
    "https://127.0.0.1/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://127.0.0.1./",
    "https://１２７.0.0.1/",
    "https://[::ffff:7f00:1]/",
    "https://[0:0:0:0:0:ffff:127.0.0.1]/",
    "https://[::7f00:1]/",
    "https://[::1]/",
    "https://[::]/",
    "https://0/",
    "https://10.1.2.3:8443/hooks",
    "https://172.31.0.1/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a00:1::]/",
  ];
  it.each(NOT_PUBLIC)("must not be %s, whose address is not public", (url) => {
    expect(callbackUrlError(url, STRICT)).toMatch(/^must lead to a public address, got "https:/);
  });

  it.each(["https://localhost/", "https://LOCALHOST:8080/", "https://localhost./", "https://api.localhost/"])(
    "must not be %s, which leads to this machine",
    (url) => expect(callbackUrlError(url, STRICT)).toMatch(/^must not lead to this machine, got/),
  );

  it.each([
    ["", "be a complete URL"],
    ["example.com/hooks", "be a complete URL"],
    ["/hooks", "be a complete URL"],
    ["https://", "be a complete URL"],
    ["http://example.com/", "begin with https:"],
    ["ftp://example.com/", "begin with https:"],
    ["file:///etc/passwd", "begin with https:"],
    ["javascript:alert(1)", "begin with https:"],
    ["https://me@example.com/", "have no user name or password"],
    ["https://me:secret@example.com/", "have no user name or password"],
    ["https://:secret@example.com/", "have no user name or password"],
    [`https://example.com/${"x".repeat(2029)}`, "have at most 2048 characters, got 2049"],
  ])("must not be %j, because it must %s", (url, rule) => {
    expect(callbackUrlError(url, STRICT)).toContain(`must ${rule}`);
  });

  it.each([
    "https://example.com",
    "HTTPS://Example.com:443/hooks?shop=7#top",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[64:ff9b::808:808]/",
    "https://xn--bcher-kva.example/",
    "https://localhost.example/",
    `https://example.com/${"x".repeat(2028)}`,
  ])("may be %s", (url) => expect(callbackUrlError(url, STRICT)).toBeUndefined());

  it("may begin with http: if its topic allows http, but with no further scheme", () => {
    const policy = { ...STRICT, allowHttp: true };
    expect(callbackUrlError("http://example.com/", policy)).toBeUndefined();
    expect(callbackUrlError("ws://example.com/", policy)).toContain("must begin with https: or http:");
    expect(callbackUrlError("http://10.0.0.7/", policy)).toContain("a public address");
  });

  it("may lead to a host that its topic allows, in any notation, and to no other private host", () => {
    const policy = { allowHttp: false, allowHosts: ["10.0.0.7", "[fd00::7]", "localhost"], ports: PORTS };
    for (const url of [
      "https://10.0.0.7/",
      "https://0xa.7:99/",
      "https://[fd00:0::7]/",
      "https://LOCALHOST/",
    ]) {
      expect(callbackUrlError(url, policy)).toBeUndefined();
    }
    for (const url of ["https://10.0.0.8/", "https://[fd00::8]/", "https://a.localhost/"]) {
      expect(callbackUrlError(url, policy)).toBeDefined();
    }
    expect(callbackUrlError("http://10.0.0.7/", policy)).toContain("begin with https:");
    expect(callbackUrlError("https://me@10.0.0.7/", policy)).toContain("no user name");
  });

  it("must lead to a port that its topic allows, by default the port of its protocol", () => {
    const policy = { ...STRICT, ports: [443, 8443] };
    for (const url of ["https://a.example/", "https://a.example:443/", "https://a.example:8443/"])
      expect(callbackUrlError(url, policy)).toBeUndefined();
    for (const port of [22, 25, 80, 6379, 8444])
      expect(callbackUrlError(`https://a.example:${port}/`, policy)).toContain(
        "one of the topic's ports: 443, 8443, got",
      );
    expect(callbackUrlError("http://a.example/", { ...STRICT, allowHttp: true })).toBeUndefined();
    expect(callbackUrlError("http://a.example:8080/", { ...STRICT, allowHttp: true })).toContain(
      "ports: 80, 443",
    );
  });

  it("must lead to a host of onlyHosts or allowHosts, if its topic has onlyHosts", () => {
    const policy = { ...STRICT, onlyHosts: ["hooks.example", "*.shop.example"], allowHosts: ["10.0.0.7"] };
    for (const host of [
      "hooks.example",
      "HOOKS.example.",
      "a.shop.example",
      "a.b.shop.example",
      "10.0.0.7:99",
    ])
      expect(callbackUrlError(`https://${host}/`, policy)).toBeUndefined();
    for (const host of [
      "shop.example",
      "evilshop.example",
      "a.hooks.example",
      "hooks.example.evil.example",
      "1.1.1.1",
    ])
      expect(callbackUrlError(`https://${host}/`, policy)).toContain(
        "one of the topic's hosts: hooks.example, *.shop.example",
      );
    expect(callbackUrlError("https://1.1.1.1/", { ...STRICT, onlyHosts: [] })).toContain(
      "one of the topic's hosts",
    );
  });

  it("of the topic itself may have any port, and then the URLs of jobs may have that port too", () => {
    const { ports } = webhookPolicy({ webhook: { url: "https://hooks.example:8443/in" } });
    expect(ports).toEqual([80, 443, 8443]);
    expect(webhookPolicy({ webhook: { url: "https://hooks.example/in" } }).ports).toEqual([80, 443]);
    expect(webhookPolicy({ webhook: { url: "https://a:8443/", ports: [443] } }).ports).toEqual([443]);
  });

  it("is shortened in the error", () => {
    expect(callbackUrlError(`ftp://${"x".repeat(1000)}`, STRICT)?.length).toBeLessThan(200);
  });
});

describe("a public address", () => {
  it.each(["nonsense", "", "1.2.3.4.5", "example.com"])("is not %j", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });

  it.each(["4000::1", "5f00::1", "ff02::1", "2001:db8::1", "2001::1", "fe80::1%eth0", "255.255.255.255"])(
    "is not %s",
    (address) => expect(isPublicAddress(address)).toBe(false),
  );
});

describe("a stack on a developer's own machine", () => {
  const policy: Policy = {
    shards: 1,
    retention: 1,
    deadRetention: 1,
    topics: { plain: { pack: 3 }, hooks: { webhook: { timeout: 3, allowHosts: ["hooks.internal"] } } },
  };

  it("may call itself over http from its webhook topics, and other topics stay as they are", () => {
    const { plain, hooks } = allowLoopback(policy).topics;
    expect(plain).toEqual({ pack: 3 });
    expect(hooks).toEqual({
      webhook: {
        timeout: 3,
        allowHttp: true,
        allowHosts: ["hooks.internal", "localhost", "127.0.0.1", "[::1]"],
      },
    });
    const wide = { allowHttp: true, allowHosts: hooks?.webhook?.allowHosts ?? [], ports: PORTS };
    for (const url of ["http://localhost:4000/", "http://127.0.0.1:4000/", "http://[::1]:4000/"]) {
      expect(callbackUrlError(url, wide)).toBeUndefined();
    }
    expect(callbackUrlError("http://169.254.169.254/", wide)).toContain("a public address");
  });
});
