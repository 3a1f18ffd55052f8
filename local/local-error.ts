/** A failure that the user can fix. Without `--debug` only its message is printed, so the message is one line, except for a list of errors. */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Answers the code of a Node error, such as `EADDRINUSE`, else the error's name, such as `ThrottlingException`. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
