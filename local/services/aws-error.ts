/** An error that a service sends to its caller, such as `ConflictException` with status 409. */
export class AwsError extends Error {
  override readonly name = "AwsError";
  readonly code: string;
  readonly status: number;
  /** Members of the answer beside code and message. */
  readonly members: object;

  constructor(code: string, status: number, message: string, members: object = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.members = members;
  }
}
