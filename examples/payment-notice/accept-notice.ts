import { Webhook } from "standardwebhooks";

/**
 * What the merchant does with a call: only one that is signed with its own secret, and recently, is believed. Answers the
 * HTTP status, and throws what `book` throws. `webhook-id` is the same in each repeat of a notice, so that it is booked once.
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
