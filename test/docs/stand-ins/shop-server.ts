/** A server for the guides' receivers, with the part of Express that they use. */
type Request = { readonly body: string; readonly headers: Record<string, string> };
type Response = { sendStatus(status: number): void };
type Handler = (request: Request, response: Response) => Promise<void>;

export const app = { post: (_path: string, _parser: unknown, _handler: Handler): void => {} };
export const express = { text: (options: { type: string }): unknown => options };

export async function isNew(_id: string | undefined): Promise<boolean> {
  return true;
}

export async function book(_body: unknown): Promise<void> {}
