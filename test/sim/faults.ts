import { type Draws, drawsOf } from "./draws.ts";
import { type Blow, drawBlows } from "./faults/blows.ts";
import { CALL_FAULTS, type CallFault, type Fate, strike, type Try, usualFate } from "./faults/fate.ts";
import { type Lot, lotOf } from "./faults/lot.ts";
import { drawOneFault, ON_TIME, oneFaultOf, ROLES, type Role } from "./faults/one-fault.ts";
import { drawSpells, type Spell, spellsOn, unwrittenIn } from "./faults/spells.ts";
import type { Call } from "./network.ts";
import type { Firings } from "./services/scheduler.ts";

/** `calm`: no fault, so punctuality and cost are judged. `hurt`: a mixture for each seed, because all faults would hide each other. */
export type Weather = "calm" | "one fault" | "hurt";

export type Plan = {
  readonly weather: Weather;
  readonly suppressed: ReadonlySet<string>;
  /** When all faults are over, ms since the epoch. */
  readonly calmFrom: number;
  readonly skew: number;
  readonly shuffled: boolean;
  inFlight(now: number): number;
  readonly pageItems: number;
  readonly spells: readonly Spell[];
  readonly unwritten: number;
  readonly blows: readonly Blow[];
  /** The probability that the answer of a receive by Lambda is lost, or that its delete has no effect. */
  readonly lostReceive: number;
  readonly lateTicks: boolean;
  /** ms after which a tick begins no further page. */
  readonly tickTime: number;
  /** The share of DynamoDB's real capacity that the history has. Infinite: capacity is unlimited. */
  readonly capacity: number;
  readonly badHandlers: boolean;
  /** Whether an attempt can be used up although its job never ran. */
  readonly burns: boolean;
  /** How many ms after its due time a job may start. Infinite in `hurt` weather. */
  latest(id: string): number;
  fateOf(call: Call, draws: Draws, now: number): Fate;
  /** How often EventBridge Scheduler fires an occurrence, and how late. */
  firingsOf(target: string, draws: Draws, now: number): Firings;
};

const MINUTE = 60_000;
/** SQS's own limit for one queue, and the limit of some histories. */
const MOST_IN_FLIGHT = 120_000;
const FEW_IN_FLIGHT = 3;
/** Shares of DynamoDB's capacity that a history may have: 5 to 50 writes a second for one partition. */
const CAPACITIES = [0.005, 0.02, 0.05];
/** The shortest is enough for about one page of each shard, the longest for all the work of a usual minute. ms. */
const TICK_TIMES = [30, 60, 120, 300, 1000];

/** EventBridge Scheduler fires within a minute. */
const PUNCTUAL = MINUTE;
/** In some histories, this share of changes lose their caller while they are on their way, and take effect at most so late. */
const STRAYING = 0.1;
const LATEST_STRAY = 4 * MINUTE;

export function weatherOf(seed: number): Weather {
  if (seed % 10 === 0) return "calm";
  return seed % 10 <= 3 ? "one fault" : "hurt";
}

