/**
 * How far another clock is ahead of this one, ms: 0 if both can show the same time. `answered`: what the other one showed at some time between
 * `sent` and `received`, which are times of this one. All are ms since the epoch.
 */
export function clockOff(answered: number, sent: number, received: number): number {
  return Math.min(answered - sent, 0) + Math.max(answered - received, 0);
}
