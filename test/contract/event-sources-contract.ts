import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EventSources } from "../../protocol/ports.ts";

export type OpenEventSources = {
  /** Knows the topics `mail` and `orders`, both polled at first, and no other. */
  readonly sources: EventSources;
  /** Whether Lambda polls a topic's queue, once its last change is through. */
  polls(topic: string): Promise<boolean>;
  close(): Promise<void>;
};

/** What every implementation of `EventSources` does. */
export function eventSourcesContract(name: string, open: () => Promise<OpenEventSources>): void {
  describe(`the event sources ${name}`, () => {
    let opened: OpenEventSources;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.close());

    it("keep Lambda from a queue and let it back, one topic's and no other's", async () => {
      await opened.sources.enable("mail", false);
      expect([await opened.polls("mail"), await opened.polls("orders")]).toEqual([false, true]);
      await opened.sources.enable("mail", true);
      expect(await opened.polls("mail")).toBe(true);
    });

    it("may be told the same again", async () => {
      for (const enabled of [false, false, true, true]) {
        await opened.sources.enable("orders", enabled);
        expect(await opened.polls("orders")).toBe(enabled);
      }
    });

    it("pass over a topic that Lambda does not poll", async () => {
      await opened.sources.enable("work", false);
      await opened.sources.enable("constructor", false);
    });
  });
}
