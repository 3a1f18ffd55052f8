import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CALM, type FaultyProxy, startProxy } from "../../tools/torture/proxy.ts";
import { PATIENCE_MS } from "../patience.ts";

describe("the proxy", () => {
  let server: Server;
  let proxy: FaultyProxy;
  const served: string[] = [];
  /** The random number that the proxy draws. 0 is less than each share of faults above 0, so these faults happen. */
  let drawn = 0;

  beforeEach(async () => {
    served.length = 0;
    drawn = 0;
    server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      served.push(body.length > 100 ? String(body.length) : body);
      response.end(`heard ${body.length}`);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    proxy = await startProxy(() => drawn);
    proxy.setTarget(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  afterEach(async () => {
    await proxy.close();
    server.closeAllConnections();
    server.close();
  });

  const post = async (body: string, ms = PATIENCE_MS) => {
    const answer = await fetch(proxy.url, { method: "POST", body, signal: AbortSignal.timeout(ms) });
    return answer.text();
  };

  it("passes requests and answers on, large ones whole", async () => {
    expect(await post("hello")).toBe("heard 5");
    expect(await post("x".repeat(3_000_000))).toBe("heard 3000000");
  });

  it("cuts instead of a request: the service does not get the request", async () => {
    proxy.setWeather({ ...CALM, cutRequests: 0.1 });
    await expect(post("lost")).rejects.toThrow("fetch failed");
    expect(served).toEqual([]);
  });

  it("cuts instead of an answer: the service has served the request", async () => {
    proxy.setWeather({ ...CALM, cutAnswers: 0.1 });
    await expect(post("done")).rejects.toThrow("fetch failed");
    expect(served).toEqual(["done"]);
  });

  it("swallows a request: no answer comes, and the connection stays open", async () => {
    proxy.setWeather({ ...CALM, swallow: 0.1 });
    await expect(post("into the void", 300)).rejects.toThrow("timeout");
    expect(served).toEqual([]);
  });

  it("delays each chunk", async () => {
    drawn = 0.5;
    proxy.setWeather({ ...CALM, delay: 200 });
    const began = performance.now();
    expect(await post("slow")).toBe("heard 4");
    // The request is delayed once, and the answer once. Timers may fire a little early.
    expect(performance.now() - began).toBeGreaterThan(190);
  });

  it("cuts all open connections, and serves the next one", async () => {
    proxy.setWeather({ ...CALM, swallow: 0.1 });
    const waiting = expect(post("cut")).rejects.toThrow("fetch failed");
    await expect.poll(() => proxy.connections()).toBe(1);
    expect(proxy.cutAll()).toBe(1);
    await waiting;
    proxy.setWeather(CALM);
    expect(await post("again")).toBe("heard 5");
  });

  it("refuses while there is no target, and keeps its address when the target moves", async () => {
    proxy.setTarget(undefined);
    await expect(post("nowhere")).rejects.toThrow("fetch failed");
    proxy.setTarget(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(await post("back")).toBe("heard 4");
  });
});
