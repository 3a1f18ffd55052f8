import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EventSources } from "../../src/protocol/ports.ts";

export type OpenEventSources = {
  /** Knows the topics `mail` and `orders`, both polled at first, and no other. */
  readonly sources: EventSources;
  /** Whether Lambda polls a topic's queue, after the last change has taken effect. */
  polls(topic: string): Promise<boolean>;
  close(): Promise<void>;
};

export function eventSourcesContract(name: string, open: () => Promise<OpenEventSources>): void {
  describe(`the event sources ${name}`, () => {
    let opened: OpenEventSources;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.close());

    it("stop and start the polling of one topic's queue, and of no other", async () => {
      await opened.sources.enable("mail", false);
      expect([await opened.polls("mail"), await opened.polls("orders")]).toEqual([false, true]);
      await opened.sources.enable("mail", true);
      expect(await opened.polls("mail")).toBe(true);
    });

    it("accept the same change again", async () => {
      for (const enabled of [false, false, true, true]) {
        await opened.sources.enable("orders", enabled);
        expect(await opened.polls("orders")).toBe(enabled);
      }
    });

    it("ignore a topic that Lambda does not poll", async () => {
      await opened.sources.enable("work", false);
      await opened.sources.enable("constructor", false);
    });
  });
}
