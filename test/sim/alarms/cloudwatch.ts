const MINUTE = 60_000;
/** When datapoints are missing, an alarm looks this many periods further back than its evaluation periods. */
const LOOKED_BACK = 2;

export type MetricName = { namespace: string; name: string; of: string };

/** An alarm as a template declares it. `period`: s. `fill`: what its expression puts in place of a missing value. */
export type AlarmSpec = {
  id: string;
  metric: MetricName;
  statistic: "Sum" | "Maximum";
  period: number;
  evaluationPeriods: number;
  datapointsToAlarm: number;
  threshold: number;
  isBelow: boolean;
  missing: "breaching" | "notBreaching";
  fill?: number;
  tellsEnd: boolean;
};

/** The time in which an alarm was in the state ALARM. `until`: absent while it still is. */
export type Ring = { from: number; until?: number };

type Values = Map<number, number[]>;

/** CloudWatch's metrics and alarms, after "Evaluating an alarm" and "Configuring how alarms treat missing data" in its user guide. */
export function cloudWatch(alarms: readonly AlarmSpec[]) {
  const metrics = new Map<string, Values>();
  const rings = new Map<string, Ring[]>();

  const isBreached = (alarm: AlarmSpec, now: number): boolean => {
    const { period, evaluationPeriods, threshold, isBelow, missing, fill, datapointsToAlarm } = alarm;
    const end = now - (now % MINUTE);
    const range = Array.from(
      { length: evaluationPeriods + LOOKED_BACK },
      (_, i) => datapoint(alarm, metrics.get(nameOf(alarm.metric)), end - i * period * 1000) ?? fill,
    );
    const breaches = (value: number): boolean => (isBelow ? value < threshold : value >= threshold);
    const real = range.filter((value) => value !== undefined).slice(0, evaluationPeriods);
    const breaching = real.filter(breaches).length;
    // Real datapoints count first, also those older than the evaluation periods. Only then are missing ones filled in.
    const filled = evaluationPeriods - real.length;
    return breaching + (missing === "breaching" ? filled : 0) >= datapointsToAlarm;
  };

  return {
    put(metric: MetricName, value: number, time: number): void {
      const minutes = metrics.get(nameOf(metric)) ?? new Map();
      metrics.set(nameOf(metric), minutes);
      const minute = time - (time % MINUTE);
      minutes.set(minute, [...(minutes.get(minute) ?? []), value]);
    },
    evaluate(now: number): void {
      for (const alarm of alarms) {
        const known = rings.get(alarm.id) ?? [];
        const last = known.at(-1);
        const wasRinging = last !== undefined && last.until === undefined;
        const isRinging = isBreached(alarm, now);
        if (wasRinging && !isRinging) last.until = now;
        if (isRinging && !wasRinging) rings.set(alarm.id, [...known, { from: now }]);
      }
    },
    rings: (): ReadonlyMap<string, readonly Ring[]> => rings,
  };
}

function datapoint(
  { statistic, period }: AlarmSpec,
  reported: Values | undefined,
  end: number,
): number | undefined {
  const values: number[] = [];
  for (let minute = end - period * 1000; minute < end; minute += MINUTE)
    values.push(...(reported?.get(minute) ?? []));
  if (values.length === 0) return undefined;
  return statistic === "Sum" ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
}

function nameOf({ namespace, name, of }: MetricName): string {
  return `${namespace} ${name} ${of}`;
}
