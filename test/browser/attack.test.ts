import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ASK } from "../../console/about.ts";
import { readPageFiles } from "../../console/page-files.ts";
import { consolePages } from "../../console/pages.ts";
import { openProxy } from "../../console/proxy.ts";
import { freePort } from "../../local/processes/free-port.ts";
import { PATIENCE_MS } from "../patience.ts";
import { CHROMIUM } from "./chromium.ts";
import { stackUrl } from "./stack-url.ts";

const KEY = "a-key-of-this-test";

/** Shows what it could take: the address with its key. */
const TAKES = "document.title = 'taken ' + location.hash;";
const PAGE = `<!doctype html><title>evil</title><script>
  ${TAKES}
  navigator.serviceWorker.register("/worker.js", { scope: "/" });
</script>`;
const WORKER_PAGE = `<!doctype html><script>${TAKES}</script>`;
/** Answers each later request of its origin, also after its server has ended. */
const WORKER = `
  const page = ${JSON.stringify(WORKER_PAGE)};
  addEventListener("install", () => skipWaiting());
  addEventListener("activate", (event) => event.waitUntil(clients.claim()));
  addEventListener("fetch", (event) => event.respondWith(
    new Response(page, { headers: { "content-type": "text/html" } })));`;

/** Another user's server, or a server that the user ran for other work. */
const evil: RequestListener = ({ url }, response) => {
  const [type, text] = url === "/worker.js" ? ["text/javascript", WORKER] : ["text/html", PAGE];
  response.writeHead(200, { "content-type": type, "cache-control": "max-age=31536000, immutable" }).end(text);
};

let port: number;
let context: BrowserContext;
const pages = new Map<string, Page>();
const ORIGINS = ["127.0.0.1", "localhost", "minutehand.localhost"];

beforeAll(async () => {
  port = await freePort();
  // Debian's Chromium has no sandbox for root, and the test opens only pages of its own.
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  const servers = await Promise.all(["127.0.0.1", "::1"].map((host) => serveEvil(host)));
  for (const host of ORIGINS) {
    const page = await context.newPage();
    await page.goto(`http://${host}:${port}/console`);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
    pages.set(host, page);
  }
  for (const server of servers) {
    server?.close();
    server?.closeAllConnections();
  }
});
afterAll(async () => {
  await context?.browser()?.close();
});

async function serveEvil(host: string): Promise<Server | undefined> {
  const server = createServer(evil).listen(port, host);
  try {
    await once(server, "listening");
    return server;
  } catch {
    // This machine has no IPv6.
    return undefined;
  }
}

async function serveConsole() {
  const url = stackUrl;
  return openProxy({
    pages: consolePages(await readPageFiles(), ASK),
    about: { queue: "Shop", url, auth: "none", hasLive: false },
    url,
    authorize: async ({ headers }) => headers,
    key: KEY,
    host: "minutehand-of-this-run.localhost",
    port,
  });
}

/** What the pages of the other servers get when they ask the console with its key. */
async function answersToOthers(base: string): Promise<Set<string>> {
  const ask = (page: Page) =>
    page.evaluate(
      ([to = "", key = ""]) =>
        Promise.all(
          ["/console", "/console/about", "/topics"].map(async (path) => {
            const answered = await fetch(to + path, { headers: { "x-minutehand-key": key } });
            return answered.text();
          }),
        ),
      [base, KEY],
    );
  return new Set((await Promise.all([...pages.values()].map(ask))).flat());
}

test("no page that another server has left in the browser gets the console's key", async () => {
  const { address, stop } = await serveConsole();
  // The attack works: whoever opens such an address gets the other server's page, which sees all of the address.
  for (const name of ORIGINS) {
    const page = await context.newPage();
    await page.goto(`http://${name}:${port}/console#key=bait`);
    expect(await page.title()).toBe("taken #key=bait");
    await page.close();
  }

  const page = await context.newPage();
  const workers: string[] = [];
  page.on("response", (response) => {
    if (response.fromServiceWorker()) workers.push(response.url());
  });
  await page.goto(`${address}/console#key=${KEY}`);
  expect(await page.title()).not.toContain("taken");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await expect.poll(() => page.title()).toBe("Overview · Shop · Minutehand");
  expect(page.url()).toBe(`${address}/console`);
  const left = await page.evaluate(async () => ({
    worker: navigator.serviceWorker.controller,
    caches: await caches.keys(),
    isSecure: isSecureContext,
  }));
  expect({ ...left, workers }).toEqual({ worker: null, caches: [], isSecure: true, workers: [] });

  // A page that is still open gets only what its own worker answers.
  expect(await answersToOthers(address)).toEqual(new Set([WORKER_PAGE]));
  await stop();
});
