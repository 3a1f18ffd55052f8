/** The result of a load: calls a second, and how long each call took, in ms. */
export type Load = { readonly perSecond: number; readonly latencies: readonly number[] };

/** Makes `count` calls with `width` in flight: each answer starts the next call. */
export async function load(
  count: number,
  width: number,
  call: (index: number) => Promise<unknown>,
): Promise<Load> {
  const latencies: number[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      const began = performance.now();
      await call(index);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: width }, lane));
  return { perSecond: (count / (performance.now() - began)) * 1000, latencies };
}
