import { describe, expect, it } from "vitest";
import { judge, type Verdict } from "../../tools/torture/judge.ts";
import type { Answered, Asked, Ended, LedgerEvent, Started } from "../../tools/torture/ledger.ts";

const DUE = 100_000;
const ID = "job-a";

function asked(version: number, change: Asked["change"], more: Partial<Asked> = {}): Asked {
  const dueAt = change === "cancel" ? {} : { dueAt: DUE };
  return {
    event: "asked",
    n: 1,
    version,
    topic: "reminders",
    change,
    at: 1_000 + version,
    ...dueAt,
    ...more,
  };
}

function answered(version: number, outcome: Answered["outcome"], more: Partial<Answered> = {}): Answered {
  return { event: "answered", n: 1, version, outcome, id: ID, at: 2_000 + version, ...more };
}

function started(more: Partial<Started> = {}): Started {
  return { event: "started", n: 1, version: 0, id: ID, dueAt: DUE, attempt: 1, pid: 7, at: DUE, ...more };
}

function ended(more: Partial<Ended> = {}): Ended {
  return { event: "ended", n: 1, version: 0, id: ID, attempt: 1, how: "done", at: DUE + 10, ...more };
}

const CREATED = [asked(0, "create"), answered(0, "created")];

function kindsOf({ violations }: Verdict): string[] {
  return violations.map(({ kind }) => kind);
}

function violationsOf(...events: LedgerEvent[]): string[] {
  return kindsOf(judge(events, true));
}

