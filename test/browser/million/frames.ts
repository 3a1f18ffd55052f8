import type { Page } from "playwright-core";

export type Frames = {
  /** The time between two frames, ms: the 50th and the 99th of 100, and the longest. */
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly count: number;
};

type Watched = { times: number[]; isOn: boolean };

/** Answers the times between the frames that the page draws while `act` runs. */
export async function framesOf(page: Page, act: () => Promise<void>): Promise<Frames> {
  await page.evaluate(() => {
    const watched: Watched = { times: [], isOn: true };
    (globalThis as { watched?: Watched }).watched = watched;
    const note = (time: number) => {
      watched.times.push(time);
      if (watched.isOn) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  await act();
  const times = await page.evaluate(() => {
    const { watched } = globalThis as unknown as { watched: Watched };
    watched.isOn = false;
    return watched.times;
  });
  const gaps = times
    .slice(1)
    .map((time, index) => time - (times[index] ?? time))
    .sort((a, b) => a - b);
  const at = (share: number) => gaps[Math.min(Math.floor(gaps.length * share), gaps.length - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), longest: at(1), count: gaps.length };
}
