import { describe, expect, test } from "vitest";
import { routes } from "../../src/http/route-table.ts";
import { createApi } from "../support/api.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { hostileRequests } from "./hostile-requests.ts";

describe("no hostile request makes the API answer 500 or more:", () => {
  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    async (_, route) => {
      const { app, logged } = createApi();
      for (const { path, text, headers = {} } of hostileRequests(route)) {
        const body = text === undefined || route.method === "GET" ? {} : { body: text };
        const init = { method: route.method, headers, ...body };
        const response = await fetchApp(app, new Request(`https://api${path}`, init));
        const { status } = response;
        expect({ path, text: text?.slice(0, 200), status }).toSatisfy(({ status }) => status < 500);
      }
      expect(
        logged.filter((line) => !line.startsWith("a call changed a topic, a schedule or many jobs: ")),
      ).toEqual([]);
    },
  );
});
