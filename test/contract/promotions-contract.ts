import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Promotions } from "../../src/protocol/ports.ts";

export type OpenPromotions = {
  readonly promotions: Promotions;
  /** ms since the epoch. */
  now(): number;
  /** When a schedule fires, ms since the epoch. */
  filed(id: string): Promise<number | undefined>;
  close(): Promise<void>;
};

const DAY = 86_400_000;
const ID = "01KBJYF8DN0008000000000000";

export function promotionsContract(name: string, open: () => Promise<OpenPromotions>): void {
  describe(`the promotions ${name}`, () => {
    let opened: OpenPromotions;
    let inTenDays: number;
    beforeAll(async () => {
      opened = await open();
      inTenDays = Math.floor(opened.now() / 1000) * 1000 + 10 * DAY;
    });
    afterAll(() => opened?.close());

    it("a schedule fires at its time, rounded down to a second", async () => {
      await opened.promotions.put(ID, inTenDays + 999);
      expect(await opened.filed(ID)).toBe(inTenDays);
    });

    it("a second put replaces the time of a schedule", async () => {
      await opened.promotions.put(ID, inTenDays);
      await opened.promotions.put(ID, inTenDays + DAY);
      await opened.promotions.put(ID, inTenDays + DAY);
      expect(await opened.filed(ID)).toBe(inTenDays + DAY);
    });

    it("a removed schedule does not exist, and may be removed again", async () => {
      await opened.promotions.put(ID, inTenDays);
      await opened.promotions.remove(ID);
      expect(await opened.filed(ID)).toBeUndefined();
      await opened.promotions.remove(ID);
    });

    it("a removed schedule may be created again", async () => {
      await opened.promotions.put(ID, inTenDays);
      await opened.promotions.remove(ID);
      await opened.promotions.put(ID, inTenDays + DAY);
      expect(await opened.filed(ID)).toBe(inTenDays + DAY);
    });
  });
}
