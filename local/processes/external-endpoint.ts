import { errorText, LocalError } from "../local-error.ts";

const ANSWER_MS = 5_000;

/** Throws `LocalError` if the variable is not a URL or if the service does not answer within 5 s. */
export async function externalEndpoint(variable: string): Promise<string | undefined> {
  const url = process.env[variable];
  if (!url) return undefined;
  const rule = `${variable} must be the URL of a service that answers, got "${url}"`;
  if (!URL.canParse(url)) throw new LocalError(rule);
  const { origin, pathname } = new URL(url);
  try {
    // Any answer, even an error, shows that the service runs.
    const answered = await fetch(origin, { signal: AbortSignal.timeout(ANSWER_MS), redirect: "manual" });
    await answered.body?.cancel();
  } catch (error) {
    const cause = error instanceof Error && error.cause ? error.cause : error;
    throw new LocalError(`${rule}: ${errorText(cause)}`);
  }
  // The services of another runner have their key in the path.
  return `${origin}${pathname}`.replace(/\/+$/, "");
}
