/** The machine's time, ms since the epoch, also after `shiftDate`. */
export const machineNow = Date.now;

let ahead = 0;

/** `ms`: how far this process's `Date` is ahead of the machine's clock. */
export function setAhead(ms: number): void {
  ahead = ms;
}

/** Lets `Date` follow `setAhead`. Call it before other code runs, because that code may keep `Date.now`. Timers still take real time. */
export function shiftDate(): void {
  Reflect.set(globalThis, Symbol.for("minutehand.machine-clock"), machineNow);
  Date.now = () => machineNow() + ahead;
  globalThis.Date = new Proxy(Date, {
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [Date.now()] : given, newTarget),
    apply: () => new Date().toString(),
  });
  Date.prototype.constructor = Date;
  const { timeOrigin } = performance;
  Object.defineProperty(performance, "timeOrigin", { configurable: true, get: () => timeOrigin + ahead });
}
