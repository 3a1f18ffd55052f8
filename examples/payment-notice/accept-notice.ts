import { Webhook } from "standardwebhooks";

/**
 * Verifies a call and books its payment. Accepts only a call that was signed recently with the merchant's own secret. Answers the HTTP
 * status, and throws what `book` throws. Each retry of a notice has the same `webhook-id`, so `book` can book a notice once.
 */
export function acceptNotice(
  { headers, body }: { headers: Readonly<Record<string, string>>; body: string },
  secret: string,
  book: (noticeId: string, payment: unknown) => void,
): 204 | 401 {
  let payment: unknown;
  try {
    payment = new Webhook(secret).verify(body, { ...headers });
  } catch {
    return 401;
  }
  book(headers["webhook-id"] ?? "", payment);
  return 204;
}
