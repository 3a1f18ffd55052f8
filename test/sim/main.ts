import { simulate } from "./simulate.ts";

const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 50),
  traced = process.argv[4] === "trace";
const t0 = Date.now();
const viol = new Map<string, number[]>();
let runs = 0,
  jobs = 0,
  callsN = 0,
  faults = 0;
for (let seed = from; seed < from + n; seed++) {
  const t1 = Date.now();
  const h = await simulate(seed, { traced });
  runs += h.runs;
  jobs += h.jobs;
  faults += h.faults.size;
  for (const c of h.calls.values()) callsN += c;
  if (traced) for (const l of h.trace) console.log(l.slice(0, 700));
  if (h.violation) {
    const k = h.violation.promise;
    viol.set(k, [...(viol.get(k) ?? []), seed]);
    if ((viol.get(k)?.length ?? 0) <= 3)
      console.log(seed, h.weather, h.violation.promise, h.violation.id, h.violation.text.slice(0, 500));
  }
  if (process.env.V)
    console.log(
      seed,
      h.weather,
      h.jobs,
      h.runs,
      h.ticks,
      h.faults.size,
      [...h.calls.values()].reduce((a, b) => a + b, 0),
      Date.now() - t1,
      h.digest,
    );
}
console.log({ ms: Date.now() - t0, jobs, runs, callsN, faults });
for (const [k, v] of viol) console.log(k, v.length, v.slice(0, 10).join(" "));
