import { App, CfnResource, NestedStack, Stack } from "aws-cdk-lib";
import { Construct } from "constructs";
import { describe, expect, it } from "vitest";
import { type QueueReader, roomForTopics } from "../../../infra/checks/room-for-topics.ts";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import type { DelayQueueProps, TopicProps } from "../../../infra/props.ts";
import type { Policy } from "../../../src/settings/policy.ts";
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

  it("leaves resources for the managed policies of the queue's roles, and of the roles of producers", () => {
    const leftBy = (pulled: number, producers: number) => {
      const [warning] = synth({ handled: 0, pulled, length: 5, seed: 1, producers }).warnings;
      const promised = promisedBy(warning).pulled;
      expect(promised).toBeGreaterThan(11);
      return 500 - sizesIn(warning).resources - 3 * promised;
    };
    expect(leftBy(115, 0)).toBeGreaterThanOrEqual(3);
    expect(leftBy(100, 8) - leftBy(115, 0)).toBeGreaterThanOrEqual(5);
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

describe("the count of the room", () => {
  type Given = {
    /** How many resources are free. */
    readonly free: number;
    readonly readers?: (stack: Stack) => readonly QueueReader[];
    readonly polling?: (count: number) => number;
    readonly mostTopics?: number;
    readonly freeBytes?: number;
    readonly tellsIds?: boolean;
  };

  /** Of a queue with one topic, in a stack whose other resources are of no interest. */
  function roomOf(given: Given) {
    const { free, readers = () => [], polling = () => 0, mostTopics = 500, freeBytes = 4000 } = given;
    const stack = new Stack(new App(), "Shop");
    const fn = someFunction(stack, "Api");
    fn.addEnvironment("A", "x".repeat(4096 - 1 - freeBytes));
    const used = stack.node.findAll().filter((node) => CfnResource.isCfnResource(node)).length;
    for (let i = used; i < 500 - free; i++) new CfnResource(stack, `R${i}`, { type: "AWS::SQS::Queue" });
    const control = { functions: given.tellsIds ? [fn] : [], furtherPolicies: polling };
    const policy = { topics: { mail: {} } } as unknown as Policy;
    const size = { policy, functions: [fn], control: control as never, readers: readers(stack), mostTopics };
    return promisedBy(roomForTopics(stack, size));
  }
  const reads = (reader: Omit<QueueReader, "role">) => () => [{ role: undefined, ...reader }];

  it("divides the free resources by those of a topic, and ends at the most topics that the queue may have", () => {
    expect(roomOf({ free: 48 })).toEqual({ handled: 6, pulled: 16 });
    expect(roomOf({ free: 47 })).toEqual({ handled: 5, pulled: 15 });
    expect(roomOf({ free: 48, mostTopics: 5 })).toEqual({ handled: 4, pulled: 4 });
  });

  it("has the policies of the event sources, which pull topics do not have", () => {
    expect(roomOf({ free: 48, polling: (count) => count })).toEqual({ handled: 5, pulled: 16 });
  });

  it("has the managed policies of a role for the statements that do not fit into its own policy", () => {
    expect(roomOf({ free: 48, readers: reads({ namings: 2 }) })).toEqual({ handled: 6, pulled: 15 });
    // Eight namings of 15 topics are 16 statements more: they take six managed policies.
    expect(roomOf({ free: 48, readers: reads({ namings: 8 }) })).toEqual({ handled: 5, pulled: 14 });
  });

  it("leaves out the managed policies that the role has", () => {
    const readers = (stack: Stack) => {
      const role = new Construct(stack, "Role");
      new Construct(role, "OverflowPolicy1");
      return [{ role, namings: 2 }];
    };
    expect(roomOf({ free: 48, readers })).toEqual({ handled: 6, pulled: 16 });
  });

  it("expects no room in the own policy of a user's role", () => {
    expect(roomOf({ free: 46, readers: reads({ namings: 2 }) })).toEqual({ handled: 5, pulled: 15 });
    const foreign = reads({ namings: 2, isForeign: true });
    expect(roomOf({ free: 46, readers: foreign })).toEqual({ handled: 5, pulled: 14 });
  });

  it("has the statements about pull topics for pull topics only", () => {
    const readers = reads({ namings: 8, pullOnly: true });
    expect(roomOf({ free: 48, readers })).toEqual({ handled: 6, pulled: 14 });
  });

  it("keeps bytes of the environment free for names that compress worse, and for the ids of event sources", () => {
    expect(roomOf({ free: 90, freeBytes: 21 })).toEqual({ handled: 0, pulled: 0 });
    const plenty = roomOf({ free: 90, freeBytes: 100 });
    expect(plenty.handled).toBeGreaterThan(1);
    expect(roomOf({ free: 90, freeBytes: 100, tellsIds: true }).handled).toBe(1);
  });
});
