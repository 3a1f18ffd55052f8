/** Something the user can act on. The message is one line and is all that is printed. */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

/** The text of anything thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code that Node and the AWS SDK give their errors, such as `EADDRINUSE`. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
