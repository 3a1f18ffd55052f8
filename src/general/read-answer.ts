/** No answer of the API is longer: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
export const MAX_ANSWER_BYTES = 10 * 1024 * 1024;

/**
 * Reads the body of an answer as `fetch` decompresses it. A short answer may decompress to any length, so the rest of a body with more than
 * `most` bytes is never read.
 */
export async function readAnswer(
  { body }: Pick<Response, "body">,
  most = MAX_ANSWER_BYTES,
): Promise<Uint8Array<ArrayBuffer> | "too-large"> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the body, which ends the connection.
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > most) return "too-large";
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
