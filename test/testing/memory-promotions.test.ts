import { memoryPromotions } from "../../src/testing/memory-promotions.ts";
import { promotionsContract } from "../contract/promotions-contract.ts";

promotionsContract("in memory", async () => {
  const now = () => 1_772_357_400_000;
  const promotions = memoryPromotions({ clock: now });
  return { promotions, now, filed: async (id) => promotions.filed.get(id), close: async () => {} };
});
