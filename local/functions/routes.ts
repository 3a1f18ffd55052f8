/** Its key is `POST /topics/{topic}/receive`, `ANY /{proxy+}` or `$default`, for example. */
export type Route<T> = {
  readonly key: string;
  readonly method: string;
  readonly segments: string[];
  readonly target: T;
};

export type Match<T> = { readonly route: Route<T>; readonly pathParameters: Record<string, string> };

const DEFAULT_KEY = "$default";

export function parseRoute<T>(key: string, target: T): Route<T> {
  const [method = "", path = ""] = key.split(" ");
  return { key, method, segments: path.split("/").slice(1), target };
}

/**
 * The most specific path that matches, there first a route that names the method, then ANY. `$default` comes last:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
 */
export function matchRoute<T>(
  routes: readonly Route<T>[],
  method: string,
  path: string,
): Match<T> | undefined {
  const segments = path.split("/").slice(1);
  const matches = routes
    .filter((route) => route.key !== DEFAULT_KEY && (route.method === method || route.method === "ANY"))
    .flatMap((route) => {
      const pathParameters = matchSegments(route.segments, segments);
      return pathParameters ? [{ route, pathParameters }] : [];
    });
  matches.sort((a, b) => compare(rank(a.route), rank(b.route)));
  const fallback = routes.find(({ key }) => key === DEFAULT_KEY);
  return matches[0] ?? (fallback && { route: fallback, pathParameters: {} });
}

function matchSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const rest = segments.slice(index);
    const [segment] = rest;
    if (segment === undefined) return undefined;
    if (part.endsWith("+}")) {
      parameters[part.slice(1, -2)] = rest.join("/");
      return rest.join("/") === "" ? undefined : parameters;
    }
    if (part.startsWith("{")) {
      if (segment === "") return undefined;
      parameters[part.slice(1, -1)] = segment;
    } else if (part !== segment) return undefined;
  }
  return pattern.length === segments.length ? parameters : undefined;
}

/** A text by which routes are sorted: for each segment 0 if literal, 1 for a variable, 2 for a greedy variable; then the method. */
function rank({ segments, method }: Route<unknown>): string {
  const kinds = segments.map((part) => (part.endsWith("+}") ? 2 : part.startsWith("{") ? 1 : 0));
  return `${kinds.join("")} ${method === "ANY" ? 1 : 0}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
