import { randomBytes } from "node:crypto";
import type { LookupFunction } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import type { Call } from "../../../src/consumer/webhook/call.ts";
import { httpPost } from "../../../src/consumer/webhook/post.ts";
import type { WebhookPolicy } from "../../../src/settings/policy.ts";
import { startReceiver } from "../../support/receiver.ts";

const POLICY: WebhookPolicy = {
  timeout: 60,
  allowHttp: true,
  allowHosts: ["127.0.0.1"],
  ports: [80, 443],
  sharedSecret: false,
};
const { signal } = new AbortController();

function callTo(url: string, policy: Partial<WebhookPolicy> = {}): Call {
  return { url, headers: { "x-shop": "7" }, body: '{"n":1}', policy: { ...POLICY, ...policy } };
}

/** A resolver that answers each lookup with the next list of addresses, and counts the lookups. */
function resolver(...answers: string[][]): LookupFunction & { asked: () => number } {
  let asked = 0;
  const lookup: LookupFunction = (_hostname, { all }, told) => {
    const addresses = answers[asked++] ?? [];
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    if (all) told(null, found);
    else told(null, addresses[0] ?? "", found[0]?.family);
  };
  return Object.assign(lookup, { asked: () => asked });
}

const { concat } = Buffer;

async function bodyOf(headers: Readonly<Record<string, string>>, bytes: Buffer): Promise<string> {
  await using receiver = await startReceiver(
    (_, response) => void response.writeHead(500, headers).end(bytes),
  );
  return (await httpPost()(callTo(receiver.url), signal)).body;
}

