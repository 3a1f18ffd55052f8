import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { refusalOfWebPage } from "../local/web-page.ts";
import { ABOUT_ID, type About, ACTIONS_PATH, ASK, CONSOLE_PATH, LIVE_PATH } from "./about.ts";
import { ABOUT_PLACE, type PageFiles } from "./build.ts";
import { isUnder, KEYED_PATHS, type OwnAnswers, ownAnswer } from "./own-answers.ts";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/** Only own code, own server, no frame. `trusted-types 'none'`: the browser refuses every text that code would parse as HTML. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * Answers `/console`, the page's files, and what the page asks only of its own server. Sends `/` there. `false`: another request, or one that
 * needs the key, left alone. `ownHost`: the only header `Host` that is taken; without it, the names and addresses of loopback are.
 */
export function consolePages(files: PageFiles, about: About | typeof ASK, own: OwnAnswers = {}) {
  const index = Buffer.from(files.get("index.html") ?? [])
    .toString()
    // A function, because in a text `$&` would stand for the replaced text, and a queue's name may contain it.
    .replace(ABOUT_PLACE, () => aboutElement(about));
  return (request: IncomingMessage, response: ServerResponse, ownHost?: string): boolean => {
    const [path = ""] = (request.url ?? "").split("?");
    if (path !== "/" && path !== CONSOLE_PATH && !path.startsWith(`${CONSOLE_PATH}/`)) return false;
    if (about === ASK && KEYED_PATHS.some((keyed) => isUnder(path, keyed))) return false;
    const name = path.slice(CONSOLE_PATH.length + 1);
    const file = name === "index.html" ? undefined : files.get(name);
    const isOwn = isUnder(path, LIVE_PATH) || KEYED_PATHS.some((keyed) => isUnder(path, keyed));
    const isDocument = file === undefined && !isOwn;
    const refusal = isDocument
      ? refusalOfDocument(request.headers, ownHost)
      : refusalOfWebPage(request.headers, ownHost);
    if (refusal !== undefined) return answer(response, 403, refusal);
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead && !isUnder(path, ACTIONS_PATH)) {
      response.setHeader("allow", "GET, HEAD");
      return answer(response, 405, `the method must be GET or HEAD, got ${request.method}`);
    }
    if (path === "/") {
      response.setHeader("location", CONSOLE_PATH);
      return answer(response, 302, `the console is at ${CONSOLE_PATH}`);
    }
    if (isOwn) return answerOwn(own, path, request, response);
    // The name of a file contains its hash, so a file never changes.
    if (file !== undefined)
      return send(response, 200, name, Buffer.from(file), "max-age=31536000, immutable");
    if (/\.(js|css)$/.test(name)) return answer(response, 404, `there is no file ${JSON.stringify(name)}`);
    return send(response, 200, "index.html", Buffer.from(index), "no-store");
  };
}

function answerOwn(own: OwnAnswers, path: string, request: IncomingMessage, response: ServerResponse): true {
  const found = ownAnswer(own, path);
  if (found === undefined) return answer(response, 404, `this server has nothing at ${path}`);
  found(request, response);
  return true;
}

/**
 * Another web page may have made the request. `undefined`: not refused. A link elsewhere may open a view: that changes nothing, and the
 * other page cannot read the tab.
 */
function refusalOfDocument(headers: IncomingHttpHeaders, ownHost: string | undefined): string | undefined {
  const isLink = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  const { "sec-fetch-site": _, ...others } = headers;
  return refusalOfWebPage(isLink ? others : headers, ownHost);
}

function aboutElement(about: About | typeof ASK): string {
  // In HTML, only `<` could end the element.
  const json = JSON.stringify(about).replaceAll("<", "\\u003c");
  return `<script type="application/json" id="${ABOUT_ID}">${json}</script>`;
}

function answer(response: ServerResponse, status: number, text: string): true {
  return send(response, status, "", Buffer.from(`${text}\n`), "no-store");
}

function send(response: ServerResponse, status: number, name: string, body: Buffer, cache: string): true {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "text/plain; charset=utf-8";
  // The page may be read through a slow tunnel.
  const isPacked = /\bgzip\b/.test(String(response.req.headers["accept-encoding"]));
  const sent = isPacked ? gzipSync(body) : body;
  response.writeHead(status, {
    ...HEADERS,
    "content-type": type,
    ...(isPacked && { "content-encoding": "gzip" }),
    vary: "accept-encoding",
    "content-length": sent.length,
    "cache-control": cache,
  });
  response.end(response.req.method === "HEAD" ? undefined : sent);
  return true;
}
