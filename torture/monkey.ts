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

const NOBODY_MS = 500;

type Target = { stack: HurtStack; pullers: Pullers; proxies: Proxies; ledger: string };

export type Monkey = {
  /** Lets everything run again, and ticks come once a minute, from now on. Resolves when the stack is up. */
  readonly calm: () => Promise<void>;
  readonly stop: () => void;
};

/** Does to the stack what is planned, and fires its ticks. `onLost`: the stack did not come up again. */
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

  const note = (fault: string, details: Pick<Fault, "pid" | "ms"> = {}) =>
    record(ledger, { event: "fault", fault, ...details, at: Date.now() });

  function victims(victim: Victim): ProcessInfo[] {
    if (victim === "puller") return pullers.pids().flatMap((pid) => readProcess(pid) ?? []);
    const pid = stack.pid();
    if (pid === undefined) return [];
    if (victim === "stack") return [pid].flatMap((one) => readProcess(one) ?? []);
    return processesOf(pid, victim === "function" ? FUNCTIONS : [victim]);
  }

  function hurt(fault: "kill" | "freeze", victim: Victim, which: number, ms: number): void {
    if (calm) return;
    const all = victims(victim);
    const found = all[Math.floor(which * all.length)];
    // The stack is being started again: what was planned is done when there is somebody to do it to.
    if (!found) setTimeout(hurt, NOBODY_MS, fault, victim, which, ms);
    else if (fault === "freeze") freeze(victim, found, ms);
    else if (victim === "stack") killStack(ms);
    else if (signal(found, "SIGKILL")) note(`kill ${victim}`, { pid: found.pid });
  }

  function freeze(victim: Victim, process: ProcessInfo, ms: number): void {
    if (!signal(process, "SIGSTOP")) return;
    frozen.add(process);
    note(`freeze ${victim}`, { pid: process.pid, ms });
    setTimeout(thaw, ms, process);
  }

  function thaw(process: ProcessInfo): void {
    if (frozen.delete(process)) signal(process, "SIGCONT");
  }

  function killStack(downMs: number): void {
    note("kill stack", { ms: downMs });
    restarting = stack.killAndRestart(downMs).then(fire);
    restarting.catch(onLost);
  }

  function storm(
    fault: Exclude<PlannedFault["fault"], "kill" | "freeze">,
    service: Service,
    ms: number,
  ): void {
    const proxy = proxies[service];
    if (fault === "cut") {
      proxy.cutAll();
      note(`cut ${service}`);
      return;
    }
    const number = (storms.get(service) ?? 0) + 1;
    storms.set(service, number);
    proxy.setWeather(STORMS[fault]);
    note(`${fault} ${service}`, { ms });
    // A later storm takes this one's place.
    setTimeout(() => {
      if (storms.get(service) === number) proxy.setWeather(CALM);
    }, ms);
  }

  function fire(): void {
    const plan: TickPlan = calm ? { times: 1 } : ticks.next().value;
    if (plan.times === 0) note("skip tick");
    for (let i = 0; i < plan.times; i++) stack.tick();
    if (plan.times === 2) note("double tick");
    if (plan.then) setTimeout(hurt, plan.then.afterMs, plan.then.fault, "tick", 0, plan.then.ms);
  }

  async function carryOut(): Promise<void> {
    for (const planned of faults) {
      await sleep(Math.max(0, began + planned.at - Date.now()));
      if (calm) return;
      if ("victim" in planned) hurt(planned.fault, planned.victim, planned.which, planned.ms);
      else storm(planned.fault, planned.service, planned.ms);
    }
  }

  fire();
  void carryOut();
  const clock = startMinuteClock(fire);
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