describe("a call", () => {
  it("brings its headers and body, and the answer back", async () => {
    await using receiver = await startReceiver((_, response) => {
      response.writeHead(429, { "retry-after": "7" }).end("later");
    });
    const reply = await httpPost()(callTo(receiver.url), signal);
    expect(reply).toEqual({ status: 429, retryAfter: "7", body: "later" });
    expect(receiver.received).toMatchObject([
      { path: "/hooks", body: '{"n":1}', headers: { "x-shop": "7", "content-length": "7" } },
    ]);
  });

  it("follows no redirect", async () => {
    await using receiver = await startReceiver((_, response) => {
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    expect(await httpPost()(callTo(receiver.url), signal)).toMatchObject({ status: 307 });
    expect(receiver.received.map(({ path }) => path)).toEqual(["/hooks"]);
  });

  it("reads the start of an endless answer, and hangs up", async () => {
    const hungUp = Promise.withResolvers<void>();
    await using receiver = await startReceiver((_, response) => {
      response.writeHead(500).on("close", hungUp.resolve);
      const write = () => {
        while (!response.destroyed && response.write("x".repeat(1000)));
      };
      response.on("drain", write);
      write();
    });
    const { status, body } = await httpPost()(callTo(receiver.url), signal);
    expect({ status, length: body.length }).toEqual({ status: 500, length: 4096 });
    await hungUp.promise;
  });

  it.each([
    ["gzip", gzipSync("no bank")],
    ["x-gzip", gzipSync("no bank")],
    ["GZIP", gzipSync("no bank")],
    ["br", brotliCompressSync("no bank")],
    ["deflate", deflateSync("no bank")],
    ["deflate", deflateRawSync("no bank")],
    ["identity", Buffer.from("no bank")],
    ["", Buffer.from("no bank")],
  ])("decodes an error body in %j", async (encoding, bytes) => {
    expect(await bodyOf({ "content-encoding": encoding }, bytes)).toBe("no bank");
  });

  it.each([
    ["zstd", Buffer.from("x"), "the body is compressed (zstd)"],
    ["gzip, br", Buffer.from("x"), "the body is compressed (gzip, br)"],
    ["gzip", Buffer.from("no bank"), "the body is no gzip, as it says"],
    ["br", Buffer.from("\x01no bank"), "the body is no br, as it says"],
    ["gzip", Buffer.alloc(0), ""],
  ])("says of an error body in %j that it cannot be read", async (encoding, bytes, said) => {
    expect(await bodyOf({ "content-encoding": encoding }, bytes)).toBe(said);
  });

  it("takes what was decoded of a compressed body that is cut off", async () => {
    const noise = randomBytes(20_000).toString("hex");
    expect(await bodyOf({ "content-encoding": "gzip" }, gzipSync(`no bank ${noise}`))).toMatch(
      /^no bank [0-9a-f]+$/,
    );
  });

  it.each([
    ["gzip", gzipSync(Buffer.alloc(100 << 20, 97))],
    ["br", brotliCompressSync(Buffer.alloc(100 << 20, 97))],
  ])("decodes only the start of a %s body that grows a thousandfold", async (encoding, bytes) => {
    const decoded: number[] = [];
    const on = vi.spyOn(Buffer, "concat").mockImplementation((list, length) => {
      decoded.push(list.reduce((sum, one) => sum + one.length, 0));
      return concat(list, length);
    });
    try {
      expect(await bodyOf({ "content-encoding": encoding }, bytes)).toBe("a".repeat(4096));
    } finally {
      on.mockRestore();
    }
    expect(Math.max(...decoded)).toBeLessThan(200_000);
  });

  it.each([
    ["text/plain; charset=iso-8859-1", Buffer.from([0x66, 0xfc, 0x72]), "für"],
    ['text/plain; charset="utf-16le"', Buffer.from("für", "utf16le"), "für"],
    ["text/plain; charset=klingon", Buffer.from("für"), "für"],
    ["text/html", Buffer.from("für"), "für"],
  ])("reads an error body in %j", async (type, bytes, text) => {
    expect(await bodyOf({ "content-type": type }, bytes)).toBe(text);
  });

  it("waits for no answer longer than its topic's timeout", async () => {
    await using receiver = await startReceiver(() => {});
    await expect(httpPost()(callTo(receiver.url, { timeout: 0.1 }), signal)).rejects.toThrow(
      "no answer within 0.1 s",
    );
  });

  it("if the body of an answer stalls, takes its status and the part that came before the timeout", async () => {
    await using receiver = await startReceiver((_, response) => void response.writeHead(503).write("begun"));
    const reply = await httpPost()(callTo(receiver.url, { timeout: 5 }), signal);
    expect(reply).toEqual({ status: 503, body: "begun" });
  });

  it("counts looking up its host towards its timeout", async () => {
    const never: LookupFunction = () => {};
    const call = callTo("http://hooks.example/", { timeout: 0.1 });
    await expect(httpPost(never)(call, signal)).rejects.toThrow("no answer within 0.1 s");
  });

  it("ends when the signal of its run is aborted", async () => {
    const abort = new AbortController();
    await using receiver = await startReceiver(() =>
      abort.abort(new Error("the function is about to time out")),
    );
    await expect(httpPost()(callTo(receiver.url), abort.signal)).rejects.toThrow("about to time out");
  });

  it("fails when nobody listens, when the connection breaks, and when the other side speaks no TLS", async () => {
    await using breaking = await startReceiver((request) => request.socket.destroy());
    await expect(httpPost()(callTo(breaking.url), signal)).rejects.toThrow("socket hang up");
    const overTls = callTo(breaking.url.replace("http:", "https:"));
    await expect(httpPost()(overTls, signal)).rejects.toThrow();
    const { port } = breaking;
    await breaking[Symbol.asyncDispose]();
    await expect(httpPost()(callTo(`http://127.0.0.1:${port}/`), signal)).rejects.toThrow("ECONNREFUSED");
  });

  it("fails when the answer asks for another protocol, but not when its body is shorter than its content-length", async () => {
    await using upgrading = await startReceiver((_, response) => {
      response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
    });
    await expect(httpPost()(callTo(upgrading.url), signal)).rejects.toThrow();
    await using short = await startReceiver((_, response) => {
      response.socket?.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nxx");
    });
    expect(await httpPost()(callTo(short.url), signal)).toEqual({ status: 200, body: "xx" });
  });
});

describe("the address that is connected to", () => {
  const NOT_PUBLIC = [
    "10.0.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "::7f00:1",
    "64:ff9b::a00:1",
    "2002:7f00:1::",
    "fd00:ec2::254",
    "fe80::1",
  ];

  it.each(NOT_PUBLIC)("is not %s", async (address) => {
    await using receiver = await startReceiver((_, response) => response.end());
    const call = callTo(`http://hooks.example:${receiver.port}/`);
    await expect(httpPost(resolver([address]))(call, signal)).rejects.toThrow(
      `hooks.example is at ${address}, which is not a public address`,
    );
    expect(receiver.received).toEqual([]);
  });

  it("is no address of a host if one of the host's addresses is not public", async () => {
    const lookup = resolver(["1.1.1.1", "127.0.0.1"]);
    await expect(httpPost(lookup)(callTo("http://hooks.example/"), signal)).rejects.toThrow(
      "is at 127.0.0.1",
    );
  });

  it.each([[[]], [["hooks.example"]]])(
    "cannot be found for a host without an address, and the error says so; allowed hosts: %j",
    async (allowHosts) => {
      const call = callTo("http://hooks.example/", { allowHosts });
      await expect(httpPost(resolver([]))(call, signal)).rejects.toThrow("hooks.example has no address");
    },
  );

  it("is the address that was checked: each call looks its host up once, and the next call looks it up again", async () => {
    await using receiver = await startReceiver((_, response) => response.end());
    const lookup = resolver(["1.1.1.1"], ["127.0.0.1"]);
    const abort = new AbortController();
    // Aborts before the call connects, so that the test sends nothing to the Internet.
    const leaving: LookupFunction = (hostname, options, told) => {
      lookup(hostname, options, (...found) => {
        abort.abort(new Error("would connect"));
        told(...found);
      });
    };
    const call = callTo(`http://hooks.example:${receiver.port}/`);
    await expect(httpPost(leaving)(call, abort.signal)).rejects.toThrow("would connect");
    expect(lookup.asked()).toBe(1);
    await expect(httpPost(lookup)(call, signal)).rejects.toThrow("is at 127.0.0.1");
    expect(receiver.received).toEqual([]);
  });

  it("may be any address of a host that its topic allows", async () => {
    await using receiver = await startReceiver((_, response) => response.end());
    const lookup = resolver(["127.0.0.1"]);
    const call = callTo(`http://hooks.internal:${receiver.port}/`, { allowHosts: ["hooks.internal"] });
    expect(await httpPost(lookup)(call, signal)).toMatchObject({ status: 200 });
    expect(lookup.asked()).toBe(1);
    expect(receiver.received).toHaveLength(1);
  });
});
