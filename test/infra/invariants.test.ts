import { describe, expect, it } from "vitest";
import { INVARIANTS, offenders } from "./invariants.ts";
import { resourcesOf } from "./resources.ts";
import { productionTemplate } from "./stack-template.ts";

const template = productionTemplate();

describe("in the production stack", () => {
  it.each(INVARIANTS)("$rule", (invariant) => {
    expect(resourcesOf(template, invariant.type)).not.toEqual([]);
    expect(offenders(invariant, template)).toEqual([]);
  });
});

describe("the check finds a stack in which it is not true that", () => {
  it.each(INVARIANTS)("$rule", (invariant) => {
    const broken = structuredClone(template);
    for (const [, resource] of resourcesOf(broken, invariant.type).slice(0, 1))
      invariant.break(resource, broken);
    expect(offenders(invariant, broken)).not.toEqual([]);
  });
});
