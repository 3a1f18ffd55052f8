import { setTimeout as sleep } from "node:timers/promises";
import { startMinuteClock } from "../../local/functions/minute-clock.ts";
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

/** A monkey at work. `storms`: how many storms each service has had. */
type Raid = Target & {
  readonly ticks: Iterator<TickPlan>;
  readonly onLost: (error: unknown) => void;
  readonly frozen: Set<ProcessInfo>;
  readonly storms: Map<Service, number>;
  restarting: Promise<void> | undefined;
  calm: boolean;
};

/** Injects the planned faults into the stack, and fires its ticks. `onLost` is called if the stack does not start again. */
export function startMonkey(
  target: Target,
  faults: readonly PlannedFault[],
  ticks: Iterator<TickPlan>,
  onLost: (error: unknown) => void,
): Monkey {
  const [frozen, storms] = [new Set<ProcessInfo>(), new Map<Service, number>()];
  const raid: Raid = { ...target, ticks, onLost, frozen, storms, restarting: undefined, calm: false };
  fireTick(raid);
  void injectFaults(raid, faults);
  const clock = startMinuteClock(() => fireTick(raid));
  return { calm: () => calmDown(raid), stop: () => clock.stop() };
}

async function injectFaults(raid: Raid, faults: readonly PlannedFault[]): Promise<void> {
  const began = Date.now();
  for (const planned of faults) {
    await sleep(Math.max(0, began + planned.at - Date.now()));
    if (raid.calm) return;
    if ("victim" in planned) hurtProcess(raid, planned);
    else startStorm(raid, planned.fault, planned.service, planned.ms);
  }
}

async function calmDown(raid: Raid): Promise<void> {
  raid.calm = true;
  for (const process of raid.frozen) thaw(raid, process);
  for (const proxy of Object.values(raid.proxies)) proxy.setWeather(CALM);
  await raid.restarting;
}

function recordFault({ ledger }: Raid, fault: string, details: Pick<Fault, "pid" | "ms"> = {}): void {
  record(ledger, { event: "fault", fault, ...details, at: Date.now() });
}

function fireTick(raid: Raid): void {
  const { stack, ticks } = raid;
  const plan: TickPlan = raid.calm ? { times: 1 } : ticks.next().value;
  if (plan.times === 0) recordFault(raid, "skip tick");
  for (let i = 0; i < plan.times; i++) stack.tick();
  if (plan.times === 2) recordFault(raid, "double tick");
  if (plan.then) setTimeout(hurtProcess, plan.then.afterMs, raid, { ...plan.then, victim: "tick", which: 0 });
}

type Hurt = {
  readonly fault: "kill" | "freeze";
  readonly victim: Victim;
  readonly which: number;
  readonly ms: number;
};

function hurtProcess(raid: Raid, hurt: Hurt): void {
  if (raid.calm) return;
  const { fault, victim, which, ms } = hurt;
  const all = victims(raid, victim);
  const found = all[Math.floor(which * all.length)];
  if (!found) setTimeout(hurtProcess, RETRY_MS, raid, hurt);
  else if (fault === "freeze") freeze(raid, victim, found, ms);
  else if (victim === "stack") killStack(raid, ms);
  else if (signal(found, "SIGKILL")) recordFault(raid, `kill ${victim}`, { pid: found.pid });
}

function victims({ stack, pullers }: Raid, victim: Victim): ProcessInfo[] {
  if (victim === "puller") return pullers.pids().flatMap((pid) => readProcess(pid) ?? []);
  const pid = stack.pid();
  if (pid === undefined) return [];
  if (victim === "stack") return [pid].flatMap((one) => readProcess(one) ?? []);
  return processesOf(pid, victim === "function" ? FUNCTIONS : [victim]);
}

function freeze(raid: Raid, victim: Victim, process: ProcessInfo, ms: number): void {
  if (!signal(process, "SIGSTOP")) return;
  raid.frozen.add(process);
  recordFault(raid, `freeze ${victim}`, { pid: process.pid, ms });
  setTimeout(thaw, ms, raid, process);
}

function thaw({ frozen }: Raid, process: ProcessInfo): void {
  if (frozen.delete(process)) signal(process, "SIGCONT");
}

function killStack(raid: Raid, downMs: number): void {
  recordFault(raid, "kill stack", { ms: downMs });
  raid.restarting = raid.stack.killAndRestart(downMs).then(() => fireTick(raid));
  raid.restarting.catch(raid.onLost);
}

function startStorm(
  raid: Raid,
  fault: Exclude<PlannedFault["fault"], "kill" | "freeze">,
  service: Service,
  ms: number,
): void {
  const { proxies, storms } = raid;
  const proxy = proxies[service];
  if (fault === "cut") {
    proxy.cutAll();
    recordFault(raid, `cut ${service}`);
    return;
  }
  const number = (storms.get(service) ?? 0) + 1;
  storms.set(service, number);
  proxy.setWeather(STORMS[fault]);
  recordFault(raid, `${fault} ${service}`, { ms });
  // If a later storm has replaced this storm of the service, the timer of the later storm ends it.
  setTimeout(() => {
    if (storms.get(service) === number) proxy.setWeather(CALM);
  }, ms);
}
