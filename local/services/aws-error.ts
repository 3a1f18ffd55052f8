/** An error that a service sends to its caller, such as `ConflictException` with status 409. */
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
