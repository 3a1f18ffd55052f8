/** The source of a script that sets the clock of a page `ms` ahead. */
export const clockOff = (ms: number) => `{
  const now = Date.now;
  Date.now = () => now() + ${ms};
}`;
