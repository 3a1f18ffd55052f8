import { MinutehandError } from "../../core/errors.ts";

type JsonSchema = Record<string, unknown>;
type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: JsonSchema;
};
type Operation = {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly "application/json": { readonly schema: JsonSchema } };
  };
};
type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};

/** A call of the API as a tool of the Model Context Protocol. */
export type Tool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object" } & JsonSchema;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
};

/** The argument with the body of the request. The other arguments are parameters. */
const BODY = "request";
/** A program needs no document of an API whose calls are its tools. */
const LEFT_OUT = "openapi";

/** The calls of an OpenAPI document. Without `write` only those that change nothing. */
export function toolsOf(document: object, write: boolean): Tool[] {
  const { paths, components } = document as OpenApi;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method, { operationId }]) => (write || method === "get") && operationId !== LEFT_OUT)
      .map(([method, operation]) => toolOf(method.toUpperCase(), path, operation, components.schemas)),
  );
}

function toolOf(
  method: string,
  path: string,
  { operationId, description, parameters = [], requestBody }: Operation,
  schemas: OpenApi["components"]["schemas"],
): Tool {
  const properties = {
    ...Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    ...(requestBody && { [BODY]: requestBody.content["application/json"].schema }),
  };
  const required = [
    ...parameters.flatMap(({ name, required }) => (required ? [name] : [])),
    ...(requestBody?.required ? [BODY] : []),
  ];
  const inputSchema = {
    ...{ type: "object" as const, properties, required, additionalProperties: false },
    $defs: usedIn(properties, schemas),
  };
  return {
    ...{ name: operationId, description, method, path, parameters },
    inputSchema: JSON.parse(JSON.stringify(inputSchema).replaceAll("#/components/schemas/", "#/$defs/")),
  };
}

/** The schemas that a value refers to, also through others. */
function usedIn(value: object, schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const used: Record<string, JsonSchema> = {};
  const add = (text: string): void => {
    for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      const schema = schemas[name];
      if (schema === undefined || name in used) continue;
      used[name] = schema;
      add(JSON.stringify(schema));
    }
  };
  add(JSON.stringify(value));
  return used;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** What a tool sends for its arguments. `path` still has its parameters in braces. Throws `bad-request` for arguments that it does not have, or needs. */
export function requestOf({ name, inputSchema, parameters }: Tool, given: Arguments) {
  const known = Object.keys(inputSchema.properties as object);
  const unknown = Object.keys(given).find((argument) => !known.includes(argument));
  const missing = (inputSchema.required as string[]).find((argument) => given[argument] === undefined);
  if ((unknown ?? missing) !== undefined) {
    const fault = unknown === undefined ? `needs ${missing}` : `has no argument ${unknown}`;
    throw new MinutehandError("bad-request", `${name} ${fault}; its arguments are ${known.join(", ")}`);
  }
  const of = (place: Parameter["in"]) =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === place && given[parameter.name] !== undefined)
        .map((parameter) => [parameter.name, String(given[parameter.name])]),
    );
  const body = given[BODY];
  if (body !== undefined && (typeof body !== "object" || body === null))
    throw new MinutehandError("bad-request", `${name} needs an object as ${BODY}`);
  return { params: of("path"), query: of("query"), headers: of("header"), ...(body && { body }) };
}
