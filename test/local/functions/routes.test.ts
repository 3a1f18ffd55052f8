import { expect, test } from "vitest";
import { matchRoute, parseRoute } from "../../../local/functions/routes.ts";

const KEYS = [
  "ANY /{proxy+}",
  "POST /topics/{topic}/receive",
  "ANY /topics/{topic}/receive",
  "GET /topics/work/receive",
  "GET /topics/{topic}",
  "GET /",
];
const routes = KEYS.map((key) => parseRoute(key, undefined));

test.each([
  [
    "a literal path goes before a variable one",
    "GET",
    "/topics/work/receive",
    "GET /topics/work/receive",
    {},
  ],
  [
    "its own method goes before ANY",
    "POST",
    "/topics/a/receive",
    "POST /topics/{topic}/receive",
    { topic: "a" },
  ],
  ["ANY takes the other methods", "PUT", "/topics/a/receive", "ANY /topics/{topic}/receive", { topic: "a" }],
  ["a variable goes before a greedy one", "GET", "/topics/a", "GET /topics/{topic}", { topic: "a" }],
  ["a greedy one takes all the rest", "GET", "/a/b/c", "ANY /{proxy+}", { proxy: "a/b/c" }],
  [
    "another method falls through to the greedy one",
    "DELETE",
    "/topics/a",
    "ANY /{proxy+}",
    { proxy: "topics/a" },
  ],
  ["the root is a path of its own", "GET", "/", "GET /", {}],
])("%s", (_, method, path, key, pathParameters) => {
  const match = matchRoute(routes, method, path);
  expect(match?.route.key).toBe(key);
  expect(match?.pathParameters).toEqual(pathParameters);
});

test("a greedy variable is never empty", () => {
  expect(matchRoute(routes, "POST", "/")).toBeUndefined();
});

test("$default comes last", () => {
  const withDefault = [parseRoute("$default", undefined), parseRoute("GET /a", undefined)];
  expect(matchRoute(withDefault, "GET", "/a")?.route.key).toBe("GET /a");
  expect(matchRoute(withDefault, "POST", "/a")?.route.key).toBe("$default");
});
