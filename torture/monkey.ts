import { setTimeout as sleep } from "node:timers/promises";
import { startMinuteClock } from "../local/minute-clock.ts";
import type { PlannedFault, Service, TickPlan, Victim } from "./fault-plan.ts";
import { type Fault, record } from "./ledger.ts";
import { type ProcessInfo, readProcess, signal } from "./process-tree.ts";
import { CALM, type Weather } from "./proxy.ts";
import type { Pullers } from "./pullers.ts";
import { FUNCTIONS, processesOf } from "./roles.ts";
import type { HurtStack, Proxies } from "./stack.ts";

const STORMS: Readonly<Record<"lose answers" | "swallow" | "delay", Weather>> = {
  "lose answers": { ...CALM, cutAnswers: 0.2 },
  swallow: { ...CALM, swallow: 0.05, cutRequests: 0.1 },
  delay: { ...CALM, delay: 400 },
};

/** A fault that finds no process, because the stack is starting, is tried again after this many ms. */
const RETRY_MS = 500;

type Target = { stack: HurtStack; pullers: Pullers; proxies: Proxies; ledger: string };

export type Monkey = {
  /** Ends all faults: from now on each process runs, and a tick comes once a minute. Resolves when the stack is up. */
  readonly calm: () => Promise<void>;
  readonly stop: () => void;
};

/** Injects the planned faults into the stack, and fires its ticks. `onLost` is called if the stack does not start again. */
export function startMonkey(
  { stack, pullers, proxies, ledger }: Target,
  faults: readonly PlannedFault[],
  ticks: Iterator<TickPlan>,
  onLost: (error: unknown) => void,
): Monkey {
  const began = Date.now();
  const frozen = new Set<ProcessInfo>();
  const storms = new Map<Service, number>();
  let restarting: Promise<void> | undefined;
  let calm = false;

  const recordFault = (fault: string, details: Pick<Fault, "pid" | "ms"> = {}) =>
    record(ledger, { event: "fault", fault, ...details, at: Date.now() });

  function victims(victim: Victim): ProcessInfo[] {
    if (victim === "puller") return pullers.pids().flatMap((pid) => readProcess(pid) ?? []);
    const pid = stack.pid();
    if (pid === undefined) return [];
    if (victim === "stack") return [pid].flatMap((one) => readProcess(one) ?? []);
    return processesOf(pid, victim === "function" ? FUNCTIONS : [victim]);
  }

  function hurtProcess(fault: "kill" | "freeze", victim: Victim, which: number, ms: number): void {
    if (calm) return;
    const all = victims(victim);
    const found = all[Math.floor(which * all.length)];
    if (!found) setTimeout(hurtProcess, RETRY_MS, fault, victim, which, ms);
    else if (fault === "freeze") freeze(victim, found, ms);
    else if (victim === "stack") killStack(ms);
    else if (signal(found, "SIGKILL")) recordFault(`kill ${victim}`, { pid: found.pid });
  }

  function freeze(victim: Victim, process: ProcessInfo, ms: number): void {
    if (!signal(process, "SIGSTOP")) return;
    frozen.add(process);
    recordFault(`freeze ${victim}`, { pid: process.pid, ms });
    setTimeout(thaw, ms, process);
  }

  function thaw(process: ProcessInfo): void {
    if (frozen.delete(process)) signal(process, "SIGCONT");
  }

  function killStack(downMs: number): void {
    recordFault("kill stack", { ms: downMs });
    restarting = stack.killAndRestart(downMs).then(fireTick);
    restarting.catch(onLost);
  }

  function startStorm(
    fault: Exclude<PlannedFault["fault"], "kill" | "freeze">,
    service: Service,
    ms: number,
  ): void {
    const proxy = proxies[service];
    if (fault === "cut") {
      proxy.cutAll();
      recordFault(`cut ${service}`);
      return;
    }
    const number = (storms.get(service) ?? 0) + 1;
    storms.set(service, number);
    proxy.setWeather(STORMS[fault]);
    recordFault(`${fault} ${service}`, { ms });
    // If a later storm has replaced this storm of the service, the timer of the later storm ends it.
    setTimeout(() => {
      if (storms.get(service) === number) proxy.setWeather(CALM);
    }, ms);
  }

  function fireTick(): void {
    const plan: TickPlan = calm ? { times: 1 } : ticks.next().value;
    if (plan.times === 0) recordFault("skip tick");
    for (let i = 0; i < plan.times; i++) stack.tick();
    if (plan.times === 2) recordFault("double tick");
    if (plan.then) setTimeout(hurtProcess, plan.then.afterMs, plan.then.fault, "tick", 0, plan.then.ms);
  }

  async function doFaults(): Promise<void> {
    for (const planned of faults) {
      await sleep(Math.max(0, began + planned.at - Date.now()));
      if (calm) return;
      if ("victim" in planned) hurtProcess(planned.fault, planned.victim, planned.which, planned.ms);
      else startStorm(planned.fault, planned.service, planned.ms);
    }
  }

  fireTick();
  void doFaults();
  const clock = startMinuteClock(fireTick);
  return {
    calm: async () => {
      calm = true;
      for (const process of frozen) thaw(process);
      for (const proxy of Object.values(proxies)) proxy.setWeather(CALM);
      await restarting;
    },
    stop: () => clock.stop(),
  };
}