describe("the ledger's judgement", () => {
  it("finds nothing wrong with a job that runs once, when it is due", () => {
    const verdict = judge([...CREATED, started({ at: DUE + 250 }), ended()], true);
    expect(verdict).toMatchObject({ acknowledged: 1, completed: 1, starts: 1, waiting: [], violations: [] });
    expect(verdict.lateness).toEqual([250]);
  });

  describe("lost", () => {
    it("an acknowledged job that never runs", () => {
      expect(violationsOf(...CREATED)).toEqual(["lost"]);
    });

    it("an acknowledged job whose only run never ended", () => {
      expect(violationsOf(...CREATED, started())).toEqual(["lost"]);
    });

    it("an acknowledged change whose new version never runs, though the old one did before", () => {
      const events = [
        asked(1, "reschedule", { at: DUE + 20_000 }),
        answered(1, "applied", { at: DUE + 20_001 }),
      ];
      expect(violationsOf(...CREATED, started(), ended(), ...events)).toEqual(["lost"]);
    });

    it("nothing while jobs may still run: an acknowledged job counts as waiting until then", () => {
      const verdict = judge(CREATED, false);
      expect(verdict).toMatchObject({ waiting: [{ n: 1, id: ID, untracked: false }], violations: [] });
    });

    it("no job that was never acknowledged", () => {
      expect(kindsOf(judge([asked(0, "create")], false))).toEqual([]);
      expect(violationsOf(asked(0, "create"))).toEqual(["never answered"]);
    });

    it("no job that was cancelled, or may have been", () => {
      expect(violationsOf(...CREATED, asked(1, "cancel"), answered(1, "applied"))).toEqual([]);
      expect(violationsOf(...CREATED, asked(1, "cancel"))).toEqual(["never answered"]);
    });

    it("a job that never runs although its cancel was refused", () => {
      expect(violationsOf(...CREATED, asked(1, "cancel"), answered(1, "refused"))).toEqual(["lost"]);
    });

    it("no job whose change was refused or not answered, if one of its versions has run", () => {
      const change = asked(1, "reschedule");
      expect(violationsOf(...CREATED, change, answered(1, "refused"), started(), ended())).toEqual([]);
      expect(violationsOf(...CREATED, change, started({ version: 1 }), ended({ version: 1 }))).toEqual([
        "never answered",
      ]);
    });

    it("the second job that never runs, when a replace came after the first job had ended", () => {
      const second = [asked(1, "replace"), answered(1, "created", { id: "job-b" })];
      expect(violationsOf(...CREATED, started(), ended(), ...second)).toEqual(["lost"]);
      const ran = { id: "job-b", version: 1 };
      expect(violationsOf(...CREATED, started(), ended(), ...second, started(ran), ended(ran))).toEqual([]);
    });

    it("no job that is recorded as dead", () => {
      const dead: LedgerEvent = { event: "state", n: 1, id: ID, state: "dead", at: DUE };
      expect(judge([...CREATED, dead], true)).toMatchObject({ dead: 1, violations: [] });
    });

    it("an untracked job, but it is counted separately", () => {
      const verdict = judge([asked(0, "create", { topic: "events" }), answered(0, "created")], true);
      expect(verdict).toMatchObject({ untracked: { acknowledged: 1, lost: 1, ranAgain: 0 }, violations: [] });
    });
  });

  describe("early", () => {
    it("a run a millisecond before its message's time", () => {
      expect(violationsOf(...CREATED, started({ at: DUE - 1 }), ended())).toEqual(["early"]);
    });

    it("a run before the requested time, whatever due time its message says", () => {
      const run = started({ dueAt: DUE - 50, at: DUE - 20 });
      expect(violationsOf(...CREATED, run, ended())).toEqual(["early"]);
    });

    it("an untracked job's run, too", () => {
      const events = [asked(0, "create", { topic: "events" }), answered(0, "created")];
      expect(violationsOf(...events, started({ at: DUE - 1 }), ended())).toEqual(["early"]);
    });
  });

  describe("ran after its cancel or change", () => {
    it("a start after the cancel was acknowledged", () => {
      const events = [asked(1, "cancel"), answered(1, "applied", { at: DUE - 5 }), started(), ended()];
      expect(violationsOf(...CREATED, ...events)).toEqual(["ran after its cancel or change"]);
    });

    it("the old version after its reschedule was acknowledged", () => {
      const change = [asked(1, "reschedule"), answered(1, "applied")];
      const runs = [started(), ended(), started({ version: 1 }), ended({ version: 1 })];
      expect(violationsOf(...CREATED, ...change, ...runs)).toEqual(["ran after its cancel or change"]);
    });

    it("no start before the cancel was acknowledged", () => {
      const cancel = [asked(1, "cancel"), answered(1, "applied", { at: DUE + 40_000 })];
      expect(violationsOf(...CREATED, started(), ...cancel)).toEqual([]);
    });

    it("no run of another job with the same key", () => {
      const second = { id: "job-b", version: 1 };
      const change = [asked(1, "replace"), answered(1, "created", { id: "job-b" })];
      const cancel = [asked(2, "cancel"), answered(2, "applied", { id: "job-b", at: DUE - 1 })];
      expect(violationsOf(...CREATED, ...change, ...cancel, started(), ended())).toEqual([]);
      expect(violationsOf(...CREATED, ...change, ...cancel, started(), ended(), started(second))).toEqual([
        "ran after its cancel or change",
      ]);
    });
  });

  describe("run twice", () => {
    const again = { attempt: 2, at: DUE + 40_000, dueAt: DUE + 40_000, pid: 8 };
    const secondEnd = ended({ attempt: 2, at: DUE + 40_010 });

    it("in one attempt: never allowed", () => {
      const runs = [started(), started({ at: DUE + 60_000, pid: 8 }), ended()];
      expect(violationsOf(...CREATED, ...runs)).toEqual(["ran twice in one attempt"]);
    });

    it("in one attempt, with another attempt in between", () => {
      const runs = [started(), started(again), started({ at: DUE + 90_000 }), ended(), secondEnd];
      expect(violationsOf(...CREATED, ...runs)).toContain("ran twice in one attempt");
    });

    it("in a second attempt, before any process could know that the lease of the first had ended", () => {
      const soon = { ...again, at: DUE + 14_999, dueAt: DUE + 14_999 };
      expect(violationsOf(...CREATED, started(), started(soon), secondEnd)).toEqual([
        "ran again under a live lease",
      ]);
      const pulled = started({ leaseUntil: DUE + 30_000 });
      expect(violationsOf(...CREATED, pulled, started(again), secondEnd)).toEqual([
        "ran again under a live lease",
      ]);
    });

    it("after a failure: allowed, however soon", () => {
      const verdict = judge(
        [
          ...CREATED,
          started(),
          ended({ how: "failed" }),
          started({ ...again, at: DUE + 1_000, dueAt: DUE + 1_000 }),
          secondEnd,
        ],
        true,
      );
      expect(verdict).toMatchObject({ failed: 1, completed: 1, violations: [] });
      expect(Object.values(verdict.ranAgain)).toEqual([0, 0, 0, 0]);
    });

    it.each([
      ["its process was killed", [{ event: "fault", fault: "kill consumer", pid: 7, at: DUE + 5 }]],
      [
        "its process was frozen",
        [{ event: "fault", fault: "freeze puller", pid: 7, ms: 30_000, at: DUE - 20_000 }],
      ],
      ["its stack was killed", [{ event: "fault", fault: "kill stack", ms: 1, at: DUE + 5 }]],
      ["its end was not recorded in time", [{ event: "fault", fault: "kill consumer", pid: 9, at: DUE + 5 }]],
    ] satisfies [string, LedgerEvent[]][])(
      "because %s: allowed, and counted by this cause",
      (cause, faults) => {
        const verdict = judge([...CREATED, ...faults, started(), started(again), secondEnd], true);
        expect(verdict.violations).toEqual([]);
        expect(verdict.ranAgain).toMatchObject({ [cause]: 1 });
      },
    );

    it("of an untracked job: allowed, and counted separately", () => {
      const events = [
        asked(0, "create", { topic: "events" }),
        answered(0, "created"),
        started(),
        started(),
        ended(),
      ];
      expect(judge(events, true)).toMatchObject({ untracked: { ranAgain: 1 }, violations: [] });
    });
  });

  it("reports two jobs of one request", () => {
    const twin = { id: "job-b", at: DUE + 100 };
    expect(violationsOf(...CREATED, started(), ended(), started(twin), ended(twin))).toEqual([
      "two jobs of one request",
    ]);
  });

  it("reports a cancelled job that has another state at the end", () => {
    const cancel = [...CREATED, asked(1, "cancel"), answered(1, "applied")];
    const state: LedgerEvent = { event: "state", n: 1, id: ID, state: "done", at: DUE };
    expect(violationsOf(...cancel, state)).toEqual(["not settled"]);
    expect(violationsOf(...cancel, { ...state, state: "cancelled" })).toEqual([]);
  });

  it("reports a job that ran but is still scheduled at the end", () => {
    const state: LedgerEvent = { event: "state", n: 1, id: ID, state: "scheduled", at: DUE };
    expect(violationsOf(...CREATED, started(), ended(), state)).toEqual(["not settled"]);
    expect(violationsOf(...CREATED, started(), ended(), state, { ...state, state: "done" })).toEqual([]);
  });

  it("reports an answer that no rule allows", () => {
    const event: LedgerEvent = { event: "unexpected", n: 1, what: "404", at: 1 };
    expect(judge([asked(0, "create"), event], true).violations).toEqual([
      { kind: "unexpected answer", n: 1, why: "404" },
    ]);
  });
});
