/** An error that the user can act on. Its message has one line. The program prints the stack trace only with `--debug`. */
export class CliError extends Error {
  override readonly name: string = "CliError";
  /** The program prints these below the message, a line for each. */
  readonly reasons: readonly string[];

  constructor(message: string, reasons: readonly string[] = []) {
    super(message);
    this.reasons = reasons;
  }
}

/** The command line is wrong. The program ends with exit code 2. */
export class UsageError extends CliError {
  override readonly name = "UsageError";
}
