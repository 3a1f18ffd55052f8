import { health, openapi } from "../answers/about.ts";
import { openapiDocument } from "../openapi.ts";
import { type Route, route } from "../route.ts";

export const healthRoute = route({
  method: "GET",
  path: "/health",
  operationId: "health",
  summary: "Shows that the API is reachable. Calls neither DynamoDB nor SQS.",
  answers: { 200: health },
  problems: [],
  async handle({ service }) {
    return { status: 200, body: { status: "ok", version: await service.version() } };
  },
});

/** The list of all routes includes this one, so `all` is a function. */
export function openapiRoute(all: () => readonly Route[]): Route {
  return route({
    method: "GET",
    path: "/openapi.json",
    operationId: "openapi",
    summary: "Answers the OpenAPI document of the API.",
    answers: { 200: openapi },
    problems: [],
    async handle({ service }) {
      return { status: 200, body: openapiDocument(all(), await service.version()) };
    },
  });
}
