/** A bank, as the guides' handlers call one. */
export type Refund = { readonly id: string; readonly state: "pending" | "settled" | "unknown" };

export const bank = {
  refund: async (id: string, _options: { signal: AbortSignal }): Promise<Refund> => ({
    id,
    state: "settled",
  }),
};

export async function book(_refund: Refund): Promise<void> {}
