import { App, CfnResource, NestedStack, Stack } from "aws-cdk-lib";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import type { DelayQueueProps, TopicProps } from "../../../infra/props.ts";
import { shopWith, someFunction, templateOf } from "../shop-stack.ts";
import { expectKept, PULL, promisedBy, sizesIn, synth } from "./full-stacks.ts";

describe("the room for further topics", () => {
  const many = (count: number, topic: TopicProps = {}) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, topic]));

  it("is counted with 3 resources for each further pull topic, and 8 for each further topic with a handler or a target", () => {
    const countOf = (topics: DelayQueueProps["topics"], handlers: readonly string[] = []) => {
      const { stack, queue } = shopWith({ topics });
      for (const topic of handlers) queue.addHandler(topic, "examples/order-timeout/close-order.ts");
      return Object.keys(templateOf(stack).Resources).length;
    };
    expect(countOf(many(3, PULL)) - countOf(many(2, PULL))).toBe(3);
    expect(countOf(many(2), ["t0", "t1"]) - countOf(many(1), ["t0"])).toBe(8);
    const targeted = (count: number) => {
      const { stack, queue } = shopWith({ topics: many(count) });
      const target = someFunction(stack, "Target");
      for (let i = 0; i < count; i++) queue.addTarget(`t${i}`, target);
      return Object.keys(templateOf(stack).Resources).length;
    };
    expect(targeted(2) - targeted(1)).toBe(8);
  });

  it("is told when the stack or an environment is nearly full, with the present sizes", () => {
    expect(synth({ handled: 0, pulled: 20, length: 8, seed: 1 }).warnings).toEqual([]);
    const byResources = synth({ handled: 0, pulled: 115, length: 5, seed: 1 });
    expect(byResources.warnings).toHaveLength(1);
    const { resources } = sizesIn(byResources.warnings[0]);
    expect(resources).toBe(Object.keys(byResources.template?.Resources ?? {}).length);
    expect(resources).toBeGreaterThan(400);
    const [byBytes] = synth({ handled: 30, pulled: 0, length: 50, seed: 1 }).warnings;
    expect(sizesIn(byBytes).resources).toBeLessThan(400);
    expect(sizesIn(byBytes).bytes).toBeGreaterThan(3300);
    expect(byBytes).toMatch(/Shop\/Jobs\/Api\/Handler\/Function has .* names of at most 50 characters/);
  });

  it("is as large as it is told", () => {
    const shape = { handled: 30, pulled: 4, length: 50, seed: 3, producers: 3 };
    expectKept(shape, promisedBy(synth(shape).warnings[0]), "handled");
  });

  it("is none, and not below none, in a stack with too many resources, and ignores those of nested stacks", () => {
    const promisedWith = (count: number, isNested: boolean) => {
      const stack = new Stack(new App(), "Shop");
      const queue = new DelayQueue(stack, "Jobs", { topics: { mail: PULL } });
      const scope = isNested ? new NestedStack(stack, "Nested") : stack;
      for (let i = 0; i < count; i++) new CfnResource(scope, `R${i}`, { type: "AWS::SQS::Queue" });
      queue.node.validate();
      const warnings = queue.node.metadata.filter(({ type }) => type === "aws:cdk:warning");
      return warnings.map(({ data }) => String(data)).filter((text) => text.includes("more topics"));
    };
    expect(promisedWith(450, true)).toEqual([]);
    expect(promisedWith(520, false).map(promisedBy)).toEqual([{ handled: 0, pulled: 0 }]);
  });
});
