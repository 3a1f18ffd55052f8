import { LocalError } from "./local-error.ts";
import { asList, asObject, type Json, type JsonObject } from "./template.ts";

/** A rule that brings events to queues. */
export type EventRuleSpec = {
  readonly arn: string;
  /** The name of the bus that it listens to. */
  readonly bus: string;
  /** Absent: whatever it is. */
  readonly sources: readonly string[] | undefined;
  readonly detailTypes: readonly string[] | undefined;
  readonly queueArns: readonly string[];
};

const DEFAULT_BUS = "default";
const PATTERN_FIELDS = ["source", "detail-type"];
/** What is tried how often has no effect here: an event that cannot be delivered is refused to its sender. */
const TARGET_FIELDS = ["Id", "Arn", "RetryPolicy", "DeadLetterConfig"];

/** Reads an `AWS::Events::Rule` that has a pattern. Throws `LocalError` for what is not played. */
export function readEventRule(arn: string, properties: JsonObject): EventRuleSpec {
  const pattern = asObject(properties.EventPattern);
  refuseOthers(`the pattern of rule ${arn}`, pattern, PATTERN_FIELDS);
  const exact = (field: string): string[] | undefined => {
    const values = pattern[field];
    if (values === undefined) return undefined;
    const texts = asList(values).filter((value) => typeof value === "string");
    if (texts.length > 0 && texts.length === asList(values).length) return texts;
    throw new LocalError(
      `the ${field} of rule ${arn} is ${JSON.stringify(values)}; the local stack supports only lists of exact values`,
    );
  };
  return {
    arn,
    bus: busName(properties.EventBusName),
    sources: exact("source"),
    detailTypes: exact("detail-type"),
    queueArns: asList(properties.Targets).map((target) => queueOf(arn, asObject(target))),
  };
}

/** A bus may be named by its ARN or by its name alone. */
export function busName(reference: Json | undefined): string {
  return String(reference ?? DEFAULT_BUS).replace(/^arn:.*:event-bus\//, "");
}

function queueOf(ruleArn: string, target: JsonObject): string {
  refuseOthers(`a target of rule ${ruleArn}`, target, TARGET_FIELDS);
  const arn = String(target.Arn);
  if (/^arn:aws:sqs:[^:]*:[^:]*:(?!.*\.fifo$)/.test(arn)) return arn;
  throw new LocalError(`a target of rule ${ruleArn} is ${arn}; the local stack sends events only to queues`);
}

function refuseOthers(what: string, value: JsonObject, known: readonly string[]): void {
  const other = Object.keys(value).find((field) => !known.includes(field));
  if (other === undefined) return;
  throw new LocalError(`${what} has ${other}; the local stack supports only ${known.join(", ")}`);
}
