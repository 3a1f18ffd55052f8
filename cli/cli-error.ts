/** Something the user can act on. The message is one line and is all that is printed. */
export class CliError extends Error {
  override readonly name: string = "CliError";
}

/** What was typed cannot be done by anybody; the program ends with 2. */
export class UsageError extends CliError {
  override readonly name = "UsageError";
}
