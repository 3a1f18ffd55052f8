/**
 * Awaits an answer for at most `seconds`. `ask`: asks for the answer, and stops when its signal is aborted. If `signal` is aborted, throws its
 * reason. If the time is over, says so.
 */
export async function answerWithin<T>(
  seconds: number,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(seconds * 1000);
  try {
    return await ask(AbortSignal.any([signal, timeout]));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (timeout.aborted) throw new Error(`no answer within ${seconds} s`, { cause: error });
    throw error;
  }
}
