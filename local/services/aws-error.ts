/** An error as an AWS service answers it: `ConflictException` with status 409. The message reaches the caller. */
export class AwsError extends Error {
  override readonly name = "AwsError";
  readonly code: string;
  readonly status: number;

  constructor(code: string, status: number, message: string) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
