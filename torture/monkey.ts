import { setTimeout as sleep } from "node:timers/promises";
import { startMinuteClock } from "../local/minute-clock.ts";
import type { PlannedFault, Service, TickPlan, Victim } from "./fault-plan.ts";
import { type Fault, record } from "./ledger.ts";
import { descendants, type ProcessInfo, readProcess, signal } from "./process-tree.ts";
import { CALM, type Weather } from "./proxy.ts";
import type { Pullers } from "./pullers.ts";
import type { HurtStack, Proxies } from "./stack.ts";

/** Named by the functions' names in the template, and by the emulators' programs. */
const PATTERNS: Readonly<Partial<Record<Victim, RegExp>>> = {
  api: /runtime\.ts.*ApiHandler/,
  receive: /runtime\.ts.*ApiReceive/,
  consumer: /runtime\.ts.*Consumer/,
  tick: /runtime\.ts.*Sweeper/,
  function: /runtime\.ts/,
  dynamodb: /dynoxide serve/,
  sqs: /fauxqs\.ts/,
};

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
    const pattern = PATTERNS[victim];
    return descendants(pid).filter(({ command }) => pattern?.test(command));
  }

  function hurt(fault: "kill" | "freeze", victim: Victim, which: number, ms: number): void {
    if (fault === "kill" && victim === "stack") {
      killStack(ms);
      return;
    }
    const all = victims(victim);
    const found = all[Math.floor(which * all.length)];
    if (!found) {
      // The stack is being started again: what was planned is done when there is somebody to do it to.
      setTimeout(() => calm || hurt(fault, victim, which, ms), NOBODY_MS);
      return;
    }
    if (fault === "kill") {
      if (signal(found, "SIGKILL")) note(`kill ${victim}`, { pid: found.pid });
    } else if (signal(found, "SIGSTOP")) {
      frozen.add(found);
      note(`freeze ${victim}`, { pid: found.pid, ms });
      setTimeout(thaw, ms, found);
    }
  }

  function thaw(process: ProcessInfo): void {
    if (frozen.delete(process)) signal(process, "SIGCONT");
  }

  function killStack(downMs: number): void {
    if (stack.pid() === undefined) return;
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
    const { then } = plan;
    if (!then) return;
    setTimeout(() => {
      if (!calm) hurt(then.fault, "tick", 0, then.ms);
    }, then.afterMs);
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