/** `suppressed`: names of faults that must not happen. `onFault`: called with the name of each that happens. */
// long: the list of what is drawn, in its order
export function planOf(
  seed: number,
  settings: Pick<Lot, "start" | "stretch" | "topics"> & {
    opening?: number | undefined;
    roles: readonly Role[];
    suppressed: ReadonlySet<string>;
    onFault: (key: string, what: string) => void;
  },
): Plan {
  const weather = weatherOf(seed);
  const lot = lotOf(seed, weather, settings);
  const { draws, start, calmFrom, stretch, isHurt, some, happens } = lot;
  const roles = [...ROLES, ...settings.roles];
  const unlimited = Number.POSITIVE_INFINITY;

  const victim = draws.pick(roles);
  const rates = drawRates(lot);
  const spells = drawSpells(lot, some(0.3) ? stretch.spells.long : stretch.spells.short);
  const blows = drawBlows(lot, settings.opening ?? start);
  const skew = some(0.4) ? draws.pick([1000, 5000, 7000]) : 0;
  const [scarce, short] = [drawsOf(seed, "capacity"), drawsOf(seed, "tick's time")];
  const isScarce = isHurt && scarce.chance(0.25) && happens("capacity", "DynamoDB's capacity is scarce");
  const isShort = isHurt && short.chance(0.6) && happens("tick's time", "ticks have little time");
  const one = drawOneFault(draws, roles);
  const oneFault = oneFaultOf(one, lot);
  const manyFaults = manyFaultsOf(lot, { victim, rates, spells });
  const badScheduler = some(0.5);
  const [shuffled, fewInFlight] = [some(0.5), some(0.1)];

  return {
    ...{ weather, suppressed: settings.suppressed, calmFrom, skew, shuffled, spells },
    inFlight: (now) => (fewInFlight && now < calmFrom ? FEW_IN_FLIGHT : MOST_IN_FLIGHT),
    unwritten: unwrittenIn(spells),
    blows: blows.filter(({ key, kind }) => happens(key, kind)),
    pageItems: some(0.5) ? 2 : 10_000,
    lostReceive: some(0.2) ? 0.1 : 0,
    lateTicks: some(0.4),
    tickTime: isShort ? short.pick(TICK_TIMES) : unlimited,
    capacity: isScarce ? scarce.pick(CAPACITIES) : unlimited,
    badHandlers: some(0.6),
    burns: isHurt || (weather === "one fault" && one.fault === "crash"),
    firingsOf: (target, own, now) => firingsOf(target, own, badScheduler && now < calmFrom),
    latest(id) {
      if (isHurt) return unlimited;
      return weather === "calm" ? ON_TIME : oneFault.latest(id);
    },
    fateOf(call, own, now) {
      const fate = usualFate(own);
      const meet = weather === "one fault" ? oneFault.meet : manyFaults;
      if (now < calmFrom) meet({ fate, call, own, now });
      return fate;
    },
  };
}

function drawRates({ draws, stretch, some }: Lot): Map<CallFault, number> {
  const rates = new Map<CallFault, number>();
  for (const fault of CALL_FAULTS) {
    const rate = draws.pick(stretch.faultRates);
    if (some(0.35)) rates.set(fault, rate);
  }
  return rates;
}

function manyFaultsOf(
  { seed, isHurt, happens }: Lot,
  {
    victim,
    rates,
    spells,
  }: { victim: Role; rates: ReadonlyMap<CallFault, number>; spells: readonly Spell[] },
): (one: Try) => void {
  const meetSpells = spellsOn(seed, spells);
  // These faults have draws of their own, so that they do not change the other faults of a seed.
  const strays = isHurt && drawsOf(seed, "strays").chance(0.15);
  return (one) => {
    const { fate, call, own } = one;
    const key = `${call.machine.name}#${call.index}`;
    meetSpells(one);
    if (strays && isChangeOfCaller(call) && own.chance(STRAYING) && happens(key, "stray")) {
      fate.request = own.next() * LATEST_STRAY;
      fate.crash = "under way";
      return;
    }
    // Ticks make most of the calls, so with equal rates they would get most of the faults. One role is struck eight times as often.
    const fault = faultAt(own.next() / (call.machine.name.startsWith(victim) ? 8 : 1), rates);
    if (fault !== undefined && happens(key, fault)) strike(fault, one);
  };
}

function faultAt(roll: number, rates: ReadonlyMap<CallFault, number>): CallFault | undefined {
  let upTo = 0;
  for (const [fault, rate] of rates) {
    upTo += rate;
    if (roll < upTo) return fault;
  }
  return undefined;
}

function firingsOf(target: string, own: Draws, isBad: boolean): Firings {
  const onTime = own.whole(0, PUNCTUAL);
  if (!isBad) return [onTime];
  // The schedule that promotes a far job may never fire, because the sweep sends every job anyway.
  if (target === "promote" && own.chance(0.3)) return [];
  if (own.chance(0.3)) return [onTime, own.whole(0, 2 * PUNCTUAL)];
  return [own.chance(0.3) ? own.whole(0, 10 * PUNCTUAL) : onTime];
}

function isChangeOfCaller({ machine, operation }: Call): boolean {
  return operation === "UpdateItem" && /^(api|producer)-/.test(machine.name);
}
